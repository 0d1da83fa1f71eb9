//! Branches that are tried as they would land, without landing them.

use super::Floor;
use crate::ids::{IssueNumber, PrNumber, ProjectName, RunId, Sha, Target, TryId};
use crate::policy::MergeMethod;
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum TryState {
    /// It is being put on top of its base.
    Building,
    Testing {
        run: RunId,
        commit: Sha,
    },
    /// It would pass. No run: it adds nothing that is not there already.
    Green {
        run: Option<RunId>,
        commit: Sha,
        log: String,
    },
    Red {
        run: Option<RunId>,
        commit: Option<Sha>,
        reason: String,
        log: String,
        /// The useful end of the log.
        excerpt: String,
    },
    Conflicted {
        files: Vec<String>,
        hunks: String,
    },
    /// Nobody can tell: the checks could not be run, or the branch is gone.
    Unknown {
        reason: String,
        log: String,
    },
}

impl TryState {
    pub fn is_live(&self) -> bool {
        matches!(self, TryState::Building | TryState::Testing { .. })
    }

    pub fn name(&self) -> &'static str {
        match self {
            TryState::Building => "building",
            TryState::Testing { .. } => "testing",
            TryState::Green { .. } => "green",
            TryState::Red { .. } => "red",
            TryState::Conflicted { .. } => "conflicted",
            TryState::Unknown { .. } => "unknown",
        }
    }
}

/// A branch as it was when somebody asked whether it would land, and the result. It is in no queue, and the result
/// lands nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    pub id: TryId,
    pub project: ProjectName,
    pub branch: String,
    pub head: Sha,
    pub title: String,
    /// What it is put on: a branch (`None`: the primary branch), and where that branch was.
    pub on: Option<Target>,
    pub base: Sha,
    pub method: MergeMethod,
    pub issue: Option<IssueNumber>,
    pub pr: Option<PrNumber>,
    pub by: String,
    pub asked_at: Time,
    pub ended_at: Option<Time>,
    pub state: TryState,
}
record!(Try, "try", Queues, TryId, |t| t.id, |k| k.to_string());

impl Floor {
    /// The newest try of that branch.
    pub fn newest_try(&self, project: &ProjectName, branch: &str) -> Option<&Try> {
        self.tries.iter().rev().find(|t| t.project == *project && t.branch == branch)
    }
}
