//! Runs: formulas that are being carried out, and how far each is.

use super::{Cost, Floor};
use crate::ids::{FormulaName, IssueNumber, JobId, ProjectName, RunNumber, ScheduleName, StepId};
use crate::recipe::{Context, Recipe, Step};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    Live {
        job: JobId,
        /// How it is to end, once its job has; else the job's own end says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ending: Option<(RunResult, String)>,
    },
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
    /// Tells the answer that was taken for it from others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<u64>,
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
    /// The issue that asks for it: then its job is that issue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueNumber>,
    pub asked_at: Time,
    #[serde(default)]
    pub started_at: Option<Time>,
    /// It has until then at least: a person had its agent, or its project was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spared_until: Option<Time>,
    /// Its steps are over, and what they left on its branch is on its way: time does not count any longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub landing: bool,
    pub state: RunState,
    /// One for each step of the recipe, in its order.
    pub steps: Vec<StepRecord>,
    /// What it has cost, once it has ended.
    #[serde(default)]
    pub spent: Cost,
}
record!(Run, "run", Runs, RunNumber, |r| r.number, |k| k.to_string());

impl Run {
    pub fn new(number: RunNumber, project: ProjectName, recipe: Recipe, by: String, now: Time) -> Run {
        let steps = recipe.steps.iter().map(|step| {
            let state = if step.skipped { StepState::Skipped } else { StepState::Open };
            StepRecord { state, at: now, ..StepRecord::default() }
        });
        Run {
            number,
            project,
            steps: steps.collect(),
            recipe,
            by,
            schedule: None,
            issue: None,
            asked_at: now,
            started_at: None,
            spared_until: None,
            landing: false,
            state: RunState::Waiting,
            spent: Cost::default(),
        }
    }

    pub fn is_live(&self) -> bool {
        !matches!(self.state, RunState::Ended { .. })
    }

    pub fn result(&self) -> Option<RunResult> {
        match self.state {
            RunState::Ended { result, .. } => Some(result),
            _ => None,
        }
    }

    /// Whether it is over, or about to be: nothing more is begun.
    pub fn is_ending(&self) -> bool {
        matches!(self.state, RunState::Live { ending: Some(_), .. } | RunState::Ended { .. })
    }

    /// Whether anything of it is an agent's to do.
    pub fn has_agent_steps(&self) -> bool {
        self.recipe.steps.iter().any(|step| step.run.is_none() && !step.skipped)
    }

    /// The job that carries it out, or did.
    pub fn job(&self) -> Option<JobId> {
        match self.state {
            RunState::Waiting => None,
            RunState::Live { job, .. } => Some(job),
            RunState::Ended { job, .. } => job,
        }
    }

    /// What it has cost so far.
    pub fn cost(&self, floor: &Floor) -> Cost {
        match self.state {
            RunState::Live { job, .. } => floor.cost_of(job),
            RunState::Waiting | RunState::Ended { .. } => self.spent,
        }
    }

    /// Whether it has not been through in time.
    pub fn has_timed_out(&self) -> bool {
        matches!(
            self.state,
            RunState::Live { ending: Some((RunResult::TimedOut, _)), .. }
                | RunState::Ended { result: RunResult::TimedOut, .. }
        )
    }

    /// When it has to be through with its steps, and its agent with its last words. What has become a change waits for
    /// reviews and the merge queue as long as any other.
    pub fn due(&self) -> Option<Time> {
        let ends = matches!(self.state, RunState::Live { ending: Some(_), .. });
        let at = self.started_at.filter(|_| self.is_live() && !ends && !self.landing)?;
        Some((at + self.recipe.lifetime).max(self.spared_until.unwrap_or_default()))
    }

    /// The step whose command, or whose verifier, is under way.
    pub fn under_way(&self) -> Option<&Step> {
        let mut steps = self.steps();
        let is_at_it =
            |state: &StepState| matches!(state, StepState::Running { .. } | StepState::Claimed { .. });
        steps.find(|(_, record)| is_at_it(&record.state)).map(|(step, _)| step)
    }

    /// Agent steps that can be worked on now.
    pub fn open_steps(&self) -> impl Iterator<Item = &Step> {
        let ready = |step: &Step, record: &StepRecord| {
            step.run.is_none() && !record.state.is_over() && self.missing(step).is_empty()
        };
        self.steps().filter(move |(step, record)| ready(step, record)).map(|(step, _)| step)
    }

    /// Those that its agent can say something of: the run goes on, and nothing is being looked at.
    pub fn steps_to_do(&self) -> impl Iterator<Item = &Step> {
        let open =
            |step: &Step| self.step(&step.id).is_some_and(|(_, _, record)| record.state == StepState::Open);
        self.open_steps().filter(move |step| !self.is_ending() && open(step))
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
        self.open_steps().next().is_some()
    }

    pub fn is_through(&self) -> bool {
        self.steps.iter().all(|record| record.state.is_over())
    }
}

/// What a run's session is told to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub run: RunNumber,
    pub formula: FormulaName,
    pub description: String,
    /// Who asked for it.
    pub by: String,
    pub vars: BTreeMap<String, String>,
    pub context: Context,
    /// The model, instead of the role's own.
    pub model: Option<String>,
    /// Each step with what is known of it.
    pub steps: Vec<(Step, StepRecord)>,
}

impl Run {
    pub fn task(&self) -> Task {
        let recipe = &self.recipe;
        Task {
            run: self.number,
            formula: recipe.formula.clone(),
            description: recipe.description.clone(),
            by: self.by.clone(),
            vars: recipe.vars.clone(),
            context: recipe.context.clone(),
            model: recipe.model.clone(),
            steps: self.steps().map(|(step, record)| (step.clone(), record.clone())).collect(),
        }
    }
}

impl Floor {
    /// The run of that formula that is not over.
    pub fn live_run(&self, project: &ProjectName, formula: &FormulaName) -> Option<&Run> {
        self.runs.iter().find(|r| r.is_live() && r.project == *project && r.recipe.formula == *formula)
    }

    /// The run that a job carries out.
    pub fn run_of(&self, job: JobId) -> Option<&Run> {
        self.runs.get(&self.jobs.get(&job)?.run()?)
    }
}
