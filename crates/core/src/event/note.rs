//! Notes: what happened, for people.

use crate::ids::{IssueNumber, ProjectName};
use serde::{Deserialize, Serialize};

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
    /// An agent's context is nearly full; a successor is to follow it; the successor has begun.
    ContextWarning,
    HandoffRequested,
    HandoffComplete,
    /// A client neither moves nor shows any sign of life. (The name is the seeds'.)
    OrchestratorStuck,
    /// A work record says something new.
    #[serde(rename = "HOOK_UPDATED")]
    RecordUpdated,
    /// A formula's run was asked for, started or ended, or one of its steps did.
    RunState,
    JobStarted,
    JobState,
    JobEnded,
    CiResult,
    /// The checks failed, and passed when repeated on the same change.
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
    /// It was not read, and there is no longer anything in it to act upon.
    MessageSuperseded,
    StaleSignal,
    NeedsHuman,
    /// A person has it, or no longer has it.
    Held,
    Escalation,
    /// What only a person may do was asked for by something else, or by an agent what its role may not; and not done.
    Refused,
    /// An agent has the factory do something on the forge; it was done, or cannot be.
    AgentAct,
    /// An issue's text was changed while the issue is being worked on.
    IssueEdited,
    Checkout,
    /// Something was out of order in a worktree, or one was removed.
    Worktree,
    /// Something fails and is retried until it works, or works again.
    Trouble,
    /// What of a project's configuration is in force was settled.
    Config,
    /// The vault was asked for something, or something became of that.
    Vault,
    /// How the machine and the floor are doing, and what was done about it; what people and the supervisor say.
    Health,
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
            NoteKind::RecordUpdated => "HOOK_UPDATED",
            NoteKind::RunState => "RUN_STATE",
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
            NoteKind::Refused => "REFUSED",
            NoteKind::AgentAct => "AGENT_ACT",
            NoteKind::IssueEdited => "ISSUE_EDITED",
            NoteKind::Checkout => "CHECKOUT",
            NoteKind::Worktree => "WORKTREE",
            NoteKind::Trouble => "TROUBLE",
            NoteKind::Config => "CONFIG",
            NoteKind::Vault => "VAULT",
            NoteKind::Health => "HEALTH",
        }
    }
}
