//! The floor's state: plain records in tables. [`crate::step`] is the only thing that changes them.

use crate::effect::outcome::Tidied;
use crate::effect::tidy_lane;
use crate::forge::{Cursor, Version};
use crate::hints::Hints;
use crate::ids::{Assignment, Epoch, IssueNumber, PrNumber, ProjectName, QuestionId, Role, agent_name};
use crate::policy::Policy;
use crate::table::{Record, Table};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One factory's whole state.
#[derive(Clone, Debug, Default)]
pub struct Floor {
    pub counters: Table<Counters>,
    pub projects: Table<Project>,
    pub issues: Table<Issue>,
    pub jobs: Table<Job>,
    pub sessions: Table<Session>,
    pub agents: Table<Agent>,
    pub entries: Table<Entry>,
    pub queues: Table<Queue>,
    pub messages: Table<Message>,
    pub records: Table<WorkRecord>,
    pub pulls: Table<Pull>,
    pub staff: Table<Staff>,
    pub tries: Table<Try>,
    pub mutes: Table<Mute>,
    pub pins: Table<Pin>,
    pub runs: Table<Run>,
    pub schedules: Table<Schedule>,
    pub conducts: Table<Conduct>,
    pub requests: Table<Request>,
    pub health: Table<Health>,
    /// Made from the issues; not stored.
    pub backlog: Backlog,
    pub gardens: Table<Garden>,
    pub reversals: Table<Reversal>,
}

macro_rules! record {
    ($type:ty, $kind:literal, $owner:ident, $key:ty, $get:expr, $text:expr) => {
        impl Record for $type {
            const KIND: &'static str = $kind;
            type Key = $key;
            type Owner = crate::step::$owner;
            fn key(&self) -> $key {
                let get: fn(&$type) -> $key = $get;
                get(self)
            }
            fn key_text(key: &$key) -> String {
                let text: fn(&$key) -> String = $text;
                text(key)
            }
        }
    };
}

mod ask;
pub(crate) mod backlog;
mod conduct;
mod garden;
mod health;
mod heard;
mod hold;
mod job;
mod memo;
mod pin;
mod pull;
mod queue;
mod record;
mod refusals;
mod run;
mod schedule;
mod session;
mod shelf;
mod spent;
mod stack;
mod staff;
mod timer;
mod tries;
mod uneventful;
mod urgency;
mod vault;

pub use ask::{About, AnswerEnd, Answered, START_ANEW, SessionAsk};
pub use backlog::Backlog;
pub use conduct::{Conduct, Deed, DeedEnd, Query};
pub use garden::{Asks, DUST_KEPT, Decided, Dust, Garden, Inquiry, Reversal, ReversalState};
pub use health::{Ack, Health, Known, Letter, REMEDIES_MAX};
pub use heard::Heard;
pub use hold::{Held, Hold, Pause};
pub use job::{
    Asked, End, Goal, Job, JobState, Kept, KnownHeads, ProtectedFiles, RedHead, Reviewer, Rounds, SameChange,
    Stage,
};
pub use memo::Memo;
pub use pin::{Accepted, Differs, Pin};
pub use pull::{PersonsWord, Pull, ReviewStanding, SeenReview};
pub use queue::{
    BaseCheck, Entry, EntryState, Landing, LostPrimary, Parked, PersonsBranch, Publication, Pushed, Queue,
    StoodOn, TrialRun, Who,
};
pub use record::{Rework, WorkPhase, WorkRecord};
pub use refusals::Refusals;
pub use run::{Run, RunResult, RunState, StepRecord, StepState, Task};
pub use schedule::{Came, LastTime, OnMissed, Planning, Postponed, Schedule, SchedulePlan, Spent};
pub use session::{
    Message, MessageState, ReviewDuty, Session, SessionAsks, SessionClient, SessionState, SessionStatus,
    Stops, VerdictDuty,
};
pub use shelf::{Shelf, Shelvable};
pub use spent::{Cost, Tokens};
pub use staff::{Found, Outage, Staff};
pub use timer::{Due, Mute, Timer};
pub use tries::{Try, TryState};
pub use urgency::Urgency;
pub use vault::{Decision, Doubt, Request, RequestEnd, RequestEvent, RequestEventKind, RequestState};

/// The last number given out of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub job: u64,
    pub epoch: u64,
    pub entry: u64,
    pub message: u64,
    pub run: u64,
    #[serde(default)]
    pub question: u64,
    #[serde(default)]
    pub tries: u64,
    #[serde(default)]
    pub runs: u64,
    #[serde(default)]
    pub acts: u64,
    #[serde(default)]
    pub requests: u64,
    #[serde(default)]
    pub letters: u64,
}
record!(Counters, "counters", Numbers, (), |_| (), |_| "all".into());

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub name: ProjectName,
    /// The user's own checkout.
    pub checkout: String,
    pub policy: Policy,
    /// How far the forge was read.
    pub cursor: Cursor,
    /// The pages read so far are still being taken in: which issue comes first is not known yet.
    #[serde(default)]
    pub reading: bool,
    /// Why nothing new is started.
    #[serde(default)]
    pub paused: Option<String>,
    /// A person stopped its agents.
    #[serde(default)]
    pub pause: Option<Pause>,
    /// When the project is next tidied.
    #[serde(default)]
    pub tidy_at: Option<Time>,
    #[serde(default)]
    pub upkeep: Upkeep,
    /// What is failing now and being retried.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
    /// Who asked for what needs a person.
    #[serde(default)]
    pub refusals: Refusals,
}
record!(Project, "project", Projects, ProjectName, |p| p.name.clone(), |k| k.to_string());

impl Project {
    /// Why it cannot be tidied for now.
    pub fn tidy_trouble(&self) -> Option<&Trouble> {
        let lane = tidy_lane(&self.name);
        self.troubles.iter().find(|trouble| trouble.lane == lane)
    }
}

/// How tidy a project is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Upkeep {
    /// Jobs and people's branches that ended since tidying was last ordered.
    pub ended: u32,
    /// Tidying was ordered then, and is not over.
    pub ordered_at: Option<Time>,
    /// When the last one was over, and what it removed.
    pub last: Option<(Time, Tidied)>,
}

/// An effect, or the reading of a forge, that fails and is retried until it works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    pub lane: String,
    /// The action's name.
    pub what: String,
    pub issue: Option<IssueNumber>,
    pub why: String,
    pub since: Time,
    /// When it was last written to the journal.
    pub told_at: Time,
    /// When people are asked to look. `None`: they have been asked.
    pub ask_at: Option<Time>,
}

/// What the forge shows of an issue. Tens of thousands may be open, and each is read by every command: what has its
/// default is not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub project: ProjectName,
    pub number: IssueNumber,
    pub title: String,
    pub labels: BTreeSet<String>,
    pub open: bool,
    pub deps: Vec<IssueNumber>,
    pub created_at: Time,
    /// Our label changes that are on their way to the forge. Until they arrive, the labels here cannot be trusted
    /// for claiming.
    pub edits_pending: u32,
    /// The labels as last observed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub seen: BTreeSet<String>,
    /// The forge refused one of our label changes, so the labels do not say what they should. Nothing is started
    /// until somebody changes them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Issues that an agent found have to come before this one. They are among `deps`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub found_deps: BTreeSet<IssueNumber>,
    /// The role of the agent that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Role>,
    /// As in [`Observation::Issue`]. Anything older than this says nothing.
    #[serde(default)]
    pub version: Version,
    #[serde(default)]
    pub revision: u64,
    /// What else its text says.
    #[serde(default, skip_serializing_if = "Hints::is_empty")]
    pub hints: Hints,
    /// When dependencies that look wrong are looked at again, and what people were told of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deps_due: Option<Time>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub deps_told: String,
    /// What people said on it.
    #[serde(default, skip_serializing_if = "Heard::is_empty")]
    pub heard: Heard,
}
record!(Issue, "issue", Mirror, (ProjectName, IssueNumber), |i| (i.project.clone(), i.number), |k| format!(
    "{}/{}",
    k.0, k.1
));

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    Active,
    Crashed,
    Terminated,
}

/// A permanent identity; its sessions come and go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub role: Role,
    /// Without the role: `{project}-{number}`.
    pub name: String,
    pub project: ProjectName,
    #[serde(flatten)]
    pub assignment: Assignment,
    pub session: Epoch,
    pub predecessor: Option<Epoch>,
    pub status: AgentStatus,
    pub created_at: Time,
    pub last_seen: Time,
}
record!(Agent, "agent", Sessions, String, |a| agent_name(a.role, &a.project, a.assignment), |k| k.clone());

impl Floor {
    /// Live jobs that carry an issue.
    pub fn live_jobs<'a>(&'a self, project: &'a ProjectName) -> impl Iterator<Item = &'a Job> {
        self.all_live_jobs(project).filter(|j| !j.is_review())
    }

    /// All live jobs, including those that only review a pull request.
    pub fn all_live_jobs<'a>(&'a self, project: &'a ProjectName) -> impl Iterator<Item = &'a Job> {
        self.jobs.iter().filter(move |j| j.project == *project && j.is_live())
    }

    /// The job that reviews a pull request that no other job carries: the live one, else the newest.
    pub fn review_of(&self, project: &ProjectName, pr: PrNumber) -> Option<&Job> {
        self.newest(project, Assignment::Pull(pr))
    }

    /// The live job of an assignment, else its newest.
    pub fn newest(&self, project: &ProjectName, assignment: Assignment) -> Option<&Job> {
        let mine = |j: &&Job| j.project == *project && j.assignment == assignment;
        self.jobs.iter().filter(mine).find(|j| j.is_live()).or_else(|| self.jobs.iter().rfind(mine))
    }

    pub fn policy(&self, project: &ProjectName) -> Policy {
        self.projects.get(project).map(|p| p.policy.clone()).unwrap_or_default()
    }

    /// The live job of an issue, else its newest.
    pub fn job_of(&self, project: &ProjectName, issue: IssueNumber) -> Option<&Job> {
        self.newest(project, Assignment::Issue(issue))
    }

    /// The newest job that carried that branch.
    pub fn job_on(&self, project: &ProjectName, branch: &str) -> Option<&Job> {
        self.jobs.iter().rfind(|j| !j.is_review() && j.project == *project && j.branch == branch)
    }

    /// The job for an issue or a pull request, whichever has this number: the forge numbers them together.
    pub fn work_of(&self, project: &ProjectName, number: IssueNumber) -> Option<&Job> {
        self.job_of(project, number).or_else(|| self.review_of(project, PrNumber(number.0)))
    }

    /// Whether the job, or one of its sessions, asks that question.
    pub fn asks(&self, job: &Job, question: QuestionId) -> bool {
        let of_session =
            |s: &Session| s.job == job.id && s.asks.open.as_ref().is_some_and(|ask| ask.id == question);
        matches!(&job.state, JobState::NeedsHuman { asked, .. } if asked.id == question)
            || self.sessions.iter().any(of_session)
    }

    pub fn session_of(&self, job: &Job) -> Option<&Session> {
        self.sessions.get(&job.session?)
    }

    /// The oldest message that an agent has not taken. Messages that arrived while it was starting come after its
    /// first prompt.
    pub fn next_message(&self, epoch: Epoch) -> Option<&Message> {
        let waits = |m: &&Message| {
            m.to == Some(epoch) && m.state == MessageState::Queued && m.in_prompt_of != Some(epoch)
        };
        let mut waiting = self.messages.iter().filter(waits);
        let first = waiting.next()?;
        Some(std::iter::once(first).chain(waiting).find(|m| m.prompt).unwrap_or(first))
    }
}
