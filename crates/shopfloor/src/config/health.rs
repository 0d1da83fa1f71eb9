//! `[health]`: from when on something is found, of a project's work (shopfloor.toml) and of the machine (floor.toml).

use super::duration::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::health::{MachineLimits, WorkLimits};
use shopfloor_core::policy::Policy;

/// From when on `shopfloor health` finds something of a project's work. "0s": never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Health {
    /// P2: checks that have run for so long.
    pub checks_running: Span,
    /// P2: checks that have waited for so long to begin.
    pub checks_pending: Span,
    /// P2: a question that has waited for people for so long.
    pub needs_human: Span,
    /// P2: issues are ready, and nobody has worked on any for so long.
    pub no_job: Span,
    /// P2: a lock file of git's that is so old, in the floor's own repositories.
    pub lock: Span,
    /// P3: a pull request whose checks have failed, or that has conflicted, for so long.
    pub failing: Span,
    /// P3: a pull request that has waited for its review for so long.
    pub review: Span,
    /// P3: something the factory does that has failed and been retried for so long.
    pub effect: Span,
    /// P3: an open issue that others wait for, so long after it was made.
    pub dependency: Span,
    /// P4: a worktree that belongs to no job, and that nothing was done in for so long.
    pub worktree: Span,
}

impl Default for Health {
    fn default() -> Self {
        let WorkLimits {
            checks_running,
            checks_pending,
            needs_human,
            no_job,
            lock,
            failing,
            review,
            effect,
            dependency,
            worktree,
        } = WorkLimits::default();
        Health {
            checks_running: Span(checks_running),
            checks_pending: Span(checks_pending),
            needs_human: Span(needs_human),
            no_job: Span(no_job),
            lock: Span(lock),
            failing: Span(failing),
            review: Span(review),
            effect: Span(effect),
            dependency: Span(dependency),
            worktree: Span(worktree),
        }
    }
}

impl Health {
    pub(super) fn decide(&self, policy: &mut Policy) {
        let limits = WorkLimits {
            checks_running: self.checks_running.0,
            checks_pending: self.checks_pending.0,
            needs_human: self.needs_human.0,
            no_job: self.no_job.0,
            lock: self.lock.0,
            failing: self.failing.0,
            review: self.review.0,
            effect: self.effect.0,
            dependency: self.dependency.0,
            worktree: self.worktree.0,
        };
        policy.health = limits.into();
    }
}

/// From when on `shopfloor health` finds something of the machine. 0: never.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MachineHealth {
    /// P0 with less memory available, in megabytes.
    pub memory: u32,
    /// P0 with more swap in use, in megabytes, while less memory is available than `swap_memory`.
    pub swap: u32,
    pub swap_memory: u32,
    /// P1 with more of the disk in use that the floor's home is on, in per cent.
    #[schemars(range(max = 100))]
    pub disk: u32,
    /// P0 with more of it in use.
    #[schemars(range(max = 100))]
    pub disk_full: u32,
    /// P3 with a greater load for each core, over 15 minutes.
    pub load: u32,
    /// P3 if programs wait for memory for more of the time, in per cent.
    #[schemars(range(max = 100))]
    pub pressure: u32,
}

impl Default for MachineHealth {
    fn default() -> Self {
        let MachineLimits {
            memory_mb,
            swap_mb,
            swap_memory_mb,
            disk_percent,
            disk_full_percent,
            load,
            pressure_percent,
        } = MachineLimits::default();
        MachineHealth {
            memory: memory_mb,
            swap: swap_mb,
            swap_memory: swap_memory_mb,
            disk: disk_percent,
            disk_full: disk_full_percent,
            load,
            pressure: pressure_percent,
        }
    }
}

impl MachineHealth {
    pub fn limits(&self) -> MachineLimits {
        MachineLimits {
            memory_mb: self.memory,
            swap_mb: self.swap,
            swap_memory_mb: self.swap_memory,
            disk_percent: self.disk,
            disk_full_percent: self.disk_full,
            load: self.load,
            pressure_percent: self.pressure,
        }
    }
}
