//! Effects: what the factory wants done in the world, as data.
//!
//! An [`Action`] is written to the outbox in the transaction that decided it and performed after
//! the commit, at least once. Each is idempotent: performing it again, after a crash at any point
//! of the first performance, ends in the same world. Its [`Outcome`] comes back as an event
//! together with the action itself, so the core can tell a current answer from a stale one.
//!
//! Actions of one [`Action::lane`] are performed one after another in the order they were decided;
//! different lanes proceed side by side.

mod outcome;
mod subject;
mod told;

pub use outcome::{
    AgentTrouble, BuiltLanding, CiReport, CiVerdict, FollowUp, Outcome, ProcessId, Review, Taken, Verdict,
};
pub use told::{CommandEnd, EntryEnd, Telling};

use crate::ids::{
    EntryId, Epoch, IssueNumber, JobId, MessageId, PrNumber, ProjectName, Role, RunId, Sha, Target, TryId,
};
use crate::planner::{Link, Tree, TrialId};
use crate::policy::MergeMethod;
use crate::state::{JobKind, Rework};
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
    /// The last phase signalled, else the work record's, else `unknown`.
    pub phase: String,
    /// Messages the predecessor never took; they are in the successor's prompt.
    pub unread: Vec<Unread>,
    /// The predecessor's conversation, if it may be taken up again.
    #[serde(default)]
    pub conversation: Option<String>,
    /// What the work record says: how far it is and how to go on.
    #[serde(default)]
    pub record: Option<Box<WorkSummary>>,
}

/// What a successor is told of the work record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSummary {
    pub phase: String,
    pub summary: String,
    pub tests: String,
    pub files: Vec<String>,
    /// Why it is the agent's turn again.
    #[serde(default)]
    pub rework: Option<Rework>,
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
    /// For a review: the commit that was reviewed before, and how much of a diff is shown.
    #[serde(default)]
    pub reviewed: Option<Sha>,
    #[serde(default)]
    pub diff_bytes: usize,
    /// For a review: what was wrong with the result of the reviewer before.
    #[serde(default)]
    pub trouble: Option<String>,
    /// The branch the change is to land on; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    /// What its job is for.
    #[serde(default)]
    pub kind: JobKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Branch and worktree for a job, as they were if they exist, and the project's setup of it.
    PrepareWorktree {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        branch: String,
        #[serde(default)]
        target: Option<Target>,
    },
    StartSession(StartSession),
    /// Look whether the project's agents could be started: clients, keys, settings.
    CheckAgents {
        project: ProjectName,
    },
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
        #[serde(default)]
        branch: String,
        #[serde(default)]
        target: Option<Target>,
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
        /// Heads that were reviewed, or may be: whether it still makes the same change as one of them.
        #[serde(default)]
        reviewed: Vec<Sha>,
        /// The same change is also the same commits.
        #[serde(default)]
        each_commit: bool,
        #[serde(default)]
        target: Option<Target>,
    },
    OpenPr {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        branch: String,
        head: Sha,
    },
    RunCi {
        /// Whose change it is; in the merge queue, that of the newest entry in it. None carries a
        /// person's branch.
        job: Option<JobId>,
        project: ProjectName,
        issue: Option<IssueNumber>,
        run: RunId,
        commit: Sha,
        source: CommitSource,
        purpose: CiPurpose,
        #[serde(default)]
        about: CiAbout,
    },
    /// Stop a run whose answer is not wanted any more, begun or not.
    CancelCi {
        project: ProjectName,
        run: RunId,
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
        /// It has reviewed other commits before, or may have found an old result in its place: it has to
        /// say that this is of `head`.
        #[serde(default)]
        moved: bool,
    },
    /// Bring a reviewer's worktree to the next commit, put its last result away, and say what is new.
    MoveReview {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        branch: String,
        epoch: Epoch,
        reviewed: Sha,
        head: Sha,
        diff_bytes: usize,
        #[serde(default)]
        target: Option<Target>,
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
    /// The same on a pull request.
    CommentPr {
        project: ProjectName,
        pr: PrNumber,
        marker: String,
        body: String,
    },
    CloseIssue {
        project: ProjectName,
        issue: IssueNumber,
    },
    /// Puts a job's trouble, or its bad end, on the record that people and other tools read, once.
    Escalate {
        job: JobId,
        project: ProjectName,
        issue: IssueNumber,
        trigger: String,
        context: String,
        /// Which one of that trigger's it is: a commit, a question. The same is recorded once.
        #[serde(default)]
        about: String,
        at: Time,
    },
    /// The branch of an open pull request is there now.
    MovePr {
        project: ProjectName,
        pr: PrNumber,
        head: Sha,
    },
    ClosePr {
        project: ProjectName,
        pr: PrNumber,
        merged: Option<Sha>,
    },
    /// Say where the primary branch is, and whether it goes on from where it is known to have been.
    FindPrimary {
        project: ProjectName,
        #[serde(default)]
        target: Option<Target>,
        #[serde(default)]
        known: Option<Sha>,
    },
    /// Put branches on top of `base`, one after another, in the queue's own repository.
    BuildChain {
        project: ProjectName,
        #[serde(default)]
        target: Option<Target>,
        trial: TrialId,
        base: Sha,
        method: MergeMethod,
        list: Vec<ChainEntry>,
        /// Where the primary branch was before somebody took commits off it: those do not come back.
        #[serde(default)]
        removed: Vec<Sha>,
        /// Heads of branches that have landed there, perhaps as other commits: what goes on from one of them is put on
        /// top of what it landed as.
        #[serde(default)]
        landed: Vec<Sha>,
        /// Whether the commits inside of each link are wanted to be known.
        #[serde(default)]
        each_commit: bool,
    },
    /// Put one branch on top of `base`, to see whether it would land.
    BuildTry {
        project: ProjectName,
        id: TryId,
        target: Option<Target>,
        base: Sha,
        method: MergeMethod,
        entry: ChainEntry,
        removed: Vec<Sha>,
        landed: Vec<Sha>,
        each_commit: bool,
    },
    /// Make the commits that these steps land as on top of `old`, one for each. `tip` names what lands.
    BuildLanding {
        project: ProjectName,
        #[serde(default)]
        target: Option<Target>,
        old: Sha,
        tip: Sha,
        steps: Vec<LandingStep>,
    },
    /// Move the primary branch from `old` to `new`, if it is still at `old`. `tested` is the commit that
    /// was checked: `new`, or one with the same tree. `branches`: where the entries' have to be still.
    Publish {
        project: ProjectName,
        #[serde(default)]
        target: Option<Target>,
        old: Sha,
        new: Sha,
        tested: Sha,
        entries: Vec<EntryId>,
        #[serde(default)]
        branches: Vec<EntryBranch>,
    },
    /// See that every change of the branches is in the commits they landed as.
    VerifyLanded {
        project: ProjectName,
        landed: Vec<LandedEntry>,
    },
    /// See which of these heads are in the primary branch: somebody may have merged them by hand.
    FindMerged {
        project: ProjectName,
        heads: Vec<JobHead>,
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
    /// Delete a person's branch that landed, and close its pull request and issue.
    RetireBranch {
        project: ProjectName,
        branch: String,
        issue: Option<IssueNumber>,
        merged: Merged,
    },
    /// Run the project's command about the end of an entry: at most once, whatever happens meanwhile.
    Tell(Telling),
    Tidy(Tidy),
    /// Take the user's own commits on their primary branch in.
    TakeCheckout {
        project: ProjectName,
    },
    /// Fast-forward the user's own checkout, if it is clean and on the primary branch.
    SyncCheckout {
        project: ProjectName,
        head: Sha,
    },
}

/// Prune what is old and needed by nobody. Names what must stay, so that what is made later stays too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tidy {
    pub project: ProjectName,
    /// Rescue refs beyond the newest of an agent, or made before this, may go if another has the same.
    pub rescues_kept: u32,
    pub rescues_before: Time,
    /// Rescue refs that jobs name which did not merge.
    pub rescues_named: Vec<String>,
    /// Folders of sessions: those of the project that are over, and all that are older than any the floor
    /// remembers.
    pub sessions: Vec<Epoch>,
    pub sessions_below: Epoch,
    /// Runs of checks that somebody may still ask for.
    pub runs_kept: Vec<RunId>,
    /// Folders changed since then stay.
    pub folders_before: Time,
    /// Nobody works on the floor: what takes a while is in nobody's way.
    #[serde(default)]
    pub idle: bool,
}

/// What a run of the checks is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CiPurpose {
    /// A job's head.
    Head,
    /// The head of a person's branch.
    Entry(EntryId),
    Trial(TrialId),
    /// What would land, if somebody queued it.
    Try(TryId),
    /// The primary branch itself, on which something failed.
    Base,
}

impl CiPurpose {
    /// For the checks themselves.
    pub fn as_str(self) -> &'static str {
        match self {
            CiPurpose::Head | CiPurpose::Entry(_) => "head",
            CiPurpose::Trial(_) => "trial",
            CiPurpose::Try(_) => "try",
            CiPurpose::Base => "base",
        }
    }
}

/// What the checks are told of the change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiAbout {
    /// The commit of the primary branch that the change is put on, if it is on record.
    #[serde(default)]
    pub base: Option<Sha>,
    /// The branch; in the merge queue, that of the newest entry in the list.
    #[serde(default)]
    pub branch: Option<String>,
    #[serde(default)]
    pub pr: Option<PrNumber>,
    /// The branch that it is to land on; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    /// The commits that are to be checked, one after another, if it is not the one alone.
    #[serde(default)]
    pub each: Vec<Sha>,
}

/// A branch that is to be part of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainEntry {
    pub entry: EntryId,
    pub pr: Option<PrNumber>,
    pub branch: String,
    pub head: Sha,
    pub title: String,
    /// What the commit it lands as says beside that; `None`: what its own commits say.
    #[serde(default)]
    pub message: Option<String>,
    /// Another way to join than the chain's.
    #[serde(default)]
    pub method: Option<MergeMethod>,
}

/// An entry as it would land, and the tree its branch has by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainLink {
    #[serde(flatten)]
    pub link: Link,
    pub head_tree: Tree,
    /// Commits of the branch that were taken off the primary branch once, and are not in it.
    #[serde(default)]
    pub left_out: u32,
    /// What else it adds to the first-parent line, oldest first, if that was asked for.
    #[serde(default)]
    pub inner: Vec<Link>,
}

/// Where an entry's branch was when it was queued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryBranch {
    pub entry: EntryId,
    pub branch: String,
    pub head: Sha,
}

/// One that is not there any more; `None`: it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedBranch {
    pub entry: EntryId,
    pub head: Option<Sha>,
}

/// What a job has on its branch, as last looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobHead {
    pub job: JobId,
    pub head: Sha,
    #[serde(default)]
    pub target: Option<Target>,
}

/// An entry that was published: its branch's head, and the commit that carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedEntry {
    pub entry: EntryId,
    pub head: Sha,
    pub commit: Sha,
}

/// Where a branch conflicts, for whoever is to resolve it. Bounded and free of control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    pub files: Vec<String>,
    /// The places in question, with conflict markers, as far as they fit.
    pub hunks: String,
}

/// Entries that land together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingStep {
    /// What the first of the entries was put on.
    pub below: Sha,
    /// The last entry's link: what lands has its tree.
    pub link: Sha,
    /// As they are, one after another; else as one commit, with them behind it.
    pub linear: bool,
    pub list: Vec<ChainEntry>,
}

/// A branch that landed: its tested head and the commit that carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    pub pr: Option<PrNumber>,
    pub head: Sha,
    pub commit: Sha,
    #[serde(default)]
    pub target: Option<Target>,
}

impl Action {
    /// The lane the action queues in.
    pub fn lane(&self) -> String {
        match self {
            Action::PrepareWorktree { job, .. }
            | Action::PublishBranch { job, .. }
            | Action::OpenPr { job, .. }
            | Action::Checkpoint { job, .. }
            | Action::MoveReview { job, .. }
            | Action::ReleaseWorktree { job, .. } => format!("job:{job}"),
            // A session is started and ended in its job's lane: never two at once on one worktree.
            Action::StartSession(start) => format!("job:{}", start.job),
            Action::EndSession { job, .. } => format!("job:{job}"),
            Action::CollectReview { epoch, .. } => format!("session:{epoch}"),
            Action::RingInbox { epoch, .. } => format!("inbox:{epoch}"),
            Action::RunCi { run, .. } => format!("ci:{run}"),
            // Beside the run, not behind it.
            Action::CancelCi { run, .. } => format!("cancel:{run}"),
            Action::PostStatus { project, .. }
            | Action::PostReview { project, .. }
            | Action::EditLabels { project, .. }
            | Action::Comment { project, .. }
            | Action::CommentPr { project, .. }
            | Action::MovePr { project, .. }
            | Action::CloseIssue { project, .. }
            | Action::ClosePr { project, .. } => format!("forge:{project}"),
            // One after another, as they landed; one that hangs holds up no more than the next of them.
            Action::Tell(telling) => format!("told:{}", telling.project),
            // All queues of a project share a repository.
            Action::FindPrimary { project, .. }
            | Action::BuildChain { project, .. }
            | Action::BuildTry { project, .. }
            | Action::BuildLanding { project, .. }
            | Action::Publish { project, .. } => format!("queue:{project}"),
            Action::RetireBranch { project, .. } => format!("branches:{project}"),
            Action::VerifyLanded { project, .. } => format!("landed:{project}"),
            Action::FindMerged { project, .. } => format!("merged:{project}"),
            Action::Tidy(tidy) => format!("tidy:{}", tidy.project),
            Action::CheckAgents { project } => format!("agents:{project}"),
            Action::Escalate { project, .. } => format!("escalations:{project}"),
            Action::TakeCheckout { project } | Action::SyncCheckout { project, .. } => {
                format!("checkout:{project}")
            }
        }
    }

    /// Whether it is part of carrying that project's changes through the merge queue.
    pub fn is_merging(&self, of: &ProjectName) -> bool {
        match self {
            Action::FindPrimary { project, .. }
            | Action::BuildChain { project, .. }
            | Action::BuildLanding { project, .. }
            | Action::Publish { project, .. }
            | Action::CancelCi { project, .. } => project == of,
            Action::RunCi { project, purpose, .. } => {
                !matches!(purpose, CiPurpose::Head | CiPurpose::Try(_)) && project == of
            }
            other => other.follows_a_landing(of),
        }
    }

    /// Whether it is part of finding out whether that branch would land.
    pub fn is_trying(&self, of: TryId) -> bool {
        match self {
            Action::BuildTry { id, .. } => *id == of,
            Action::RunCi { purpose: CiPurpose::Try(id), .. } => *id == of,
            _ => false,
        }
    }

    /// Whether it is what is left to be done when something has landed, and no job's to do.
    pub fn follows_a_landing(&self, of: &ProjectName) -> bool {
        match self {
            Action::VerifyLanded { project, .. }
            | Action::RetireBranch { project, .. }
            | Action::CommentPr { project, .. } => project == of,
            Action::Tell(telling) => telling.project == *of,
            _ => false,
        }
    }

    /// The action's name, for logs and `explain`.
    pub fn name(&self) -> &'static str {
        match self {
            Action::PrepareWorktree { .. } => "prepare_worktree",
            Action::StartSession(_) => "start_session",
            Action::CheckAgents { .. } => "check_agents",
            Action::EndSession { .. } => "end_session",
            Action::Checkpoint { .. } => "checkpoint",
            Action::RingInbox { .. } => "ring_inbox",
            Action::PublishBranch { .. } => "publish_branch",
            Action::OpenPr { .. } => "open_pr",
            Action::RunCi { .. } => "run_ci",
            Action::CancelCi { .. } => "cancel_ci",
            Action::PostStatus { .. } => "post_status",
            Action::CollectReview { .. } => "collect_review",
            Action::MoveReview { .. } => "move_review",
            Action::PostReview { .. } => "post_review",
            Action::EditLabels { .. } => "edit_labels",
            Action::Comment { .. } => "comment",
            Action::CommentPr { .. } => "comment_pr",
            Action::CloseIssue { .. } => "close_issue",
            Action::Escalate { .. } => "escalate",
            Action::MovePr { .. } => "move_pr",
            Action::ClosePr { .. } => "close_pr",
            Action::FindPrimary { .. } => "find_primary",
            Action::BuildChain { .. } => "build_chain",
            Action::BuildTry { .. } => "build_try",
            Action::BuildLanding { .. } => "build_landing",
            Action::Publish { .. } => "publish",
            Action::VerifyLanded { .. } => "verify_landed",
            Action::FindMerged { .. } => "find_merged",
            Action::ReleaseWorktree { .. } => "release_worktree",
            Action::RetireBranch { .. } => "retire_branch",
            Action::Tell(_) => "tell",
            Action::Tidy(_) => "tidy",
            Action::SyncCheckout { .. } => "sync_checkout",
            Action::TakeCheckout { .. } => "take_checkout",
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
