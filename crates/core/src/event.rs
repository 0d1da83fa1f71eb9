//! Events: everything the core is ever told. Each is journaled before anything acts on it.

use crate::delivery::Transition;
use crate::effect::{Action, Outcome, Verdict};
use crate::hints::Hints;
use crate::ids::{Epoch, IssueNumber, MessageId, PrNumber, ProjectName, QuestionId, RunId, Sha, Target};
use crate::phase::PhaseReport;
use crate::planner::{Priority, Tree};
use crate::policy::Policy;
use crate::state::{AnswerEnd, Due, SessionStatus, WorkPhase};
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A project was registered or its policy changed.
    ProjectSet { project: ProjectName, checkout: String, policy: Policy },
    /// A project's configuration cannot be read: nothing new is begun until it can.
    ProjectPaused { project: ProjectName, why: String },
    /// What the forge shows of an issue, a pull request or a review. Level-triggered: an
    /// observation may repeat or come late, and says what is, not what changed.
    Observed {
        project: ProjectName,
        observation: Observation,
        cursor: u64,
        /// More was read at the same time and follows.
        #[serde(default)]
        more: bool,
    },
    /// An effect was performed.
    Performed { action: Action, outcome: Outcome },
    /// A session's phase file was written. `stamp` tells one writing from the next.
    PhaseWritten { epoch: Epoch, stamp: String, report: PhaseReport },
    /// A session's phase file holds something that is no phase.
    PhaseUnreadable { epoch: Epoch, stamp: String, first_line: String },
    /// A reviewer's result file was written.
    ResultWritten { epoch: Epoch },
    /// A session's process is proven gone.
    SessionExited { epoch: Epoch, status: Option<i32> },
    /// An agent took a message: its turn has started.
    MessageTaken { message: MessageId, epoch: Epoch },
    /// A message that is typed into a session's terminal came a step further, or no further.
    MessageMoved { message: MessageId, epoch: Epoch, to: Transition },
    /// Something keeps a message from being typed; `None`: not any more.
    MessageHeld {
        message: MessageId,
        epoch: Epoch,
        why: Option<String>,
        /// It does not end by itself: nobody waits to see whether it does.
        #[serde(default)]
        for_good: bool,
    },
    /// What a session's client shows of how far its work is.
    WorkSeen { epoch: Epoch, phase: WorkPhase },
    /// A session that tells nothing of itself wrote to its terminal. Told now and then while it does.
    OutputSeen { epoch: Epoch },
    /// A session's branch is at another commit: mostly its agent has committed.
    Committed { epoch: Epoch, head: Sha },
    /// A session's evidence says something else than before, or still the same after a while.
    StatusSeen { epoch: Epoch, status: SessionStatus, conversation: Option<String> },
    /// What became of a person's answer to a dialog of a session's client.
    DialogAnswered { epoch: Epoch, question: QuestionId, end: AnswerEnd },
    /// A person's terminal that is attached to a session sent a key then.
    PersonTyped { epoch: Epoch, at: Time },
    /// No person's terminal is attached to it any more.
    PersonLeft { epoch: Epoch },
    /// A person takes a job from its agent.
    Taken { project: ProjectName, issue: IssueNumber },
    /// They hand it back.
    HandedBack { project: ProjectName, issue: IssueNumber },
    /// A person stops the agents of a project, or of all.
    WorkPaused { project: Option<ProjectName>, why: String },
    /// They let them go on.
    WorkResumed { project: Option<ProjectName> },
    /// A person answered a question.
    Answered {
        project: ProjectName,
        issue: IssueNumber,
        text: String,
        /// The question that is meant; else whichever is open.
        #[serde(default)]
        question: Option<QuestionId>,
    },
    /// A person ended a job.
    Cancelled { project: ProjectName, issue: IssueNumber },
    /// Somebody, or a program, wants people to look at something.
    Escalated { project: ProjectName, text: String },
    /// A person wants an issue's change in the merge queue, again or sooner.
    MergeAsked {
        project: ProjectName,
        issue: IssueNumber,
        urgent: bool,
        /// Never together with others.
        #[serde(default)]
        alone: bool,
    },
    /// A person wants it out of the merge queue.
    MergeRefused { project: ProjectName, issue: IssueNumber },
    /// A person wants a branch that no job carries in the merge queue, again or sooner.
    BranchAsked { project: ProjectName, ask: BranchAsk },
    /// A person wants it out of the merge queue.
    BranchRefused { project: ProjectName, branch: String },
    /// A person wants an agent to review a pull request that no job carries, as it was found just then.
    ReviewAsked { project: ProjectName, pr: PrNumber, branch: String, head: Sha },
    /// Somebody wants to know whether a branch would land.
    TryAsked { project: ProjectName, ask: TryAsk },
    /// Nobody does any more.
    TryDropped { project: ProjectName, branch: String },
    /// A branch that waits, with its job or in the queue, is not where it was left; `None`: it is gone.
    BranchTouched { project: ProjectName, branch: String, head: Option<Sha> },
    /// The primary branch of the user's checkout is not where the hub's is.
    CheckoutTouched { project: ProjectName },
    /// Somebody moved the primary branch, or may have.
    PrimaryTouched {
        project: ProjectName,
        #[serde(default)]
        target: Option<Target>,
    },
    /// An effect, or the reading of the forge (see [`crate::step::read_lane`]), has failed a few times and is
    /// tried again.
    TroubleSeen {
        project: ProjectName,
        lane: String,
        /// The action's name.
        what: String,
        issue: Option<IssueNumber>,
        why: String,
    },
    /// What is no effect works again.
    TroubleOver { project: ProjectName, lane: String },
    /// A person holds the merge queue; `None`: lets it go on.
    QueuePaused {
        project: ProjectName,
        #[serde(default)]
        target: Option<Target>,
        why: Option<String>,
        /// Only what is below that.
        #[serde(default)]
        below: Option<Priority>,
    },
    /// Numbers that are in use already though the store does not know it: it was put back from a copy.
    NumbersSeen { epoch: Epoch, run: RunId },
    /// Something that agents need may have been mended: a key, a login, a program; or a person says so.
    /// `None`: of any project.
    StaffTouched {
        #[serde(default)]
        project: Option<ProjectName>,
    },
    /// The daemon begins, or the machine slept: for a while nobody was there to take signs in.
    Resumed,
    /// A deadline has passed.
    Tick,
    /// One of those timers, by itself: the program failed on all of them together.
    TimerDue { due: Due },
    /// The program failed on an event: that is left out, and people are told.
    SetAside { aside: Box<Event>, what: String, why: String },
}

/// A branch that a person wants merged, as it was when they asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchAsk {
    pub branch: String,
    pub head: Sha,
    pub tree: Tree,
    pub title: String,
    /// What its commit is to say beside that; `None`: what its own commits say.
    #[serde(default)]
    pub message: Option<String>,
    /// Its pull request and the issue that is for, if there is one.
    pub pr: Option<(PrNumber, Option<IssueNumber>)>,
    /// Who asks.
    pub by: String,
    /// Who made its newest commit.
    #[serde(default)]
    pub author: Option<String>,
    /// Whose approval of this head is on record.
    pub approved_by: Option<String>,
    pub urgent: bool,
    /// Never together with others.
    #[serde(default)]
    pub alone: bool,
    /// The branch it is to land on; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    /// Branches that it is to land after.
    #[serde(default)]
    pub after: Vec<String>,
}

/// A branch that somebody wants tried as it would land, as it was when they asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryAsk {
    pub branch: String,
    pub head: Sha,
    pub title: String,
    /// The branch it is put on, `None` is the primary one, and where that was.
    pub on: Option<Target>,
    pub base: Sha,
    pub issue: Option<IssueNumber>,
    pub pr: Option<PrNumber>,
    /// It is an agent's, and would land as those do.
    pub of_agent: bool,
    pub by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum Observation {
    Issue {
        number: IssueNumber,
        title: String,
        labels: Vec<String>,
        open: bool,
        /// Numbers the issue's text says it depends on.
        deps: Vec<IssueNumber>,
        created_at: Time,
        /// Changes when the title or the text does.
        #[serde(default)]
        revision: u64,
        /// Grows with every change of the issue, ours too: of two observations the lower is the older.
        #[serde(default)]
        version: u64,
        /// What else its text says.
        #[serde(default)]
        hints: Hints,
    },
    Review {
        pr: PrNumber,
        head: Sha,
        verdict: Verdict,
        /// Bounded; the forge has the whole.
        text: String,
        author: String,
        /// It is of the factory's own reviewer, not of a person.
        #[serde(default)]
        agent: bool,
        /// Its author has taken it back.
        #[serde(default)]
        dismissed: bool,
        id: u64,
    },
    Pr {
        number: PrNumber,
        open: bool,
        #[serde(default)]
        branch: String,
        #[serde(default)]
        head: Option<Sha>,
        /// The issues it says it is for.
        #[serde(default)]
        fixes: Vec<IssueNumber>,
        #[serde(default)]
        title: String,
        /// The factory opened it.
        #[serde(default)]
        ours: bool,
    },
}

/// Something that happened, for people and other tools: written to the journal, shown by every UI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub project: ProjectName,
    pub issue: Option<IssueNumber>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum NoteKind {
    AgentRegistered,
    AgentCrashed,
    AgentTerminated,
    AgentStatus,
    /// An agent's context is nearly full; it is to be followed by another; that one has begun.
    ContextWarning,
    HandoffRequested,
    HandoffComplete,
    /// A client neither moves nor shows that it lives. (The name is the seeds'.)
    OrchestratorStuck,
    /// A work record says something new.
    HookUpdated,
    JobStarted,
    JobState,
    JobEnded,
    CiResult,
    /// The checks failed and, on the same change, did not fail again.
    CiFlake,
    ReviewResult,
    /// A reviewer's result cannot be used, and why.
    ReviewUnusable,
    QueueState,
    MergeReady,
    MergeConflict,
    MergeFailed,
    MergeComplete,
    MessageQueued,
    MessageTaken,
    MessageUndelivered,
    /// It was not read, and there is nothing in it to act upon any more.
    MessageSuperseded,
    StaleSignal,
    NeedsHuman,
    /// A person has it, or has no more.
    Held,
    Escalation,
    /// The text of an issue was changed while it is worked on.
    IssueEdited,
    Checkout,
    /// Something was out of order in a worktree, or one was removed.
    Worktree,
    /// Something fails and is tried again until it works, or works again.
    Trouble,
}

impl NoteKind {
    pub fn as_str(self) -> &'static str {
        match self {
            NoteKind::AgentRegistered => "AGENT_REGISTERED",
            NoteKind::AgentCrashed => "AGENT_CRASHED",
            NoteKind::AgentTerminated => "AGENT_TERMINATED",
            NoteKind::AgentStatus => "AGENT_STATUS",
            NoteKind::ContextWarning => "CONTEXT_WARNING",
            NoteKind::HandoffRequested => "HANDOFF_REQUESTED",
            NoteKind::HandoffComplete => "HANDOFF_COMPLETE",
            NoteKind::OrchestratorStuck => "ORCHESTRATOR_STUCK",
            NoteKind::HookUpdated => "HOOK_UPDATED",
            NoteKind::JobStarted => "JOB_STARTED",
            NoteKind::JobState => "JOB_STATE",
            NoteKind::JobEnded => "JOB_ENDED",
            NoteKind::CiResult => "CI_RESULT",
            NoteKind::CiFlake => "CI_FLAKE",
            NoteKind::QueueState => "QUEUE_STATE",
            NoteKind::ReviewResult => "REVIEW_RESULT",
            NoteKind::ReviewUnusable => "REVIEW_UNUSABLE",
            NoteKind::MergeReady => "MERGE_READY",
            NoteKind::MergeConflict => "MERGE_CONFLICT",
            NoteKind::MergeFailed => "MERGE_FAILED",
            NoteKind::MergeComplete => "MERGE_COMPLETE",
            NoteKind::MessageQueued => "MESSAGE_QUEUED",
            NoteKind::MessageTaken => "MESSAGE_TAKEN",
            NoteKind::MessageUndelivered => "MESSAGE_UNDELIVERED",
            NoteKind::MessageSuperseded => "MESSAGE_SUPERSEDED",
            NoteKind::StaleSignal => "STALE_SIGNAL",
            NoteKind::NeedsHuman => "NEEDS_HUMAN",
            NoteKind::Held => "HELD",
            NoteKind::Escalation => "ESCALATION",
            NoteKind::IssueEdited => "ISSUE_EDITED",
            NoteKind::Checkout => "CHECKOUT",
            NoteKind::Worktree => "WORKTREE",
            NoteKind::Trouble => "TROUBLE",
        }
    }
}
