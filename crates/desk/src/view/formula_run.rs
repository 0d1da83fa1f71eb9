//! Runs of formulas: what each is at, and what came of its steps.

use super::job;
use crate::time::moment;
use serde::Serialize;
use shopfloor_core::ids::{FormulaName, JobId, PrNumber, ProjectName, RunNumber, ScheduleName, StepId};
use shopfloor_core::recipe::Step;
use shopfloor_core::state::{Floor, Run, RunState, StepRecord, Tokens};
use shopfloor_core::step::RunWaiting;
use shopfloor_core::text::one_line;
use std::collections::BTreeMap;

/// A run as `--json` shows it.
#[derive(Serialize)]
pub struct FormulaRunView {
    pub run: RunNumber,
    pub project: ProjectName,
    pub formula: FormulaName,
    pub version: String,
    /// waiting, running, or how it ended: done, nothing_to_do, failed, timed_out, cancelled.
    pub state: &'static str,
    /// What it waits for, or how its end came about.
    pub why: Option<String>,
    pub by: String,
    pub schedule: Option<ScheduleName>,
    pub vars: BTreeMap<String, String>,
    pub asked_at: String,
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub job: Option<JobId>,
    pub branch: Option<String>,
    pub pr: Option<PrNumber>,
    /// The name of its agent's tmux session.
    pub session: Option<String>,
    /// As far as its agents' clients tell; null: they do not.
    pub cost_usd: Option<f64>,
    pub tokens: Option<Tokens>,
    pub steps: Vec<StepView>,
}

#[derive(Serialize)]
pub struct StepView {
    pub id: StepId,
    pub title: String,
    pub needs: Vec<StepId>,
    /// The command, if it is one of the factory's.
    pub run: Option<Vec<String>>,
    pub verify: Option<String>,
    /// open, running, verifying, done, skipped or failed.
    pub state: &'static str,
    pub note: Option<String>,
    pub output: Option<String>,
    pub attempts: u32,
    pub at: String,
    /// Whether its agent can work on it now.
    pub can_be_done: bool,
}

impl FormulaRunView {
    pub fn new(floor: &Floor, run: &Run) -> FormulaRunView {
        let job = run.job().and_then(|job| floor.jobs.get(&job));
        let session = job.and_then(|job| job.session).and_then(|epoch| floor.sessions.get(&epoch));
        let cost = run.cost(floor);
        FormulaRunView {
            run: run.number,
            project: run.project.clone(),
            formula: run.recipe.formula.clone(),
            version: run.recipe.version.clone(),
            state: state(run),
            why: why(floor, run),
            by: run.by.clone(),
            schedule: run.schedule.clone(),
            vars: run.recipe.vars.clone(),
            asked_at: moment(run.asked_at),
            started_at: run.started_at.map(moment),
            ended_at: match run.state {
                RunState::Ended { at, .. } => Some(moment(at)),
                _ => None,
            },
            job: run.job(),
            branch: job.map(|job| job.branch.clone()),
            pr: job.and_then(|job| job.pr),
            session: session.map(|session| session.tmux.clone()),
            cost_usd: dollars(cost.micros),
            tokens: tokens(cost.tokens),
            steps: run.steps().map(|(step, record)| view(run, step, record)).collect(),
        }
    }
}

/// None if nobody told.
pub(super) fn dollars(micros: u64) -> Option<f64> {
    (micros > 0).then_some(micros as f64 / 1e6)
}

pub(super) fn tokens(tokens: Tokens) -> Option<Tokens> {
    Some(tokens).filter(|tokens| tokens.all() > 0)
}

fn view(run: &Run, step: &Step, record: &StepRecord) -> StepView {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    StepView {
        id: step.id.clone(),
        title: step.title.clone(),
        needs: step.needs.clone(),
        run: step.run.clone(),
        verify: step.verify.clone(),
        state: record.state.name(),
        note: given(&record.note),
        output: given(&record.output),
        attempts: record.attempts,
        at: moment(record.at),
        can_be_done: run.steps_to_do().any(|open| open.id == step.id),
    }
}

pub fn state(run: &Run) -> &'static str {
    match &run.state {
        RunState::Waiting => "waiting",
        RunState::Live { .. } => "running",
        RunState::Ended { result, .. } => result.name(),
    }
}

/// What a run waits for, or how its end came about.
pub fn why(floor: &Floor, run: &Run) -> Option<String> {
    match &run.state {
        RunState::Waiting => Some(waits_for(RunWaiting::of(floor, run))),
        RunState::Live { job, .. } => job::waits_for(floor, floor.jobs.get(job)?),
        RunState::Ended { reason, .. } => Some(reason.clone()).filter(|reason| !reason.is_empty()),
    }
}

/// What a run that has not begun waits for.
fn waits_for(waiting: RunWaiting) -> String {
    match waiting {
        RunWaiting::Ready => "ready".to_owned(),
        RunWaiting::Turn(run) => format!("waits for run {run} of the same formula"),
        RunWaiting::Paused(why) => format!("its project is paused: {}", one_line(&why, 120)),
        RunWaiting::Room { live, max } => format!("waits for a free slot for runs ({live} of {max} in use)"),
        RunWaiting::FloorRoom { live, max } => {
            format!("waits for a free slot on the floor ({live} of {max} in use)")
        }
        RunWaiting::Looking => "waits until its project's agents have been looked at".to_owned(),
        RunWaiting::Outage { role, why } => {
            format!("waits until {role} agents can work: {}", one_line(&why, 120))
        }
    }
}
