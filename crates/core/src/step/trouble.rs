//! Trouble: what fails and is tried again until it works. Nobody's job ends of it. It is shown while it
//! lasts, and people are asked to look only when it has lasted for hours, once.
//!
//! Also here: which actions nobody waits for any more. Those need not be tried until they work.

use super::Turn;
use super::deadline::minutes;
use super::landing::landing_lane;
use crate::effect::{Action, CiPurpose};
use crate::event::NoteKind;
use crate::ids::{IssueNumber, ProjectName, QueueId, Target};
use crate::state::{EntryState, Floor, Job, JobState, SessionState, Trouble, Try, TryState};
use crate::text::one_line;
use crate::time::Time;
use std::time::Duration;

/// Troubles kept of a project; there are at most as many as lanes.
const TROUBLES_MAX: usize = 200;
const WHY_CHARS_MAX: usize = 500;

/// Another cause is told, but not more often than this.
const NEWS_EVERY: Duration = Duration::from_secs(600);

/// What the reading of a project's forge is called, and its lane.
pub const READ_FORGE: &str = "read_forge";

pub fn read_lane(project: &ProjectName) -> String {
    format!("read:{project}")
}

impl Floor {
    /// The project an action is about.
    pub fn project_of(&self, action: &Action) -> Option<ProjectName> {
        match action {
            Action::RingInbox { epoch, .. } => self.sessions.get(epoch).map(|s| s.project.clone()),
            other => other.project().cloned(),
        }
    }

    pub fn trouble(&self, project: &ProjectName, lane: &str) -> Option<&Trouble> {
        self.projects.get(project)?.troubles.iter().find(|t| t.lane == lane)
    }

    /// What keeps a job from going on, if that is trouble: in its own lane, or in its project's queue.
    pub fn trouble_of(&self, job: &Job) -> Option<&Trouble> {
        let lanes = match job.state {
            JobState::Merging { .. } => vec![format!("queue:{}", job.project), landing_lane(&job.queue())],
            _ => vec![format!("job:{}", job.id)],
        };
        let mine = |t: &&Trouble| lanes.contains(&t.lane) || t.issue == Some(job.issue);
        self.projects.get(&job.project)?.troubles.iter().find(mine)
    }
}

impl Trouble {
    /// People were asked to look: it does not go on without them.
    pub fn is_asked(&self) -> bool {
        self.ask_at.is_none()
    }

    /// Whether this is worth telling of something that is in trouble already.
    pub fn is_news(&self, why: &str, now: Time) -> bool {
        now.since(self.told_at) >= NEWS_EVERY && !same_cause(&self.why, &one_line(why, WHY_CHARS_MAX))
    }
}

/// The same words, whatever numbers and names of commits are among them.
fn same_cause(one: &str, other: &str) -> bool {
    let words = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphabetic() && !c.is_ascii_hexdigit()).collect()
    };
    words(one) == words(other)
}

/// Whether somebody still waits for what this is to bring about. One that fails and is not wanted is dropped.
pub fn is_wanted(floor: &Floor, action: &Action) -> bool {
    let queue = |project, target: &Option<Target>| floor.queues.get(&QueueId::new(project, target.as_ref()));
    match action {
        Action::PrepareWorktree { job, .. }
        | Action::PublishBranch { job, .. }
        | Action::OpenPr { job, .. }
        | Action::RunCi { job: Some(job), purpose: CiPurpose::Head, .. } => waits_for(floor, *job, action),
        // Another follows in a while, and one at the session's end: nothing has to wait for it.
        Action::Checkpoint { job, .. } => {
            floor.jobs.get(job).is_some_and(|j| matches!(j.state, JobState::Working))
        }
        Action::StartSession(start) => {
            floor.sessions.get(&start.epoch).is_some_and(|s| s.state == SessionState::Starting)
        }
        Action::BuildChain { project, target, trial, .. } => {
            queue(project, target).is_some_and(|q| q.plan.trials().any(|t| t.id == *trial))
        }
        Action::BuildLanding { project, target, tip, .. } => {
            queue(project, target).is_some_and(|q| q.landing.as_ref().is_some_and(|l| l.tip() == *tip))
        }
        Action::RunCi { project, run, purpose: CiPurpose::Trial(trial), about, .. } => {
            queue(project, &about.target).is_some_and(|q| q.runs.get(trial).is_some_and(|r| r.run == *run))
        }
        Action::RunCi { project, run, purpose: CiPurpose::Base, about, .. } => {
            queue(project, &about.target).is_some_and(|q| q.base_checks().any(|c| c.run == *run))
        }
        Action::RunCi { run, purpose: CiPurpose::Entry(entry), .. } => {
            let expected = EntryState::Checking { run: *run, again_at: None };
            floor.entries.get(entry).is_some_and(|e| e.state == expected)
        }
        Action::BuildTry { id, .. } => floor.tries.get(id).is_some_and(|t| t.state == TryState::Building),
        Action::RunCi { run, purpose: CiPurpose::Try(id), .. } => {
            let testing = |t: &Try| matches!(t.state, TryState::Testing { run: known, .. } if known == *run);
            floor.tries.get(id).is_some_and(testing)
        }
        Action::RunCi { job: None, purpose: CiPurpose::Head, .. } => false,
        _ => true,
    }
}

/// Whether the job is at the point where this action's answer matters.
pub(super) fn waits_for(floor: &Floor, job: crate::ids::JobId, action: &Action) -> bool {
    let Some(job) = floor.jobs.get(&job) else { return false };
    match (action, &job.state) {
        (Action::PrepareWorktree { .. }, JobState::Preparing)
        | (Action::PublishBranch { .. }, JobState::Publishing { .. }) => true,
        (Action::OpenPr { head, .. }, JobState::Publishing { .. }) => job.head.as_ref() == Some(head),
        (Action::RunCi { run, .. }, JobState::Checking { run: expected, .. }) => run == expected,
        _ => false,
    }
}

impl Turn<'_> {
    pub(super) fn trouble_seen(
        &mut self,
        project: &ProjectName,
        lane: &str,
        what: &str,
        issue: Option<IssueNumber>,
        why: &str,
    ) {
        let (now, why) = (self.now, one_line(why, WHY_CHARS_MAX));
        let Some(row) = self.floor.projects.edit(project) else { return };
        let ask_at = Some(now + row.policy.trouble_after);
        if let Some(known) = row.troubles.iter_mut().find(|t| t.lane == lane && t.what == what) {
            known.why.clone_from(&why);
            known.told_at = now;
        } else {
            // One effect of a lane fails at a time.
            row.troubles.retain(|t| t.lane != lane);
            if row.troubles.len() >= TROUBLES_MAX {
                return;
            }
            row.troubles.push(Trouble {
                lane: lane.to_owned(),
                what: what.to_owned(),
                issue,
                why: why.clone(),
                since: now,
                told_at: now,
                ask_at,
            });
        }
        self.note(
            NoteKind::Trouble,
            project,
            issue,
            format!("{} fails and is tried again: {why}", words(what)),
        );
    }

    /// What failed in that lane has been done, or is not wanted any more.
    pub(super) fn trouble_over(&mut self, project: &ProjectName, lane: &str) {
        if self.floor.trouble(project, lane).is_none() {
            return;
        }
        let now = self.now;
        let Some(row) = self.floor.projects.edit(project) else { return };
        let Some(at) = row.troubles.iter().position(|t| t.lane == lane) else { return };
        let over = row.troubles.remove(at);
        let lasted = minutes(now.since(over.since));
        self.note(
            NoteKind::Trouble,
            project,
            over.issue,
            format!("{}: over after {lasted}", words(&over.what)),
        );
    }

    /// What has failed for hours: people are asked to look. It is tried on.
    pub(super) fn troubles_due(&mut self, project: &ProjectName) {
        let now = self.now;
        let Some(row) = self.floor.projects.edit(project) else { return };
        let due = row.troubles.iter_mut().filter(|t| t.ask_at.is_some_and(|at| at <= now));
        let found: Vec<Trouble> = due
            .map(|trouble| {
                trouble.ask_at = None;
                trouble.clone()
            })
            .collect();
        for trouble in found {
            let text = format!(
                "{} has failed for {} and is tried on; put right what is in its way: {}",
                words(&trouble.what),
                minutes(now.since(trouble.since)),
                trouble.why
            );
            self.note(NoteKind::Escalation, project, trouble.issue, text.clone());
            let job = trouble.issue.and_then(|issue| self.floor.work_of(project, issue)).map(|job| job.id);
            if let (Some(job), Some(issue)) = (job, trouble.issue) {
                self.act(Action::Escalate {
                    job,
                    project: project.clone(),
                    issue,
                    trigger: format!("trouble {}", trouble.what),
                    context: text,
                    about: String::new(),
                    at: now,
                });
            }
        }
    }
}

fn words(what: &str) -> String {
    what.replace('_', " ")
}
