//! Schedules: when formulas are run by themselves, and what came of it.
//!
//! Invariant: a schedule that is in force knows when it is next due, or is about to be told: then that is ordered.

use super::{Cost, RunResult};
use crate::ids::{FormulaName, ProjectName, RunNumber, ScheduleName};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What becomes of a time at which nobody was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnMissed {
    /// One run makes up for all that was missed.
    #[default]
    Once,
    Skip,
}

/// A schedule as the project's configuration has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulePlan {
    pub formula: FormulaName,
    pub cron: String,
    /// The time zone's name; `None`: the machine's.
    #[serde(default)]
    pub tz: Option<String>,
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// How long a run may take, instead of what the formula says.
    #[serde(default)]
    pub timeout: Option<Duration>,
    #[serde(default)]
    pub on_missed: OnMissed,
    pub enabled: bool,
}

/// What was ordered and is not answered yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planning {
    #[default]
    Nothing,
    /// When it is next due.
    Next,
    /// What is to be run, for that time.
    Due(Time),
}

/// It is due, and something is in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postponed {
    pub since: Time,
    pub why: String,
    pub again_at: Time,
}

/// What came of the last time that it was due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    Run {
        run: RunNumber,
        result: Option<RunResult>,
    },
    /// Nothing was run, and nothing is wrong.
    Skipped {
        why: String,
    },
    /// It cannot be run.
    Failed {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTime {
    pub at: Time,
    pub came: Came,
}

/// What its runs have cost so far, as far as clients tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub runs: u64,
    pub time: Duration,
    #[serde(flatten)]
    pub cost: Cost,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    pub project: ProjectName,
    pub name: ScheduleName,
    pub plan: SchedulePlan,
    /// `None`: never, or not known yet.
    pub next: Option<Time>,
    #[serde(default)]
    pub planning: Planning,
    #[serde(default)]
    pub postponed: Option<Postponed>,
    /// Who paused it, and when.
    #[serde(default)]
    pub paused: Option<(String, Time)>,
    /// The last run of it. (Until another run begins, an older floor has here what is now `passed`.)
    #[serde(default)]
    pub last: Option<LastTime>,
    /// When it was due since then and nothing was run.
    #[serde(default)]
    pub passed: Option<LastTime>,
    #[serde(default)]
    pub spent: Spent,
}
record!(
    Schedule,
    "schedule",
    Runs,
    (ProjectName, ScheduleName),
    |s| (s.project.clone(), s.name.clone()),
    |(project, name)| format!("{project}/{name}")
);

impl Schedule {
    pub fn is_in_force(&self) -> bool {
        self.plan.enabled && self.paused.is_none()
    }

    /// When something is to be done about it.
    pub fn due(&self) -> Option<Time> {
        let waits = self.is_in_force() && self.planning == Planning::Nothing;
        let at = self.postponed.as_ref().map_or(self.next, |postponed| Some(postponed.again_at));
        at.filter(|_| waits)
    }
}
