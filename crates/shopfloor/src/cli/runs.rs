//! `shopfloor runs` and `shopfloor run`: formulas that are being, or were, carried out.

use super::{CliResult, Context, Exit, output};
use clap::{Args, Subcommand};
use shopfloor_core::ids::{ProjectName, RunNumber};
use shopfloor_core::state::{Cost, Floor, Run};
use shopfloor_core::text::one_line;
use shopfloor_desk::now;
use shopfloor_desk::view::formula_run::{FormulaRunView, state, why};
use std::time::Duration;

/// List runs of formulas, the newest last
#[derive(Args)]
pub struct RunsArgs {
    /// Show them again whenever something changes
    #[arg(long, short)]
    follow: bool,
}

/// One run of a formula
#[derive(Args)]
pub struct RunArgs {
    #[command(subcommand)]
    command: RunCommand,
}

#[derive(Subcommand)]
enum RunCommand {
    /// Show a run: its steps, what came of each, and what it waits for
    Show { run: RunNumber },
    /// End a run; what its agent did is kept on a rescue ref
    Cancel { run: RunNumber },
}

const SHOWN: usize = 20;
const WHY_CHARS: usize = 80;

impl RunArgs {
    /// What to do instead, if it is only for people.
    pub(super) fn persons(&self) -> Option<&'static str> {
        match self.command {
            RunCommand::Show { .. } => None,
            RunCommand::Cancel { .. } => Some("to end your own run, signal `shopfloor phase failed`"),
        }
    }
}

pub fn list(context: &Context, args: &RunsArgs) -> CliResult<Exit> {
    let only = context.named_project()?;
    if !args.follow {
        table(context, context.engine()?.floor(), only.as_ref());
        return Ok(Exit::Fine);
    }
    let mut changes = context.subscribe(None)?;
    loop {
        if !context.json && output::is_terminal() {
            // From the top of a cleared screen.
            output::line("\x1b[H\x1b[2J");
        }
        table(context, changes.floor()?, only.as_ref());
        changes.next(Duration::MAX)?;
    }
}

fn table(context: &Context, floor: &Floor, only: Option<&ProjectName>) {
    let mine = |run: &&Run| only.is_none_or(|only| *only == run.project);
    let runs: Vec<&Run> = floor.runs.iter().filter(mine).collect();
    let runs = &runs[runs.len().saturating_sub(SHOWN)..];
    if context.json {
        return output::json_line(
            &runs.iter().map(|run| FormulaRunView::new(floor, run)).collect::<Vec<_>>(),
        );
    }
    if runs.is_empty() {
        return output::line("no runs: `shopfloor formula list` shows what there is to run");
    }
    let row = |run: &&Run| {
        let over = run.steps.iter().filter(|record| record.state.is_over()).count();
        vec![
            run.number.to_string(),
            run.recipe.formula.to_string(),
            state(run).to_owned(),
            format!("{over}/{}", run.steps.len()),
            output::span(now().since(run.asked_at)),
            output::or_dash(cost(&run.cost(floor))),
            one_line(&run.by, 30),
            one_line(&why(floor, run).unwrap_or_default(), WHY_CHARS),
        ]
    };
    output::table(
        &["RUN", "FORMULA", "STATE", "STEPS", "AGE", "COST", "BY", "WAITS FOR, OR WHY"],
        &runs.iter().map(row).collect::<Vec<_>>(),
    );
}

/// As far as clients tell.
fn cost(cost: &Cost) -> Option<String> {
    let dollars = (cost.micros > 0).then(|| format!("${:.2}", cost.micros as f64 / 1e6));
    let tokens = (cost.tokens.all() > 0).then(|| output::tokens(&cost.tokens));
    let told: Vec<String> = dollars.into_iter().chain(tokens).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

pub fn run(context: &Context, args: &RunArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let run = match args.command {
        RunCommand::Show { run } => context.run(&project, run)?,
        RunCommand::Cancel { run } => context.cancel_run(&project, run)?,
    };
    let engine = context.engine()?;
    let shown = FormulaRunView::new(engine.floor(), &run);
    if context.json {
        output::json(&shown);
        return Ok(Exit::Fine);
    }
    output::line(format!(
        "run {} of {}, asked for by {}: {}",
        shown.run,
        shown.formula,
        one_line(&shown.by, 80),
        shown.state
    ));
    if let Some(why) = &shown.why {
        output::line(format!("  {}", one_line(why, 300)));
    }
    for (name, value) in &shown.vars {
        output::line(format!("  {name} = {}", one_line(value, 200)));
    }
    if let Some(branch) = &shown.branch {
        let pr = shown.pr.map(|pr| format!(", pull request #{pr}")).unwrap_or_default();
        output::line(format!("  branch {branch}{pr}"));
    }
    if let Some(cost) = cost(&run.cost(engine.floor())) {
        output::line(format!("  cost {cost}"));
    }
    if let Some(session) = &shown.session {
        output::line(format!("  session {session}: `shopfloor attach {session}` shows it"));
    }
    for step in &shown.steps {
        let command =
            step.run.as_ref().map(|argv| format!(" `{}`", one_line(&argv.join(" "), 80))).unwrap_or_default();
        output::line(
            format!("  {:<9} {}{command}  {}", step.state, step.id, one_line(&step.title, 60)).trim_end(),
        );
        for text in [&step.note, &step.output].into_iter().flatten() {
            output::quoted(text);
        }
    }
    Ok(Exit::Fine)
}
