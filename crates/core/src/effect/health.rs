//! What the supervisor has done in the world.

use crate::health::Stray;
use crate::ids::{JobId, ProjectName, ScheduleName};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Look at the machine and at a project's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckHealth {
    pub project: ProjectName,
    /// The schedule by which it is due, and for which time; `None`: a person wants it.
    #[serde(default)]
    pub schedule: Option<(ScheduleName, Time)>,
}

/// Put what was found and done on the records that people and other tools read, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordHealth {
    pub project: ProjectName,
    pub at: Time,
    /// What is urgent, each with the finding's key: for the file of escalations.
    #[serde(default)]
    pub urgent: Vec<(String, String)>,
    /// For the day's journal, in lines.
    pub entry: String,
}

/// End a session that nobody knows, with its work kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndStray {
    /// Whose worktree it is in now, if anybody's.
    #[serde(default)]
    pub job: Option<JobId>,
    #[serde(flatten)]
    pub stray: Stray,
}
