//! Reads a file, parses it, checks it: a configuration, or one error with a place and a way out.

use super::check;
use super::error::ConfigError;
use super::hand;
use super::pinned::Files;
use super::schedule;
use super::source::{Source, error_at, title};
use super::{Agent, FloorConfig, ProjectConfig, Runtime, agents, roles};
use serde::de::DeserializeOwned;
use shopfloor_adapters::git::Git;
use shopfloor_core::ids::Role;
use shopfloor_core::policy::ReviewPeople;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::DeValue;

/// Nobody writes a configuration this long; what is longer is some other file.
const BYTES_MAX: u64 = 1024 * 1024;

/// A project's configuration, with the floor's defaults filled in where it says nothing.
pub fn project(file: &Path, floor: &FloorConfig) -> Result<ProjectConfig, ConfigError> {
    project_from(file, text(file, &project_bytes(file)?)?, floor)
}

fn project_bytes(file: &Path) -> Result<Vec<u8>, ConfigError> {
    read(file).map_err(|e| match e {
        ReadError::Missing => ConfigError::whole_file(file, "there is no such file")
            .hint("run `shopfloor init` in the repository to make one"),
        ReadError::Other(why) => ConfigError::whole_file(file, why),
    })
}

/// What keeps the schedules of a project's file from running what they name: see [`schedule::formulas`].
pub fn schedules(
    file: &Path,
    config: &ProjectConfig,
    files: &Files,
) -> Result<Vec<(bool, ConfigError)>, ConfigError> {
    schedule::formulas(file, text(file, &project_bytes(file)?)?, config, files)
}

/// As [`project`], from a text; `file` is how errors name it.
pub fn project_from(file: &Path, text: &str, floor: &FloorConfig) -> Result<ProjectConfig, ConfigError> {
    let source = Source::parse(file, text)?;
    let mut config = checked(&source)?;
    fill_agents(&source, &mut config, floor)?;
    Ok(config)
}

/// A project's configuration as its file alone has it: the floor's defaults are the floor's.
pub fn unfilled(file: &Path) -> Result<ProjectConfig, ConfigError> {
    unfilled_from(file, text(file, &project_bytes(file)?)?)
}

/// As [`unfilled`], from a text.
pub fn unfilled_from(file: &Path, text: &str) -> Result<ProjectConfig, ConfigError> {
    checked(&Source::parse(file, text)?)
}

fn checked(source: &Source<'_>) -> Result<ProjectConfig, ConfigError> {
    check::secrets(source)?;
    roles::check_names(source)?;
    hand::shapes(source)?;
    let config: ProjectConfig = deserialize(source)?;
    check::project(source, &config)?;
    roles::check(source, &config.roles)?;
    hand::check(source, &config)?;
    Ok(config)
}

/// The floor's configuration; the defaults if there is no such file.
pub fn floor(file: &Path) -> Result<FloorConfig, ConfigError> {
    let bytes = match read(file) {
        Ok(bytes) => bytes,
        Err(ReadError::Missing) => return Ok(FloorConfig::default()),
        Err(ReadError::Other(why)) => return Err(ConfigError::whole_file(file, why)),
    };
    floor_from(file, text(file, &bytes)?)
}

/// As [`floor`], from a text; `file` is how errors name it.
pub fn floor_from(file: &Path, text: &str) -> Result<FloorConfig, ConfigError> {
    let source = Source::parse(file, text)?;
    let config = deserialize(&source)?;
    check::floor(&source, &config)?;
    Ok(config)
}

/// The git that the floor uses, in this process's environment.
pub fn git(floor: &FloorConfig) -> io::Result<Git> {
    let program = PathBuf::from(&floor.git.program);
    // A name is looked for on the PATH; a path is meant from here, also once we are elsewhere.
    let path = program.components().count() > 1;
    let program = if path { std::path::absolute(program)? } else { program };
    Ok(Git::new(program, std::env::vars_os()))
}

/// Who works where the project's file does not say: the floor's agent, else the demo. A demo
/// reviewer beside a real developer is never assumed: its approval would be worth nothing.
fn fill_agents(
    source: &Source<'_>,
    config: &mut ProjectConfig,
    floor: &FloorConfig,
) -> Result<(), ConfigError> {
    for (role, agent) in &floor.defaults.agents {
        config.agents.entry(*role).or_insert_with(|| agent.clone());
    }
    let dev = config.agents.entry(Role::DEV).or_insert_with(Agent::demo).runtime;
    if dev == Runtime::Demo {
        config.agents.entry(Role::REVIEW).or_insert_with(Agent::demo);
    }
    let reviewed = config.agents.contains_key(&Role::REVIEW);
    if config.review.required && !reviewed {
        return Err(source
            .at_key(&["agents"], "review is required, but nothing says who reviews")
            .hint("add [agents.review] with a runtime, or set `required = false` in [review]"));
    }
    if config.review.people == ReviewPeople::Always && !reviewed {
        return Err(source
            .at_key(&["review", "people"], "`people` in [review] is \"always\", but no agent reviews")
            .hint("add [agents.review] with a runtime, or set `people = \"never\"` in [review]"));
    }
    Ok(())
}

enum ReadError {
    Missing,
    Other(String),
}

fn read(file: &Path) -> Result<Vec<u8>, ReadError> {
    let other = |e: io::Error| match e.kind() {
        io::ErrorKind::NotFound => ReadError::Missing,
        _ => ReadError::Other(format!("cannot be read: {e}")),
    };
    // Asked before opening: opening a pipe would wait for its writer.
    if !std::fs::metadata(file).map_err(other)?.is_file() {
        return Err(ReadError::Other("is not a file".into()));
    }
    let mut bytes = Vec::new();
    File::open(file).and_then(|f| f.take(BYTES_MAX + 1).read_to_end(&mut bytes)).map_err(other)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(ReadError::Other("is larger than 1 MiB; that is not a configuration".into()));
    }
    Ok(bytes)
}

/// The text without the byte-order mark some editors put in front.
pub(super) fn text<'b>(file: &Path, bytes: &'b [u8]) -> Result<&'b str, ConfigError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(e) => {
            // The good part is enough to find the place, and to show what stands before it.
            let good = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
            let end = good.len();
            Err(error_at(file, good, end..end, "not UTF-8 text from here on")
                .hint("save the file as UTF-8 in your editor"))
        }
    }
}

pub(super) fn deserialize<T: DeserializeOwned>(source: &Source<'_>) -> Result<T, ConfigError> {
    check::shapes(source)?;
    let mut tree = source.tree().clone();
    agents::inherit(source, tree.get_mut())?;
    if let Some(DeValue::Table(defaults)) = tree.get_mut().get_mut("defaults").map(Spanned::get_mut) {
        agents::inherit(source, defaults)?;
    }
    T::deserialize(toml::de::Deserializer::from(tree)).map_err(|e| explain(source, &e))
}

/// Says in words of the file what serde says in words of Rust. The messages read here are those of
/// serde's `de::Error` methods; the tests of this module hold them fast.
pub(super) fn explain(source: &Source<'_>, error: &toml::de::Error) -> ConfigError {
    let range = error.span();
    let message = error.message();
    let found = range.as_ref().and_then(|range| source.find(range));
    let path = found.as_ref().map(|found| found.path.clone()).unwrap_or_default();
    let at = |message: String| match (&found, range) {
        // The root's range is the whole file: no place to point at.
        (Some(_), Some(range)) => source.at(range, message),
        _ => source.whole(message),
    };
    // Taken from the tree, not from the message: a key may itself hold backticks.
    let name = path.last().map_or("", String::as_str);
    let (what, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
    let valid = quoted(expected);

    if what.starts_with("unknown field") {
        let table = &path[..path.len().saturating_sub(1)];
        return at(format!("unknown key `{name}` {}", title(table))).hint(choose(name, &valid, "keys"));
    }
    if what.starts_with("missing field") {
        return match quoted(what).first().copied().unwrap_or_default() {
            "project" => at("missing table [project]".into())
                .hint("begin the file with [project] and a line name = \"…\""),
            key => at(format!("missing key `{key}` {}", title(&path))),
        };
    }
    let subject = match &path[..] {
        [] => return at(message.into()),
        [table @ .., index] if index.parse::<usize>().is_ok() => format!("in `{}`", table.join(".")),
        [key] => format!("`{key}`"),
        [table @ .., key] => format!("`{key}` {}", title(table)),
    };
    let value = found.as_ref().map(|found| found.value);
    let kind = value.map_or("nothing", kind);
    if what.starts_with("unknown variant") {
        let given = value.and_then(DeValue::as_str).unwrap_or_default();
        return at(format!("{subject}: unknown value {given:?}")).hint(choose(given, &valid, "values"));
    }
    if let (Some(DeValue::Integer(given)), "u32" | "u64") = (value, expected) {
        let range = if expected == "u32" { "from 0 to 4294967295" } else { "from 0 up" };
        return at(format!("{subject}: {} is out of range: expected a whole number {range}", given.as_str()));
    }
    if what.contains("untagged enum Scalar") {
        return at(format!("{subject}: expected a string, a whole number or a boolean, found {kind}"));
    }
    if what.starts_with("invalid type: ") {
        return at(format!("{subject}: expected {}, found {kind}", in_toml_words(expected)));
    }
    at(message.into())
}

/// The parts of a message between backticks.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// The nearest valid word, if one is near, and all of them.
pub(super) fn choose(given: &str, valid: &[&str], what: &str) -> String {
    let near = valid
        .iter()
        .map(|word| (strsim::damerau_levenshtein(given, word), word))
        .filter(|(distance, word)| *distance <= 1 + word.len() / 4)
        .min_by_key(|(distance, _)| *distance);
    let all = format!("valid {what} here: {}", valid.join(", "));
    match near {
        Some((_, word)) => format!("did you mean `{word}`? {all}"),
        None => all,
    }
}

fn in_toml_words(expected: &str) -> &str {
    match expected {
        "u32" | "u64" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "an array",
        "a map" => "a table",
        expected if expected.starts_with("struct ") => "a table",
        expected => expected,
    }
}

pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
