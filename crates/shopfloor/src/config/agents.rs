//! `[agents]`: who does the work, and how they are run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who does the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Agents {
    /// Implements issues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev: Option<Agent>,
    /// Reviews pull requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Agent>,
}

/// How an agent is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    pub runtime: Runtime,
    /// The program and its arguments; for `runtime = "generic"` only, and required there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The model to use, in the runtime's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpServers {
    /// No server.
    None,
    /// Those that the repository sets up, as they are in your checkout.
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
