//! `[agents]`: who does the work, and how they are run. A table for each role; what `default` says holds for
//! all of them.

use super::error::ConfigError;
use super::load::choose;
use super::source::Source;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::Role;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// By role.
pub type Agents = BTreeMap<Role, Agent>;

const DEFAULT: &str = "default";
/// What holds whatever the client is.
const OF_ANY_RUNTIME: [&str; 2] = ["pass_env", "prompt"];

/// How agents of a role are run: `dev` implements issues, `review` reviews pull requests, any other
/// carries out the formulas that name it. What is not said is taken from `[agents.default]`; from one with another runtime, only `pass_env`
/// and `prompt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = any_may_be_inherited)]
pub struct Agent {
    pub runtime: Runtime,
    /// The program and its arguments; for `runtime = "generic"` only, and required there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The model to use, in the runtime's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The template of its prompt: `NAME.md` in `.shopfloor/prompts` of your checkout, or in `prompts` of the
    /// floor's home. Without it that of the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the client may do without asking, in its own words: for claude `acceptEdits`,
    /// `bypassPermissions` and others, for codex `never`, `on-request` and others. Without it the
    /// client decides. A client that asks waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Commands that the client need not ask about, by their first words: `["cargo test", "make check"]`.
    /// Git in the worktree, reading there and `shopfloor phase` never ask. For codex these may also run
    /// outside of its sandbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Which MCP servers the client may use: "none", "project" (those that the repository sets up, as they are
    /// in your checkout) or "user" (those that you set up in the client itself). Without it "user" for
    /// `dev` and "none" for `review`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpServers>,
    /// Names of environment variables that the agent may see, beside a minimal set.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// A program and its arguments that prints the client's key, asked before each session: for keys that
    /// change, and are not to be in the environment. What it prints is never shown or stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_command: Option<Vec<String>>,
    /// The variable in which the client gets that key. Without it `ANTHROPIC_API_KEY` for claude and
    /// `OPENAI_API_KEY` for codex; required for a runtime that is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
}

impl Agent {
    pub(super) fn demo() -> Self {
        Agent {
            runtime: Runtime::Demo,
            command: None,
            model: None,
            prompt: None,
            permission_mode: None,
            allow: Vec::new(),
            mcp: None,
            pass_env: Vec::new(),
            key_command: None,
            key_env: None,
        }
    }

    /// The variable for what `key_command` prints.
    pub fn key_variable(&self) -> Option<&str> {
        let usual = match self.runtime {
            Runtime::Claude => Some("ANTHROPIC_API_KEY"),
            Runtime::Codex => Some("OPENAI_API_KEY"),
            Runtime::Demo | Runtime::Generic => None,
        };
        self.key_env.as_deref().or(usual)
    }
}

fn any_may_be_inherited(schema: &mut Schema) {
    schema.remove("required");
}

/// Checks the names of roles and hands down what `default` says: to the others, and to those of the built-in
/// roles that have no table. Keys keep their places, so that errors point at where they were written.
pub(super) fn inherit(source: &Source<'_>, table: &mut DeTable<'_>) -> Result<(), ConfigError> {
    let Some(agents) = table.get_mut("agents") else { return Ok(()) };
    let DeValue::Table(agents) = agents.get_mut() else { return Ok(()) };
    for (name, _) in agents.iter().filter(|(name, _)| name.get_ref() != DEFAULT) {
        check_name(source, "agents", name.get_ref(), name.span())?;
    }
    let Some((at, default)) = agents.remove_entry(DEFAULT) else { return Ok(()) };
    let DeValue::Table(default) = default.into_inner() else {
        return Err(source.at(at.span(), "`default` in [agents]: expected a table"));
    };
    for (_, role) in agents.iter_mut() {
        let DeValue::Table(role) = role.get_mut() else { continue };
        let runtime = |table: &DeTable<'_>| table.get("runtime")?.get_ref().as_str().map(str::to_owned);
        let other = runtime(role).is_some_and(|own| runtime(&default) != Some(own));
        for (key, value) in &default {
            let name = key.get_ref().as_ref();
            if !role.contains_key(name) && (!other || OF_ANY_RUNTIME.contains(&name)) {
                role.insert(key.clone(), value.clone());
            }
        }
    }
    for role in Role::STAFF {
        if !agents.contains_key(role.as_str()) {
            let name = Spanned::new(at.span(), role.as_str().to_owned().into());
            agents.insert(name, Spanned::new(at.span(), DeValue::Table(default.clone())));
        }
    }
    Ok(())
}

/// A name that is nearly one of the built-in roles' is meant to be that.
/// `table` is what has a key of that name.
pub(super) fn check_name(
    source: &Source<'_>,
    table: &str,
    name: &str,
    at: Range<usize>,
) -> Result<(), ConfigError> {
    if let Err(bad) = name.parse::<Role>() {
        return Err(source.at(at, format!("`{name}` cannot be the name of a role")).hint(bad.rule));
    }
    let known: Vec<&str> =
        Role::STAFF.iter().chain(&Role::OTHERS).map(Role::as_str).chain([DEFAULT]).collect();
    let hint = choose(name, &known, "names that work is given to");
    match known.contains(&name) || !hint.starts_with("did you mean") {
        true => Ok(()),
        false => {
            Err(source.at(at, format!("`{name}` in [{table}] is nearly the name of another role")).hint(hint))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpServers {
    /// No server.
    None,
    /// Those that the repository sets up, as you accepted them.
    Project,
    /// Those that you set up in the client itself.
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// A scripted agent built into Shopfloor: no AI, no account, no cost.
    Demo,
    /// Any program, given by `command`.
    Generic,
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

impl Runtime {
    pub fn as_str(self) -> &'static str {
        match self {
            Runtime::Demo => "demo",
            Runtime::Generic => "generic",
            Runtime::Claude => "claude",
            Runtime::Codex => "codex",
        }
    }
}
