//! Which issue is started next. Claiming is part of the step that decides, so two claims of one issue cannot
//! happen: the second sees the first's job.

use super::Jobs;
use super::circles::Circles;
use super::overlap::overlap;
use super::recovery::OpenPulls;
use crate::effect::{Action, PlanAction};
use crate::event::NoteKind;
use crate::ids::{Assignment, IssueNumber, JobId, ProjectName, Role, branch_for};
use crate::label::Label;
use crate::state::{Floor, Issue, Job, JobState, Session, SessionState};
use crate::step::{Turn, labels};
use crate::texts::notes;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Making a worktree and starting a session are quick or broken.
pub(super) const START_WITHIN: Duration = Duration::from_secs(300);

/// Why an open issue is not being worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing stands in its way but the number of jobs.
    Ready,
    /// It has none of the labels that ask for work.
    NotAsked,
    /// It asks for an action, and its project has no agent for those.
    NoActions,
    Blocked,
    Underspecified,
    /// It waits for these.
    On(Vec<IssueNumber>),
    /// It waits for numbers that are not issues.
    OnUnknown(Vec<IssueNumber>),
    /// It waits for itself, through these.
    Cycle(Vec<IssueNumber>),
    /// Our own label changes have not reached the forge, an earlier session has not ended, or an earlier worktree
    /// is being removed.
    Settling,
    /// It has a job already.
    AtWork,
    /// Its project's configuration cannot be read, or a person paused it.
    Paused(String),
    /// Its project's agents cannot work.
    Outage(String),
    Closed,
}

/// What stands in the way of a project's issues, looked up once for all of them.
struct Obstacles<'a> {
    floor: &'a Floor,
    project: ProjectName,
    /// Why none of them is started.
    all: Option<Waiting>,
    /// Why none is that asks for a change, or for an action.
    out: (Option<Waiting>, Option<Waiting>),
    has_actions: bool,
    at_work: BTreeSet<IssueNumber>,
    /// Issues that have had a job, whatever became of it.
    had_job: BTreeSet<IssueNumber>,
    /// A session that has not ended, or could not be ended, still owns the worktree; or the worktree is being
    /// removed.
    owned: BTreeSet<IssueNumber>,
    pulls: OpenPulls<'a>,
    /// Only needed for issues that wait for others.
    circles: OnceCell<Circles<'a>>,
}

impl<'a> Obstacles<'a> {
    fn of(floor: &'a Floor, project: &ProjectName) -> Obstacles<'a> {
        let jobs = || floor.jobs.iter().filter(|j| j.project == *project);
        let unended = |s: &&Session| s.project == *project && s.state != SessionState::Ended;
        let row = floor.projects.get(project);
        let paused = row.and_then(|p| p.paused.clone().or(Some(p.pause.as_ref()?.why.clone())));
        let out = |role| floor.outage(project, role).map(|outage| Waiting::Outage(outage.why.clone()));
        Obstacles {
            floor,
            project: project.clone(),
            all: paused.map(Waiting::Paused),
            out: (out(Role::DEV), out(Role::ACTION)),
            has_actions: row.is_some_and(|row| row.policy.actions),
            at_work: jobs().filter(|j| j.is_live()).filter_map(Job::issue).collect(),
            had_job: jobs().filter_map(Job::issue).collect(),
            owned: floor
                .sessions
                .iter()
                .filter(unended)
                .filter_map(|s| s.assignment.number())
                .chain(jobs().filter(|j| j.kept().releasing > 0).filter_map(Job::number))
                .collect(),
            pulls: OpenPulls::of(floor, project),
            circles: OnceCell::new(),
        }
    }

    fn why(&self, issue: &Issue) -> Waiting {
        if let Some(why) = self.besides_others(issue) {
            return why;
        }
        let unknown: Vec<_> = issue.deps.iter().copied().filter(|n| self.find(*n).is_none()).collect();
        if !unknown.is_empty() {
            return Waiting::OnUnknown(unknown);
        }
        let is_open = |n: &IssueNumber| self.find(*n).is_some_and(|i| i.open);
        let open: Vec<_> = issue.deps.iter().copied().filter(is_open).collect();
        if open.is_empty() {
            return Waiting::Ready;
        }
        let circles = self.circles.get_or_init(|| Circles::of(self.floor, &self.project));
        circles.through(issue.number).map_or(Waiting::On(open), Waiting::Cycle)
    }

    /// The same answer as `why`, without finding out what the issue waits for.
    fn is_ready(&self, issue: &Issue) -> bool {
        #[cfg(test)]
        crate::state::backlog::looks::one();
        let met = |n: &IssueNumber| self.find(*n).is_some_and(|i| !i.open);
        issue.open && issue.deps.iter().all(met) && self.besides_others(issue).is_none()
    }

    fn find(&self, number: IssueNumber) -> Option<&'a Issue> {
        self.floor.issues.get(&(self.project.clone(), number))
    }

    /// What stands in its way besides issues it waits for.
    fn besides_others(&self, issue: &Issue) -> Option<Waiting> {
        if !issue.open {
            return Some(Waiting::Closed);
        }
        if self.at_work.contains(&issue.number) {
            return Some(Waiting::AtWork);
        }
        if self.all.is_some() {
            return self.all.clone();
        }
        if issue.edits_pending > 0 || issue.held {
            return Some(Waiting::Settling);
        }
        let has = |label: Label| issue.labels.contains(label.as_str());
        if has(Label::Blocked) {
            return Some(Waiting::Blocked);
        }
        if has(Label::Underspecified) {
            return Some(Waiting::Underspecified);
        }
        // An orphan, labelled or with a pull request on our branch, has no job at all. After a job of ours,
        // `in-progress` is a label that was observed late or could not be removed: only `backlog` asks again.
        let orphaned = || {
            !self.had_job.contains(&issue.number) && (has(Label::InProgress) || self.pulls.is_stuck(issue))
        };
        let out = match self.asks_for_action(issue) {
            true if !self.has_actions => return Some(Waiting::NoActions),
            true => &self.out.1,
            false if !has(Label::Backlog) && !orphaned() => return Some(Waiting::NotAsked),
            false => &self.out.0,
        };
        if out.is_some() {
            return out.clone();
        }
        self.owned.contains(&issue.number).then_some(Waiting::Settling)
    }

    /// Whether it is a formula's to do. What somebody was at work on is continued as the change that it was.
    fn asks_for_action(&self, issue: &Issue) -> bool {
        let has = |label: Label| issue.labels.contains(label.as_str());
        has(Label::Action) && !has(Label::InProgress)
    }

    fn class(&self, issue: &Issue) -> Class {
        let has = |label: Label| issue.labels.contains(label.as_str());
        if has(Label::InProgress) {
            Class::Orphan
        } else if self.pulls.to_go_on_with(issue).is_some() {
            Class::Stuck
        } else if has(Label::Priority) {
            Class::Priority
        } else {
            Class::Plain
        }
    }
}

/// The standing of all issues of a floor, for whoever shows more than one.
pub struct Standings<'a> {
    projects: BTreeMap<ProjectName, Obstacles<'a>>,
}

impl<'a> Standings<'a> {
    pub fn of(floor: &'a Floor) -> Self {
        let all = floor.projects.iter().map(|p| (p.name.clone(), Obstacles::of(floor, &p.name)));
        Standings { projects: all.collect() }
    }

    /// Why nothing happens on an issue.
    pub fn why(&self, issue: &Issue) -> Waiting {
        match self.projects.get(&issue.project) {
            Some(standing) => standing.why(issue),
            None => Waiting::NotAsked,
        }
    }
}

/// Whose turn it is when slots are shared: whoever has the fewest; among equals, whoever got one longest ago.
fn turn_of(floor: &Floor, project: &ProjectName) -> (usize, Option<JobId>) {
    let newest = floor.jobs.iter().rfind(|job| job.project == *project).map(|job| job.id);
    (floor.all_live_jobs(project).count(), newest)
}

/// How urgent a ready issue is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Somebody was at work on it.
    Orphan,
    /// It has a pull request that nobody continues.
    Stuck,
    Priority,
    Plain,
}

impl Turn<'_> {
    /// Starts jobs and reviews while there are slots for them: whatever happened may have freed one, or closed a
    /// dependency. Projects take turns.
    pub(in crate::step) fn begin_what_is_ready(&mut self) {
        // Even if there is no slot: what was changed is not to pile up.
        self.floor.follow_backlog();
        let mut projects: Vec<ProjectName> = self.floor.projects.iter().map(|p| p.name.clone()).collect();
        loop {
            if projects.len() > 1 {
                projects.sort_by_cached_key(|project| turn_of(self.floor, project));
            }
            let begun = |project| {
                self.begin_next_run(project) || self.claim_next(project) || self.begin_next_review(project)
            };
            if !projects.iter().any(begun) {
                return;
            }
        }
    }

    /// Starts a job if there is a slot and a ready issue. Returns whether it did.
    fn claim_next(&mut self, project: &ProjectName) -> bool {
        if self
            .floor
            .projects
            .get(project)
            .is_none_or(|p| p.paused.is_some() || p.pause.is_some() || p.reading)
        {
            return false;
        }
        if self.floor.staff.get(project).is_some_and(|staff| staff.looking) {
            return false;
        }
        let policy = self.policy(project);
        let on_floor = || self.floor.jobs.iter().filter(|j| j.is_live()).count();
        let room = self.floor.live_jobs(project).filter(|job| job.issue().is_some()).count()
            < policy.max_jobs.max(1)
            && policy.floor_max_jobs.is_none_or(|max| on_floor() < max.max(1));
        if !room {
            return false;
        }
        let Some((issue, role)) = self.next_ready(project) else { return false };
        self.claim(project, issue, role);
        true
    }

    /// The most urgent class first, and the oldest within it; but an issue that is likely to touch what others are
    /// changing lets the rest of its class go first.
    fn next_ready(&mut self, project: &ProjectName) -> Option<(IssueNumber, Role)> {
        self.floor.follow_backlog();
        let standing = Obstacles::of(self.floor, project);
        let stuck = standing.pulls.stuck().filter_map(|number| standing.find(number));
        let may_be: BTreeMap<_, _> =
            self.floor.free_issues(project).chain(stuck).map(|i| (i.number, i)).collect();
        let ready = may_be.into_values().filter(|issue| standing.is_ready(issue));
        let mut all: Vec<_> = ready.map(|i| (standing.class(i), i)).collect();
        all.sort_by_key(|(class, i)| (*class, i.created_at, i.number));
        let (first, oldest) = *all.first()?;
        let peers = all.iter().take_while(|(class, _)| *class == first).map(|(_, issue)| *issue);
        let alone = peers.into_iter().find(|issue| overlap(self.floor, issue).is_none());
        let next = alone.unwrap_or(oldest);
        Some((next.number, if standing.asks_for_action(next) { Role::ACTION } else { Role::DEV }))
    }

    fn claim(&mut self, project: &ProjectName, issue: IssueNumber, role: Role) {
        let id = JobId(self.number(|c| &mut c.job));
        let row = self.floor.issues.get(&(project.clone(), issue));
        let title = row.map(|i| i.title.clone());
        let policy = self.policy(project);
        let target = row.and_then(|issue| policy.target_of(&issue.labels)).cloned();
        // What was done and approved for another branch is a different change there.
        let elsewhere = self.floor.job_of(project, issue).is_some_and(|before| before.target != target);
        let pull = row.filter(|_| !elsewhere);
        let pull = pull.and_then(|issue| OpenPulls::of(self.floor, project).to_go_on_with(issue));
        let pr = pull.map(|pull| pull.number);
        let own = match elsewhere {
            true => {
                format!("{}-on-{}", branch_for(issue), policy.branch_of(target.as_ref()).replace('/', "-"))
            }
            false => branch_for(issue),
        };
        let branch = pull.map_or(own, |pull| pull.branch.clone());
        let assignment = Assignment::Issue(issue);
        let new = Job::new(id, assignment, project.clone(), branch.clone(), JobState::Preparing, self.now);
        self.floor.jobs.put(
            Jobs(()),
            Job {
                title: title.unwrap_or_default(),
                target: target.clone(),
                deadline: Some(self.now + START_WITHIN),
                pr,
                role,
                ..new
            },
        );
        let asked_by = self.job(id).map_or(Label::Backlog, Job::asked_by);
        if let Some(pr) = pr {
            self.review_overtaken(project, pr, issue);
        }
        self.note_job(NoteKind::JobStarted, id, notes::claimed(id, pr, target.as_ref()));
        self.act(Action::EditLabels {
            project: project.clone(),
            issue,
            add: labels(&[Label::InProgress]),
            remove: labels(&[asked_by]),
        });
        match asked_by {
            Label::Action => {
                let plan = PlanAction { job: id, project: project.clone(), issue };
                self.act(Action::PlanAction(plan));
            }
            _ => self.prepare(id),
        }
    }
}
