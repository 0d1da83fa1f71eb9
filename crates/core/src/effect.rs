//! Effects: what the factory wants done in the world, as data.
//!
//! An [`Action`] is written to the outbox in the transaction that decided it and performed after
//! the commit, at least once. Each is idempotent: performing it again, after a crash at any point
//! of the first performance, ends in the same world. Its [`Outcome`] comes back as an event
//! together with the action itself, so the core can tell a current answer from a stale one.
//!
//! Actions of one [`Action::lane`] are performed one after another in the order they were decided;
//! different lanes proceed side by side.

mod fire;
mod health;
mod lane;
pub mod outcome;
mod subject;
mod tidy;
mod told;

pub use fire::{Fire, Fired};
pub use health::{CheckHealth, EndStray, RecordHealth};
pub(crate) use lane::tidy_lane;
pub use outcome::{
    AgentTrouble, BuiltLanding, CiReport, CiVerdict, FollowUp, Outcome, ProcessId, Review, Taken, Verdict,
};
pub use tidy::Tidy;
pub use told::{CommandEnd, EntryEnd, Telling};

use crate::act::ActOrder;
use crate::ids::{
    Assignment, EntryId, Epoch, IssueNumber, JobId, MessageId, PrNumber, ProjectName, Role, RunId, RunNumber,
    ScheduleName, Sha, StepId, Target, TryId,
};
use crate::planner::{Link, TreeId, TrialId};
use crate::policy::MergeMethod;
use crate::recipe::Recipe;
use crate::state::{Rework, SchedulePlan, Task};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

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
    /// The predecessor's conversation, if it may be resumed.
    #[serde(default)]
    pub conversation: Option<String>,
    /// What the work record says: how far the work is and how to continue.
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
    #[serde(flatten)]
    pub assignment: Assignment,
    pub branch: String,
    pub pr: Option<PrNumber>,
    /// For a review: the commit under review.
    pub head: Option<Sha>,
    pub resume: Option<Resume>,
    /// For a review: the commit that was reviewed before, and how much of a diff to show.
    #[serde(default)]
    pub reviewed: Option<Sha>,
    #[serde(default)]
    pub diff_bytes: usize,
    /// For a review: what was wrong with the previous reviewer's result.
    #[serde(default)]
    pub trouble: Option<String>,
    /// The branch the change is to land on; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    /// For a run of a formula: what to do.
    #[serde(default)]
    pub task: Option<Box<Task>>,
}

/// What an agent says of a step, to be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyStep {
    pub job: JobId,
    pub project: ProjectName,
    pub run: RunNumber,
    pub step: StepId,
    pub attempt: u32,
    pub role: Role,
    /// The issue that the run is for, if it is for one: its worktree is named after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueNumber>,
    /// The verifier.
    pub verify: String,
}

/// When a schedule is next due; and if it is now, what is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRun {
    pub project: ProjectName,
    pub schedule: ScheduleName,
    pub plan: SchedulePlan,
    /// The time for which something is to be run.
    #[serde(default)]
    pub due: Option<Time>,
}

/// What an issue asks for that a formula is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanAction {
    pub job: JobId,
    pub project: ProjectName,
    pub issue: IssueNumber,
}

/// What came of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum PlannedRun {
    NotDue,
    Ready {
        recipe: Box<Recipe>,
    },
    /// There is no room on the machine.
    NotNow {
        why: String,
    },
    /// The formula, or what it is filled in with, is wrong.
    Cannot {
        why: String,
    },
}

/// A command of ours, without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStep {
    pub job: JobId,
    pub project: ProjectName,
    pub run: RunNumber,
    pub step: StepId,
    pub attempt: u32,
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueNumber>,
    pub command: Vec<String>,
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Make a job's branch and worktree, or keep them if they exist, and run the project's setup.
    PrepareWorktree {
        job: JobId,
        project: ProjectName,
        #[serde(flatten)]
        assignment: Assignment,
        /// Whose worktree it is.
        #[serde(default = "Role::dev")]
        role: Role,
        branch: String,
        #[serde(default)]
        target: Option<Target>,
    },
    StartSession(StartSession),
    PlanRun(PlanRun),
    /// Read what an issue asks for, and fill its formula in.
    PlanAction(PlanAction),
    /// Run the command of a run's step in its worktree.
    RunStep(RunStep),
    /// Stop the command of a run's step: nobody wants its answer any more.
    StopStep {
        project: ProjectName,
        role: Role,
        run: RunNumber,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issue: Option<IssueNumber>,
    },
    /// Have a verifier look at a step that an agent says is done.
    VerifyStep(VerifyStep),
    /// Check whether the project's agents could be started: clients, keys, settings.
    CheckAgents {
        project: ProjectName,
        /// Besides those that the factory always gives work to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<Role>,
    },
    /// Snapshot the worktree, end the session's process tree, verify.
    EndSession {
        job: JobId,
        role: Role,
        project: ProjectName,
        #[serde(flatten)]
        assignment: Assignment,
        epoch: Epoch,
    },
    /// Snapshot a dev worktree while its agent works, and say what it holds.
    Checkpoint {
        job: JobId,
        project: ProjectName,
        #[serde(flatten)]
        assignment: Assignment,
        /// Whose worktree it is.
        #[serde(default = "Role::dev")]
        role: Role,
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
    /// Push what the agent committed but did not push, and report where the branch is.
    #[serde(rename = "publish_branch")]
    PushBranch {
        job: JobId,
        project: ProjectName,
        #[serde(flatten)]
        assignment: Assignment,
        /// Whose worktree it is.
        #[serde(default = "Role::dev")]
        role: Role,
        branch: String,
        /// Heads that were or may be reviewed: does the branch still make the same change as one of them?
        #[serde(default)]
        reviewed: Vec<Sha>,
        /// "The same change" also means the same commits.
        #[serde(default)]
        each_commit: bool,
        /// Patterns for files: which of them does the branch change?
        #[serde(default)]
        protected: Vec<String>,
        #[serde(default)]
        target: Option<Target>,
    },
    OpenPr {
        job: JobId,
        project: ProjectName,
        #[serde(flatten)]
        assignment: Assignment,
        /// What to call it, if that is not up to an issue.
        #[serde(default)]
        title: Option<String>,
        branch: String,
        head: Sha,
    },
    RunCi {
        /// The job whose change it is; in the merge queue, that of the newest entry. `None` for a person's branch.
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
    /// Stop a run whose answer nobody wants any more, started or not.
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
        /// The reviewer has reviewed other commits before, or may have found an old result in its place: its
        /// result has to say that it is about `head`.
        #[serde(default)]
        moved: bool,
    },
    /// Move a reviewer's worktree to the next commit, put its last result away, and report what is new.
    MoveReview {
        job: JobId,
        project: ProjectName,
        #[serde(flatten)]
        assignment: Assignment,
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
    /// Post a comment, once however often this is performed: `marker` identifies it.
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
    /// Create an issue of the factory's own, once however often this is performed: `marker` identifies it.
    CreateIssue {
        project: ProjectName,
        marker: String,
        title: String,
        body: String,
        labels: Vec<String>,
    },
    /// What an agent asked for, and may have done on the forge: once, however often this is performed.
    Act(ActOrder),
    /// Put a job's trouble, or its bad end, on the record that people and other tools read, once.
    Escalate {
        job: JobId,
        project: ProjectName,
        #[serde(flatten)]
        assignment: Assignment,
        trigger: String,
        context: String,
        /// Which escalation of that trigger it is: a commit, a question. Each is recorded once.
        #[serde(default)]
        about: String,
        at: Time,
    },
    /// The branch of an open pull request is now at `head`.
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
    /// Report where the primary branch is, and whether it continues from where it was last known to be.
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
        /// Where the primary branch was before somebody took commits off it: those commits do not come back.
        #[serde(default)]
        removed: Vec<Sha>,
        /// Heads of branches that have landed there, perhaps as other commits: whatever continues one of them is
        /// put on top of what it landed as.
        #[serde(default)]
        landed: Vec<Sha>,
        /// Whether to report the commits inside each link.
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
    /// Move the primary branch from `old` to `new`, if it is still at `old`. `tested` is the commit that was
    /// checked: `new`, or one with the same tree. `branches`: where the entries' branches must still be.
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
    /// Verify that every change of the branches is in the commits they landed as.
    VerifyLanded {
        project: ProjectName,
        landed: Vec<LandedEntry>,
    },
    /// Find which of these heads are in the primary branch: somebody may have merged them by hand.
    FindMerged {
        project: ProjectName,
        heads: Vec<JobHead>,
    },
    /// Remove a job's worktree and, once merged, its branch.
    ReleaseWorktree {
        job: JobId,
        role: Role,
        project: ProjectName,
        #[serde(flatten)]
        assignment: Assignment,
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
    /// Run the project's command about an entry's end: at most once, whatever happens in the meantime.
    Tell(Telling),
    /// Carry out what the vault was asked for: at most once for each attempt, whatever happens in the meantime.
    Fire(Fire),
    Tidy(Tidy),
    /// Look at the machine and at a project's work.
    CheckHealth(CheckHealth),
    /// Put that on record.
    RecordHealth(RecordHealth),
    /// End a session that nobody knows.
    EndStray(EndStray),
    /// Take in the user's own commits on their primary branch.
    TakeCheckout {
        project: ProjectName,
    },
    /// Fast-forward the user's own checkout, if it is clean and on the primary branch.
    SyncCheckout {
        project: ProjectName,
        head: Sha,
    },
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
    /// A branch as it would land if somebody queued it.
    Try(TryId),
    /// The primary branch itself, after something failed on it.
    Base,
}

impl CiPurpose {
    /// The name that the checks are given.
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
    /// The commit of the primary branch that the change is put on, if known.
    #[serde(default)]
    pub base: Option<Sha>,
    /// The branch; in the merge queue, that of the newest entry in the chain.
    #[serde(default)]
    pub branch: Option<String>,
    #[serde(default)]
    pub pr: Option<PrNumber>,
    /// The branch that it is to land on; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    /// The commits to be checked one after another; empty if it is one alone.
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
    /// What the commit it lands as is to say besides the title; `None`: what the branch's own commits say.
    #[serde(default)]
    pub message: Option<String>,
    /// How it joins, if not by the chain's method.
    #[serde(default)]
    pub method: Option<MergeMethod>,
}

/// An entry as it would land, and the tree its branch has by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainLink {
    #[serde(flatten)]
    pub link: Link,
    pub head_tree: TreeId,
    /// Commits of the branch that were once taken off the primary branch, and are not in the link.
    #[serde(default)]
    pub left_out: u32,
    /// The other commits that it adds to the first-parent line, oldest first, if they were asked for.
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

/// A branch that is no longer where it was; `None`: it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedBranch {
    pub entry: EntryId,
    pub head: Option<Sha>,
}

/// The head of a job's branch when it was last looked at.
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

/// Where a branch conflicts, for whoever has to resolve it. Bounded and free of control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    pub files: Vec<String>,
    /// The conflicting places, with conflict markers, as far as they fit.
    pub hunks: String,
}

/// Entries that land together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingStep {
    /// What the first of the entries was put on.
    pub below: Sha,
    /// The last entry's link: what lands has the same tree.
    pub link: Sha,
    /// They land as they are, one after another; otherwise as one commit, with them behind it.
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
