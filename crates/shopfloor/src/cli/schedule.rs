//! `shopfloor schedule`: formulas that are run by themselves.

use super::{CliError, CliResult, Context, Exit, authority, output};
use crate::ports::recipe;
use crate::projects::Projects;
use clap::{Args, Subcommand};
use shopfloor_core::event::RunAsk;
use shopfloor_core::ids::{ProjectName, ScheduleName};
use shopfloor_core::state::Schedule;
use shopfloor_core::text::one_line;
use shopfloor_desk::now;
use shopfloor_desk::view::formula_run::FormulaRunView;
use shopfloor_desk::view::schedule::{LastView, ScheduleView};
use std::path::Path;
use std::time::Duration;

/// Schedules: when formulas are run by themselves
///
/// They are the tables [schedules.NAME] of shopfloor.toml, in force once a person accepted them.
#[derive(Args)]
pub struct ScheduleArgs {
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(Subcommand)]
enum ScheduleCommand {
    /// List the schedules: when each is next due, what came of the last time, and what a run costs
    List,
    /// Run a schedule's formula now, whatever the machine is busy with
    Run { schedule: ScheduleName },
    /// Run nothing by a schedule until it is resumed
    Pause { schedule: ScheduleName },
    /// Resume a schedule, from its next time on
    Resume { schedule: ScheduleName },
}

impl ScheduleArgs {
    /// What to do instead, if it is only for people.
    pub(super) fn persons(&self) -> Option<&'static str> {
        (!matches!(self.command, ScheduleCommand::List)).then_some(authority::ELSEWHERE)
    }
}

const WHY_CHARS: usize = 60;

pub fn run(context: &Context, args: ScheduleArgs) -> CliResult<Exit> {
    let shown = match args.command {
        ScheduleCommand::List => return list(context),
        ScheduleCommand::Run { schedule } => return run_now(context, &schedule),
        ScheduleCommand::Pause { schedule } => {
            context.pause_schedule(&context.project()?.name, &schedule, &context.author())?
        }
        ScheduleCommand::Resume { schedule } => {
            context.resume_schedule(&context.project()?.name, &schedule, &context.author())?
        }
    };
    let view = ScheduleView::new(&shown);
    match context.json {
        true => output::json(&view),
        false => output::line(format!("{}: {}", view.schedule, view.state)),
    }
    Ok(Exit::Fine)
}

fn list(context: &Context) -> CliResult<Exit> {
    let only: Option<ProjectName> = context.named_project()?;
    let engine = context.engine()?;
    let mine = |schedule: &&Schedule| only.as_ref().is_none_or(|only| *only == schedule.project);
    let all: Vec<&Schedule> = engine.floor().schedules.iter().filter(mine).collect();
    if context.json {
        output::json(&all.into_iter().map(ScheduleView::new).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        let floor_config = context.floor_config()?;
        let projects = engine.floor().projects.iter();
        let accepted = projects.filter(|project| only.as_ref().is_none_or(|only| *only == project.name));
        let accepted = accepted.filter_map(|project| {
            Projects::in_force(&floor_config, engine.floor(), Path::new(&project.checkout)).ok()
        });
        output::line(match accepted.map(|config| config.schedules.len()).sum::<usize>() {
            0 => "no schedules: a table [schedules.NAME] in shopfloor.toml makes one, once it is accepted"
                .to_owned(),
            1 => "1 schedule is accepted, and in force once the floor runs: `shopfloor up`".to_owned(),
            n => format!("{n} schedules are accepted, and in force once the floor runs: `shopfloor up`"),
        });
        return Ok(Exit::Fine);
    }
    let several = engine.floor().projects.len() > 1;
    let rows: Vec<Vec<String>> = all.into_iter().map(|schedule| row(schedule, several)).collect();
    output::table(&["SCHEDULE", "FORMULA", "CRON", "NEXT", "LAST", "AVERAGE", "WHY"], &rows);
    Ok(Exit::Fine)
}

fn row(schedule: &Schedule, several: bool) -> Vec<String> {
    let view = ScheduleView::new(schedule);
    let project = if several { format!("{}: ", view.project) } else { String::new() };
    let zone = view.tz.as_ref().map(|tz| format!(" ({tz})")).unwrap_or_default();
    let next = match (view.state, schedule.next) {
        ("waiting", Some(next)) => {
            format!("{}, in {}", output::timestamp(next), output::span(next.since(now())))
        }
        (state, _) => state.to_owned(),
    };
    let said = |last: &LastView| match last.run {
        Some(run) => format!("run {run} {}", last.result),
        None => last.result.to_owned(),
    };
    let since = view.passed_over.as_ref().filter(|_| schedule.last.is_some());
    let last = view.last.as_ref().map(|last| match since {
        Some(passed) => format!("{}, then {}", said(last), said(passed)),
        None => said(last),
    });
    let time = view.average_seconds.map(|seconds| output::span(Duration::from_secs(seconds)));
    let dollars = view.average_dollars.map(|dollars| format!("${dollars:.2}"));
    let tokens = view.average_tokens.map(|tokens| output::tokens(&tokens));
    let average: Vec<String> = time.into_iter().chain(dollars).chain(tokens).collect();
    let why = view.why.or_else(|| view.paused_by.map(|by| format!("paused by {by}")));
    let why = why.or_else(|| view.passed_over.or(view.last).and_then(|last| last.why));
    vec![
        format!("{project}{}", view.schedule),
        view.formula.to_string(),
        format!("{}{zone}", view.cron),
        next,
        output::or_dash(last),
        output::or_dash(Some(average.join(", ")).filter(|average| !average.is_empty())),
        one_line(&why.unwrap_or_default(), WHY_CHARS),
    ]
}

fn run_now(context: &Context, name: &ScheduleName) -> CliResult<Exit> {
    let row = context.project()?;
    let plan = context.schedule(&row.name, name)?.plan;
    let engine = context.engine()?;
    let projects = Projects::usable(&context.floor_config()?, context.runtimes()?, engine.floor())?;
    let project = projects.get(&row.name).ok_or_else(|| {
        CliError::usage(format!("the configuration of {} cannot be used", row.name))
            .hint("`shopfloor config check` says why")
    })?;
    let recipe = recipe(&project, &plan).map_err(|why| CliError::usage(format!("schedule {name}: {why}")))?;
    let ask = RunAsk { recipe, by: context.author(), schedule: Some(name.clone()) };
    let run = context.ask_for_run(&row.name, ask)?;
    if context.json {
        let run = context.run(&row.name, run)?;
        output::json(&FormulaRunView::new(context.engine()?.floor(), &run));
    } else {
        output::line(format!("run {run}"));
    }
    Ok(Exit::Fine)
}
