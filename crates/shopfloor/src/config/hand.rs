//! `[steps.NAME]` and `[verify.NAME]`: what hand sessions run, and how their work is verified.

use super::ProjectConfig;
use super::check::env_names;
use super::duration::Span;
use super::error::ConfigError;
use super::load::{choose, kind};
use super::source::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::fill;
use shopfloor_core::paths::{self, PathGlob};
use shopfloor_core::runtime::{EMBEDDED, TemplateError};
use shopfloor_hand::step::{COMMAND_PLACEHOLDERS, PROMPT_PLACEHOLDERS};
use shopfloor_hand::verify::{Check, GitCheck, KEY, STATE_FILE};
use std::fmt;
use std::path::{Component, Path};
use toml::de::DeValue;

/// What `shopfloor session` runs for a step of an orchestrated story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandStep {
    /// Whose screens to expect: "claude", "codex", or "generic" for any other program.
    #[serde(default = "generic")]
    pub runtime: String,
    /// The program and its arguments. They may hold {story}, {step}, {extra}, {state_file} and {prompt}.
    pub command: Vec<String>,
    /// A text for {prompt}. It may hold {story}, {step}, {extra} and {state_file}.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Names of environment variables that it may see, besides a minimal set; by default those of [agents.dev].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_env: Option<Vec<String>>,
}

fn generic() -> String {
    "generic".into()
}

/// How the work of a step is verified: all of its checks must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    pub checks: Vec<VerifyCheck>,
}

/// One check: exactly one of `files`, `run`, `git` and `json`. Texts may hold {key}, the story's key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyCheck {
    /// A pattern for files, such as "docs/{key}-*.md"; `**` stands for any folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// A program and its arguments, run without a shell; exit status 0 means yes. They may also hold
    /// {state_file}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// Something of the git worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitWord>,
    /// A JSON file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// With `files` (default 1) and `git = "commits_ahead"` (default 1): at least so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// With `files` and `git = "commits_ahead"`: at most this many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// With `files`: none of them may be longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// With `git = "changes_only"`, required: patterns for the files that may be changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// With `run`: a time limit; default 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// With `git = "commits_ahead"` and `git = "changes_only"`: of what; default the primary branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// With `git = "pushed"`: where to; default "origin".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// With `git = "branch_exists"`, required; with `git = "pushed"`, default the one checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// With `json`: the field, as a JSON pointer such as "/stories/{key}/status".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// With `json`: what the field must be; without it, it must be there and not null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Scalar>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GitWord {
    /// Nothing is uncommitted.
    Clean,
    /// HEAD has commits that another branch lacks.
    CommitsAhead,
    /// HEAD changes no other files than these since it left another branch.
    ChangesOnly,
    /// A branch is on the remote, at the same commit.
    Pushed,
    /// A branch exists.
    BranchExists,
}

/// A text, a whole number or a truth value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    Truth(bool),
    Number(i64),
    Text(String),
}

/// What is wrong with a check: the key it stands at, the message, the hint.
type Wrong = (&'static str, String, String);

impl VerifyCheck {
    /// The check to make. A loaded configuration has none that cannot be made.
    pub fn check(&self, primary_branch: &str) -> Result<Check, Wrong> {
        let kinds = [
            ("files", self.files.is_some(), &["min", "max", "max_bytes"][..]),
            ("run", self.run.is_some(), &["timeout"]),
            ("git", self.git.is_some(), self.git.map_or(&[][..], GitWord::options)),
            ("json", self.json.is_some(), &["pointer", "equals"]),
        ];
        let given: Vec<_> = kinds.iter().filter(|(_, given, _)| *given).collect();
        let [(kind, _, options)] = given[..] else {
            let hint = "write for example { files = \"docs/{key}-*.md\" } or { run = [\"make\", \"check\"] }";
            let message = "a check has exactly one of `files`, `run`, `git` and `json`";
            return Err(("", message.into(), hint.into()));
        };
        let set = [
            ("min", self.min.is_some()),
            ("max", self.max.is_some()),
            ("max_bytes", self.max_bytes.is_some()),
            ("paths", !self.paths.is_empty()),
            ("timeout", self.timeout.is_some()),
            ("of", self.of.is_some()),
            ("remote", self.remote.is_some()),
            ("branch", self.branch.is_some()),
            ("pointer", self.pointer.is_some()),
            ("equals", self.equals.is_some()),
        ];
        if let Some((key, _)) = set.iter().find(|(key, set)| *set && !options.contains(key)) {
            let hint = match options {
                [] => "remove the line".to_owned(),
                options => format!("options of this check: {}", options.join(", ")),
            };
            return Err((key, format!("`{key}` says nothing about this `{kind}` check"), hint));
        }
        self.texts()?;
        Ok(if let Some(glob) = &self.files {
            let (min, max, max_bytes) = (self.min.unwrap_or(1), self.max, self.max_bytes);
            Check::Files { glob: glob.clone(), min, max, max_bytes }
        } else if let Some(argv) = &self.run {
            let timeout = self.timeout.unwrap_or(Span::mins(5)).0;
            Check::Run { argv: argv.clone(), timeout }
        } else if let Some(file) = &self.json {
            let pointer = self.pointer.clone().unwrap_or_default();
            Check::Json { file: file.clone(), pointer, equals: self.equals.as_ref().map(Scalar::json) }
        } else {
            Check::Git(self.git(primary_branch)?)
        })
    }

    fn git(&self, primary_branch: &str) -> Result<GitCheck, Wrong> {
        let of = || self.of.clone().unwrap_or_else(|| primary_branch.to_owned());
        Ok(match (self.git, &self.branch) {
            (Some(GitWord::CommitsAhead), _) => {
                GitCheck::CommitsAhead { of: of(), min: self.min.unwrap_or(1), max: self.max }
            }
            (Some(GitWord::ChangesOnly), _) if self.paths.is_empty() => {
                let hint = "add paths = [\"docs/**\"]".to_owned();
                return Err(("git", "`git = \"changes_only\"` needs `paths`".into(), hint));
            }
            (Some(GitWord::ChangesOnly), _) => GitCheck::ChangesOnly { of: of(), paths: self.paths.clone() },
            (Some(GitWord::Pushed), branch) => GitCheck::Pushed {
                remote: self.remote.clone().unwrap_or_else(|| "origin".into()),
                branch: branch.clone(),
            },
            (Some(GitWord::BranchExists), Some(branch)) => GitCheck::BranchExists { branch: branch.clone() },
            (Some(GitWord::BranchExists), None) => {
                let hint = "add branch = \"story/{key}\"".to_owned();
                return Err(("git", "`git = \"branch_exists\"` needs a `branch`".into(), hint));
            }
            (Some(GitWord::Clean) | None, _) => GitCheck::Clean,
        })
    }

    /// Every text can be filled in, and every path stays in the worktree.
    fn texts(&self) -> Result<(), Wrong> {
        let plain = |message: String| (message, String::new());
        let template = |key: &'static str, text: &str| {
            let known = if key == "run" { &[KEY, STATE_FILE][..] } else { &[KEY] };
            fill::uses(text, KEY, known).map(|_| ()).map_err(|e| {
                let (message, hint) = placeholder(&e, known);
                (key, message, hint)
            })
        };
        let patterns = self.files.iter().map(|glob| ("files", glob));
        for (key, glob) in patterns.chain(self.paths.iter().map(|path| ("paths", path))) {
            template(key, glob)?;
            let sample = fill::with(glob, &[(KEY, "key")], paths::escape).unwrap_or_default();
            PathGlob::new(&sample).map_err(|why| {
                let (message, hint) = plain(format!("the pattern {glob:?} cannot be used: {why}"));
                (key, message, hint)
            })?;
        }
        if let Some(argv) = &self.run {
            if argv.first().is_none_or(|program| program.trim().is_empty()) {
                let hint = "the first element is the program, the others are its arguments".to_owned();
                return Err(("run", "`run` names no program".into(), hint));
            }
            argv.iter().try_for_each(|word| template("run", word))?;
        }
        if let Some(file) = &self.json {
            template("json", file)?;
            let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
            if file.is_empty() || !Path::new(file).components().all(inside) {
                let message =
                    format!("{file:?} must be a file in the worktree: a relative path without `..`");
                return Err(("json", message, String::new()));
            }
        }
        if self.timeout.is_some_and(|timeout| timeout.0.is_zero()) {
            return Err(("timeout", "`timeout` must be longer than nothing".into(), String::new()));
        }
        if self.remote.as_ref().is_some_and(|remote| remote.is_empty() || remote.starts_with('-')) {
            return Err(("remote", "`remote` is not the name of a remote".into(), String::new()));
        }
        if self.pointer.as_ref().is_some_and(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
            let hint = "write it as \"/stories/{key}/status\"".to_owned();
            return Err(("pointer", "a JSON pointer begins with `/`".into(), hint));
        }
        for (key, text) in [("of", &self.of), ("branch", &self.branch), ("pointer", &self.pointer)] {
            text.as_deref().map_or(Ok(()), |text| template(key, text))?;
        }
        Ok(())
    }
}

impl GitWord {
    fn options(self) -> &'static [&'static str] {
        match self {
            GitWord::Clean => &[],
            GitWord::CommitsAhead => &["of", "min", "max"],
            GitWord::ChangesOnly => &["of", "paths"],
            GitWord::Pushed => &["remote", "branch"],
            GitWord::BranchExists => &["branch"],
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Truth(truth) => truth.fmt(f),
            Scalar::Number(number) => number.fmt(f),
            Scalar::Text(text) => f.write_str(text),
        }
    }
}

impl Scalar {
    fn json(&self) -> serde_json::Value {
        match self {
            Scalar::Truth(truth) => (*truth).into(),
            Scalar::Number(number) => (*number).into(),
            Scalar::Text(text) => text.clone().into(),
        }
    }
}

/// What is wrong with a template, and a hint.
fn placeholder(error: &TemplateError, known: &[&str]) -> (String, String) {
    let hint = match error {
        TemplateError::Unknown(name) => choose(name, known, "placeholders"),
        _ => String::new(),
    };
    (error.to_string(), hint)
}

/// Serde would take an array for one of these tables.
pub(super) fn shapes(source: &Source<'_>) -> Result<(), ConfigError> {
    for table in ["steps", "verify"] {
        let Some(value) = source.tree().get_ref().get(table) else { continue };
        let entries = match value.get_ref() {
            DeValue::Table(entries) => entries,
            other => {
                let found = kind(other);
                return Err(source
                    .at_key(&[table], format!("`{table}`: expected a table, found {found}"))
                    .hint(format!("each step has a table of its own: [{table}.NAME]")));
            }
        };
        if let Some((name, entry)) = entries.iter().find(|(_, entry)| !entry.get_ref().is_table()) {
            let found = kind(entry.get_ref());
            let message = format!("`{}` in [{table}]: expected a table, found {found}", name.get_ref());
            return Err(source.at(name.span(), message).hint(format!("write [{table}.{}]", name.get_ref())));
        }
    }
    Ok(())
}

pub(super) fn check(source: &Source<'_>, config: &ProjectConfig) -> Result<(), ConfigError> {
    for (name, step) in &config.steps {
        self::step(step)
            .map_err(|(key, message, hint)| with_hint(source.at_key(&["steps", name, key], message), hint))?;
        env_names(source, &["steps", name, "pass_env"], step.pass_env.as_deref().unwrap_or_default())?;
    }
    for (name, verify) in &config.verify {
        if verify.checks.is_empty() {
            return Err(source
                .at_key(&["verify", name, "checks"], format!("[verify.{name}] has no checks"))
                .hint("what verifies nothing would verify everything; add a check or remove the table"));
        }
        for (index, check) in verify.checks.iter().enumerate() {
            check.check(&config.project.primary_branch).map_err(|(key, message, hint)| {
                let index = index.to_string();
                let path = ["verify", name, "checks", &index, key];
                let path = if key.is_empty() { &path[..4] } else { &path[..] };
                with_hint(source.at_key(path, message), hint)
            })?;
        }
    }
    Ok(())
}

fn with_hint(error: ConfigError, hint: String) -> ConfigError {
    if hint.is_empty() { error } else { error.hint(hint) }
}

fn step(step: &HandStep) -> Result<(), Wrong> {
    let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
    if !names.contains(&step.runtime.as_str()) {
        let hint = choose(&step.runtime, &names, "runtimes");
        return Err(("runtime", format!("there is no runtime {:?}", step.runtime), hint));
    }
    if step.command.first().is_none_or(|program| program.trim().is_empty()) {
        let hint = "the first element is the program, the others are its arguments".to_owned();
        return Err(("command", "`command` names no program".into(), hint));
    }
    let wrong = |key, e: &TemplateError, known: &[&str]| {
        let (message, hint) = placeholder(e, known);
        (key, message, hint)
    };
    let mut used = false;
    for word in &step.command {
        used |= fill::uses(word, "prompt", &COMMAND_PLACEHOLDERS)
            .map_err(|e| wrong("command", &e, &COMMAND_PLACEHOLDERS))?;
    }
    match &step.prompt {
        Some(prompt) => {
            fill::uses(prompt, "story", &PROMPT_PLACEHOLDERS)
                .map_err(|e| wrong("prompt", &e, &PROMPT_PLACEHOLDERS))?;
            if !used {
                let hint = "add \"{prompt}\" to `command`".to_owned();
                return Err(("prompt", "the command does not use the `prompt`".into(), hint));
            }
        }
        None if used => {
            let hint = "add prompt = \"…\"".to_owned();
            return Err(("command", "the command uses {prompt}, and there is none".into(), hint));
        }
        None => {}
    }
    Ok(())
}
