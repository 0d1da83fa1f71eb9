//! `shopfloor formula show`.

use super::super::{CliError, CliResult, Context, Exit, output};
use super::{Shelf, VarArgs};
use crate::config::Span;
use crate::config::formula::{Formula, Place, fill};
use clap::Args;
use serde_json::{Value, json};
use shopfloor_core::ids::FormulaName;
use shopfloor_core::recipe::{Recipe, Step};
use shopfloor_core::text::one_line;
use std::time::Duration;

/// Show a formula: its variables and steps; with --var as a run would carry it out
#[derive(Args)]
pub struct ShowArgs {
    formula: FormulaName,
    #[command(flatten)]
    vars: VarArgs,
}

pub fn run(context: &Context, args: ShowArgs) -> CliResult<Exit> {
    let shelf = Shelf::of(context)?;
    let library = shelf.library();
    let found = shelf.formula(&library, &args.formula)?;
    let formula = found.formula.as_ref().map_err(|e| CliError::usage(e.to_string()))?;
    let given = args.vars.map();
    if !given.is_empty() {
        let place = Place::of(&shelf.config);
        let recipe = fill(&args.formula, formula, &given, &place)
            .map_err(|why| CliError::usage(format!("{}: {why}", args.formula)))?;
        recipe_of(context, &recipe);
        return Ok(Exit::Fine);
    }
    if context.json {
        output::json(formula);
        return Ok(Exit::Fine);
    }
    let from = found.file.as_ref().map_or_else(|| "built in".to_owned(), |file| file.display().to_string());
    output::line(format!("{}, version {}, {from}", args.formula, one_line(&formula.version.to_string(), 40)));
    if let Some(pending) = shelf.pending(&args.formula) {
        output::line(format!("note: {pending}"));
    }
    plain(formula);
    Ok(Exit::Fine)
}

fn plain(formula: &Formula) {
    let about = one_line(&formula.description, 200);
    if !about.is_empty() {
        output::line(format!("  {about}"));
    }
    if formula.has_agent_steps() {
        let model = formula.model.as_ref().map(|model| format!(", model {}", one_line(model, 60)));
        output::line(format!("  carried out by: {}{}", formula.role, model.unwrap_or_default()));
    }
    output::line(format!("  within: {}", formula.timeout));
    for (name, var) in &formula.vars {
        let value = match &var.default {
            Some(default) => format!(" = {}", one_line(&default.to_string(), 80)),
            None if var.required => ", required".to_owned(),
            None => String::new(),
        };
        let about = one_line(&var.description, 100);
        let about = if about.is_empty() { about } else { format!(": {about}") };
        output::line(format!("  variable {name} ({}){value}{about}", var.kind.in_words()));
    }
    for step in &formula.steps {
        let when = step.when.as_ref().map(|when| format!(", if {}", one_line(when, 80))).unwrap_or_default();
        let needs: Vec<&str> = step.needs.iter().map(|id| id.as_str()).collect();
        let after = if needs.is_empty() { String::new() } else { format!(", after {}", needs.join(", ")) };
        output::line(format!("  step {}{after}{when}: {}", step.id, one_line(&step.title, 80)));
        what(step.run.as_ref(), &step.description);
    }
}

/// What a run is to do.
pub(super) fn recipe_of(context: &Context, recipe: &Recipe) {
    if context.json {
        return output::json(&in_words(recipe));
    }
    output::line(format!("{}: {}", recipe.formula, one_line(&recipe.description, 200)));
    for (name, value) in &recipe.vars {
        output::line(format!("  {name} = {}", one_line(value, 200)));
    }
    for step in &recipe.steps {
        let passed = if step.skipped { ", passed over" } else { "" };
        output::line(format!("  step {}{passed}: {}", step.id, one_line(&step.title, 80)));
        let Step { run, description, .. } = step;
        if !step.skipped {
            what(run.as_ref(), description);
        }
    }
}

/// Times as a formula has them, and not as the factory keeps them.
fn in_words(recipe: &Recipe) -> Value {
    let mut shown = json!(recipe);
    let span = |time: Option<Duration>| json!(time.map(Span));
    (shown["lifetime"], shown["idle"]) = (span(Some(recipe.lifetime)), span(recipe.idle));
    for (at, step) in recipe.steps.iter().enumerate() {
        shown["steps"][at]["timeout"] = span(step.timeout);
    }
    shown
}

fn what(run: Option<&Vec<String>>, description: &str) {
    if let Some(argv) = run {
        output::quoted(&format!("$ {}", argv.join(" ")));
    }
    output::quoted(description.trim());
}
