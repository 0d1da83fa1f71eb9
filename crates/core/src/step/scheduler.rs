//! Which issue is started next. Claiming is part of the step that decides it, so two claims of one
//! issue cannot happen: the second sees the first's job.

use super::circles::Circles;
use super::overlap::overlap;
use super::recovery::OpenPulls;
use super::{Turn, labels};
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{IssueNumber, JobId, ProjectName, Role, branch_for};
use crate::state::{Floor, Issue, Job, JobKind, JobState, Session, SessionState};
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
    Blocked,
    Underspecified,
    /// It waits for these.
    On(Vec<IssueNumber>),
    /// It waits for numbers that are no issues.
    OnUnknown(Vec<IssueNumber>),
    /// It waits for itself, through these.
    Cycle(Vec<IssueNumber>),
    /// Our own label changes have not reached the forge, a former session has not ended, or a former
    /// worktree is being removed.
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
struct Standing<'a> {
    floor: &'a Floor,
    project: ProjectName,
    /// Why none of them is begun.
    all: Option<Waiting>,
    at_work: BTreeSet<IssueNumber>,
    /// Has had a job, whatever became of it.
    had_job: BTreeSet<IssueNumber>,
    /// A session that has not ended, or could not be ended, still owns the worktree; or that is being
    /// removed.
    owned: BTreeSet<IssueNumber>,
    pulls: OpenPulls<'a>,
    /// Only needed for those that wait for others.
    circles: OnceCell<Circles<'a>>,
}

impl<'a> Standing<'a> {
    fn of(floor: &'a Floor, project: &ProjectName) -> Standing<'a> {
        let jobs = || floor.jobs.iter().filter(|j| j.project == *project);
        let unended = |s: &&Session| s.project == *project && s.state != SessionState::Ended;
        let row = floor.projects.get(project);
        let paused = row.and_then(|p| p.paused.clone().or(Some(p.pause.as_ref()?.why.clone())));
        let out = || floor.outage(project, Role::Dev).map(|outage| Waiting::Outage(outage.why.clone()));
        Standing {
            floor,
            project: project.clone(),
            all: paused.map(Waiting::Paused).or_else(out),
            at_work: jobs().filter(|j| j.is_live()).map(|j| j.issue).collect(),
            had_job: jobs().map(|j| j.issue).collect(),
            owned: floor
                .sessions
                .iter()
                .filter(unended)
                .map(|s| s.issue)
                .chain(jobs().filter(|j| j.releasing > 0).map(|j| j.issue))
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

    /// The same as `why` says, without looking for what it is that it waits for.
    fn is_ready(&self, issue: &Issue) -> bool {
        let met = |n: &IssueNumber| self.find(*n).is_some_and(|i| !i.open);
        issue.open && issue.deps.iter().all(met) && self.besides_others(issue).is_none()
    }

    fn find(&self, number: IssueNumber) -> Option<&'a Issue> {
        self.floor.issues.get(&(self.project.clone(), number))
    }

    /// What stands in its way other than issues it waits for.
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
        let has = |label: &str| issue.labels.contains(label);
        if has("blocked") {
            return Some(Waiting::Blocked);
        }
        if has("underspecified") {
            return Some(Waiting::Underspecified);
        }
        // An orphan, labelled or with a pull request on our branch, has no job at all. After a job of ours,
        // `in-progress` is a label that was observed late or could not be removed: only `backlog` asks again.
        let orphaned =
            || !self.had_job.contains(&issue.number) && (has("in-progress") || self.pulls.is_stuck(issue));
        if !has("backlog") && !orphaned() {
            return Some(Waiting::NotAsked);
        }
        self.owned.contains(&issue.number).then_some(Waiting::Settling)
    }

    fn class(&self, issue: &Issue) -> Class {
        let has = |label: &str| issue.labels.contains(label);
        if has("in-progress") {
            Class::Orphan
        } else if self.pulls.to_go_on_with(issue).is_some() {
            Class::Stuck
        } else if has("priority") {
            Class::Priority
        } else {
            Class::Plain
        }
    }
}

/// The standing of all issues of a floor, for whoever shows more than one.
pub struct Standings<'a> {
    projects: BTreeMap<ProjectName, Standing<'a>>,
}

impl<'a> Standings<'a> {
    pub fn of(floor: &'a Floor) -> Self {
        let all = floor.projects.iter().map(|p| (p.name.clone(), Standing::of(floor, &p.name)));
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

/// How urgent a ready issue is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Somebody was at work on it.
    Orphan,
    /// It has a pull request that nobody carries on.
    Stuck,
    Priority,
    Plain,
}

impl Turn<'_> {
    /// Starts jobs while there are slots and ready issues.
    pub(super) fn claim_ready(&mut self, project: &ProjectName) {
        if self
            .floor
            .projects
            .get(project)
            .is_none_or(|p| p.paused.is_some() || p.pause.is_some() || p.reading)
        {
            return;
        }
        if self.floor.staff.get(project).is_some_and(|s| s.looking || s.outage(Role::Dev).is_some()) {
            return;
        }
        let policy = self.policy(project);
        let room = |floor: &Floor| {
            let on_floor = || floor.jobs.iter().filter(|j| j.is_live()).count();
            floor.live_jobs(project).count() < policy.max_jobs.max(1)
                && policy.floor_max_jobs.is_none_or(|max| on_floor() < max.max(1))
        };
        while room(self.floor) {
            let Some(issue) = self.next_ready(project) else { return };
            self.claim(project, issue);
        }
    }

    /// The most urgent class first, in it the oldest; but one that is likely to touch what others are
    /// changing lets those of its class go first that are not.
    fn next_ready(&self, project: &ProjectName) -> Option<IssueNumber> {
        let standing = Standing::of(self.floor, project);
        let ready = |i: &&Issue| i.project == *project && standing.is_ready(i);
        let mut all: Vec<_> =
            self.floor.issues.iter().filter(ready).map(|i| (standing.class(i), i)).collect();
        all.sort_by_key(|(class, i)| (*class, i.created_at, i.number));
        let (first, oldest) = *all.first()?;
        let peers = all.iter().take_while(|(class, _)| *class == first).map(|(_, issue)| *issue);
        let alone = peers.into_iter().find(|issue| overlap(self.floor, issue).is_none());
        Some(alone.unwrap_or(oldest).number)
    }

    fn claim(&mut self, project: &ProjectName, issue: IssueNumber) {
        let id = JobId(self.number(|c| &mut c.job));
        let row = self.floor.issues.get(&(project.clone(), issue));
        let title = row.map(|i| i.title.clone());
        let policy = self.policy(project);
        let target = row.and_then(|issue| policy.target_of(&issue.labels)).cloned();
        // What was done, and approved, for another branch is another change there.
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
        let preparing = JobState::Preparing;
        let new = Job::new(id, JobKind::Issue, project.clone(), issue, branch.clone(), preparing, self.now);
        self.floor.jobs.put(Job {
            title: title.unwrap_or_default(),
            target: target.clone(),
            deadline: Some(self.now + policy.setup_timeout + START_WITHIN),
            pr,
            ..new
        });
        if let Some(pr) = pr {
            self.review_overtaken(project, pr, issue);
        }
        let goes_on = pr.map(|pr| format!(", goes on with pull request #{pr}")).unwrap_or_default();
        let lands = target.as_ref().map(|t| format!(", to land on {}", t.branch())).unwrap_or_default();
        self.note_job(NoteKind::JobStarted, id, format!("claimed as job {id}{goes_on}{lands}"));
        self.act(Action::EditLabels {
            project: project.clone(),
            issue,
            add: labels(&["in-progress"]),
            remove: labels(&["backlog"]),
        });
        self.act(Action::PrepareWorktree { job: id, project: project.clone(), issue, branch, target });
    }
}
