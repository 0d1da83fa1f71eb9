//! Runs: formulas that are being carried out, and how far each is.

use super::Floor;
use crate::ids::{FormulaName, JobId, ProjectName, RunNumber, ScheduleName, StepId};
use crate::recipe::{Recipe, Step};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunResult {
    Done,
    /// One of its commands said so.
    NothingToDo,
    Failed,
    TimedOut,
    Cancelled,
}

impl RunResult {
    pub fn name(self) -> &'static str {
        match self {
            RunResult::Done => "done",
            RunResult::NothingToDo => "nothing_to_do",
            RunResult::Failed => "failed",
            RunResult::TimedOut => "timed_out",
            RunResult::Cancelled => "cancelled",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunState {
    /// There is no room for it yet.
    Waiting,
    /// The job carries it out.
    Live { job: JobId },
    Ended {
        result: RunResult,
        /// Why, or what it came to.
        #[serde(default)]
        reason: String,
        at: Time,
        /// The job that carried it out, if it got that far.
        #[serde(default)]
        job: Option<JobId>,
    },
}

/// How far a step is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StepState {
    #[default]
    Open,
    /// Its command is under way, for that time.
    Running {
        attempt: u32,
    },
    /// The agent says that it is done; that is being verified.
    Claimed {
        attempt: u32,
    },
    Done,
    /// Passed over: its condition does not hold, or the agent gave a reason.
    Skipped,
    Failed,
}

impl StepState {
    pub fn is_over(&self) -> bool {
        matches!(self, StepState::Done | StepState::Skipped)
    }

    pub fn name(&self) -> &'static str {
        match self {
            StepState::Open => "open",
            StepState::Running { .. } => "running",
            StepState::Claimed { .. } => "verifying",
            StepState::Done => "done",
            StepState::Skipped => "skipped",
            StepState::Failed => "failed",
        }
    }
}

/// What is known of a step of a run; the recipe says what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepRecord {
    #[serde(flatten)]
    pub state: StepState,
    /// What the agent said of it, or why it was passed over or failed.
    pub note: String,
    /// What its command printed: bounded, and hidden what is secret.
    pub output: String,
    /// When its state last changed.
    pub at: Time,
    /// How often it was begun or claimed.
    pub attempts: u32,
}

/// One carrying out of a formula.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub number: RunNumber,
    pub project: ProjectName,
    pub recipe: Recipe,
    /// Who asked for it.
    pub by: String,
    #[serde(default)]
    pub schedule: Option<ScheduleName>,
    pub asked_at: Time,
    #[serde(default)]
    pub started_at: Option<Time>,
    pub state: RunState,
    /// One for each step of the recipe, in its order.
    pub steps: Vec<StepRecord>,
}
record!(Run, "run", Runs, RunNumber, |r| r.number, |k| k.to_string());

impl Run {
    pub fn is_live(&self) -> bool {
        !matches!(self.state, RunState::Ended { .. })
    }

    pub fn result(&self) -> Option<RunResult> {
        match self.state {
            RunState::Ended { result, .. } => Some(result),
            _ => None,
        }
    }

    /// The job that carries it out, or did.
    pub fn job(&self) -> Option<JobId> {
        match self.state {
            RunState::Waiting => None,
            RunState::Live { job } => Some(job),
            RunState::Ended { job, .. } => job,
        }
    }

    /// When it has to be over.
    pub fn due(&self) -> Option<Time> {
        self.started_at.filter(|_| self.is_live()).map(|at| at + self.recipe.lifetime)
    }

    pub fn steps(&self) -> impl Iterator<Item = (&Step, &StepRecord)> {
        self.recipe.steps.iter().zip(&self.steps)
    }

    pub fn step(&self, id: &StepId) -> Option<(usize, &Step, &StepRecord)> {
        let at = self.recipe.steps.iter().position(|step| step.id == *id)?;
        Some((at, &self.recipe.steps[at], self.steps.get(at)?))
    }

    /// The steps that have to be over before this one and are not.
    pub fn missing(&self, step: &Step) -> Vec<StepId> {
        let over = |id: &StepId| self.step(id).is_some_and(|(_, _, record)| record.state.is_over());
        step.needs.iter().filter(|id| !over(id)).cloned().collect()
    }

    /// The command that is to be run next, if one may be.
    pub fn next_command(&self) -> Option<usize> {
        let ready = |(step, record): (&Step, &StepRecord)| {
            step.run.is_some() && record.state == StepState::Open && self.missing(step).is_empty()
        };
        self.steps().position(ready)
    }

    /// Whether it is the agent's turn: one of its steps can be worked on.
    pub fn awaits_agent(&self) -> bool {
        self.steps().any(|(step, record)| {
            step.run.is_none() && !record.state.is_over() && self.missing(step).is_empty()
        })
    }

    /// Whether anything of it is, or was, an agent's to do.
    pub fn has_agent(&self) -> bool {
        self.recipe.steps.iter().any(|step| step.run.is_none() && !step.skipped)
    }

    pub fn is_through(&self) -> bool {
        self.steps.iter().all(|record| record.state.is_over())
    }
}

impl Floor {
    /// The run of that formula that is not over.
    pub fn live_run(&self, project: &ProjectName, formula: &FormulaName) -> Option<&Run> {
        self.runs.iter().find(|r| r.is_live() && r.project == *project && r.recipe.formula == *formula)
    }

    /// The run that a job carries out.
    pub fn run_of(&self, job: JobId) -> Option<&Run> {
        self.runs.iter().rev().find(|run| run.job() == Some(job))
    }
}
