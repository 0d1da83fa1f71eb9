//! What is wrong with a formula, at its place in the file.

use super::super::check::deadline;
use super::super::error::ConfigError;
use super::super::load::{choose, kind};
use super::super::runnable::{Becomes, becomes};
use super::super::source::Source;
use super::Formula;
use super::fill::{self, Wrong};
use super::vars::{Var, VarKind};
use shopfloor_core::ids::{FormulaName, Role, StepId};
use shopfloor_core::recipe::{Flaw, STEPS_MAX, flaw};
use std::path::Path;
use toml::de::DeValue;

type Checked = Result<(), ConfigError>;

/// Values that could be of several types are looked at before they are read: serde would say nothing of use.
pub(super) fn shapes(source: &Source<'_>) -> Checked {
    let plain =
        |value: &DeValue<'_>| matches!(value, DeValue::String(_) | DeValue::Integer(_) | DeValue::Boolean(_));
    let table = source.tree().get_ref();
    if let Some(version) = table.get("version")
        && !plain(version.get_ref())
    {
        let found = kind(version.get_ref());
        return Err(source
            .at(version.span(), format!("`version`: expected a whole number or a string, found {found}")));
    }
    let vars = table.get("vars").and_then(|vars| vars.get_ref().as_table());
    for (name, var) in vars.into_iter().flatten() {
        let DeValue::Table(var) = var.get_ref() else {
            let hint = format!("write `{} = {{ default = … }}`, or a table [vars.{0}]", name.get_ref());
            return Err(source
                .at(name.span(), format!("`{}` in [vars]: expected a table", name.get_ref()))
                .hint(hint));
        };
        if let Some(default) = var.get("default")
            && !plain(default.get_ref())
        {
            let found = kind(default.get_ref());
            return Err(source.at(
                default.span(),
                format!("`default`: expected a string, a whole number or a boolean, found {found}"),
            ));
        }
    }
    Ok(())
}

pub(super) fn check(source: &Source<'_>, formula: &Formula, file: &Path) -> Checked {
    named_as_its_file(source, formula, file)?;
    if formula.role.reviews() {
        return Err(source
            .at_key(&["role"], format!("`{}` reviews, and carries out no steps", Role::REVIEW))
            .hint("name a role of [agents] that works on branches, such as `dev`"));
    }
    deadline(source, &["timeout"], formula.timeout)?;
    if let Some(idle) = formula.limits.idle {
        deadline(source, &["limits", "idle"], idle)?;
    }
    for (name, var) in &formula.vars {
        variable(source, name, var)?;
    }
    for (at, argv) in formula.context.commands.iter().enumerate() {
        command(source, formula, &["context", "commands", &at.to_string()], argv)?;
    }
    steps(source, formula)?;
    for (path, template) in fill::templates(formula) {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        fill::check(&template, &formula.vars).map_err(|wrong| at(source, &path, template.text, wrong))?;
    }
    Ok(())
}

fn named_as_its_file(source: &Source<'_>, formula: &Formula, file: &Path) -> Checked {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if stem.parse::<FormulaName>().is_err() {
        return Err(source
            .whole(format!("`{stem}` cannot be the name of a formula"))
            .hint(format!("rename the file: {}", FormulaName::RULE)));
    }
    match &formula.name {
        Some(name) if name.as_str() != stem => Err(source
            .at_key(&["name"], format!("it is called `{name}`, and its file `{stem}`"))
            .hint("a formula is found by the name of its file: make them the same, or leave `name` out")),
        _ => Ok(()),
    }
}

fn variable(source: &Source<'_>, name: &str, var: &Var) -> Checked {
    let path = ["vars", name];
    let good = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    if !good {
        return Err(source
            .at_key(&path, format!("`{name}` cannot be the name of a variable"))
            .hint("use letters, digits and `_`, beginning with a small letter"));
    }
    if fill::is_taken(name) {
        return Err(source
            .at_key(&path, format!("`{name}` has a meaning in every formula"))
            .hint("choose another name"));
    }
    match &var.default {
        Some(_) if var.required => Err(source
            .at_key(&["vars", name, "default"], format!("`{name}` is required, so its default is never used"))
            .hint("leave out one of the two")),
        Some(value) if !var.kind.has(value) => Err(source.at_key(
            &["vars", name, "default"],
            format!("the default of `{name}` is not {}, which its type asks for", var.kind.in_words()),
        )),
        None if !var.required && var.kind != VarKind::String => Err(source
            .at_key(&path, format!("`{name}` has no value if a run is given none"))
            .hint("add a `default`, or `required = true`; only a text may be left out, and is empty then")),
        _ => Ok(()),
    }
}

fn steps(source: &Source<'_>, formula: &Formula) -> Checked {
    let found = flaw(formula.steps.iter().map(|step| (&step.id, step.needs.as_slice())));
    if let Some(flaw) = found {
        return Err(flawed(source, formula, &flaw));
    }
    for (at, step) in formula.steps.iter().enumerate() {
        let at = at.to_string();
        let here = |key: &'static str| [&["steps", at.as_str()][..], &[key]].concat();
        let wrong = |key, message: &str, hint: &str| {
            Err(source.at_key(&here(key), format!("step `{}`: {message}", step.id)).hint(hint))
        };
        match &step.run {
            Some(argv) => {
                command(source, formula, &here("run"), argv)?;
                if step.answer.is_some() {
                    return wrong("answer", "a command answers nobody", "remove the line");
                }
                if step.verify.is_some() {
                    return wrong(
                        "verify",
                        "a command says by its exit code whether it is done",
                        "remove the line",
                    );
                }
            }
            None if step.timeout.is_some() => {
                return wrong(
                    "timeout",
                    "only a command has a `timeout`",
                    "remove the line: `timeout` at the top says how long a run may take",
                );
            }
            None if step.verify.is_some() && step.answer.is_some() => {
                return wrong(
                    "verify",
                    "an answer is looked at by the factory itself",
                    "remove one of `verify` and `answer`",
                );
            }
            None if step.description.trim().is_empty() && step.title.trim().is_empty() => {
                return wrong(
                    "id",
                    "it says neither what is to be done nor what is to be run",
                    "add a `description` for the agent, or a command: run = [\"make\", \"check\"]",
                );
            }
            None => {}
        }
        if let Some(timeout) = step.timeout {
            deadline(source, &here("timeout"), timeout)?;
        }
    }
    Ok(())
}

fn flawed(source: &Source<'_>, formula: &Formula, flaw: &Flaw) -> ConfigError {
    let place = |id: &StepId, newest: bool| {
        let mut ids = formula.steps.iter().map(|step| &step.id);
        let at = if newest { ids.rposition(|other| other == id) } else { ids.position(|other| other == id) };
        at.unwrap_or_default().to_string()
    };
    let known: Vec<&str> = formula.steps.iter().map(|step| step.id.as_str()).collect();
    let message = flaw.to_string();
    match flaw {
        Flaw::Twice(id) => source.at_key(&["steps", &place(id, true), "id"], message),
        Flaw::Unknown { step, needs } => source
            .at_key(&["steps", &place(step, false), "needs"], message)
            .hint(choose(needs.as_str(), &known, "steps")),
        Flaw::Circle(ids) => {
            let first = ids.first().map(|id| place(id, false)).unwrap_or_default();
            source.at_key(&["steps", &first, "needs"], message).hint("take one of these needs out")
        }
        Flaw::EmptyCommand(id) => source.at_key(&["steps", &place(id, false), "run"], message),
        Flaw::NoSteps => source.whole(message).hint("add a table [[steps]] with an `id`"),
        Flaw::TooManySteps(_) => source
            .at_key(&["steps"], message)
            .hint(format!("join some: {STEPS_MAX} are more than anybody reads")),
    }
}

/// A program is what was accepted, and what is filled in is an argument: never the program, and never code.
fn command(source: &Source<'_>, formula: &Formula, path: &[&str], argv: &[String]) -> Checked {
    let wrong = |index: usize, message: &str, hint: &str| {
        Err(source.at_key(&[path, &[&index.to_string()]].concat(), message).hint(hint))
    };
    if argv.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(source
            .at_key(path, "the command is empty")
            .hint("write a program and its arguments: [\"make\", \"check\"]"));
    }
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    match becomes(&words, fill::is_template) {
        None => Ok(()),
        Some(Becomes::Program(index)) => wrong(
            index,
            "which program is run cannot be filled in",
            "write its name; only arguments may have variables",
        ),
        Some(Becomes::Code(index)) => {
            let name = formula.vars.keys().next().map_or("name", String::as_str);
            let hint = format!(
                "pass it as an argument: [\"sh\", \"-c\", \"echo \\\"$1\\\"\", \"sh\", \"{{{{ {name} }}}}\"]"
            );
            wrong(index, "a variable would become a part of what an interpreter runs", &hint)
        }
    }
}

/// An error of a template, where it stands as exactly as its file can be read.
fn at(source: &Source<'_>, path: &[&str], text: &str, wrong: Wrong) -> ConfigError {
    let error = match source.within(path, text, wrong.at) {
        Some(range) => source.at(range, wrong.message),
        None => source.at_key(path, wrong.message),
    };
    match wrong.hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
