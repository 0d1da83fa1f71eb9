//! How an entry of the merge queue ended, for whoever is told about it.

use crate::ids::{EntryId, IssueNumber, PrNumber, ProjectName, RunId, Sha};
use serde::{Deserialize, Serialize};

/// The ends that people are told about. Whoever takes an entry out knows that they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryEnd {
    Landed,
    Failed,
    Conflicted,
}

impl EntryEnd {
    pub fn as_str(self) -> &'static str {
        match self {
            EntryEnd::Landed => "landed",
            EntryEnd::Failed => "failed",
            EntryEnd::Conflicted => "conflicted",
        }
    }
}

/// An entry's end, with what it stood on and where its log is. Most of this text was written by others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telling {
    pub project: ProjectName,
    pub entry: EntryId,
    pub end: EntryEnd,
    /// Where it was to land.
    pub target: String,
    pub branch: String,
    pub head: Sha,
    pub title: String,
    pub issue: Option<IssueNumber>,
    pub pr: Option<PrNumber>,
    /// Who queued it: a person, or the agent whose branch it is.
    pub by: String,
    /// Who made its newest commit, if that is on record.
    pub author: Option<String>,
    /// What it was put on, and the branches that were in that but not in the primary branch.
    pub base: Option<Sha>,
    pub behind: Vec<String>,
    /// What it landed as.
    pub commit: Option<Sha>,
    /// The run that decided, and its log.
    pub run: Option<RunId>,
    pub log: String,
    /// Why it did not land; empty if it did.
    pub reason: String,
}

/// How a project's command about an entry's end went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// What went wrong; `None`: nothing.
    pub trouble: Option<String>,
    /// Where its output is.
    pub log: String,
}
