//! The floor's state: plain records in tables. [`crate::step`] is the only thing that changes them.

use crate::event::Observation;
use crate::hints::Hints;
use crate::ids::{Epoch, IssueNumber, PrNumber, ProjectName, Role, agent_name};
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
}

macro_rules! record {
    ($type:ty, $kind:literal, $key:ty, $get:expr, $text:expr) => {
        impl Record for $type {
            const KIND: &'static str = $kind;
            type Key = $key;
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
mod hold;
mod job;
mod memo;
mod pull;
mod queue;
mod record;
mod session;
mod stack;
mod staff;
mod timer;
mod tries;
mod urgency;

pub use ask::{About, AnswerEnd, Answered, START_ANEW, SessionAsk};
pub use hold::{Held, Hold, Pause};
pub use job::{Asked, End, Goal, Job, JobKind, JobState, RedHead, SameChange, Stage};
pub use memo::Memo;
pub use pull::{Pull, SeenReview, Standing};
pub use queue::{
    BaseCheck, ByHand, Entry, EntryState, Landing, LostPrimary, Parked, Publishing, Queue, StoodOn, TrialRun,
    Who,
};
pub use record::{Rework, WorkPhase, WorkRecord};
pub use session::{Message, MessageState, Session, SessionState, SessionStatus, VerdictDuty};
pub use staff::{Found, Outage, Staff};
pub use timer::{Due, Mute, Timer};
pub use tries::{Try, TryState};
pub use urgency::Urgency;

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
}
record!(Counters, "counters", (), |_| (), |_| "all".into());

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub name: ProjectName,
    /// The user's own checkout.
    pub checkout: String,
    pub policy: Policy,
    /// How far the forge was read.
    pub cursor: u64,
    /// What was read is still being taken in: who is first is not known yet.
    #[serde(default)]
    pub reading: bool,
    /// Why nothing new is begun.
    #[serde(default)]
    pub paused: Option<String>,
    /// A person stopped its agents.
    #[serde(default)]
    pub pause: Option<Pause>,
    /// When what is old is pruned next.
    #[serde(default)]
    pub tidy_at: Option<Time>,
    /// What fails at present and is tried again.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
}
record!(Project, "project", ProjectName, |p| p.name.clone(), |k| k.to_string());

/// An effect that fails and is tried again until it works, or the reading of a forge that does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    pub lane: String,
    /// The action's name.
    pub what: String,
    pub issue: Option<IssueNumber>,
    pub why: String,
    pub since: Time,
    /// When it was last put in the journal.
    pub told_at: Time,
    /// When people are asked to look. `None`: they were.
    pub ask_at: Option<Time>,
}

/// What the forge shows of an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub project: ProjectName,
    pub number: IssueNumber,
    pub title: String,
    pub labels: BTreeSet<String>,
    pub open: bool,
    pub deps: Vec<IssueNumber>,
    pub created_at: Time,
    /// Label changes of ours on their way to the forge. Until they arrived the labels here are
    /// not to be trusted for claiming.
    pub edits_pending: u32,
    /// The labels as last observed.
    #[serde(default)]
    pub seen: BTreeSet<String>,
    /// A label change of ours was refused: the labels do not say what they should. Nothing is
    /// started until somebody changes them.
    #[serde(default)]
    pub held: bool,
    /// Issues that, as an agent found, come before this one. They are among `deps`.
    #[serde(default)]
    pub found_deps: BTreeSet<IssueNumber>,
    /// As in [`Observation::Issue`]. Whatever is older than this says nothing.
    #[serde(default)]
    pub version: u64,
    #[serde(default)]
    pub revision: u64,
    /// What else its text says.
    #[serde(default)]
    pub hints: Hints,
    /// When dependencies that look wrong are looked at again, and what was told of them.
    #[serde(default)]
    pub deps_due: Option<Time>,
    #[serde(default)]
    pub deps_told: String,
}
record!(Issue, "issue", (ProjectName, IssueNumber), |i| (i.project.clone(), i.number), |k| format!(
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
    /// Without the role: `{project}-{issue}`.
    pub name: String,
    pub project: ProjectName,
    pub issue: IssueNumber,
    pub session: Epoch,
    pub predecessor: Option<Epoch>,
    pub status: AgentStatus,
    pub created_at: Time,
    pub last_seen: Time,
}
record!(Agent, "agent", String, |a| agent_name(a.role, &a.project, a.issue), |k| k.clone());

impl Floor {
    /// Those that carry an issue.
    pub fn live_jobs<'a>(&'a self, project: &'a ProjectName) -> impl Iterator<Item = &'a Job> {
        self.all_live_jobs(project).filter(|j| !j.is_review())
    }

    /// Also those that only review a pull request.
    pub fn all_live_jobs<'a>(&'a self, project: &'a ProjectName) -> impl Iterator<Item = &'a Job> {
        self.jobs.iter().filter(move |j| j.project == *project && j.is_live())
    }

    /// The job that reviews a pull request which no other carries: the one at it, else the newest.
    pub fn review_of(&self, project: &ProjectName, pr: PrNumber) -> Option<&Job> {
        let mine = |j: &&Job| j.is_review() && j.project == *project && j.pr == Some(pr);
        self.jobs.iter().filter(mine).find(|j| j.is_live()).or_else(|| self.jobs.iter().rfind(mine))
    }

    pub fn policy(&self, project: &ProjectName) -> Policy {
        self.projects.get(project).map(|p| p.policy.clone()).unwrap_or_default()
    }

    /// The live job of an issue, else its newest.
    pub fn job_of(&self, project: &ProjectName, issue: IssueNumber) -> Option<&Job> {
        let mine = |j: &&Job| !j.is_review() && j.project == *project && j.issue == issue;
        self.jobs.iter().filter(mine).find(|j| j.is_live()).or_else(|| self.jobs.iter().rfind(mine))
    }

    /// The newest job that carried that branch.
    pub fn job_on(&self, project: &ProjectName, branch: &str) -> Option<&Job> {
        self.jobs.iter().rfind(|j| !j.is_review() && j.project == *project && j.branch == branch)
    }

    /// What is done about an issue or a pull request, whichever has that number: the forge counts them together.
    pub fn work_of(&self, project: &ProjectName, number: IssueNumber) -> Option<&Job> {
        self.job_of(project, number).or_else(|| self.review_of(project, PrNumber(number.0)))
    }

    /// Takes in what the forge shows of an issue. Other observations change nothing.
    pub fn see_issue(&mut self, project: &ProjectName, observation: &Observation) {
        let Observation::Issue { number, title, labels, open, deps, created_at, revision, version, hints } =
            observation
        else {
            return;
        };
        let known = self.issues.get(&(project.clone(), *number));
        if known.is_some_and(|i| i.version > *version) {
            return;
        }
        let seen: BTreeSet<String> = labels.iter().cloned().collect();
        let edits_pending = known.map_or(0, |i| i.edits_pending);
        // Whoever changed the labels since has said what they should be.
        let held = known.is_some_and(|i| i.held && i.seen == seen);
        // What an agent found in another text is not known of this one.
        let same = known.filter(|i| i.revision == *revision);
        let found_deps = same.map(|i| i.found_deps.clone()).unwrap_or_default();
        let (deps_due, deps_told) = known.map(|i| (i.deps_due, i.deps_told.clone())).unwrap_or_default();
        let deps: BTreeSet<IssueNumber> = deps.iter().chain(&found_deps).copied().collect();
        self.issues.put(Issue {
            project: project.clone(),
            number: *number,
            title: title.clone(),
            labels: seen.clone(),
            open: *open,
            deps: deps.into_iter().collect(),
            found_deps,
            hints: hints.clone(),
            deps_due,
            deps_told,
            created_at: *created_at,
            edits_pending,
            seen,
            held,
            version: *version,
            revision: *revision,
        });
    }

    pub fn session_of(&self, job: &Job) -> Option<&Session> {
        self.sessions.get(&job.session?)
    }

    /// The oldest message an agent has not taken. What came while it was being started is told after its
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
