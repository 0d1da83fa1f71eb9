//! The ports: what the engine needs of the world, as traits. An adapter implements one on a real
//! tool, the simulator on a fake. Calls block; the engine makes them on worker threads.
//!
//! Every call is idempotent: called again with the same arguments, after a crash anywhere in the
//! first call, it ends in the same world and gives an equivalent answer.

pub use crate::tree::{Owner, Tree};

use crate::proof::{MergedProof, QueueLock, RescueProof};
use shopfloor_core::effect::{
    BuiltLanding, ChainEntry, ChainLink, CiAbout, CiPurpose, CiReport, CommandEnd, CommitSource, Conflict,
    EntryBranch, LandedEntry, LandingStep, MovedBranch, ProcessId, Review, StartSession, StatusState, Taken,
    Telling, Tidy,
};
use shopfloor_core::event::Observation;
use shopfloor_core::ids::{
    EntryId, Epoch, IssueNumber, JobId, MessageId, PrNumber, ProjectName, Role, RunId, Sha, Target,
};
use shopfloor_core::planner::TrialId;
use shopfloor_core::policy::MergeMethod;
use shopfloor_core::time::Time;
use std::any::Any;
use std::sync::Arc;

/// Why a port could not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PortError {
    /// Weather: it may work later. The engine tries again, with a growing pause, for as long as it takes.
    #[error("{0}")]
    Transient(String),
    /// It is known that trying again would not help, and why; the core is told.
    #[error("{why}")]
    Permanent { cause: Final, why: String },
}

/// How it is known that a failure is final. Whatever is none of these is weather, however lasting it looks:
/// a disk, a lock, a server, a program that is gone. Who mends it need not tell anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Final {
    /// A hook, or a rule of the factory's own, does not allow this very thing.
    Refused,
    /// It does not go on from what is there: somebody else was first.
    Rejected,
    /// The branch, commit, issue or pull request it is about is not there, and nothing here makes it.
    Missing,
    /// Something of somebody else's stands in its place, and is not touched.
    InTheWay,
    /// The configuration asks for what cannot be.
    Config,
    /// A command of the project's own failed.
    Setup,
}

impl PortError {
    pub fn transient(e: impl ToString) -> Self {
        PortError::Transient(e.to_string())
    }
    pub fn permanent(cause: Final, why: impl ToString) -> Self {
        PortError::Permanent { cause, why: why.to_string() }
    }
}

pub type PortResult<T> = Result<T, PortError>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchState {
    pub head: Sha,
    /// Commits on the branch that the primary branch lacks.
    pub ahead: u32,
    /// Changed or untracked files that no commit holds.
    pub dirty: u32,
    /// The branch's head on origin.
    pub pushed: Option<Sha>,
    /// What the branch is in the middle of, or which commits of the worktree are not on it: then it is
    /// not what the agent means.
    pub unfinished: Option<String>,
}

/// A worktree that is ready for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    pub path: String,
    pub head: Sha,
    /// What was, or is, out of order in it.
    pub notes: Vec<String>,
}

/// A snapshot of a worktree, kept by a rescue ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub reference: String,
    pub commit: Sha,
}

/// Git as the agents' workplace: each tree a repository of its own, which shares objects and nothing else.
pub trait Workspace: Send + Sync {
    /// Makes the branch and its worktree. What exists already is kept as it is: a worktree with an
    /// agent's work in it is never reset. A new branch starts at origin's branch of that name, else
    /// at origin's primary branch. For a review tree, `at` is checked out detached instead. One whose
    /// folder is gone is made again, with what the newest rescue ref holds put back.
    fn prepare(&self, tree: &Tree, branch: &str, at: Option<&Sha>) -> PortResult<Prepared>;

    fn branch_state(&self, tree: &Tree, branch: &str) -> PortResult<BranchState>;

    /// The newest commit of origin's primary branch that is in `head`. `None`: they have nothing in common.
    fn stands_on(&self, tree: &Tree, head: &Sha) -> PortResult<Option<Sha>>;

    /// Which of the reviewed commits make the same change as `head`: git puts them on top of where `head` left
    /// the primary branch without a conflict, and what comes out is `head`'s content, with nothing more and
    /// nothing elsewhere. `each_commit`: commit by commit. One that is not to be had is not among them.
    fn same_changes(
        &self,
        tree: &Tree,
        head: &Sha,
        reviewed: &[Sha],
        each_commit: bool,
    ) -> PortResult<Vec<Sha>>;

    /// Pushes the worktree's branch to origin, fast-forward only. `Err(Permanent)` says why not.
    fn push(&self, tree: &Tree, branch: &str) -> PortResult<Sha>;

    /// What was done on the branch, for a successor: diff stat and diff against the primary
    /// branch plus uncommitted changes, at most `bytes_max`.
    fn work_done(&self, tree: &Tree, bytes_max: usize) -> PortResult<String>;

    /// The change that `head` makes to the primary branch, or what is new in it since a commit that was
    /// reviewed: whole files, about `bytes_max` of them, and which were left out. Neutralised.
    fn review_diff(
        &self,
        tree: &Tree,
        since: Option<&Sha>,
        head: &Sha,
        bytes_max: usize,
    ) -> PortResult<String>;

    /// What a commit of origin's brings against the primary branch: its commits and the diff stat, at most
    /// `bytes_max`. Empty if it is not to be had.
    fn change_of(&self, tree: &Tree, head: &Sha, bytes_max: usize) -> PortResult<String>;

    /// The files that differ from the primary branch, committed or not, at most `max`.
    fn changed_files(&self, tree: &Tree, max: usize) -> PortResult<Vec<String>>;

    /// Keeps HEAD and the dirty tree (tracked and untracked, not ignored) under a rescue ref,
    /// without touching the worktree, its index or its HEAD. `None`: there is no such worktree.
    fn snapshot(&self, tree: &Tree) -> PortResult<Option<Snapshot>>;

    /// Whether the snapshot's ref resolves to its commit and that holds what the worktree holds.
    fn snapshot_holds(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<bool>;

    /// Sends the snapshot to origin, where the project is configured so.
    fn share(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<()>;

    /// Deletes the rescue refs that `tidy` allows to go, if what each holds is kept by another as
    /// well; never an agent's newest. How many.
    fn prune_rescues(&self, tidy: &Tidy) -> PortResult<u32>;

    /// Has the project's repositories packed, if they need it: sooner when nobody works. Nothing is lost.
    fn keep_up(&self, project: &ProjectName, idle: bool) -> PortResult<()>;

    fn remove(&self, proof: RescueProof) -> PortResult<()>;

    /// Deletes a merged branch, here and on origin, if it is still at the merged head.
    fn delete_branch(&self, branch: &str, proof: MergedProof) -> PortResult<()>;

    /// Whether `commit` is reachable from origin's primary branch.
    fn is_merged(&self, project: &ProjectName, target: Option<&Target>, commit: &Sha) -> PortResult<bool>;

    /// Keeps a pull request's head under `refs/pull/N/head` on origin, as forges do.
    fn pin_pr(&self, project: &ProjectName, pr: PrNumber, head: &Sha) -> PortResult<()>;

    /// Keeps the head of a merged branch that had no pull request, on origin.
    fn pin_merged(&self, project: &ProjectName, head: &Sha) -> PortResult<()>;

    /// Brings the user's checkout to origin's primary branch if it is clean and on its own, which has
    /// nothing that did not land: whether it was, and what to tell the user. Moves no other branch.
    fn sync_checkout(&self, project: &ProjectName) -> PortResult<(bool, String)>;

    /// Takes the user's own commits on their primary branch to origin: its primary branch goes forward to
    /// them where it can; else they are put there as a branch.
    fn take_checkout(&self, project: &ProjectName) -> PortResult<Taken>;
}

pub struct BuildRequest<'a> {
    pub project: &'a ProjectName,
    pub target: Option<&'a Target>,
    pub trial: TrialId,
    pub base: &'a Sha,
    pub method: MergeMethod,
    pub list: &'a [ChainEntry],
    /// Tips of what was taken off the primary branch: none of that comes back with a branch begun there.
    pub removed: &'a [Sha],
    /// Heads of branches that have landed there, perhaps as other commits, the newest first.
    pub landed: &'a [Sha],
    /// Whether the commits inside of each link are wanted.
    pub each_commit: bool,
}

/// `primary` is where the primary branch was seen, `moved` are branches that are not at their head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// One link for each entry. One that brings nothing new has the commit of the one before it.
    Chain {
        primary: Sha,
        moved: Vec<MovedBranch>,
        links: Vec<ChainLink>,
    },
    /// `entry` conflicts with what is before it; `with_base`: with the base alone, too.
    Conflict {
        primary: Sha,
        moved: Vec<MovedBranch>,
        entry: EntryId,
        with_base: bool,
        conflict: Conflict,
    },
    Unmergeable {
        entry: EntryId,
        why: String,
    },
    /// There is no primary branch.
    NoPrimary,
}

/// Where the primary branch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryAt {
    pub head: Sha,
    /// It has everything it was known to have.
    pub goes_on: bool,
}

pub struct PublishRequest<'a> {
    pub target: Option<&'a Target>,
    pub old: &'a Sha,
    pub new: &'a Sha,
    /// The commit that was checked: `new`, or one with the same tree.
    pub tested: &'a Sha,
    pub entries: &'a [EntryId],
    /// Branches that have to be where they were queued in the moment in which the primary branch moves.
    pub branches: &'a [EntryBranch],
}

/// Why nothing was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPublished {
    /// The primary branch was not where it was expected, but there or nowhere.
    Primary(Option<Sha>),
    /// These branches are not where they were.
    Branches(Vec<MovedBranch>),
}

/// Git as the merge queue's private bare repository. Nothing here needs a checkout.
pub trait Merger: Send + Sync {
    /// Takes the project's queue for this process; dropping the value gives it back.
    fn take_lock(&self, project: &ProjectName) -> PortResult<Box<dyn Any>>;
    /// Where origin's primary branch is, which was once `known`. `None`: there is none.
    fn primary(
        &self,
        project: &ProjectName,
        target: Option<&Target>,
        known: Option<&Sha>,
    ) -> PortResult<Option<PrimaryAt>>;
    /// Puts the entries on top of the base, one after another. The same request gives the same commits.
    fn build(&self, lock: &QueueLock, request: &BuildRequest<'_>) -> PortResult<Built>;
    /// The commits that the steps land as, one for each: the tree of its link, with `old` or the commit before
    /// as first parent. The same request gives the same commits.
    fn build_landing(
        &self,
        lock: &QueueLock,
        old: &Sha,
        steps: &[LandingStep],
    ) -> PortResult<Result<BuiltLanding, NotSigned>>;
    /// Compare-and-swap of origin's primary branch. When it is at `new` already, that is success.
    fn publish(&self, lock: &QueueLock, request: &PublishRequest<'_>)
    -> PortResult<Result<(), NotPublished>>;
    /// Those of which not every change is in the commit they landed as.
    fn incomplete(&self, project: &ProjectName, landed: &[LandedEntry]) -> PortResult<Vec<EntryId>>;
}

/// Why the commits that something lands as could not be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSigned(pub String);

pub struct CiRequest<'a> {
    pub project: &'a ProjectName,
    pub issue: Option<IssueNumber>,
    pub run: RunId,
    pub commit: &'a Sha,
    pub source: CommitSource,
    pub purpose: CiPurpose,
    pub about: &'a CiAbout,
}

pub trait Ci: Send + Sync {
    /// Runs the project's checks on a clean checkout of exactly that commit; of each of several ([`CiAbout::each`]),
    /// up to the first that fails. A failing check is an `Ok` report; an error means that nothing is known about the commit.
    fn run(&self, request: &CiRequest<'_>) -> PortResult<CiReport>;
    /// Deletes the folders of runs that `tidy` allows to go. How many.
    fn prune(&self, tidy: &Tidy) -> PortResult<u32>;

    /// Ends a run, or keeps it from beginning. What is asked for the run then is answered with a report
    /// that says `Cancelled`. One that has finished stays as it is.
    fn cancel(&self, project: &ProjectName, run: RunId) -> PortResult<()>;
}

/// An issue's text as an agent is to see it: neutralised and bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssueText {
    pub title: String,
    pub body: String,
    pub comments: Vec<String>,
}

/// What is told of a pull request: neutralised and bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullText {
    pub title: String,
    pub head: Sha,
    /// How the checks of its head stand.
    pub checks: Vec<String>,
    pub author: String,
    pub body: String,
    pub comments: Vec<String>,
    /// What it was opened for.
    pub issue: Option<IssueNumber>,
}

pub struct NewPr<'a> {
    pub issue: IssueNumber,
    pub branch: &'a str,
    pub head: &'a Sha,
}

pub struct Changes {
    pub cursor: u64,
    pub observations: Vec<Observation>,
}

pub trait Forge: Send + Sync {
    /// What changed after `cursor`, at most a page; call again until nothing comes back.
    fn changes(&self, project: &ProjectName, cursor: u64) -> PortResult<Changes>;
    fn issue_text(&self, project: &ProjectName, issue: IssueNumber) -> PortResult<IssueText>;
    /// The latest reviews of a pull request, newest last, for a successor.
    fn review_texts(&self, project: &ProjectName, pr: PrNumber) -> PortResult<Vec<String>>;
    fn pull_text(&self, project: &ProjectName, pr: PrNumber) -> PortResult<PullText>;
    /// The newest pull request of the issue that was closed without a merge.
    fn abandoned_pull(&self, project: &ProjectName, issue: IssueNumber) -> PortResult<Option<PrNumber>>;
    /// The issue's version then; as in an observation of it.
    fn edit_labels(
        &self,
        project: &ProjectName,
        issue: IssueNumber,
        add: &[String],
        remove: &[String],
    ) -> PortResult<u64>;
    /// Posts once per marker.
    fn comment(&self, project: &ProjectName, issue: IssueNumber, marker: &str, body: &str) -> PortResult<()>;
    /// The same on a pull request.
    fn comment_pr(&self, project: &ProjectName, pr: PrNumber, marker: &str, body: &str) -> PortResult<()>;
    fn close_issue(&self, project: &ProjectName, issue: IssueNumber) -> PortResult<()>;
    /// The open pull request of that branch, made if there is none, with this head.
    fn open_pr(&self, project: &ProjectName, pr: &NewPr<'_>) -> PortResult<PrNumber>;
    /// An open pull request is at that head; one that is closed stays as it was.
    fn move_pr(&self, project: &ProjectName, pr: PrNumber, head: &Sha) -> PortResult<()>;
    fn close_pr(&self, project: &ProjectName, pr: PrNumber, merged: Option<&Sha>) -> PortResult<()>;
    /// Posts once per marker.
    fn post_review(
        &self,
        project: &ProjectName,
        pr: PrNumber,
        head: &Sha,
        marker: &str,
        review: &Review,
    ) -> PortResult<()>;
    fn post_status(
        &self,
        project: &ProjectName,
        commit: &Sha,
        run: RunId,
        state: StatusState,
        text: &str,
    ) -> PortResult<()>;
}

/// What a session is started with, beside its [`StartSession`].
#[derive(Clone, Debug, Default)]
pub struct Briefing {
    pub issue: IssueText,
    /// The worktree the agent runs in, and what is out of order in it.
    pub worktree: String,
    pub notes: Vec<String>,
    /// The worktree's own port.
    pub port: Option<u16>,
    /// For a successor: what was done, and the latest reviews.
    pub work_done: String,
    pub reviews: Vec<String>,
    /// For a reviewer: the change, and what is new in it since the last review.
    pub change: String,
    pub news: String,
    /// The pull request there is, or was, whoever made it.
    pub pull: Option<Earlier>,
}

/// A pull request of the issue from before: to go on with, or to learn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    pub number: PrNumber,
    pub open: bool,
    pub text: PullText,
    /// What it changes.
    pub change: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub tmux: String,
    pub process: ProcessId,
    pub phase_file: String,
    pub runtime: String,
    /// The first prompt, if it has to be typed into the client. It is not typed by this port.
    pub prompt: Option<String>,
}

/// What a worktree was fitted out with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outfit {
    /// For what its agent serves while it tries its work; no other worktree of the floor has it.
    pub port: Option<u16>,
    /// What the agent should know.
    pub notes: Vec<String>,
}

/// A command of a project's setup that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupFailure {
    /// Which one and how, in a line.
    pub why: String,
    /// The end of its output: bounded, redacted and free of control characters.
    pub excerpt: String,
}

/// What a project wants done to the worktrees that agents implement issues in.
pub trait Setup: Send + Sync {
    /// Gives the worktree its port, copies files into it and runs the setup commands. What was done in
    /// this very worktree is not done again; what was cut short is.
    fn set_up(&self, tree: &Tree) -> PortResult<Result<Outfit, SetupFailure>>;

    /// Runs the teardown commands, if the worktree is there, and takes its port back. What failed is
    /// only told.
    fn tear_down(&self, tree: &Tree) -> PortResult<Option<String>>;
}

/// Agents in their terminals.
pub trait Agents: Send + Sync {
    /// What keeps a session of that role from being started, whatever it is for, and what to do about it.
    fn trouble(&self, project: &ProjectName, role: Role) -> PortResult<Option<String>>;
    /// What the project's configuration passes on to its agents and the environment has not.
    fn unset(&self, project: &ProjectName) -> Vec<String>;
    /// The session of this epoch, if it was started before: by a daemon that died before it could
    /// say so. Also one that has ended since.
    fn adopt(&self, start: &StartSession) -> PortResult<Option<Started>>;
    /// Starts the session.
    fn start(&self, start: &StartSession, briefing: &Briefing) -> PortResult<Started>;
    /// The end of what the session printed, redacted and neutralised. Empty when it is gone.
    fn last_output(&self, tree: &Tree, epoch: Epoch) -> PortResult<String>;
    /// Ends the session's whole process tree and verifies that it is gone. Only what this floor
    /// started is ended; a session that is gone already is fine.
    fn end(&self, tree: &Tree, epoch: Epoch) -> PortResult<()>;
    fn ring(&self, epoch: Epoch, message: MessageId) -> PortResult<()>;
    /// The verdict a reviewer left, or why what it left is of no use: also one that says it is of
    /// another commit and, if `moved`, one that does not say of which.
    fn review_result(
        &self,
        project: &ProjectName,
        epoch: Epoch,
        head: &Sha,
        moved: bool,
    ) -> PortResult<Result<Review, String>>;
    /// Puts a reviewer's verdict on `reviewed` away, for another to come. Its news, as it may see it.
    fn begin_review(
        &self,
        project: &ProjectName,
        epoch: Epoch,
        reviewed: &Sha,
        news: &str,
    ) -> PortResult<String>;
    /// Deletes the folders of sessions that `tidy` allows to go. How many.
    fn prune(&self, tidy: &Tidy) -> PortResult<u32>;
}

/// A job's trouble or bad end, as it is put on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation<'a> {
    pub job: JobId,
    pub project: &'a ProjectName,
    pub issue: IssueNumber,
    pub trigger: &'a str,
    pub context: &'a str,
    /// Which one of that trigger's it is; empty for one of a kind.
    pub about: &'a str,
    pub at: Time,
}

/// What people and other tools are told outside of the forge.
pub trait Escalations: Send + Sync {
    /// Records it once for each job, trigger and what it is about.
    fn record(&self, escalation: &Escalation<'_>) -> PortResult<()>;
}

/// A project's own commands about what became of its changes.
pub trait Notices: Send + Sync {
    /// Runs the command for that end. Once it was begun it is not begun again, however it ended: then this says
    /// what is known of it.
    fn run(&self, telling: &Telling) -> PortResult<CommandEnd>;
    /// Deletes what is kept of commands, as far as `tidy` allows. How many.
    fn prune(&self, tidy: &Tidy) -> PortResult<u32>;
}

/// All ports of a floor.
#[derive(Clone)]
pub struct Ports {
    pub workspace: Arc<dyn Workspace>,
    pub setup: Arc<dyn Setup>,
    pub merger: Arc<dyn Merger>,
    pub ci: Arc<dyn Ci>,
    pub forge: Arc<dyn Forge>,
    pub agents: Arc<dyn Agents>,
    pub escalations: Arc<dyn Escalations>,
    pub notices: Arc<dyn Notices>,
}
