//! Effects: what the factory wants done in the world, as data.
//!
//! An [`Action`] is written to the outbox in the transaction that decided it and performed after
//! the commit, at least once. Each is idempotent: performing it again, after a crash at any point
//! of the first performance, ends in the same world. Its [`Outcome`] comes back as an event
//! together with the action itself, so the core can tell a current answer from a stale one.
//!
//! Actions of one [`Action::lane`] are performed one after another in the order they were decided;
//! different lanes proceed side by side.

use crate::ids::{EntryId, Epoch, IssueNumber, JobId, MessageId, PrNumber, ProjectName, Role, RunId, Sha};
use crate::policy::MergeMethod;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Where a commit to be checked is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitSource {
    /// The project's origin.
    Hub,
    /// The merge queue's private repository.
    Queue,
}

/// What a successor is told about its predecessor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    pub predecessor: Epoch,
    /// The last phase signalled, or `unknown`.
    pub phase: String,
    /// Messages the predecessor never took; they are in the successor's prompt.
    pub unread: Vec<Unread>,
    /// The predecessor's conversation, if it may be taken up again.
    #[serde(default)]
    pub conversation: Option<String>,
    /// What the work record says: how far it is and how to go on.
    #[serde(default)]
    pub record: Option<WorkSummary>,
}

/// What a successor is told of the work record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSummary {
    pub phase: String,
    pub summary: String,
    pub tests: String,
    pub files: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    pub message: MessageId,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSession {
    pub epoch: Epoch,
    pub job: JobId,
    pub role: Role,
    pub project: ProjectName,
    pub issue: IssueNumber,
    pub branch: String,
    pub pr: Option<PrNumber>,
    /// For a review: the commit under review.
    pub head: Option<Sha>,
    pub resume: Option<Resume>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Branch and worktree for a job, as they were if they exist.
    PrepareWorktree {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        branch: String,
    },
    StartSession(StartSession),
    /// Snapshot the worktree, end the session's process tree, verify.
    EndSession {
        job: JobId,
        role: Role,
        project: ProjectName,
        issue: IssueNumber,
        epoch: Epoch,
    },
    /// Snapshot a dev worktree while its agent works, and say what it holds.
    Checkpoint {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
    },
    /// Tell a session's inbox that a message waits.
    RingInbox {
        epoch: Epoch,
        message: MessageId,
    },
    /// Push what the agent committed but did not push, and say where the branch stands.
    PublishBranch {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        branch: String,
    },
    OpenPr {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        branch: String,
        head: Sha,
    },
    RunCi {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        run: RunId,
        commit: Sha,
        source: CommitSource,
        entry: Option<EntryId>,
    },
    PostStatus {
        project: ProjectName,
        commit: Sha,
        run: RunId,
        state: StatusState,
        text: String,
    },
    /// Read the verdict a reviewer left.
    CollectReview {
        job: JobId,
        project: ProjectName,
        epoch: Epoch,
        pr: PrNumber,
        head: Sha,
    },
    PostReview {
        job: JobId,
        project: ProjectName,
        pr: PrNumber,
        head: Sha,
        epoch: Epoch,
        review: Review,
    },
    EditLabels {
        project: ProjectName,
        issue: IssueNumber,
        add: Vec<String>,
        remove: Vec<String>,
    },
    /// A comment that is posted once however often it is performed: `marker` identifies it.
    Comment {
        project: ProjectName,
        issue: IssueNumber,
        marker: String,
        body: String,
    },
    CloseIssue {
        project: ProjectName,
        issue: IssueNumber,
    },
    /// Puts a job's bad end on the record that people and other tools read, once.
    Escalate {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        trigger: String,
        context: String,
        at: Time,
    },
    ClosePr {
        project: ProjectName,
        pr: PrNumber,
        merged: Option<Sha>,
    },
    /// Put a branch on top of the primary branch, in the queue's own repository.
    BuildCandidate {
        project: ProjectName,
        entry: EntryId,
        pr: PrNumber,
        branch: String,
        head: Sha,
        method: MergeMethod,
        title: String,
    },
    /// Move the primary branch from `old` to `new`, if it is still at `old`.
    Publish {
        project: ProjectName,
        entry: EntryId,
        old: Sha,
        new: Sha,
    },
    /// Remove a job's worktree and, once merged, its branch.
    ReleaseWorktree {
        job: JobId,
        role: Role,
        project: ProjectName,
        issue: IssueNumber,
        branch: String,
        merged: Option<Merged>,
    },
    /// Fast-forward the user's own checkout, if it is clean and on the primary branch.
    SyncCheckout {
        project: ProjectName,
        head: Sha,
    },
}

/// A branch that landed: its tested head and the commit that carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    pub pr: PrNumber,
    pub head: Sha,
    pub commit: Sha,
}

impl Action {
    /// The lane the action queues in.
    pub fn lane(&self) -> String {
        match self {
            Action::PrepareWorktree { job, .. }
            | Action::PublishBranch { job, .. }
            | Action::OpenPr { job, .. }
            | Action::Checkpoint { job, .. }
            | Action::ReleaseWorktree { job, .. } => format!("job:{job}"),
            // A session is started and ended in its job's lane: never two at once on one worktree.
            Action::StartSession(start) => format!("job:{}", start.job),
            Action::EndSession { job, .. } => format!("job:{job}"),
            Action::CollectReview { epoch, .. } => format!("session:{epoch}"),
            Action::RingInbox { epoch, .. } => format!("inbox:{epoch}"),
            Action::RunCi { run, .. } => format!("ci:{run}"),
            Action::PostStatus { project, .. }
            | Action::PostReview { project, .. }
            | Action::EditLabels { project, .. }
            | Action::Comment { project, .. }
            | Action::CloseIssue { project, .. }
            | Action::ClosePr { project, .. } => format!("forge:{project}"),
            Action::BuildCandidate { project, .. } | Action::Publish { project, .. } => {
                format!("queue:{project}")
            }
            Action::Escalate { project, .. } => format!("escalations:{project}"),
            Action::SyncCheckout { project, .. } => format!("checkout:{project}"),
        }
    }

    /// The action's name, for logs and `explain`.
    pub fn name(&self) -> &'static str {
        match self {
            Action::PrepareWorktree { .. } => "prepare_worktree",
            Action::StartSession(_) => "start_session",
            Action::EndSession { .. } => "end_session",
            Action::Checkpoint { .. } => "checkpoint",
            Action::RingInbox { .. } => "ring_inbox",
            Action::PublishBranch { .. } => "publish_branch",
            Action::OpenPr { .. } => "open_pr",
            Action::RunCi { .. } => "run_ci",
            Action::PostStatus { .. } => "post_status",
            Action::CollectReview { .. } => "collect_review",
            Action::PostReview { .. } => "post_review",
            Action::EditLabels { .. } => "edit_labels",
            Action::Comment { .. } => "comment",
            Action::CloseIssue { .. } => "close_issue",
            Action::Escalate { .. } => "escalate",
            Action::ClosePr { .. } => "close_pr",
            Action::BuildCandidate { .. } => "build_candidate",
            Action::Publish { .. } => "publish",
            Action::ReleaseWorktree { .. } => "release_worktree",
            Action::SyncCheckout { .. } => "sync_checkout",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusState {
    Pending,
    Success,
    Failure,
    Error,
}

impl StatusState {
    pub fn as_str(self) -> &'static str {
        match self {
            StatusState::Pending => "pending",
            StatusState::Success => "success",
            StatusState::Failure => "failure",
            StatusState::Error => "error",
        }
    }
}

/// How a run of the checks ended. Only `Green` is green.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CiVerdict {
    Green,
    Red,
    TimedOut,
    /// The machinery failed, not the change.
    Infra,
    /// The project has no check configured.
    NoChecks,
    /// Everything the commit changes may, by the project's configuration, land without checks.
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiReport {
    pub verdict: CiVerdict,
    /// The step that decided, when it is not green.
    pub step: Option<String>,
    /// The useful end of that step's log, bounded, redacted and free of control characters.
    pub excerpt: String,
    /// Where the whole log is.
    pub log: String,
    pub steps_run: u32,
    pub duration_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    Approve,
    RequestChanges,
    Discuss,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Approve => "APPROVE",
            Verdict::RequestChanges => "REQUEST_CHANGES",
            Verdict::Discuss => "DISCUSS",
        }
    }
}

/// What a reviewer said of one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub verdict: Verdict,
    pub reason: String,
    pub markdown: String,
    /// What the change did not bring in, but somebody should do.
    #[serde(default)]
    pub follow_ups: Vec<FollowUp>,
}

/// An issue that a review suggests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUp {
    pub title: String,
    pub body: String,
}

/// A process that can be told from a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    /// The kernel's start time of the process, in clock ticks since boot.
    pub start: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Done,
    WorktreeReady {
        path: String,
        head: Sha,
    },
    SessionStarted {
        tmux: String,
        process: ProcessId,
        phase_file: String,
        #[serde(default)]
        runtime: String,
        /// The first prompt, if it has to be typed into the client.
        #[serde(default)]
        prompt: Option<String>,
    },
    SessionEnded {
        rescue: Option<String>,
        last_output: String,
    },
    /// `rescue` holds what the worktree held; `files` differ from the primary branch.
    Checkpoint {
        rescue: Option<String>,
        head: Option<Sha>,
        files: Vec<String>,
    },
    Branch {
        head: Sha,
        ahead: u32,
        dirty: u32,
        note: Option<String>,
    },
    PrOpen {
        pr: PrNumber,
    },
    CiFinished(CiReport),
    ReviewCollected {
        review: Review,
    },
    /// The reviewer left nothing usable.
    ReviewUnusable {
        why: String,
    },
    /// `commit` is the branch on top of `base`, the primary branch's head.
    Candidate {
        base: Sha,
        commit: Sha,
    },
    Conflict {
        base: Sha,
        files: Vec<String>,
    },
    /// Everything on the branch is in the primary branch already.
    NothingToMerge {
        base: Sha,
    },
    /// The branch is not where it was when it was queued; `None`: it is gone.
    BranchMoved {
        head: Option<Sha>,
    },
    Published,
    /// Somebody else moved the primary branch.
    PrimaryMoved {
        head: Sha,
    },
    Checkout {
        updated: bool,
        note: String,
    },
    /// The action cannot be done, and doing it again would not help.
    Impossible {
        why: String,
    },
}
