//! The ports: what the engine needs of the world, as traits. An adapter implements one on a real
//! tool, the simulator on a fake. Calls block; the engine makes them on worker threads.
//!
//! Every call is idempotent: called again with the same arguments, after a crash anywhere in the
//! first call, it ends in the same world and gives an equivalent answer.

pub mod forge;

pub use crate::tree::{Owner, Tree};
pub use forge::{Changes, Forge, Forges, IssueText, PullText};

use crate::proof::{MergedProof, QueueLock, RescueProof};
use shopfloor_core::effect::outcome::{Amount, Packed, Pruned, RunPlanned, StepRan, StepVerified};
use shopfloor_core::effect::{
    BuiltLanding, ChainEntry, ChainLink, CiAbout, CiPurpose, CiReport, CommandEnd, CommitSource, Conflict,
    EntryBranch, Fire, Fired, LandedEntry, LandingStep, MovedBranch, PlanRun, PlannedRun, ProcessId,
    RecordHealth, Review, RunStep, StartSession, Taken, Telling, Tidy, VerifyStep,
};
use shopfloor_core::health::Measured;
use shopfloor_core::ids::{
    Assignment, EntryId, Epoch, IssueNumber, JobId, MessageId, PrNumber, ProjectName, Role, RunId, RunNumber,
    Sha, Target,
};
use shopfloor_core::planner::TrialId;
use shopfloor_core::policy::MergeMethod;
use shopfloor_core::recipe::Context;
use shopfloor_core::time::Time;
use std::any::Any;
use std::sync::Arc;

/// Why a port could not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PortError {
    /// Weather: it may work later. The engine tries again, with a growing pause, for as long as it takes.
    #[error("{0}")]
    Transient(String),
    /// Trying again is known not to help, and the reason is known; the core is told.
    #[error("{why}")]
    Permanent { cause: Final, why: String },
}

/// How a failure is known to be final. Everything else is weather, however lasting it looks: a disk, a
/// lock, a server, a missing program. Whoever mends it need not tell anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Final {
    /// A hook, or one of the factory's own rules, forbids exactly this.
    Refused,
    /// It does not continue what is there: somebody else was first.
    Rejected,
    /// The branch, commit, issue or pull request does not exist, and nothing here will create it.
    Missing,
    /// Something that belongs to somebody else is in its place and must not be touched.
    InTheWay,
    /// The configuration asks for the impossible.
    Config,
    /// One of the project's own commands failed.
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
    /// An operation the branch is in the middle of, or commits of the worktree that are not on it: in either
    /// case the branch is not what the agent means.
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

/// Git as the agents' workplace: each tree has a repository of its own, which shares objects and nothing
/// else.
pub trait Workspace: Send + Sync {
    /// Makes the branch and its worktree. Whatever exists already stays as it is: a worktree with an agent's
    /// work in it is never reset. A new branch starts at origin's branch of that name, else at origin's
    /// primary branch. A review tree has `at` checked out, detached, instead. A worktree whose folder is gone
    /// is made again, and gets back what its newest rescue ref holds.
    fn prepare(&self, tree: &Tree, branch: &str, at: Option<&Sha>) -> PortResult<Prepared>;

    fn branch_state(&self, tree: &Tree, branch: &str) -> PortResult<BranchState>;

    /// The part of it that needs no look at the files: the head, and how far it is ahead.
    fn branch_ahead(&self, tree: &Tree, branch: &str) -> PortResult<(Sha, u32)> {
        self.branch_state(tree, branch).map(|state| (state.head, state.ahead))
    }

    /// The first secret in the commits that `head` adds to the primary branch, told without its value.
    fn leak(&self, tree: &Tree, branch: &str, head: &Sha) -> PortResult<Option<String>>;

    /// The newest commit of origin's primary branch that is in `head`. `None`: they have nothing in common.
    fn stands_on(&self, tree: &Tree, head: &Sha) -> PortResult<Option<Sha>>;

    /// Every path that differs between `base` (`None`: nothing) and `head`, by its old and its new name.
    fn changed_paths(&self, tree: &Tree, base: Option<&Sha>, head: &Sha) -> PortResult<Vec<String>>;

    /// Which of the reviewed commits make the same change as `head`: git puts them on top of where `head`
    /// left the primary branch without a conflict, and the result is exactly `head`'s content. With
    /// `each_commit`, that has to hold commit by commit. A commit that cannot be found is left out.
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

    /// The change that `head` makes to the primary branch, or what is new in it since a reviewed commit:
    /// whole files, about `bytes_max` in all, and which files were left out. Neutralised.
    fn review_diff(
        &self,
        tree: &Tree,
        since: Option<&Sha>,
        head: &Sha,
        bytes_max: usize,
    ) -> PortResult<String>;

    /// What a commit on origin adds to the primary branch: its commits and the diff stat, at most
    /// `bytes_max`. Empty if the commit cannot be had.
    fn change_of(&self, tree: &Tree, head: &Sha, bytes_max: usize) -> PortResult<String>;

    /// The files of a snapshot that differ from the primary branch, committed or not, at most `max`.
    fn changed_files(&self, tree: &Tree, snapshot: &Snapshot, max: usize) -> PortResult<Vec<String>>;

    /// Keeps HEAD and the dirty tree (tracked and untracked, not ignored) under a rescue ref,
    /// without touching the worktree, its index or its HEAD. `None`: there is no such worktree.
    fn snapshot(&self, tree: &Tree) -> PortResult<Option<Snapshot>>;

    /// Whether the snapshot's ref resolves to its commit, and that commit holds what the worktree holds.
    fn snapshot_holds(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<bool>;

    /// Sends the snapshot to origin, if the project is configured to.
    fn share(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<()>;

    /// Deletes the rescue refs that `tidy` allows to go, if others also keep all that they hold; an agent's newest only
    /// for its age. Returns how many.
    fn prune_rescues(&self, tidy: &Tidy) -> PortResult<u32>;

    /// Packs the project's repositories if they need it: sooner when nobody works. Nothing is lost. Returns what was
    /// loose.
    fn keep_up(&self, tidy: &Tidy) -> PortResult<Packed>;

    fn remove(&self, proof: RescueProof) -> PortResult<()>;

    /// Deletes a merged branch, here and on origin, if it is still at the merged head.
    fn delete_branch(&self, branch: &str, proof: MergedProof) -> PortResult<()>;

    /// Whether `commit` is reachable from origin's primary branch.
    fn is_merged(&self, project: &ProjectName, target: Option<&Target>, commit: &Sha) -> PortResult<bool>;

    /// Keeps a pull request's head under `refs/pull/N/head` on origin, as forges do.
    fn pin_pr(&self, project: &ProjectName, pr: PrNumber, head: &Sha) -> PortResult<()>;

    /// Keeps the head of a merged branch that had no pull request, on origin.
    fn pin_merged(&self, project: &ProjectName, head: &Sha) -> PortResult<()>;

    /// Brings the user's checkout to origin's primary branch, if it is clean, is on its own primary branch,
    /// and has nothing there that did not land. Returns whether it did, and what to tell the user. Moves no
    /// other branch.
    fn sync_checkout(&self, project: &ProjectName) -> PortResult<(bool, String)>;

    /// Takes the user's own commits on their primary branch to origin: origin's primary branch is
    /// fast-forwarded to them if possible; otherwise they are put there as a branch.
    fn take_checkout(&self, project: &ProjectName) -> PortResult<Taken>;
}

pub struct BuildRequest<'a> {
    pub project: &'a ProjectName,
    pub target: Option<&'a Target>,
    pub trial: TrialId,
    pub base: &'a Sha,
    pub method: MergeMethod,
    pub list: &'a [ChainEntry],
    /// Tips of what was taken off the primary branch: a branch that was begun there must not bring any of it
    /// back.
    pub removed: &'a [Sha],
    /// Heads of branches that have landed there, perhaps as other commits; newest first.
    pub landed: &'a [Sha],
    /// Whether the commits inside each link are wanted.
    pub each_commit: bool,
}

/// `primary` is where the primary branch was seen; `moved` lists branches that are not at their head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Built {
    /// One link for each entry. An entry that brings nothing new repeats the commit of the link before it.
    Chain {
        primary: Sha,
        moved: Vec<MovedBranch>,
        links: Vec<ChainLink>,
    },
    /// `entry` conflicts with what comes before it; `with_base`: it conflicts with the base alone, too.
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
    /// The branch still has everything it was known to have.
    pub continues: bool,
    /// Whether whoever pushes there is put on record before it moves.
    pub recorded: bool,
}

pub struct PublishRequest<'a> {
    pub target: Option<&'a Target>,
    pub old: &'a Sha,
    pub new: &'a Sha,
    /// The commit that was checked: `new`, or one with the same tree.
    pub tested: &'a Sha,
    pub entries: &'a [EntryId],
    /// Branches that have to be where they were queued at the moment the primary branch moves.
    pub branches: &'a [EntryBranch],
}

/// Why nothing was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPublished {
    /// The primary branch was not where it was expected: it was here, or nowhere.
    Primary(Option<Sha>),
    /// These branches are not where they were.
    Branches(Vec<MovedBranch>),
}

/// Git as the merge queue's private bare repository. Nothing here needs a checkout.
pub trait Merger: Send + Sync {
    /// Takes the project's queue for this process; dropping the value gives it back.
    fn take_lock(&self, project: &ProjectName) -> PortResult<Box<dyn Any>>;
    /// Where origin's primary branch is now; it was once at `known`. `None`: there is none.
    fn primary(
        &self,
        project: &ProjectName,
        target: Option<&Target>,
        known: Option<&Sha>,
    ) -> PortResult<Option<PrimaryAt>>;
    /// Puts the entries on top of the base, one after another. The same request gives the same commits.
    fn build(&self, lock: &QueueLock, request: &BuildRequest<'_>) -> PortResult<Built>;
    /// The commits that the steps land as, one for each: each has the tree of its link, and `old` or the
    /// commit before it as its first parent. The same request gives the same commits.
    fn build_landing(
        &self,
        lock: &QueueLock,
        old: &Sha,
        steps: &[LandingStep],
    ) -> PortResult<Result<BuiltLanding, NotSigned>>;
    /// Compare-and-swap of origin's primary branch. If it is already at `new`, that is success.
    fn publish(&self, lock: &QueueLock, request: &PublishRequest<'_>)
    -> PortResult<Result<(), NotPublished>>;
    /// Those entries whose changes are not all in the commit they landed as.
    fn incomplete(&self, project: &ProjectName, landed: &[LandedEntry]) -> PortResult<Vec<EntryId>>;
}

/// Why the landing commits could not be signed.
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
    /// Runs the project's checks on a clean checkout of exactly that commit; for several ([`CiAbout::each`]),
    /// on each of them, up to the first that fails. A failing check is an `Ok` report; an error means that
    /// nothing is known about the commit.
    fn run(&self, request: &CiRequest<'_>) -> PortResult<CiReport>;
    /// Deletes the folders of runs that `tidy` allows to go.
    fn prune(&self, tidy: &Tidy) -> PortResult<Amount>;

    /// Ends a run, or keeps it from beginning. Any request for that run is then answered with a report that
    /// says `Cancelled`. A finished run stays as it is.
    fn cancel(&self, project: &ProjectName, run: RunId) -> PortResult<()>;
}

/// What a session is started with, besides its [`StartSession`].
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
    /// The pull request that exists or existed for this, whoever made it.
    pub pull: Option<Earlier>,
    /// For a run of a formula: what its context files say and its context commands print.
    pub context: String,
}

/// An earlier pull request for the issue: to continue, or to learn from.
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
    /// The first prompt, if it has to be typed into the client. This port does not type it.
    pub prompt: Option<String>,
}

/// What a worktree was fitted out with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outfit {
    /// For the servers that the agent runs while trying out its work; no other worktree of the floor has the
    /// same port.
    pub port: Option<u16>,
    /// What the agent should know.
    pub notes: Vec<String>,
}

/// A project's setup command that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupFailure {
    /// Which command failed and how, in one line.
    pub why: String,
    /// The end of its output: bounded, redacted and free of control characters.
    pub excerpt: String,
}

/// What a project wants done to the worktrees in which agents implement issues.
pub trait Setup: Send + Sync {
    /// Gives the worktree its port, copies files into it and runs the setup commands. What was done in this
    /// very worktree is not repeated; what was cut short is.
    fn set_up(&self, tree: &Tree) -> PortResult<Result<Outfit, SetupFailure>>;

    /// Runs the teardown commands, if the worktree exists, and takes its port back. Failures are only
    /// reported. Commands may change what is there, so `keep` comes before them.
    fn tear_down(&self, tree: &Tree, keep: &dyn Fn() -> PortResult<()>) -> PortResult<Option<String>>;
}

/// Agents in their terminals.
pub trait Agents: Send + Sync {
    /// What keeps every session of that role from being started, and what to do about it.
    fn trouble(&self, project: &ProjectName, role: Role) -> PortResult<Option<String>>;
    /// The variables that the project's configuration passes on to its agents but the environment lacks.
    fn unset(&self, project: &ProjectName) -> Vec<String>;
    /// The session of this epoch, if it was started before, by a daemon that died before it could say so. It
    /// may have ended since.
    fn adopt(&self, start: &StartSession) -> PortResult<Option<Started>>;
    /// Starts the session.
    fn start(&self, start: &StartSession, briefing: &Briefing) -> PortResult<Started>;
    /// The end of what the session printed, redacted and neutralised. Empty when it is gone.
    fn last_output(&self, tree: &Tree, epoch: Epoch) -> PortResult<String>;
    /// Ends the session's whole process tree and verifies that it is gone. Only what this floor
    /// started is ended; a session that is gone already is fine.
    fn end(&self, tree: &Tree, epoch: Epoch) -> PortResult<()>;
    fn ring(&self, epoch: Epoch, message: MessageId) -> PortResult<()>;
    /// The verdict a reviewer left, or why it is of no use: for example, because it says that it is about
    /// another commit or, if `moved`, does not say which commit it is about.
    fn review_result(
        &self,
        project: &ProjectName,
        epoch: Epoch,
        head: &Sha,
        moved: bool,
    ) -> PortResult<Result<Review, String>>;
    /// Puts a reviewer's verdict on `reviewed` away, to make room for the next. Returns the news, as the
    /// reviewer may see it.
    fn begin_review(
        &self,
        project: &ProjectName,
        epoch: Epoch,
        reviewed: &Sha,
        news: &str,
    ) -> PortResult<String>;
    /// Deletes the folders of sessions that `tidy` allows to go.
    fn prune(&self, tidy: &Tidy) -> PortResult<Amount>;
}

/// A job's trouble or bad end, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation<'a> {
    pub job: JobId,
    pub project: &'a ProjectName,
    pub assignment: Assignment,
    pub trigger: &'a str,
    pub context: &'a str,
    /// Which of the trigger's escalations this is; empty if there can be only one.
    pub about: &'a str,
    pub at: Time,
}

/// When schedules are due, and what is to be run then.
pub trait Schedules: Send + Sync {
    fn plan(&self, plan: &PlanRun) -> PortResult<RunPlanned>;
    /// What an issue asks for that is labelled as an action: ready, or why it cannot be done.
    fn action(&self, project: &ProjectName, text: &IssueText) -> PortResult<PlannedRun>;
}

/// How the machine and a project's surroundings are, and the records of that.
pub trait Health: Send + Sync {
    /// Starts nothing, and waits for nobody for long.
    fn measure(&self, project: &ProjectName) -> PortResult<Measured>;
    /// Puts it on record, once however often it is asked for.
    fn record(&self, record: &RecordHealth) -> PortResult<()>;
    /// Deletes old records, as far as `tidy` allows.
    fn prune(&self, tidy: &Tidy) -> PortResult<Amount>;
}

/// What a run of a formula does by itself: commands, without a shell, in the run's worktree.
pub trait Steps: Send + Sync {
    /// Runs a step's command to its end, or answers as it ended. What a crash left of it is ended first.
    fn run(&self, tree: &Tree, step: &RunStep) -> PortResult<StepRan>;

    /// Nobody waits for what a run has under way any more: its processes are ended.
    fn stop(&self, tree: &Tree) -> PortResult<()>;

    /// Whether what the step was to bring about is there, as one of the project's verifiers says.
    fn verify(&self, tree: &Tree, claim: &VerifyStep) -> PortResult<StepVerified>;

    /// What a run's agent is shown besides its steps, bounded.
    fn context(&self, tree: &Tree, run: RunNumber, context: &Context) -> PortResult<String>;
}

/// What people and other tools are told outside the forge.
pub trait Escalations: Send + Sync {
    /// Records it once for each job, trigger and subject.
    fn record(&self, escalation: &Escalation<'_>) -> PortResult<()>;
}

/// A project's own commands about what became of its changes.
pub trait Notices: Send + Sync {
    /// Runs the command for that end. Once begun, it is never begun again, however it ended; this then
    /// returns what is known of it.
    fn run(&self, telling: &Telling) -> PortResult<CommandEnd>;
    /// Deletes the records of commands, as far as `tidy` allows.
    fn prune(&self, tidy: &Tidy) -> PortResult<Amount>;
}

/// What the vault is asked for.
pub trait Vault: Send + Sync {
    /// Carries it out to its end. An order is begun at most once, unless it says that it may be done twice; when it was
    /// begun before, this returns what is known of it.
    fn fire(&self, fire: &Fire) -> PortResult<Fired>;
    /// Deletes the records of fires, as far as `tidy` allows; none that has no answer.
    fn prune(&self, tidy: &Tidy) -> PortResult<Amount>;
}

/// What the floor's store keeps of the past.
pub trait Archive: Send + Sync {
    /// Deletes the records of runs, the journal's entries and the tombstones that `tidy` allows to go, a few at a time:
    /// nobody who wants to write waits long.
    fn prune(&self, tidy: &Tidy) -> PortResult<Pruned>;
}

/// All ports of a floor.
#[derive(Clone)]
pub struct Ports {
    pub workspace: Arc<dyn Workspace>,
    pub setup: Arc<dyn Setup>,
    pub merger: Arc<dyn Merger>,
    pub ci: Arc<dyn Ci>,
    pub forges: Arc<dyn Forges>,
    pub agents: Arc<dyn Agents>,
    pub steps: Arc<dyn Steps>,
    pub schedules: Arc<dyn Schedules>,
    pub health: Arc<dyn Health>,
    pub escalations: Arc<dyn Escalations>,
    pub notices: Arc<dyn Notices>,
    pub vault: Arc<dyn Vault>,
    pub archive: Arc<dyn Archive>,
}
