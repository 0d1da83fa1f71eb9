//! Schedules: when each is next due, what is in the way, and what came of the last time.

use super::formula_run::{dollars, tokens};
use crate::time::moment;
use serde::Serialize;
use shopfloor_core::ids::{FormulaName, ProjectName, RunNumber, ScheduleName};
use shopfloor_core::state::{Came, LastTime, Planning, Schedule, Tokens};
use std::collections::BTreeMap;

/// A schedule as `--json` shows it.
#[derive(Serialize)]
pub struct ScheduleView {
    pub schedule: ScheduleName,
    pub project: ProjectName,
    pub formula: FormulaName,
    pub cron: String,
    /// Null: the machine's.
    pub tz: Option<String>,
    pub vars: BTreeMap<String, String>,
    /// waiting, due, postponed, paused, disabled or never.
    pub state: &'static str,
    pub next: Option<String>,
    /// What is in the way of a run that is due.
    pub why: Option<String>,
    pub postponed_since: Option<String>,
    pub paused_by: Option<String>,
    /// The last run of it; if there was none yet, what came of the last time that it was due.
    pub last: Option<LastView>,
    /// When it was due since then and nothing was run.
    pub passed_over: Option<LastView>,
    /// Runs that have ended, and what one of them costs on average.
    pub runs: u64,
    pub average_seconds: Option<u64>,
    /// As far as clients tell, like all that follows.
    pub average_dollars: Option<f64>,
    pub average_tokens: Option<Tokens>,
    /// What all of them have cost together.
    pub dollars: Option<f64>,
    pub tokens: Option<Tokens>,
}

#[derive(Serialize)]
pub struct LastView {
    pub at: String,
    pub run: Option<RunNumber>,
    /// running, how the run ended, skipped or failed.
    pub result: &'static str,
    pub why: Option<String>,
}

impl ScheduleView {
    pub fn new(schedule: &Schedule) -> ScheduleView {
        let plan = &schedule.plan;
        let spent = &schedule.spent;
        let average = |all: u64| all.checked_div(spent.runs);
        let (micros, used) = (spent.cost.micros, spent.cost.tokens);
        let postponed = schedule.postponed.as_ref();
        ScheduleView {
            schedule: schedule.name.clone(),
            project: schedule.project.clone(),
            formula: plan.formula.clone(),
            cron: plan.cron.clone(),
            tz: plan.tz.clone(),
            vars: plan.vars.clone(),
            state: state(schedule),
            next: schedule.next.map(moment),
            why: postponed.map(|postponed| postponed.why.clone()),
            postponed_since: postponed.map(|postponed| moment(postponed.since)),
            paused_by: schedule.paused.as_ref().map(|(by, _)| by.clone()),
            last: schedule.last.as_ref().or(schedule.passed.as_ref()).map(LastView::new),
            passed_over: schedule.passed.as_ref().map(LastView::new),
            runs: spent.runs,
            average_seconds: average(spent.time.as_secs()),
            average_dollars: average(micros).and_then(dollars),
            average_tokens: tokens(Tokens {
                input: average(used.input).unwrap_or(0),
                output: average(used.output).unwrap_or(0),
                cached: average(used.cached).unwrap_or(0),
            }),
            dollars: dollars(micros),
            tokens: tokens(used),
        }
    }
}

impl LastView {
    fn new(last: &LastTime) -> LastView {
        let at = moment(last.at);
        match &last.came {
            Came::Run { run, result } => LastView {
                at,
                run: Some(*run),
                result: result.map_or("running", |result| result.name()),
                why: None,
            },
            Came::Skipped { why } => LastView { at, run: None, result: "skipped", why: Some(why.clone()) },
            Came::Failed { why } => LastView { at, run: None, result: "failed", why: Some(why.clone()) },
        }
    }
}

fn state(schedule: &Schedule) -> &'static str {
    match schedule {
        Schedule { plan, .. } if !plan.enabled => "disabled",
        Schedule { paused: Some(_), .. } => "paused",
        Schedule { postponed: Some(_), .. } => "postponed",
        Schedule { planning: Planning::Due(_), .. } => "due",
        Schedule { next: None, planning: Planning::Nothing, .. } => "never",
        _ => "waiting",
    }
}
