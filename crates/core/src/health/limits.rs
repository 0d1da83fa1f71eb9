//! From when on something is found. The defaults are the seeds'. Zero: never.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Of the machine: for all projects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineLimits {
    /// P0 with less memory than this, in megabytes.
    pub memory_mb: u32,
    /// P0 with more swap in use than the first, and less memory than the second.
    pub swap_mb: u32,
    pub swap_memory_mb: u32,
    /// P1 when more of the disk is in use, in per cent; P0 when that much is.
    pub disk_percent: u32,
    pub disk_full_percent: u32,
    /// P3 with a greater load for each core, over 15 minutes.
    pub load: u32,
    /// P3 if something waits for memory for more of the time, in per cent.
    pub pressure_percent: u32,
}

impl Default for MachineLimits {
    fn default() -> Self {
        MachineLimits {
            memory_mb: 500,
            swap_mb: 3000,
            swap_memory_mb: 2000,
            disk_percent: 80,
            disk_full_percent: 95,
            load: 4,
            pressure_percent: 40,
        }
    }
}

/// Of a project's work: for how long something may last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkLimits {
    /// P2: checks that run, and checks that wait to.
    pub checks_running: Duration,
    pub checks_pending: Duration,
    /// P2: a question to people.
    pub needs_human: Duration,
    /// P2: issues are ready, and nobody works on any.
    pub no_job: Duration,
    /// P2: a lock file of git's in the floor's own repositories.
    pub lock: Duration,
    /// P3: a head that is red, or a green one that conflicts; and one that waits for its review.
    pub failing: Duration,
    pub review: Duration,
    /// P3: an effect that fails.
    pub effect: Duration,
    /// P3: an issue that others wait for, since it was made.
    pub dependency: Duration,
    /// P4: a worktree that belongs to no job.
    pub worktree: Duration,
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

impl Default for WorkLimits {
    fn default() -> Self {
        WorkLimits {
            checks_running: 20 * MINUTE,
            checks_pending: 30 * MINUTE,
            needs_human: 24 * HOUR,
            no_job: 20 * MINUTE,
            lock: 10 * MINUTE,
            failing: 30 * MINUTE,
            review: 60 * MINUTE,
            effect: 30 * MINUTE,
            dependency: 30 * 24 * HOUR,
            worktree: 2 * HOUR,
        }
    }
}
