//! Trouble: effects that fail and are retried until they work. No job ends because of it. It is shown while it
//! lasts, and people are asked to look only after hours, once.
//!
//! Also here: which actions nobody waits for any more. Those need not be retried until they work.

use crate::effect::{Action, CiPurpose, PlanAction, ReadAnswer, RunStep, VerifyStep};
use crate::event::NoteKind;
use crate::ids::{Assignment, IssueNumber, ProjectName, QueueId, Target};
use crate::state::{EntryState, Floor, Job, JobState, SessionState, Trouble, Try, TryState};
use crate::step::Turn;
use crate::step::queue::landing_lane;
use crate::text::one_line;
use crate::texts::{escalations, notes};
use crate::time::Time;
use std::time::Duration;

/// How many troubles of a project are kept; there are at most as many as lanes.
const TROUBLES_MAX: usize = 200;
const WHY_CHARS_MAX: usize = 500;

/// A new cause is reported, but not more often than this.
const NEWS_EVERY: Duration = Duration::from_secs(600);

/// The name for reading a project's forge, and its lane.
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

    /// The trouble that holds up a job, if any: in its own lane, or in its project's queue.
    pub fn trouble_of(&self, job: &Job) -> Option<&Trouble> {
        let lanes = match job.state {
            JobState::InQueue { .. } => vec![format!("queue:{}", job.project), landing_lane(&job.queue())],
            _ => vec![format!("job:{}", job.id)],
        };
        let mine = |t: &&Trouble| lanes.contains(&t.lane) || (t.issue.is_some() && t.issue == job.number());
        self.projects.get(&job.project)?.troubles.iter().find(mine)
    }
}

impl Trouble {
    /// People were asked to look: it will not end without them.
    pub fn is_asked(&self) -> bool {
        self.ask_at.is_none()
    }

    /// Whether this cause is worth reporting for something that is already in trouble.
    pub fn is_news(&self, why: &str, now: Time) -> bool {
        now.since(self.told_at) >= NEWS_EVERY && !same_cause(&self.why, &one_line(why, WHY_CHARS_MAX))
    }
}

/// Whether the words are the same, ignoring numbers and commit names.
fn same_cause(one: &str, other: &str) -> bool {
    let words = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphabetic() && !c.is_ascii_hexdigit()).collect()
    };
    words(one) == words(other)
}

/// Whether somebody still waits for this action's result. A failing action that nobody wants is dropped.
pub fn is_wanted(floor: &Floor, action: &Action) -> bool {
    let queue = |project, target: &Option<Target>| floor.queues.get(&QueueId::new(project, target.as_ref()));
    match action {
        Action::PrepareWorktree { job, .. }
        | Action::PushBranch { job, .. }
        | Action::PlanAction(PlanAction { job, .. })
        | Action::RunStep(RunStep { job, .. })
        | Action::VerifyStep(VerifyStep { job, .. })
        | Action::ReadAnswer(ReadAnswer { job, .. })
        | Action::OpenPr { job, .. }
        | Action::RunCi { job: Some(job), purpose: CiPurpose::Head, .. } => waits_for(floor, *job, action),
        // Another follows in a while, and one at the session's end: nothing has to wait for this one.
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
pub(in crate::step) fn waits_for(floor: &Floor, job: crate::ids::JobId, action: &Action) -> bool {
    let Some(job) = floor.jobs.get(&job) else { return false };
    match (action, &job.state) {
        (Action::PrepareWorktree { .. }, JobState::Preparing)
        | (Action::PushBranch { .. }, JobState::Pushing { .. }) => true,
        (Action::PlanAction(_), JobState::Preparing) => job.action.is_none(),
        (Action::RunStep(step), _) => floor.awaits_step(step.run, &step.step, step.attempt),
        (Action::ReadAnswer(read), _) => floor.awaits_step(read.run, &read.step, read.attempt),
        (Action::VerifyStep(claim), _) => floor.awaits_step(claim.run, &claim.step, claim.attempt),
        (Action::OpenPr { head, .. }, JobState::Pushing { .. }) => job.head.as_ref() == Some(head),
        (Action::RunCi { run, .. }, JobState::Checking { run: expected, .. }) => run == expected,
        _ => false,
    }
}

impl Turn<'_> {
    pub(in crate::step) fn trouble_seen(
        &mut self,
        project: &ProjectName,
        lane: &str,
        what: &str,
        issue: Option<IssueNumber>,
        why: &str,
    ) {
        let (now, why) = (self.now, one_line(why, WHY_CHARS_MAX));
        let ask_at = Some(now + self.policy(project).trouble_after);
        let Some(troubles) = self.troubles(project) else { return };
        if let Some(known) = troubles.iter_mut().find(|t| t.lane == lane && t.what == what) {
            known.why.clone_from(&why);
            known.told_at = now;
        } else {
            // Only one effect of a lane fails at a time.
            troubles.retain(|t| t.lane != lane);
            if troubles.len() >= TROUBLES_MAX {
                return;
            }
            troubles.push(Trouble {
                lane: lane.to_owned(),
                what: what.to_owned(),
                issue,
                why: why.clone(),
                since: now,
                told_at: now,
                ask_at,
            });
        }
        self.note(NoteKind::Trouble, project, issue, notes::trouble(&words(what), &why));
    }

    /// What failed in this lane has been done, or is no longer wanted.
    pub(in crate::step) fn trouble_over(&mut self, project: &ProjectName, lane: &str) {
        if self.floor.trouble(project, lane).is_none() {
            return;
        }
        let now = self.now;
        let Some(troubles) = self.troubles(project) else { return };
        let Some(at) = troubles.iter().position(|t| t.lane == lane) else { return };
        let over = troubles.remove(at);
        self.note(
            NoteKind::Trouble,
            project,
            over.issue,
            notes::trouble_over(&words(&over.what), now.since(over.since)),
        );
    }

    /// Something has failed for hours: people are asked to look. It is still retried.
    pub(in crate::step) fn troubles_due(&mut self, project: &ProjectName) {
        let now = self.now;
        let Some(troubles) = self.troubles(project) else { return };
        let due = troubles.iter_mut().filter(|t| t.ask_at.is_some_and(|at| at <= now));
        let found: Vec<Trouble> = due
            .map(|trouble| {
                trouble.ask_at = None;
                trouble.clone()
            })
            .collect();
        for trouble in found {
            let text =
                escalations::fails_for_hours(&words(&trouble.what), now.since(trouble.since), &trouble.why);
            self.note(NoteKind::Escalation, project, trouble.issue, text.clone());
            let job = trouble.issue.and_then(|issue| self.floor.work_of(project, issue)).map(|job| job.id);
            if let (Some(job), Some(issue)) = (job, trouble.issue) {
                let assignment = Assignment::Issue(issue);
                self.act(Action::Escalate {
                    job,
                    project: project.clone(),
                    assignment,
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
