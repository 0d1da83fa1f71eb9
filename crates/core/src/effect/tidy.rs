//! The order to prune and to pack.

use crate::ids::{Epoch, IssueNumber, ProjectName, RunId};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Prune what is old and needed by nobody, and pack what has grown. It names what must stay, so that whatever is made
/// later stays too; and of that only what is in use, so that an order does not grow with the floor's history. What an
/// older build ordered removes no more than it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tidy {
    pub project: ProjectName,
    /// Rescue refs beyond an agent's newest, or made before this, may go if another has the same content.
    pub rescues_kept: u32,
    pub rescues_before: Time,
    /// Rescue refs named by live jobs. An agent's newest is never one too many, and goes by its age alone.
    pub rescues_named: Vec<String>,
    /// Folders of sessions, whichever project they are of: none after this one, and none of these.
    #[serde(default)]
    pub sessions_upto: Epoch,
    #[serde(default)]
    pub sessions_kept: Vec<Epoch>,
    /// Folders of sessions that changed since then are kept.
    #[serde(default)]
    pub sessions_before: Time,
    /// Runs of checks that somebody may still ask for.
    pub runs_kept: Vec<RunId>,
    /// Runs since then are kept, and all other folders that changed since then.
    pub folders_before: Time,
    /// Entries of the journal since then are kept, and the notes about these issues.
    #[serde(default)]
    pub journal_before: Time,
    #[serde(default)]
    pub notes_kept: Vec<(ProjectName, IssueNumber)>,
    /// What was deleted from the state before this need not be remembered as deleted.
    #[serde(default)]
    pub tombstones_before: Time,
    /// Slow work is in nobody's way, or somebody asked for it.
    #[serde(default)]
    pub idle: bool,
    /// Nothing is removed; what would be is counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}
