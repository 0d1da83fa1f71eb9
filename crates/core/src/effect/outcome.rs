//! What came of an action: the answers that ports give, as the core takes them in.

use super::{ChainLink, CommandEnd, Conflict, JobHead, MovedBranch};
use crate::ids::{EntryId, PrNumber, Role, Sha};
use crate::planner::{Link, Tree};
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
    /// Where several commits were checked: the one that decided, in words, if it was not the last.
    #[serde(default)]
    pub at: Option<String>,
    pub duration_ms: u64,
    /// Which checks they were: another number, other checks.
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

/// What became of the commits that the user's primary branch has and origin's has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "taken", rename_all = "snake_case")]
pub enum Taken {
    /// There are none.
    Nothing,
    /// Origin's primary branch went forward to them.
    Forwarded { head: Sha },
    /// Both have what the other lacks: they are on origin as this branch.
    Parted { branch: String, head: Sha, tree: Tree, title: String, by: String },
    /// They went through the merge queue as other commits.
    Landed { head: Sha },
}

fn yes() -> bool {
    true
}

/// The commits that what is green lands as.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltLanding {
    /// One for each step.
    pub commits: Vec<Link>,
    /// Links that were made again on top of what landed before, and what each is now.
    #[serde(default)]
    pub again: BTreeMap<Sha, Sha>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// The version with the labels that were asked for.
    Labelled {
        version: u64,
    },
    /// `notes`: what was, or is, out of order in the worktree.
    WorktreeReady {
        path: String,
        head: Sha,
        #[serde(default)]
        notes: Vec<String>,
    },
    /// A command of the project's setup failed in the worktree: which one and how, and the end of its
    /// output.
    SetupFailed {
        path: String,
        why: String,
        excerpt: String,
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
        /// What was, or is, out of order in the worktree.
        #[serde(default)]
        notes: Vec<String>,
    },
    SessionEnded {
        rescue: Option<String>,
        last_output: String,
        #[serde(default)]
        note: Option<String>,
    },
    /// `rescue` holds what the worktree held; `files` differ from the primary branch.
    Checkpoint {
        rescue: Option<String>,
        head: Option<Sha>,
        /// Commits that the primary branch does not have; older programs did not say.
        #[serde(default)]
        ahead: Option<u32>,
        files: Vec<String>,
        /// What went wrong beside it.
        #[serde(default)]
        note: Option<String>,
    },
    Branch {
        head: Sha,
        ahead: u32,
        dirty: u32,
        note: Option<String>,
        /// Which of the reviewed heads it makes the same change as.
        #[serde(default)]
        same_as: Vec<Sha>,
        /// The newest commit of the primary branch that is in it.
        #[serde(default)]
        base: Option<Sha>,
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
    /// A reviewer's worktree is at the next commit; `diff` is what is new there.
    ReviewMoved {
        diff: String,
        notes: Vec<String>,
    },
    /// Where the primary branch is. `goes_on`: from where it was known to have been.
    Primary {
        head: Sha,
        #[serde(default = "yes")]
        goes_on: bool,
    },
    /// It is nowhere.
    NoPrimary,
    /// Nothing was published: these are not what was approved and checked.
    BranchesMoved {
        moved: Vec<MovedBranch>,
    },
    /// One link for each entry. `primary`: where the primary branch was seen.
    Chain {
        primary: Sha,
        moved: Vec<MovedBranch>,
        links: Vec<ChainLink>,
    },
    /// `entry` conflicts with what is before it; `with_base`: with the base alone, too.
    ChainConflict {
        primary: Sha,
        moved: Vec<MovedBranch>,
        entry: EntryId,
        with_base: bool,
        conflict: Conflict,
    },
    /// The branch can never be joined with the primary branch.
    Unmergeable {
        entry: EntryId,
        why: String,
    },
    /// A worktree is gone; `rescue` holds what it held, if there was one.
    Released {
        rescue: Option<String>,
        /// What went wrong beside it.
        #[serde(default)]
        note: Option<String>,
    },
    /// How many rescue refs and folders were pruned.
    Tidied {
        rescues: u32,
        folders: u32,
    },
    LandingBuilt(BuiltLanding),
    /// The commits that it lands as could not be signed. That may work later.
    NotSigned {
        why: String,
    },
    Published,
    /// Somebody else moved the primary branch.
    PrimaryMoved {
        head: Sha,
    },
    /// Those that are in the primary branch.
    FoundMerged {
        heads: Vec<JobHead>,
    },
    /// These entries' changes are not all in the commits they landed as.
    Landed {
        incomplete: Vec<EntryId>,
    },
    /// The project's command about the end of an entry has ended.
    Told(CommandEnd),
    Checkout {
        updated: bool,
        note: String,
    },
    CheckoutTaken {
        taken: Taken,
    },
    /// What keeps agents from being started, and what the configuration names and the environment has not.
    AgentsChecked {
        troubles: Vec<AgentTrouble>,
        #[serde(default)]
        unset: Vec<String>,
    },
    /// No session of that role could be started, whatever it is for.
    AgentUnusable {
        why: String,
    },
    /// The action cannot be done, and doing it again would not help.
    Impossible {
        why: String,
    },
}
