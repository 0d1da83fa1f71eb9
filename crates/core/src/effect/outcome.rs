//! What came of an action: the ports' answers, as the core takes them in.

use super::{ChainLink, CommandEnd, Conflict, Fired, JobHead, MovedBranch, PlannedRun};
use crate::act::Before;
use crate::forge::Version;
use crate::groom::answer::{Answer, Mistake};
use crate::health::Measured;
use crate::ids::{EntryId, IssueNumber, PrNumber, Role, Sha};
use crate::planner::{Link, TreeId};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Nobody wanted to know any more.
    Cancelled,
    /// The project's configuration lets everything the commit changes land without checks.
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiReport {
    pub verdict: CiVerdict,
    /// The step that decided, if not green.
    pub step: Option<String>,
    /// The useful end of that step's log, bounded, redacted and free of control characters.
    pub excerpt: String,
    /// Where the whole log is.
    pub log: String,
    pub steps_run: u32,
    /// If several commits were checked: the one that decided, in words, unless it was the last.
    #[serde(default)]
    pub at: Option<String>,
    pub duration_ms: u64,
    /// Identifies the checks: a different value means different checks.
    #[serde(default)]
    pub checks: String,
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

/// Why a role's agents cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTrouble {
    pub role: Role,
    pub why: String,
}

/// What a reviewer said of one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub verdict: Verdict,
    pub reason: String,
    pub markdown: String,
    /// Problems that the change did not introduce, but somebody should deal with.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    /// The kernel's start time of the process, in clock ticks since boot.
    pub start: u64,
}

/// What became of commits that are on the user's primary branch but not on origin's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "taken", rename_all = "snake_case")]
pub enum Taken {
    /// There are none.
    Nothing,
    /// Origin's primary branch was moved forward to them.
    Forwarded { head: Sha },
    /// Each has commits that the other lacks: the user's are on origin as this branch.
    Parted { branch: String, head: Sha, tree: TreeId, title: String, by: String },
    /// They went through the merge queue as other commits.
    Landed { head: Sha },
}

fn yes() -> bool {
    true
}

/// The commits that a green chain lands as.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltLanding {
    /// One for each step.
    pub commits: Vec<Link>,
    /// Links that were remade on top of what landed before, and what each has become.
    #[serde(default)]
    pub again: BTreeMap<Sha, Sha>,
}

/// The version of the issue that has the requested labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labelled {
    pub version: Version,
}

/// `notes`: what was, or is, out of order in the worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeReady {
    pub path: String,
    pub head: Sha,
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A command of the project's setup failed in the worktree: which one and how, and the end of its
/// output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupFailed {
    pub path: String,
    pub why: String,
    pub excerpt: String,
}

/// How a step's command ended: its exit code, or in words why there is none; and what it printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRan {
    pub code: Option<i32>,
    pub how: String,
    /// Bounded, and redacted.
    pub output: String,
}

/// When a schedule is next due, and what is to be run now if it is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlanned {
    pub next: Option<Time>,
    #[serde(flatten)]
    pub what: PlannedRun,
}

/// How the machine and a project's surroundings are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthChecked {
    pub measured: Box<Measured>,
}

/// What an agent asked for was done to that issue, or made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    pub issue: IssueNumber,
    /// The issues that it was split into, or that others became.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<IssueNumber>,
}

/// What an agent left as its answer, or what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "read", rename_all = "snake_case")]
pub enum AnswerRead {
    Groom {
        answer: Answer,
        /// Tells it from any other.
        digest: u64,
    },
    Wrong {
        mistake: Mistake,
    },
}

/// An act was undone; `kept`: why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActUndone {
    pub kept: Option<String>,
}

/// Whether what a step was to bring about is there; if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepVerified {
    pub there: bool,
    #[serde(default)]
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStarted {
    pub tmux: String,
    pub process: ProcessId,
    pub phase_file: String,
    #[serde(default)]
    pub runtime: String,
    /// The first prompt, if it has to be typed into the client.
    #[serde(default)]
    pub prompt: Option<String>,
    /// What was, or is, out of order in the worktree.
    #[serde(default)]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    pub rescue: Option<String>,
    pub last_output: String,
    #[serde(default)]
    pub note: Option<String>,
}

/// `rescue` holds what the worktree held; `files` are those that differ from the primary branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub rescue: Option<String>,
    pub head: Option<Sha>,
    /// Commits that the primary branch lacks; older programs did not say.
    #[serde(default)]
    pub ahead: Option<u32>,
    pub files: Vec<String>,
    /// What else went wrong.
    #[serde(default)]
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    pub head: Sha,
    pub ahead: u32,
    pub dirty: u32,
    pub note: Option<String>,
    /// The reviewed heads that it makes the same change as.
    #[serde(default)]
    pub same_as: Vec<Sha>,
    /// The newest commit of the primary branch that is in it.
    #[serde(default)]
    pub base: Option<Sha>,
    /// The protected files that it changes, as far as they are named.
    #[serde(default)]
    pub protected: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrOpen {
    pub pr: PrNumber,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewCollected {
    pub review: Review,
}

/// The reviewer left nothing usable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewUnusable {
    pub why: String,
}

/// A reviewer's worktree is at the next commit; `diff` is what is new there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewMoved {
    pub diff: String,
    pub notes: Vec<String>,
}

/// Where the primary branch is. `continues`: from where it was last known to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Primary {
    pub head: Sha,
    #[serde(default = "yes")]
    #[serde(rename = "goes_on")]
    pub continues: bool,
    /// Whether whoever pushes there is put on record before it moves.
    #[serde(default)]
    pub recorded: bool,
}

/// Nothing was published: these branches are not what was approved and checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchesMoved {
    pub moved: Vec<MovedBranch>,
}

/// One link for each entry. `primary`: where the primary branch was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    pub primary: Sha,
    pub moved: Vec<MovedBranch>,
    pub links: Vec<ChainLink>,
}

/// `entry` conflicts with what comes before it; `with_base`: with the base alone, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainConflict {
    pub primary: Sha,
    pub moved: Vec<MovedBranch>,
    pub entry: EntryId,
    pub with_base: bool,
    pub conflict: Conflict,
}

/// The branch can never be joined with the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmergeable {
    pub entry: EntryId,
    pub why: String,
}

/// The worktree is gone; `rescue` holds what it held, if it existed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    pub rescue: Option<String>,
    /// What else went wrong.
    #[serde(default)]
    pub note: Option<String>,
}

/// How much of something there was, and how large it was, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub count: u64,
    pub bytes: u64,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// What was pruned and packed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tidied {
    pub rescues: u32,
    /// Folders of sessions, logs of checks, and records of the project's commands.
    pub sessions: Amount,
    pub logs: Amount,
    pub notices: Amount,
    /// Of the store: records of runs, entries of the journal, and tombstones.
    pub kept: Pruned,
    pub packed: Packed,
}

/// What went from the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pruned {
    pub runs: u64,
    /// Of ended jobs, which were on the shelf.
    pub shelved: Amount,
    pub entries: Amount,
    pub tombstones: u64,
    /// Of the whole store, from before it was migrated.
    pub copies: Amount,
    /// About agents that the store no longer knows.
    pub files: Amount,
}

/// What was a file of its own and is in a pack now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Packed {
    pub objects: u64,
    pub refs: u64,
}

/// The commits that it would land as could not be signed. Signing may work later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSigned {
    pub why: String,
}

/// Somebody else moved the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimaryMoved {
    pub head: Sha,
}

/// The heads that are in the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundMerged {
    pub heads: Vec<JobHead>,
}

/// Entries whose changes are not all in the commits they landed as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    pub incomplete: Vec<EntryId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkout {
    pub updated: bool,
    pub note: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckoutTaken {
    pub taken: Taken,
}

/// What keeps agents from being started, and what the configuration names but the environment lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsChecked {
    pub troubles: Vec<AgentTrouble>,
    #[serde(default)]
    pub unset: Vec<String>,
}

/// No session of this role can be started, whatever its assignment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUnusable {
    pub why: String,
}

/// The action cannot be done, and retrying would not help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impossible {
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Labelled(Labelled),
    WorktreeReady(WorktreeReady),
    SetupFailed(SetupFailed),
    RunPlanned(RunPlanned),
    HealthChecked(HealthChecked),
    StepRan(StepRan),
    Acted(Acted),
    /// What is there before an act; nothing was changed yet.
    ActSeen(Before),
    ActUndone(ActUndone),
    AnswerRead(AnswerRead),
    StepVerified(StepVerified),
    SessionStarted(SessionStarted),
    SessionEnded(SessionEnded),
    Checkpoint(Checkpoint),
    Branch(Branch),
    PrOpen(PrOpen),
    CiFinished(CiReport),
    ReviewCollected(ReviewCollected),
    ReviewUnusable(ReviewUnusable),
    ReviewMoved(ReviewMoved),
    Primary(Primary),
    /// The primary branch does not exist.
    NoPrimary,
    BranchesMoved(BranchesMoved),
    Chain(Chain),
    ChainConflict(ChainConflict),
    Unmergeable(Unmergeable),
    Released(Released),
    Tidied(Tidied),
    LandingBuilt(BuiltLanding),
    NotSigned(NotSigned),
    Published,
    PrimaryMoved(PrimaryMoved),
    FoundMerged(FoundMerged),
    Landed(Landed),
    /// The project's command about the end of an entry has ended.
    Told(CommandEnd),
    /// What the vault was asked for was carried out, or not.
    Fired(Fired),
    Checkout(Checkout),
    CheckoutTaken(CheckoutTaken),
    AgentsChecked(AgentsChecked),
    AgentUnusable(AgentUnusable),
    Impossible(Impossible),
}
