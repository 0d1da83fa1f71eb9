//! Timers: everything that is to be done at a certain time if nothing happens before. There is one list of them,
//! [`Floor::timers`]: the daemon sleeps until the first, and a tick handles all that are due.
//!
//! Invariants:
//! - A timer is part of the record that it is about: whoever changes the record's state sets and clears it, and it
//!   is committed with the record. It is kept nowhere else.
//! - Whatever handles a timer changes its record so that it is no longer due; else the daemon would never sleep.

use super::{EntryState, Floor, MessageState, SessionState, Staff};
use crate::ids::{
    EntryId, Epoch, JobId, MessageId, ProjectName, QuestionId, QueueId, RequestNumber, RunNumber,
    ScheduleName,
};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    pub at: Time,
    pub due: Due,
}

/// What is due, and for whom. Timers due at the same moment are handled in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// The person who typed at the session's terminal has been quiet for long.
    Handback(Epoch),
    /// People are told that the message cannot be typed.
    Held(MessageId),
    /// The message was not taken in time.
    Delivery(MessageId),
    /// The session is told to continue.
    Resume(Epoch),
    /// The reviewer is overdue: it has left no review.
    Review(Epoch),
    /// The job's worktree is snapshotted.
    Checkpoint(JobId),
    /// The ended job's worktree is removed.
    Release(JobId),
    /// The project is tidied.
    Tidy(ProjectName),
    /// The job has been in its state for too long, or for as long as it was meant to be.
    Job(JobId),
    /// Nobody has answered an agent that works on: the default is taken, or people are reminded.
    Query(QuestionId),
    /// People are asked to look at something that keeps failing and being retried.
    Trouble(ProjectName),
    /// People are reminded that a configuration waits to be accepted.
    Config(ProjectName),
    /// The run has to be through with its steps.
    Run(RunNumber),
    /// The schedule's time has come, or there may be room for what was put off.
    Schedule(ProjectName, ScheduleName),
    /// Dust is old, or people are reminded of what gardeners ask.
    Garden(ProjectName),
    /// People are reminded of a request to the vault, or it has waited for too long.
    Request(RequestNumber),
    /// What people acknowledged of a project, or of the machine, is told again.
    Acknowledged(Option<ProjectName>),
    /// Agents cannot work: people are reminded, or one agent tries.
    Staff(ProjectName),
    /// Dependencies that look wrong are looked at again.
    Dependencies(ProjectName),
    /// The merge queue's plan continues, or somebody is told that an entry has waited long.
    Queue(QueueId),
    /// Signing what is about to land is retried.
    Signing(QueueId),
    /// The checks of the entry's head, which could not run, are retried.
    Entry(EntryId),
    /// People are told that the entry has waited long for a branch that has to land first.
    Wait(EntryId),
}

impl Due {
    pub fn name(&self) -> &'static str {
        match self {
            Due::Handback(_) => "handback",
            Due::Held(_) => "held",
            Due::Delivery(_) => "delivery",
            Due::Resume(_) => "resume",
            Due::Review(_) => "review",
            Due::Checkpoint(_) => "checkpoint",
            Due::Release(_) => "release",
            Due::Tidy(_) => "tidy",
            Due::Job(_) => "job",
            Due::Query(_) => "query",
            Due::Trouble(_) => "trouble",
            Due::Config(_) => "config",
            Due::Run(_) => "run",
            Due::Schedule(..) => "schedule",
            Due::Garden(_) => "garden",
            Due::Request(_) => "request",
            Due::Acknowledged(_) => "acknowledged",
            Due::Staff(_) => "staff",
            Due::Dependencies(_) => "dependencies",
            Due::Queue(_) => "queue",
            Due::Signing(_) => "signing",
            Due::Entry(_) => "entry",
            Due::Wait(_) => "wait",
        }
    }
}

/// Whom it is for.
impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Due::Handback(epoch) | Due::Resume(epoch) | Due::Review(epoch) => write!(f, "session {epoch}"),
            Due::Held(message) | Due::Delivery(message) => write!(f, "message {message}"),
            Due::Checkpoint(job) | Due::Release(job) | Due::Job(job) => write!(f, "job {job}"),
            Due::Tidy(project)
            | Due::Trouble(project)
            | Due::Config(project)
            | Due::Staff(project)
            | Due::Garden(project)
            | Due::Dependencies(project) => project.fmt(f),
            Due::Queue(queue) | Due::Signing(queue) => {
                write!(f, "{}, {}", queue.project, queue.branch_in_words())
            }
            Due::Query(question) => write!(f, "question q{question}"),
            Due::Run(run) => write!(f, "run {run}"),
            Due::Schedule(project, name) => write!(f, "{project}, {name}"),
            Due::Request(request) => write!(f, "vault request {request}"),
            Due::Acknowledged(Some(project)) => project.fmt(f),
            Due::Acknowledged(None) => f.write_str("the machine"),
            Due::Entry(entry) | Due::Wait(entry) => write!(f, "entry {entry}"),
        }
    }
}

/// A timer that made the program fail: it is not handled again before `until`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    pub due: Due,
    pub until: Time,
}
record!(Mute, "mute", Attention, Due, |m| m.due.clone(), |k| format!("{} {k}", k.name()));

fn timer(at: Option<Time>, due: Due) -> Option<Timer> {
    at.map(|at| Timer { at, due })
}

impl Floor {
    pub fn timers(&self) -> impl Iterator<Item = Timer> + '_ {
        let jobs = self.jobs.iter().flat_map(|job| {
            let live = |at: Option<Time>| at.filter(|_| job.is_live());
            [
                timer(live(job.checkpoint_at), Due::Checkpoint(job.id)),
                timer(job.kept().release_at, Due::Release(job.id)),
                timer(live(job.deadline), Due::Job(job.id)),
            ]
        });
        let live = self.sessions.iter().filter(|s| s.state == SessionState::Live);
        let sessions = live.flat_map(|session| {
            let epoch = session.epoch;
            [
                timer(session.hold.as_ref().map(|hold| hold.until), Due::Handback(epoch)),
                timer(session.stops.resume_at, Due::Resume(epoch)),
                timer(session.review.due, Due::Review(epoch)),
            ]
        });
        let queued = self.messages.iter().filter(|m| m.state == MessageState::Queued);
        let messages = queued.flat_map(|message| {
            [
                timer(message.told_at(), Due::Held(message.id)),
                timer(message.deadline, Due::Delivery(message.id)),
            ]
        });
        let projects = self.projects.iter().flat_map(|project| {
            let name = || project.name.clone();
            let trouble = project.troubles.iter().filter_map(|trouble| trouble.ask_at).min();
            [timer(project.tidy_at, Due::Tidy(name())), timer(trouble, Due::Trouble(name()))]
        });
        let staff =
            self.staff.iter().map(|staff| timer(Staff::wake_at(staff), Due::Staff(staff.project.clone())));
        let pins = self.pins.iter().map(|pin| {
            let again = pin.differs.as_ref().map(|differs| differs.again_at);
            timer(again, Due::Config(pin.project.clone()))
        });
        let runs = self.runs.iter().map(|run| timer(run.due(), Due::Run(run.number)));
        let schedules = self.schedules.iter().map(|schedule| {
            timer(schedule.due(), Due::Schedule(schedule.project.clone(), schedule.name.clone()))
        });
        let queries = self.queries().map(|(_, q)| timer(Some(q.due()), Due::Query(q.asked.id)));
        let gardens = self.gardens.iter().map(|g| timer(g.due(), Due::Garden(g.project.clone())));
        let requests = self.requests.iter().map(|r| timer(r.due(), Due::Request(r.number)));
        let acks = self.health.iter().map(|row| timer(row.due(), Due::Acknowledged(row.project.clone())));
        let doubts = self.doubted_issues().into_iter().map(|issue| {
            issue.deps_due.map(|at| Timer { at, due: Due::Dependencies(issue.project.clone()) })
        });
        let queues = self.queues.iter().flat_map(|queue| {
            let plan = timer(queue.wake_at(&self.policy(&queue.project)), Due::Queue(queue.id()));
            [plan, timer(queue.signed_at(), Due::Signing(queue.id()))]
        });
        let entries = self.entries.iter().map(|entry| match entry.state {
            EntryState::Checking { again_at, .. } => timer(again_at, Due::Entry(entry.id)),
            _ => timer(self.wait_told_at(entry), Due::Wait(entry.id)),
        });
        let records = sessions.chain(messages).chain(jobs).chain(projects);
        let all = records.chain(staff).chain(pins).chain(runs).chain(schedules).chain(queries);
        let all = all
            .chain(gardens)
            .chain(requests)
            .chain(acks)
            .chain(doubts)
            .chain(queues)
            .chain(entries)
            .flatten();
        all.map(|timer| match self.mutes.get(&timer.due) {
            Some(mute) => Timer { at: timer.at.max(mute.until), ..timer },
            None => timer,
        })
    }

    /// When something has to be done even if nothing happens.
    pub fn next_deadline(&self) -> Option<Time> {
        self.timers().map(|timer| timer.at).min()
    }
}
