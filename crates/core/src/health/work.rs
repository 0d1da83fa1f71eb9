//! What is found of a project's work: checks, changes, issues, questions, and what the factory itself does not get done.

use super::{Concern, Finding, Measured, Priority, Remedy, WorkLimits};
use crate::ids::{IssueNumber, ProjectName, RunId, agent_name};
use crate::label::Label;
use crate::policy::Policy;
use crate::state::{EntryState, Floor, Issue, Job, JobState, RequestState, SessionState, TryState};
use crate::step::{Standings, Waiting};
use crate::texts::{FirstLine, issues, span};
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Whatever has only just begun may be known in a moment.
const SETTLES_WITHIN: Duration = Duration::from_secs(120);
/// So few checks are no trend.
const TREND_MIN: u64 = 6;
/// How many changes of one kind are found one by one.
const EACH_MAX: usize = 10;
const NAMED: usize = 5;

struct Look<'a> {
    floor: &'a Floor,
    now: Time,
    project: &'a ProjectName,
    policy: Policy,
    measured: &'a Measured,
}

/// What is wrong with a project's work, most urgent first.
pub fn of_project(floor: &Floor, now: Time, project: &ProjectName, measured: &Measured) -> Vec<Finding> {
    if floor.projects.get(project).is_none() {
        return Vec::new();
    }
    let look = Look { floor, now, project, policy: floor.policy(project), measured };
    let mut found = look.checks();
    found.extend(look.sessions());
    found.extend(look.questions());
    found.extend(look.idle());
    found.extend(look.locks());
    found.extend(look.changes());
    found.extend(look.queues());
    found.extend(look.effects());
    found.extend(look.issues());
    found.extend(look.strays());
    found.extend(look.trees());
    found.iter_mut().for_each(|finding| finding.project = Some(project.clone()));
    found.sort_by_key(|finding| finding.priority);
    found
}

/// The runs of checks whose answers somebody waits for.
pub fn wanted_checks(floor: &Floor, project: &ProjectName) -> BTreeSet<RunId> {
    let jobs = floor.all_live_jobs(project).filter_map(|job| match job.state {
        JobState::Checking { run, .. } => Some(run),
        _ => None,
    });
    let queues = floor.queues.iter().filter(|queue| queue.project == *project);
    let trials = queues.flat_map(|queue| {
        queue.runs.values().map(|trial| trial.run).chain(queue.base_checks().map(|check| check.run))
    });
    let tries = floor.tries.iter().filter(|known| known.project == *project);
    let tries = tries.filter_map(|known| match known.state {
        TryState::Testing { run, .. } => Some(run),
        _ => None,
    });
    let entries = floor.entries.iter().filter(|entry| entry.project == *project);
    let entries = entries.filter_map(|entry| match entry.state {
        EntryState::Checking { run, .. } => Some(run),
        _ => None,
    });
    jobs.chain(trials).chain(tries).chain(entries).collect()
}

/// Since when a job has been in its state.
fn since(job: &Job) -> Time {
    job.history.last().map_or(job.created_at, |stage| stage.at)
}

impl Look<'_> {
    fn limits(&self) -> &WorkLimits {
        &self.policy.health
    }

    fn age(&self, at: Time) -> Duration {
        self.now.since(at)
    }

    /// Zero: never.
    fn is_over(&self, at: Time, limit: Duration) -> bool {
        !limit.is_zero() && self.age(at) > limit
    }

    fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.floor.all_live_jobs(self.project)
    }

    /// Several of a kind as one finding, with the oldest's age; `None`: there are none.
    fn several(
        &self,
        key: &str,
        priority: Priority,
        concern: Concern,
        ages: &[Duration],
        what: &dyn Fn(&str) -> String,
    ) -> Option<Finding> {
        let oldest = ages.iter().max()?;
        let found = Finding::new(key, priority, concern, &what(&span(*oldest)));
        Some(found.with("count", ages.len() as u64).with("oldest_s", oldest.as_secs()))
    }

    // ---- checks ----------------------------------------------------------------------------------

    fn checks(&self) -> Vec<Finding> {
        let wanted = wanted_checks(self.floor, self.project);
        let seen = self.measured.checks.as_deref().unwrap_or_default();
        let begun: BTreeSet<RunId> = seen.iter().map(|check| check.run).collect();
        let limits = self.limits();
        let running = seen.iter().filter(|check| check.alive && wanted.contains(&check.run));
        let running: Vec<Duration> = running
            .filter(|check| self.is_over(check.since, limits.checks_running))
            .map(|check| self.age(check.since))
            .collect();
        let pending = self.jobs().filter(|job| match job.state {
            JobState::Checking { run, .. } => !begun.contains(&run),
            JobState::Retrying { .. } => true,
            _ => false,
        });
        let pending: Vec<Duration> = pending
            .map(since)
            .filter(|at| self.is_over(*at, limits.checks_pending))
            .map(|at| self.age(at))
            .collect();
        let one = |n: usize| if n == 1 { "run of the checks" } else { "runs of the checks" };
        let (count, waiting) = (running.len(), pending.len());
        let running = self.several("ci.running", Priority::P2, Concern::Agent, &running, &|age| {
            format!("{count} {} under way for long, the longest for {age}", one(count))
        });
        let pending = self.several("ci.pending", Priority::P2, Concern::Agent, &pending, &|age| {
            format!("{waiting} {} not begun, the oldest for {age}", one(waiting))
        });
        let unwanted = seen.iter().filter(|check| check.alive && !wanted.contains(&check.run));
        let unwanted: Vec<RunId> =
            unwanted.filter(|check| self.age(check.since) > SETTLES_WITHIN).map(|check| check.run).collect();
        let cancel = (!unwanted.is_empty()).then(|| {
            let count = unwanted.len();
            let what = format!("{count} {} that nobody waits for", one(count));
            Finding::new("ci.unwanted", Priority::P4, Concern::Agent, &what)
                .with("count", count as u64)
                .remedy(Remedy::CancelChecks { runs: unwanted })
        });
        running.into_iter().chain(pending).chain(cancel).chain(self.trend()).collect()
    }

    fn trend(&self) -> Option<Finding> {
        let recent = self.measured.recent?;
        if recent.ended < TREND_MIN || recent.red * 2 < recent.ended {
            return None;
        }
        let what = format!("{} of the last {} runs of the checks were red", recent.red, recent.ended);
        let found = Finding::new("ci.trend", Priority::P3, Concern::Agent, &what);
        Some(found.with("ended", recent.ended).with("red", recent.red))
    }

    // ---- agents ----------------------------------------------------------------------------------

    fn sessions(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let unended = |state| state == SessionState::Unended;
        let unended =
            self.floor.sessions.iter().filter(|s| s.project == *self.project && unended(s.state)).count();
        if unended > 0 {
            let what = format!("{unended} sessions could not be ended");
            found.push(
                Finding::new("sessions.unended", Priority::P2, Concern::Agent, &what)
                    .with("count", unended as u64)
                    .remedy(Remedy::EndAgain),
            );
        }
        // People were asked about each when it began.
        for outage in self.floor.staff.get(self.project).into_iter().flat_map(|staff| &staff.outages) {
            let what = format!("no {} works: {}", outage.role, outage.why);
            let key = format!("agents.{}", outage.role);
            let found_now = Finding::new(&key, Priority::P2, Concern::People, &what);
            found.push(found_now.with("age_s", self.age(outage.since).as_secs()));
        }
        found
    }

    /// Each was put to people, who are reminded of it as well.
    fn questions(&self) -> Option<Finding> {
        let jobs = self.jobs().filter(|job| matches!(job.state, JobState::NeedsHuman { .. })).map(since);
        let queries = self.floor.queries().filter(|(conduct, _)| conduct.project == *self.project);
        let queries = queries.map(|(_, query)| query.since);
        let requests = self.floor.requests.iter().filter(|request| request.project == *self.project);
        let requests = requests.filter_map(|request| match request.state {
            RequestState::Waiting { since, .. } => Some(since),
            _ => None,
        });
        let old = jobs.chain(queries).chain(requests);
        let ages: Vec<Duration> =
            old.filter(|at| self.is_over(*at, self.limits().needs_human)).map(|at| self.age(at)).collect();
        let count = ages.len();
        self.several("needs_human", Priority::P2, Concern::People, &ages, &|age| {
            format!("{count} questions wait for people, the oldest for {age}")
        })
    }

    /// Issues are ready, and nobody has worked on any for a while.
    fn idle(&self) -> Option<Finding> {
        let row = self.floor.projects.get(self.project)?;
        let paused = row.paused.is_some() || row.pause.is_some() || row.reading;
        if paused || self.jobs().any(|job| job.issue().is_some()) {
            return None;
        }
        let jobs = self.floor.jobs.iter().filter(|job| job.project == *self.project);
        let last = jobs.map(since).max().unwrap_or_default();
        let standings = Standings::of(self.floor);
        let backlog = |issue: &&Issue| issue.labels.contains(Label::Backlog.as_str());
        let ready = self.open_issues().filter(backlog);
        let ready: Vec<&Issue> = ready.filter(|issue| standings.why(issue) == Waiting::Ready).collect();
        let first = ready.iter().map(|issue| issue.created_at).min()?;
        let idle = first.max(last);
        if !self.is_over(idle, self.limits().no_job) {
            return None;
        }
        let (count, age) = (ready.len() as u64, self.age(idle));
        let what = format!("{count} issues are ready, and nobody has worked on any for {}", span(age));
        let found = Finding::new("backlog.idle", Priority::P2, Concern::Agent, &what);
        Some(found.with("ready", count).with("idle_s", age.as_secs()))
    }

    // ---- changes ---------------------------------------------------------------------------------

    fn changes(&self) -> Vec<Finding> {
        let limits = self.limits();
        let old = |job: &&Job, limit| self.is_over(since(job), limit);
        let carried = || self.jobs().filter(|job| job.pr.is_some());
        let failing = carried().filter(|job| self.fails(job)).filter(|job| old(job, limits.failing));
        let conflicting = carried().filter(|job| self.conflicts(job)).filter(|job| old(job, limits.failing));
        let waits = |job: &&Job| matches!(job.state, JobState::Reviewing { .. });
        let unreviewed = carried().filter(waits).filter(|job| old(job, limits.review));
        let reviewed_by = if self.policy.review_agent { Concern::Agent } else { Concern::People };
        let mut found = Vec::new();
        let mut add = |job: &Job, kind: &str, concern, what: &str| {
            let Some(pr) = job.pr else { return };
            let age = self.age(since(job));
            let what = format!("pull request #{pr} {what} {}", span(age));
            let finding = Finding::new(&format!("pr.{pr}.{kind}"), Priority::P3, concern, &what);
            found.push(finding.with("age_s", age.as_secs()));
        };
        conflicting.take(EACH_MAX).for_each(|job| {
            add(job, "conflict", Concern::Agent, "is green and has conflicted with its branch for");
        });
        failing.take(EACH_MAX).for_each(|job| {
            add(job, "failing", Concern::Agent, "has failed its checks for");
        });
        unreviewed.take(EACH_MAX).for_each(|job| {
            add(job, "review", reviewed_by, "has waited for its review for");
        });
        found
    }

    /// Its agent was told that its head is red.
    fn fails(&self, job: &Job) -> bool {
        let red = job.known.red.as_ref().map(|red| &red.head);
        matches!(job.state, JobState::Working) && red.is_some() && red == job.head.as_ref()
    }

    /// Its agent was told that its head, which is green, conflicts with what has landed.
    fn conflicts(&self, job: &Job) -> bool {
        let record = self.floor.records.get(&agent_name(job.role, self.project, job.assignment));
        let after = record.and_then(|record| record.rework.as_ref()).map(|rework| rework.after.as_str());
        let conflict = after.and_then(FirstLine::of) == Some(FirstLine::MergeConflict);
        conflict && matches!(job.state, JobState::Working) && job.known.green.is_some()
    }

    fn queues(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for id in self.floor.queue_ids(self.project) {
            let row = self.floor.queues.get(&id);
            let branch = self.policy.branch_of(id.target.as_ref()).to_owned();
            if row.is_some_and(|queue| queue.lost.is_some()) {
                let what = format!("the merge queue of {branch} is frozen: somebody moved that branch");
                let key = format!("queue.{branch}.frozen");
                found.push(Finding::new(&key, Priority::P2, Concern::People, &what));
                continue;
            }
            let entries = self.floor.entries.iter();
            let waiting = entries.filter(|entry| entry.queue() == id && entry.state.is_live());
            let ages: Vec<Duration> = waiting
                .map(|entry| entry.requested_at)
                .filter(|at| self.is_over(*at, self.policy.merge_alarm))
                .map(|at| self.age(at))
                .collect();
            // Who paused it knows.
            let concern = match row.is_some_and(|queue| queue.paused.is_some()) {
                true => Concern::People,
                false => Concern::Agent,
            };
            let count = ages.len();
            found.extend(self.several(
                &format!("queue.{branch}.age"),
                Priority::P3,
                concern,
                &ages,
                &|age| format!("{count} changes wait to land on {branch}, the oldest for {age}"),
            ));
        }
        found
    }

    // ---- the factory's own -----------------------------------------------------------------------

    /// What fails and is retried, by what it is: the more urgent when people were asked to look.
    fn effects(&self) -> Vec<Finding> {
        let mut by_what: BTreeMap<&str, Vec<(Duration, bool)>> = BTreeMap::new();
        for trouble in self.floor.projects.get(self.project).into_iter().flat_map(|row| &row.troubles) {
            if self.is_over(trouble.since, self.limits().effect) {
                let known = by_what.entry(&trouble.what).or_default();
                known.push((self.age(trouble.since), trouble.is_asked()));
            }
        }
        let found = by_what.into_iter().filter_map(|(what, all)| {
            let asked = all.iter().any(|(_, asked)| *asked);
            let priority = if asked { Priority::P2 } else { Priority::P3 };
            let ages: Vec<Duration> = all.iter().map(|(age, _)| *age).collect();
            self.several(&format!("effect.{what}"), priority, Concern::Agent, &ages, &|age| {
                format!("{} fails and is retried, for {age}", what.replace('_', " "))
            })
        });
        found.collect()
    }

    fn locks(&self) -> Option<Finding> {
        let limit = self.limits().lock;
        let locks = self.measured.locks.iter().flatten();
        let old: Vec<_> = locks.filter(|lock| !limit.is_zero() && lock.age > limit).collect();
        let ages: Vec<Duration> = old.iter().map(|lock| lock.age).collect();
        let named: Vec<&str> = old.iter().take(NAMED).map(|lock| lock.path.as_str()).collect();
        self.several("locks", Priority::P2, Concern::People, &ages, &|age| {
            format!("lock files that nobody gives back, the oldest for {age}: {}", named.join(", "))
        })
    }

    /// Sessions under the names of jobs' that no record says are alive.
    fn strays(&self) -> Option<Finding> {
        let lives = |epoch| {
            self.floor.sessions.get(epoch).is_some_and(|session| session.state != SessionState::Ended)
        };
        let strays = self.measured.strays.iter().flatten();
        let strays: Vec<_> =
            strays.filter(|stray| stray.project == *self.project && !lives(&stray.epoch)).cloned().collect();
        let count = strays.len();
        (count > 0).then(|| {
            Finding::new(
                "sessions.stray",
                Priority::P4,
                Concern::Agent,
                &format!("{count} sessions are nobody's"),
            )
            .with("count", count as u64)
            .remedy(Remedy::EndStrays { strays })
        })
    }

    /// Worktrees that are neither worked in nor kept for a while.
    fn trees(&self) -> Option<Finding> {
        let limit = self.limits().worktree;
        let stale = self.measured.trees.iter().flatten().filter(|tree| {
            let job = self.floor.newest(self.project, tree.assignment);
            let kept =
                |job: &Job| job.is_live() || job.kept().release_at.is_some() || job.kept().releasing > 0;
            self.is_over(tree.changed, limit) && !job.is_some_and(kept)
        });
        let stale: Vec<_> = stale.collect();
        let ages: Vec<Duration> = stale.iter().map(|tree| self.age(tree.changed)).collect();
        let named: Vec<&str> = stale.iter().take(NAMED).map(|tree| tree.name.as_str()).collect();
        let count = stale.len();
        self.several("worktrees", Priority::P4, Concern::People, &ages, &|age| {
            format!("{count} worktrees belong to no job, the oldest for {age}: {}", named.join(", "))
        })
    }

    // ---- issues ----------------------------------------------------------------------------------

    fn open_issues(&self) -> impl Iterator<Item = &Issue> {
        self.floor.issues.iter().filter(|issue| issue.open && issue.project == *self.project)
    }

    fn issues(&self) -> Vec<Finding> {
        let waiting = || self.open_issues().filter(|issue| !issue.deps.is_empty());
        let mut found = Vec::new();
        let standings = Standings::of(self.floor);
        let circle = waiting().find_map(|issue| match standings.why(issue) {
            Waiting::Cycle(path) => Some(path),
            _ => None,
        });
        if let Some(path) = circle {
            let what = format!("issues wait for one another: {}", issues(&path, " -> "));
            let finding = Finding::new("dependencies.circle", Priority::P3, Concern::People, &what);
            found.push(finding.with("issues", path.len() as u64));
        }
        let limit = self.limits().dependency;
        let mut old: BTreeMap<IssueNumber, Duration> = BTreeMap::new();
        for dep in waiting().flat_map(|issue| &issue.deps) {
            let row = self.floor.issues.get(&(self.project.clone(), *dep)).filter(|row| row.open);
            if let Some(row) = row.filter(|row| self.is_over(row.created_at, limit)) {
                old.insert(*dep, self.age(row.created_at));
            }
        }
        let numbers: Vec<IssueNumber> = old.keys().copied().take(NAMED).collect();
        let ages: Vec<Duration> = old.into_values().collect();
        found.extend(self.several("dependencies.old", Priority::P3, Concern::People, &ages, &|age| {
            format!("others wait for {}, the oldest of them open for {age}", issues(&numbers, ", "))
        }));
        let blocked = self.open_issues().filter(|issue| issue.labels.contains(Label::Blocked.as_str()));
        let blocked: Vec<IssueNumber> = blocked.map(|issue| issue.number).collect();
        if !blocked.is_empty() {
            let named: Vec<IssueNumber> = blocked.iter().copied().take(NAMED).collect();
            let what = format!("{} issues are blocked: {}", blocked.len(), issues(&named, ", "));
            let finding = Finding::new("issues.blocked", Priority::P4, Concern::People, &what);
            found.push(finding.with("count", blocked.len() as u64));
        }
        found
    }
}
