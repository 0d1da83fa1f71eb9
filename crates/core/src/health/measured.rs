//! What was measured, as values: whole numbers, and lists that are bounded by whoever measures.

use crate::ids::{Assignment, Epoch, ProjectName, Role, RunId};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One look at the machine and at what the floor's records do not say. `None`: not looked at, or not to be had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measured {
    pub machine: Machine,
    /// Of docker, if it runs.
    pub containers: Option<Containers>,
    pub locks: Option<Vec<OldLock>>,
    pub trees: Option<Vec<TreeSeen>>,
    pub strays: Option<Vec<Stray>>,
    /// Checks that were begun and have no verdict.
    pub checks: Option<Vec<CheckSeen>>,
    pub recent: Option<Recent>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Bytes.
    pub memory_available: Option<u64>,
    pub swap_total: Option<u64>,
    pub swap_free: Option<u64>,
    pub disk_free: Option<u64>,
    pub disk_total: Option<u64>,
    /// Over 15 minutes, in hundredths.
    pub load: Option<u64>,
    pub cpus: Option<u64>,
    /// For how much of the last ten seconds something waited for memory, in tenths of a per cent.
    pub memory_pressure: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Containers {
    pub count: u64,
    pub unhealthy: Vec<String>,
}

/// A lock file in one of the floor's own repositories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldLock {
    /// Below the project's folder.
    pub path: String,
    pub age: Duration,
}

/// A worktree of an agent's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSeen {
    pub name: String,
    pub role: Role,
    #[serde(flatten)]
    pub assignment: Assignment,
    /// When its folder last changed.
    pub changed: Time,
}

/// A session on the floor's own terminal server, under a name that only the factory gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stray {
    pub project: ProjectName,
    pub role: Role,
    #[serde(flatten)]
    pub assignment: Assignment,
    pub epoch: Epoch,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSeen {
    pub run: RunId,
    pub since: Time,
    /// Whether a process of it is there.
    pub alive: bool,
}

/// Of a project's newest checks that came to an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recent {
    pub ended: u64,
    pub red: u64,
}
