//! `shopfloor formula list`.

use super::super::{CliResult, Context, Exit, output};
use super::Shelf;
use crate::config::formula::{Formula, Found, Library};
use serde::Serialize;
use shopfloor_core::ids::{FormulaName, Role};
use shopfloor_core::text::one_line;

/// A formula as `--json` shows it.
#[derive(Serialize)]
struct FormulaView<'a> {
    formula: &'a FormulaName,
    /// The file of the repository; null: it is built in.
    file: Option<String>,
    description: Option<&'a str>,
    version: Option<String>,
    role: Option<Role>,
    steps: usize,
    vars: Vec<&'a str>,
    /// Why it cannot be run, if it cannot.
    error: Option<String>,
    /// What its file says now and nobody has accepted.
    pending: Option<&'static str>,
}

pub fn run(context: &Context) -> CliResult<Exit> {
    let shelf = Shelf::of(context)?;
    let library = shelf.library();
    let latest = Library::new(&shelf.now);
    let new = latest.iter().filter(|(name, _)| library.get(name).is_none());
    let all: Vec<FormulaView<'_>> =
        library.iter().chain(new).map(|(name, found)| view(&shelf, name, found)).collect();
    if context.json {
        output::json(&all);
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    output::table(&["FORMULA", "FROM", "ROLE", "STEPS", "WHAT IT DOES"], &rows);
    Ok(Exit::Fine)
}

fn view<'a>(shelf: &Shelf, name: &'a FormulaName, found: &'a Found) -> FormulaView<'a> {
    let formula: Option<&Formula> = found.formula.as_ref().ok();
    FormulaView {
        formula: name,
        file: found.file.as_ref().map(|file| file.display().to_string()),
        description: formula.map(|formula| formula.description.as_str()),
        version: formula.map(|formula| formula.version.to_string()),
        role: formula.filter(|formula| formula.has_agent_steps()).map(|formula| formula.role),
        steps: formula.map_or(0, |formula| formula.steps.len()),
        vars: formula.into_iter().flat_map(|formula| formula.vars.keys().map(String::as_str)).collect(),
        error: found.formula.as_ref().err().map(ToString::to_string),
        pending: shelf.pending(name),
    }
}

fn row(view: &FormulaView<'_>) -> Vec<String> {
    let what = match (&view.error, view.pending) {
        (Some(_), _) => format!("cannot be run: `shopfloor formula check` says why (it is {})", view.formula),
        (None, Some(pending)) => pending.to_owned(),
        (None, None) => one_line(view.description.unwrap_or_default(), 80),
    };
    vec![
        view.formula.to_string(),
        if view.file.is_some() { "the project" } else { "built in" }.to_owned(),
        output::or_dash(view.role),
        view.steps.to_string(),
        what,
    ]
}
