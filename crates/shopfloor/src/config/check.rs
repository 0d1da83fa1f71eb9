//! What a type cannot say: rules between keys, and the values that no part further on could use.

use super::duration::Span;
use super::error::ConfigError;
use super::isolation::is_usable;
use super::load::{choose, kind};
use super::retention::JOURNAL_MIN;
use super::schedule;
use super::source::{Source, title};
use super::{Agent, Agents, Ci, FloorConfig, Merge, ProjectConfig, Runtime, Worktree};
use shopfloor_adapters::git::origin::checked_url;
use shopfloor_core::allow::Allowed;
use shopfloor_core::ci::SkipPaths;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::protected::Protected;
use shopfloor_store::forge::DEFAULT_LABELS;
use std::path::Path;
use toml::de::{DeTable, DeValue};

type Checked = Result<(), ConfigError>;

/// The keys whose values are tables, in either file.
const TABLES: [&str; 21] = [
    "schedules",
    "health",
    "project",
    "forge",
    "ci",
    "agents",
    "roles",
    "review",
    "merge",
    "limits",
    "secrets",
    "sessions",
    "git",
    "defaults",
    "rescue",
    "retention",
    "isolation",
    "worktree",
    "config",
    "grants",
    "vault",
];

/// The keys whose values are one word of a few.
const WORDS: [&str; 9] =
    ["runtime", "kind", "method", "on_failed", "on_already_done", "on_missed", "mcp", "level", "accept"];

/// Serde takes an array for a struct, element by element in the order of its fields, and a table for
/// an enum. Nobody means that, and an empty array would silently stand for all defaults.
pub(super) fn shapes(source: &Source<'_>) -> Checked {
    super::vault::shapes(source)?;
    shapes_in(source, source.tree().get_ref(), &mut Vec::new())
}

fn shapes_in(source: &Source<'_>, table: &DeTable<'_>, path: &mut Vec<String>) -> Checked {
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        let is_table = TABLES.contains(&name)
            || path.last().is_some_and(|table| ["agents", "roles"].contains(&table.as_str()));
        let found = kind(value.get_ref());
        let wrong = |expected| {
            let subject =
                if path.is_empty() { format!("`{name}`") } else { format!("`{name}` {}", title(path)) };
            Err(source.at(key.span(), format!("{subject}: expected {expected}, found {found}")))
        };
        match value.get_ref() {
            // Of an unknown table the unknown name is said, not what is wrong inside.
            DeValue::Table(inner) if is_table && name != "secrets" => {
                path.push(name.to_owned());
                shapes_in(source, inner, path)?;
                path.pop();
            }
            DeValue::Array(_) if is_table => return wrong("a table"),
            DeValue::Array(items) if name == "steps" => {
                if let Some(item) = items.iter().find(|item| item.get_ref().is_array()) {
                    return Err(source.at(item.span(), "a step: expected a table, found an array"));
                }
            }
            DeValue::String(_) => {}
            _ if WORDS.contains(&name) => return wrong("a string"),
            _ => {}
        }
    }
    Ok(())
}

/// Before anything else looks at the values: a literal secret must not reach an error message.
pub(super) fn secrets(source: &Source<'_>) -> Checked {
    let table = source.tree().get_ref().get("secrets").and_then(|value| value.get_ref().as_table());
    for (name, value) in table.into_iter().flatten() {
        let range = name.span();
        let name = name.get_ref();
        if !is_env_name(name) {
            return Err(source
                .at(range, format!("`{name}` is not a name for a secret"))
                .hint("use letters, digits and `_`, not beginning with a digit"));
        }
        let DeValue::Table(reference) = value.get_ref() else {
            return Err(source
                .at(
                    range,
                    format!("`{name}` in [secrets]: expected a reference, found {}", kind(value.get_ref())),
                )
                .hint(
                    "this file is committed and read by agents, so it says only where a secret is found: \
                     { env = \"VAR\" } or { file = \"path\" }; replace the secret if it was ever committed",
                ));
        };
        for (key, value) in reference {
            let word = key.get_ref().as_ref();
            if !["env", "file"].contains(&word) {
                return Err(source
                    .at(key.span(), format!("unknown key `{word}` in the secret `{name}`"))
                    .hint(choose(word, &["env", "file"], "keys")));
            }
            let Some(text) = value.get_ref().as_str() else {
                return Err(source.at(
                    key.span(),
                    format!(
                        "`{word}` of the secret `{name}`: expected a string, found {}",
                        kind(value.get_ref())
                    ),
                ));
            };
            if word == "env" && !is_env_name(text) {
                return Err(source
                    .at(key.span(), format!("`env` of the secret `{name}` is not the name of a variable"))
                    .hint("write the variable's name, without `$`, not its value"));
            }
            if word == "file" && (text.is_empty() || text.starts_with('~')) {
                return Err(source
                    .at(key.span(), format!("`file` of the secret `{name}` is not a path that can be used"))
                    .hint(
                        "`~` is not expanded; write an absolute path, or one relative to this file's folder",
                    ));
            }
        }
        if reference.len() != 1 {
            return Err(source
                .at(range, format!("the secret `{name}` needs exactly one of `env` and `file`"))
                .hint("write { env = \"VAR\" } or { file = \"path\" }"));
        }
    }
    Ok(())
}

fn targets(source: &Source<'_>, config: &ProjectConfig) -> Checked {
    let mut branches = vec![config.project.primary_branch.as_str()];
    let mut labels: Vec<&String> = Vec::new();
    for (name, target) in &config.merge.targets {
        let at = |key: &str, why: String| Err(source.at_key(&["merge", "targets", name, key], why));
        if name.parse::<ProjectName>().is_err() {
            let why = format!("{name:?} cannot be the name of a target: {}", ProjectName::RULE);
            return Err(source.at_key(&["merge", "targets", name], why));
        }
        if branches.contains(&target.branch.branch()) {
            return at("branch", format!("{:?} has a queue already", target.branch.branch()));
        }
        if target.label.as_ref().is_some_and(|label| label.trim().is_empty() || label.contains(',')) {
            return at("label", "a label is not empty and has no comma".into());
        }
        let label = target.label.as_ref().unwrap_or(name);
        if DEFAULT_LABELS.contains(&label.as_str()) || labels.contains(&label) {
            let why = format!("the label {label:?} says something else already");
            return Err(source
                .at_key(&["merge", "targets", name], why)
                .hint("choose another: label = \"…\""));
        }
        labels.push(label);
        branches.push(target.branch.branch());
    }
    Ok(())
}

pub(super) fn project(source: &Source<'_>, config: &ProjectConfig) -> Checked {
    if let Some(rule) = bad_branch(&config.project.primary_branch) {
        return Err(source.at_key(
            &["project", "primary_branch"],
            format!("{:?} cannot be the name of a branch: {rule}", config.project.primary_branch),
        ));
    }
    if let Some(Err(bad)) = config.project.origin.as_deref().map(checked_url) {
        return Err(source.at_key(&["project", "origin"], bad.to_string()));
    }
    if let Err(why) = Protected::new(&config.review.protected) {
        return Err(source.at_key(&["review", "protected"], format!("`protected` in [review]: {why}")));
    }
    targets(source, config)?;
    if let Some(signing) = &config.merge.signing
        && (signing.key.trim().is_empty() || signing.key.starts_with(['~', '-']))
    {
        return Err(source
            .at_key(&["merge", "signing", "key"], "this is not a key that can be used")
            .hint("`~` is not expanded; write an absolute path, or for openpgp the key's fingerprint"));
    }
    ci(source, &config.ci)?;
    agents(source, &config.agents, &["agents"])?;
    let limits = &config.limits;
    count(source, &["review", "rounds"], config.review.rounds, 1..=1000)?;
    count(source, &["review", "diff_kb"], config.review.diff_kb, 1..=80)?;
    count(source, &["merge", "rounds"], config.merge.rounds, 1..=1000)?;
    count(source, &["merge", "slots"], config.merge.slots, 1..=64)?;
    deadline(source, &["merge", "alarm"], config.merge.alarm)?;
    merge_commands(source, &config.merge)?;
    count(source, &["limits", "max_jobs"], limits.max_jobs, 1..=1000)?;
    count(source, &["limits", "ci_fixes"], limits.ci_fixes, 0..=1000)?;
    count(source, &["limits", "respawns"], limits.respawns, 0..=1000)?;
    count(source, &["limits", "reminders"], limits.reminders, 0..=1000)?;
    deadline(source, &["review", "timeout"], config.review.timeout)?;
    deadline(source, &["review", "agent_timeout"], config.review.agent_timeout)?;
    deadline(source, &["limits", "idle"], limits.idle)?;
    deadline(source, &["limits", "background"], limits.background)?;
    deadline(source, &["sessions", "handback"], config.sessions.handback)?;
    deadline(source, &["limits", "delivery"], limits.delivery)?;
    worktree(source, &config.worktree)?;
    deadline(source, &["rescue", "every"], config.rescue.every)?;
    count(source, &["rescue", "keep"], config.rescue.keep, 1..=10_000)?;
    count(source, &["rescue", "max_file_mib"], config.rescue.max_file_mib, 1..=1_000_000)?;
    count(source, &["rescue", "max_total_mib"], config.rescue.max_total_mib, 1..=1_000_000)?;
    deadline(source, &["rescue", "keep_for"], config.rescue.keep_for)?;
    deadline(source, &["rescue", "keep_worktrees"], config.rescue.keep_worktrees)?;
    deadline(source, &["rescue", "keep_logs"], config.rescue.keep_logs)?;
    schedule::check(source, &config.schedules)?;
    deadline(source, &["limits", "renotify"], limits.renotify)?;
    deadline(source, &["limits", "escalate"], limits.escalate)
}

pub(super) fn floor(source: &Source<'_>, config: &FloorConfig) -> Checked {
    if !Path::new(&config.sessions.phase_dir).is_absolute() {
        return Err(source
            .at_key(&["sessions", "phase_dir"], "`phase_dir` in [sessions] must be an absolute path")
            .hint(
                "agents find their phase file under it whatever folder they are in, for example \"/tmp\"",
            ));
    }
    if config.git.program.trim().is_empty() {
        return Err(source
            .at_key(&["git", "program"], "`program` in [git] is empty")
            .hint("leave the line out to use the git on your PATH"));
    }
    if let Some(max_jobs) = config.limits.max_jobs {
        count(source, &["limits", "max_jobs"], max_jobs, 1..=1000)?;
    }
    if let Some(checks) = config.limits.checks {
        count(source, &["limits", "checks"], checks, 1..=1000)?;
    }
    if config.retention.journal.span().is_some_and(|span| span < JOURNAL_MIN) {
        let what =
            format!("`journal` in [retention] is {}: it must be at least 7d", config.retention.journal);
        return Err(source.at_key(&["retention", "journal"], what).hint("\"never\" keeps all of it"));
    }
    let isolation = &config.isolation;
    for (key, paths) in [("read", &isolation.read), ("caches", &isolation.caches)] {
        if let Some(path) = paths.iter().find(|path| !is_usable(path)) {
            let what = format!("{path:?} of `{key}` in [isolation] is not an absolute path");
            return Err(source.at_key(&["isolation", key], what).hint("begin it with / or with ~/"));
        }
    }
    for (project, grants) in &config.grants {
        env_names(source, &["grants", project.as_str(), "pass_env"], &grants.pass_env)?;
    }
    super::vault::check(source, config)?;
    agents(source, &config.defaults.agents, &["defaults", "agents"])
}

fn merge_commands(source: &Source<'_>, merge: &Merge) -> Checked {
    for (key, command) in [("on_landed", &merge.on_landed), ("on_not_landed", &merge.on_not_landed)] {
        let Some(command) = command else { continue };
        let program = command.first().map_or("", String::as_str);
        let at = |why: &str| source.at_key(&["merge", key], format!("`{key}` in [merge] {why}"));
        if program.trim().is_empty() {
            return Err(at("names no program")
                .hint(format!("write a program and its arguments: {key} = [\"notify-send\", \"merged\"]")));
        }
        // What is in the checkout changes with what lands, and that is others' work.
        if program.contains('/') && !Path::new(program).is_absolute() {
            return Err(at("names a program by a part of its path")
                .hint("write the whole path: it is run in an empty folder, not in the checkout"));
        }
    }
    deadline(source, &["merge", "command_timeout"], merge.command_timeout)
}

fn ci(source: &Source<'_>, ci: &Ci) -> Checked {
    if ci.no_checks && !ci.steps.is_empty() {
        return Err(source
            .at_key(&["ci", "no_checks"], "`no_checks` says that there are no checks, but `steps` lists some")
            .hint("remove one of the two"));
    }
    if !ci.no_checks && ci.steps.is_empty() {
        return Err(source.at_key(&["ci"], "the project has no checks, and does not say that it wants none").hint(
            "add steps = [{ name = \"test\", run = \"…\" }] to [ci]; or, to let changes land unchecked, no_checks = true",
        ));
    }
    for (index, step) in ci.steps.iter().enumerate() {
        let index = index.to_string();
        let at = |key: &str, message: String| source.at_key(&["ci", "steps", &index, key], message);
        if step.name.trim().is_empty() || step.name.chars().any(char::is_control) || step.name.len() > 80 {
            return Err(at("name", "a step's name is one line of 1 to 80 characters".into()));
        }
        if step.run.trim().is_empty() {
            return Err(at("run", format!("the step {:?} runs nothing", step.name))
                .hint("write the command that checks the project, for example run = \"make test\""));
        }
        if ci.steps.iter().filter(|other| other.name == step.name).count() > 1 {
            return Err(at("name", format!("two steps are named {:?}", step.name)));
        }
        deadline(source, &["ci", "steps", &index, "timeout"], step.timeout)?;
    }
    deadline(source, &["ci", "timeout"], ci.timeout)?;
    if ci.min_time >= ci.timeout {
        return Err(source
            .at_key(
                &["ci", "min_time"],
                format!(
                    "`min_time` in [ci] is {}, and `timeout` is {}: nothing could ever pass",
                    ci.min_time, ci.timeout
                ),
            )
            .hint("write what the checks take at least, or leave the line out"));
    }
    count(source, &["ci", "infra_retries"], ci.infra_retries, 0..=100)?;
    for (index, pattern) in ci.skip_paths.iter().enumerate() {
        if let Err(why) = SkipPaths::new(std::slice::from_ref(pattern)) {
            let at = index.to_string();
            return Err(source
                .at_key(
                    &["ci", "skip_paths", &at],
                    format!("`skip_paths` in [ci] has a pattern that cannot be used: {why}"),
                )
                .hint("write paths as git shows them, such as \"docs/**\" or \"*.md\""));
        }
    }
    if let Some(index) = ci.infra.iter().position(|phrase| phrase.trim().len() < 4) {
        return Err(source
            .at_key(
                &["ci", "infra", &index.to_string()],
                "a text in `infra` of [ci] is too short: it would be found everywhere",
            )
            .hint("write at least four characters of what a step prints"));
    }
    if !(1024..=1 << 30).contains(&ci.log_max) {
        return Err(source.at_key(
            &["ci", "log_max"],
            format!("`log_max` in [ci] is {}: it must be from 1024 to 1073741824 bytes", ci.log_max),
        ));
    }
    env_names(source, &["ci", "pass_env"], &ci.pass_env)
}

fn worktree(source: &Source<'_>, worktree: &Worktree) -> Checked {
    for (key, commands) in [("setup", &worktree.setup), ("teardown", &worktree.teardown)] {
        if let Some(index) = commands.iter().position(|run| run.trim().is_empty() || run.contains('\0')) {
            return Err(source.at_key(
                &["worktree", key, &index.to_string()],
                format!("`{key}` in [worktree] has a command that runs nothing"),
            ));
        }
    }
    let is_pattern = |text: &str| !text.trim().is_empty() && !text.contains(['\n', '\r', '\0']);
    if let Some(index) = worktree.include.iter().position(|pattern| !is_pattern(pattern)) {
        return Err(source
            .at_key(
                &["worktree", "include", &index.to_string()],
                "`include` in [worktree] has a pattern that names nothing",
            )
            .hint("write patterns as in a .gitignore, such as \".env\" or \"config/*.local\""));
    }
    deadline(source, &["worktree", "timeout"], worktree.timeout)
}

fn agents(source: &Source<'_>, agents: &Agents, path: &[&str]) -> Checked {
    for (role, agent) in agents {
        self::agent(source, agent, &[path, &[role.as_str()]].concat())?;
    }
    Ok(())
}

fn agent(source: &Source<'_>, agent: &Agent, path: &[&str]) -> Checked {
    let at = |key, message: String| source.at_key(&[path, &[key]].concat(), message);
    let table = path.join(".");
    match (agent.runtime, &agent.command) {
        (Runtime::Generic, None) => {
            return Err(at("runtime", format!("runtime \"generic\" needs a `command` in [{table}]"))
                .hint("add command = [\"program\", \"argument\"]: what is run in the worktree"));
        }
        (Runtime::Generic, Some(command))
            if command.first().is_none_or(|program| program.trim().is_empty()) =>
        {
            return Err(at("command", format!("`command` in [{table}] names no program"))
                .hint("the first element is the program, the others are its arguments"));
        }
        (Runtime::Generic, Some(command)) if command.iter().any(|word| word.contains('\0')) => {
            return Err(at("command", format!("`command` in [{table}] holds a NUL character")));
        }
        (runtime, Some(_)) if runtime != Runtime::Generic => {
            return Err(at("command", format!("runtime {:?} runs no command of yours", runtime.as_str()))
                .hint("remove the line, or write runtime = \"generic\" to run the command"));
        }
        _ => {}
    }
    let asks = matches!(agent.runtime, Runtime::Claude | Runtime::Codex);
    if let Some(mode) = &agent.permission_mode {
        let is_word = !mode.is_empty()
            && mode.len() <= 40
            && mode.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !asks || !is_word {
            let why =
                if asks { "is one word, such as \"acceptEdits\"" } else { "is for claude and codex only" };
            return Err(at("permission_mode", format!("`permission_mode` in [{table}] {why}")));
        }
    }
    if let Some(prompt) = &agent.prompt
        && prompt.parse::<ProjectName>().is_err()
    {
        return Err(at("prompt", format!("`prompt` in [{table}] is not the name of a template"))
            .hint(format!("it is a file's name without `.md`: {}", ProjectName::RULE)));
    }
    launch(source, agent, path)?;
    if agent.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
        return Err(at("model", format!("`model` in [{table}] is empty")).hint("leave the line out instead"));
    }
    env_names(source, &[path, &["pass_env"]].concat(), &agent.pass_env)
}

/// What a client is started with.
fn launch(source: &Source<'_>, agent: &Agent, path: &[&str]) -> Checked {
    let at = |keys: &[&str], message: String| source.at_key(&[path, keys].concat(), message);
    let table = path.join(".");
    let is_client = matches!(agent.runtime, Runtime::Claude | Runtime::Codex);
    for (key, used) in [("allow", !agent.allow.is_empty()), ("mcp", agent.mcp.is_some())] {
        if used && !is_client {
            return Err(at(&[key], format!("`{key}` in [{table}] is for claude and codex only"))
                .hint("remove the line: no other runtime asks"));
        }
    }
    if let Err((index, why)) = Allowed::new(&agent.allow) {
        return Err(at(&["allow", &index.to_string()], format!("`allow` in [{table}]: {why}")).hint(
            "write the first words of a command, without quotes or operators, such as \"cargo test\"",
        ));
    }
    let Some(command) = &agent.key_command else {
        return match agent.key_env {
            Some(_) => Err(at(&["key_env"], format!("`key_env` in [{table}] needs a `key_command`"))
                .hint("a key that is in the environment already is passed on with `pass_env`")),
            None => Ok(()),
        };
    };
    if command.first().is_none_or(|program| program.trim().is_empty())
        || command.iter().any(|word| word.contains('\0'))
    {
        return Err(at(&["key_command"], format!("`key_command` in [{table}] names no program"))
            .hint("the first element is the program, the others are its arguments"));
    }
    match agent.key_variable() {
        None => Err(at(&["key_command"], format!("`key_command` in [{table}] needs a `key_env`"))
            .hint("say in which variable the program gets the key, such as key_env = \"API_KEY\"")),
        Some(name) if !is_env_name(name) => {
            Err(at(&["key_env"], format!("{name:?} is not the name of a variable")))
        }
        Some(_) => Ok(()),
    }
}

pub(super) fn env_names(source: &Source<'_>, path: &[&str], names: &[String]) -> Checked {
    for (index, name) in names.iter().enumerate() {
        if !is_env_name(name) {
            let index = index.to_string();
            let key = path.last().copied().unwrap_or_default();
            return Err(source
                .at_key(&[path, &[&index]].concat(), format!("{name:?} is not the name of a variable"))
                .hint(format!(
                    "`{key}` lists names only, such as \"HOME\"; the values come from the environment"
                )));
        }
    }
    Ok(())
}

fn is_env_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 100
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.as_bytes()[0].is_ascii_digit()
}

fn count(source: &Source<'_>, path: &[&str; 2], value: u32, range: std::ops::RangeInclusive<u32>) -> Checked {
    if range.contains(&value) {
        return Ok(());
    }
    let [table, key] = path;
    let (min, max) = (range.start(), range.end());
    Err(source.at_key(path, format!("`{key}` in [{table}] is {value}: it must be from {min} to {max}")))
}

/// A deadline of zero has always passed.
pub(super) fn deadline(source: &Source<'_>, path: &[&str], span: Span) -> Checked {
    match path {
        [.., key] if span.0.is_zero() => {
            Err(source.at_key(path, format!("`{key}` must be longer than nothing")))
        }
        _ => Ok(()),
    }
}

/// Git's rules for a branch name (git-check-ref-format), and that no job's branch is meant.
fn bad_branch(name: &str) -> Option<&'static str> {
    let bad_char = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    if name.is_empty() || name.len() > 200 {
        Some("use 1 to 200 characters")
    } else if name.chars().any(bad_char) {
        Some("no spaces, control characters or any of ~^:?*[\\")
    } else if name.starts_with('-') || name == "@" || name == "HEAD" || name.starts_with("refs/") {
        Some("write it as `git branch` shows it")
    } else if name.contains("..") || name.contains("@{") || name.ends_with('.') {
        Some("no `..`, no `@{` and no dot at the end")
    } else if name.split('/').any(|part| part.is_empty() || part.starts_with('.') || part.ends_with(".lock"))
    {
        Some("no part between slashes may be empty, begin with a dot or end in .lock")
    } else if name.starts_with("fix/issue-") {
        Some("branches fix/issue-… belong to the agents")
    } else {
        None
    }
}
