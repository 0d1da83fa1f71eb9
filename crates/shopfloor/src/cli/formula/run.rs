//! `shopfloor formula run`.

use super::super::{CliError, CliResult, Context, Exit, output};
use super::{Shelf, VarArgs, check, settings, show};
use crate::config::formula::{Place, fill};
use clap::Args;
use shopfloor_adapters::host::lock;
use shopfloor_core::event::RunAsk;
use shopfloor_core::ids::FormulaName;
use shopfloor_desk::view::formula_run::FormulaRunView;

/// Ask for a formula to be carried out, and print the run's number
#[derive(Args)]
pub struct FormulaRunArgs {
    formula: FormulaName,
    #[command(flatten)]
    vars: VarArgs,
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
}

impl FormulaRunArgs {
    pub(super) fn is_dry(&self) -> bool {
        self.dry_run
    }
}

pub fn run(context: &Context, args: FormulaRunArgs) -> CliResult<Exit> {
    let shelf = Shelf::of(context)?;
    let library = shelf.library();
    let found = shelf.formula(&library, &args.formula)?;
    let formula = found.formula.as_ref().map_err(|e| CliError::usage(e.to_string()))?;
    check::usable(&args.formula, formula, &shelf.config, &settings(&shelf.project))?;
    let recipe =
        fill(&args.formula, formula, &args.vars.map(), &Place::of(&shelf.config)).map_err(|why| {
            CliError::usage(format!("{}: {why}", args.formula)).hint(format!(
                "`shopfloor formula show {}` shows its variables: --var NAME=VALUE",
                args.formula
            ))
        })?;
    if args.dry_run {
        show::recipe_of(context, &recipe);
        return Ok(Exit::Fine);
    }
    if let Some(pending) = shelf.pending(&args.formula) {
        eprintln!("note: {pending}: what was accepted is run");
    }
    let name = shelf.project.name;
    let run = context.ask_for_run(&name, RunAsk { recipe, by: context.author(), schedule: None })?;
    if context.json {
        let run = context.run(&name, run)?;
        output::json(&FormulaRunView::new(context.engine()?.floor(), &run));
    } else {
        output::line(format!("run {run}"));
        if lock::holder(&context.layout.daemon_lock()).is_none() {
            eprintln!("note: it begins once the floor runs: `shopfloor up`");
        }
    }
    Ok(Exit::Fine)
}
