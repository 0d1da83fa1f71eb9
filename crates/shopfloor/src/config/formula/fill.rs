//! Templates: a formula and its variables make a recipe. Whatever a template does is bounded, and an unknown variable
//! is an error, never nothing.

use super::Formula;
use super::vars::{Values, Var, VarKind, values};
use crate::config::ProjectConfig;
use crate::config::hand::Scalar;
use crate::config::load::choose;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use shopfloor_core::ids::FormulaName;
use shopfloor_core::recipe::{Context, Recipe, Step};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

/// Steps of the template engine; each text has its own.
const FUEL: u64 = 20_000;
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// What every formula knows, besides its variables.
const KNOWN: [&str; 2] = ["project", "primary_branch"];
/// Words of the template language.
const WORDS: [&str; 12] =
    ["true", "false", "none", "not", "and", "or", "in", "is", "if", "else", "loop", "self"];

/// Where a formula is run.
pub struct Place<'a> {
    pub project: &'a str,
    pub primary_branch: &'a str,
}

impl<'a> Place<'a> {
    pub fn of(config: &'a ProjectConfig) -> Self {
        let project = &config.project;
        Place { project: project.name.as_str(), primary_branch: &project.primary_branch }
    }
}

/// What is wrong with a template, and where in it.
pub struct Wrong {
    pub message: String,
    pub at: Range<usize>,
    pub hint: Option<String>,
}

/// A text of a formula that may hold variables.
pub struct Template<'f> {
    pub text: &'f str,
    /// It is one expression, without braces around it.
    expression: bool,
    /// It is filled in only if a condition holds.
    guarded: bool,
}

pub(super) fn is_taken(name: &str) -> bool {
    KNOWN.contains(&name) || WORDS.contains(&name)
}

pub(super) fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}

fn environment<'s>() -> Environment<'s> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment
}

/// All texts of a formula that may hold variables, each with its path in the file.
pub(super) fn templates(formula: &Formula) -> Vec<(Vec<String>, Template<'_>)> {
    fn add<'f>(all: &mut Vec<(Vec<String>, Template<'f>)>, path: &[&str], text: &'f str, guarded: bool) {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        all.push((path, Template { text, expression: false, guarded }));
    }
    let mut all = Vec::new();
    add(&mut all, &["description"], &formula.description, false);
    for (at, pattern) in formula.context.files.iter().enumerate() {
        add(&mut all, &["context", "files", &at.to_string()], pattern, false);
    }
    for (at, argv) in formula.context.commands.iter().enumerate() {
        for (word, text) in argv.iter().enumerate() {
            add(&mut all, &["context", "commands", &at.to_string(), &word.to_string()], text, false);
        }
    }
    for (at, step) in formula.steps.iter().enumerate() {
        let (at, guarded) = (at.to_string(), step.when.is_some());
        add(&mut all, &["steps", &at, "title"], &step.title, guarded);
        add(&mut all, &["steps", &at, "description"], &step.description, guarded);
        for (word, text) in step.run.iter().flatten().enumerate() {
            add(&mut all, &["steps", &at, "run", &word.to_string()], text, guarded);
        }
        if let Some(when) = &step.when {
            let path = ["steps", &at, "when"].map(str::to_owned).to_vec();
            all.push((path, Template { text: when, expression: true, guarded: false }));
        }
    }
    all
}

/// Whether it can be filled in at all: its grammar, its variables by name, and what it does with them.
pub(super) fn check(template: &Template<'_>, vars: &BTreeMap<String, Var>) -> Result<(), Wrong> {
    let text = template.text;
    if !template.expression && !is_template(text) {
        return Ok(());
    }
    if template.expression && is_template(text) {
        return Err(braces(text));
    }
    let environment = environment();
    let used = match template.expression {
        true => environment.compile_expression(text).map(|found| found.undeclared_variables(false)),
        false => environment.template_from_str(text).map(|found| found.undeclared_variables(false)),
    };
    let wrong = |e: &Error| Wrong { message: in_words(e), at: e.range().unwrap_or(0..0), hint: None };
    let used = used.map_err(|e| wrong(&e))?;
    let globals: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
    let known = |name: &str| vars.contains_key(name) || KNOWN.contains(&name) || globals.contains(&name);
    let Some(unknown) = used.iter().filter(|name| !known(name)).min() else {
        return tried(template, vars).map_err(|e| wrong(&e));
    };
    let names: Vec<&str> = vars.keys().map(String::as_str).chain(KNOWN).collect();
    Err(Wrong {
        message: format!("there is no variable `{unknown}`"),
        at: word_in(text, unknown),
        hint: Some(choose(unknown, &names, "variables")),
    })
}

/// A condition that is written as a text would be.
fn braces(text: &str) -> Wrong {
    let bare = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    let bare = bare.map(str::trim).filter(|bare| !is_template(bare)).unwrap_or("full and area != ''");
    let at = text.find('{').map_or(0..0, |at| at..at + 2);
    let hint = format!("write it without them: when = \"{bare}\"");
    Wrong { message: "a condition has no braces around it".to_owned(), at, hint: Some(hint) }
}

/// What values that have to be given are tried with: a template may take them apart, so it is wrong only if it fails
/// with each of them.
const SAMPLES: [&str; 2] = ["1", "1,1,1,1;1;1;1:1:1:1/1/1/1|1|1|1-1-1-1=1=1=1.1.1.1 1 1 1\n1\n1\n1"];

/// Fills it in with the defaults, and with values that might be given. Only what no other value would mend is an error.
fn tried(template: &Template<'_>, vars: &BTreeMap<String, Var>) -> Result<(), Error> {
    let place = Place { project: "project", primary_branch: "main" };
    let never = |e: &Error| match e.kind() {
        ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction => true,
        ErrorKind::UnknownMethod | ErrorKind::UndefinedError => !template.guarded,
        _ => false,
    };
    let mut failed = None;
    for sample in SAMPLES {
        let value = |(name, var): (&String, &Var)| {
            let sample = match (var.kind, var.required) {
                (VarKind::String, true) => Scalar::Text(sample.to_owned()),
                (VarKind::String, false) => Scalar::Text(String::new()),
                (VarKind::Integer, _) => Scalar::Number(1),
                (VarKind::Boolean, _) => Scalar::Truth(true),
            };
            (name.clone(), var.default.clone().unwrap_or(sample))
        };
        let values: Values = vars.iter().map(value).collect();
        let filler = Filler::new(&values, &place);
        let result = match template.expression {
            true => filler.evaluated(template.text).map(drop),
            false => filler.rendered(template.text).map(drop),
        };
        match result {
            Err(e) if never(&e) => failed = Some(e),
            _ => return Ok(()),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Where a word stands in a text, behind the first mark of a template.
fn word_in(text: &str, word: &str) -> Range<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let from = text.find(['{']).unwrap_or(0);
    let found = text[from..].match_indices(word).map(|(at, _)| from + at).find(|at| {
        let (before, after) = (&text[..*at], &text[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    });
    found.map_or(0..0, |at| at..at + word.len())
}

/// What a run of the formula is to do. An error says in one line what is missing or wrong.
pub fn fill(
    name: &FormulaName,
    formula: &Formula,
    given: &BTreeMap<String, String>,
    place: &Place<'_>,
) -> Result<Recipe, String> {
    let values = values(&formula.vars, given)?;
    let filler = Filler::new(&values, place);
    let words = |what: &str, argv: &[String]| {
        argv.iter().map(|word| filler.argument(what, word)).collect::<Result<Vec<_>, _>>()
    };
    let mut commands = Vec::new();
    for argv in &formula.context.commands {
        commands.push(words("a context command", argv)?);
    }
    let mut steps = Vec::new();
    for step in &formula.steps {
        let what = format!("step `{}`", step.id);
        // What is passed over need not make sense.
        let holds = step.when.as_deref().map_or(Ok(true), |when| filler.holds(&what, when))?;
        steps.push(Step {
            id: step.id.clone(),
            title: if holds { filler.text(&what, &step.title)? } else { step.title.clone() },
            needs: step.needs.clone(),
            description: if holds { filler.text(&what, step.description.trim())? } else { String::new() },
            skipped: !holds,
            run: match &step.run {
                Some(argv) if holds => Some(words(&what, argv)?),
                run => run.clone(),
            },
            timeout: step.timeout.map(|timeout| timeout.0),
            verify: step.verify.clone(),
            answer: step.answer,
        });
    }
    let files = formula.context.files.iter().map(|pattern| filler.text("a context file", pattern));
    let recipe = Recipe {
        formula: name.clone(),
        version: formula.version.to_string(),
        description: filler.text("the description", &formula.description)?,
        role: formula.role,
        model: formula.model.clone(),
        vars: values.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
        lifetime: formula.timeout.0,
        idle: formula.limits.idle.map(|idle| idle.0),
        context: Context { files: files.collect::<Result<_, _>>()?, commands },
        steps,
    };
    match recipe.flaw() {
        Some(flaw) => Err(flaw.to_string()),
        None => Ok(recipe),
    }
}

struct Filler<'a> {
    environment: Environment<'a>,
    values: BTreeMap<&'a str, Value>,
}

impl<'a> Filler<'a> {
    fn new(values: &'a Values, place: &Place<'a>) -> Self {
        let value = |value: &Scalar| match value {
            Scalar::Truth(truth) => Value::from(*truth),
            Scalar::Number(number) => Value::from(*number),
            Scalar::Text(text) => Value::from(text.as_str()),
        };
        let values = values.iter().map(|(name, scalar)| (name.as_str(), value(scalar)));
        let known = KNOWN.into_iter().zip([place.project, place.primary_branch].map(Value::from));
        Filler { environment: environment(), values: values.chain(known).collect() }
    }

    fn context(&self) -> Value {
        let values = self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Value::from(values.collect::<BTreeMap<String, Value>>())
    }

    fn text(&self, what: &str, text: &str) -> Result<String, String> {
        if !is_template(text) {
            return Ok(text.to_owned());
        }
        let filled =
            self.rendered(text).map_err(|e| format!("{what} cannot be filled in: {}", in_words(&e)))?;
        String::from_utf8(filled).map_err(|e| format!("{what}: {e}"))
    }

    fn rendered(&self, text: &str) -> Result<Vec<u8>, Error> {
        let mut out = Bounded(Vec::new());
        let template = self.environment.template_from_str(text)?;
        template.render_captured_to(self.context(), &mut out)?;
        Ok(out.0)
    }

    fn evaluated(&self, when: &str) -> Result<Value, Error> {
        self.environment.compile_expression(when)?.eval(self.context())
    }

    /// An argument of a command. What is filled in is no option, whatever its value.
    fn argument(&self, what: &str, text: &str) -> Result<String, String> {
        let filled = self.text(what, text)?;
        if filled.starts_with('-') && !text.starts_with('-') {
            let why = "would be taken for an option of its command";
            return Err(format!("{what}: {filled:?}, which `{text}` was filled in with, {why}"));
        }
        if filled.contains('\0') {
            return Err(format!("{what}: an argument cannot have a zero byte"));
        }
        Ok(filled)
    }

    fn holds(&self, what: &str, when: &str) -> Result<bool, String> {
        self.evaluated(when)
            .map(|value| value.is_true())
            .map_err(|e| format!("the condition of {what}: {}", in_words(&e)))
    }
}

/// A text that does not grow without end.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > TEXT_BYTES_MAX {
            return Err(io::Error::other(format!("it gets longer than {TEXT_BYTES_MAX} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn in_words(error: &Error) -> String {
    match error.kind() {
        ErrorKind::OutOfFuel => "it does not come to an end".to_owned(),
        ErrorKind::WriteFailure => {
            std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
        }
        kind => match error.detail() {
            Some(detail) => format!("{kind}: {detail}"),
            None => kind.to_string(),
        },
    }
}
