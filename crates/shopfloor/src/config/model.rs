//! The structure of `shopfloor.toml`; its larger parts have files of their own. The doc comments are also the descriptions in the JSON schema, so they
//! speak to whoever writes the file.

use super::agents::{Agent, Agents};
use super::ci::Ci;
use super::duration::Span;
use super::hand::{HandStep, Verify};
use super::merge::{Merge, Review};
use super::ports::PortRange;
use super::sessions::ProjectSessions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::{ProjectName, Role};
use shopfloor_core::policy::{OnAlreadyDone, OnFailed, Policy};
use std::collections::BTreeMap;

/// A project's configuration: `shopfloor.toml` at the root of its repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "shopfloor.toml")]
pub struct ProjectConfig {
    pub project: Project,
    #[serde(default)]
    pub forge: Forge,
    /// Required: either `steps`, or `no_checks = true`.
    #[serde(default)]
    pub ci: Ci,
    #[serde(default)]
    pub agents: Agents,
    #[serde(default)]
    pub review: Review,
    #[serde(default)]
    pub merge: Merge,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub sessions: ProjectSessions,
    #[serde(default)]
    pub worktree: Worktree,
    #[serde(default)]
    pub rescue: Rescue,
    /// Secrets by name. A value is never written here, only where it is found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, SecretRef>,
    /// What `shopfloor session` runs, by step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<String, HandStep>,
    /// How `shopfloor verify` looks at the work, by step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub verify: BTreeMap<String, Verify>,
}

impl ProjectConfig {
    /// The agent of a role. A loaded configuration always has one for `Dev`, and one for `Review`
    /// if review is required.
    pub fn agent(&self, role: Role) -> Option<&Agent> {
        match role {
            Role::Dev => self.agents.dev.as_ref(),
            Role::Review => self.agents.review.as_ref(),
        }
    }
}

/// What the project is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// The project's name on this floor: 1 to 40 of a-z, 0-9, '-' and '_', beginning with a letter
    /// or digit.
    #[schemars(with = "String", regex(pattern = "^[a-z0-9][a-z0-9_-]{0,39}$"))]
    pub name: ProjectName,
    /// The branch that finished work lands on.
    #[serde(default = "main_branch")]
    pub primary_branch: String,
}

fn main_branch() -> String {
    "main".into()
}

/// Where issues and pull requests live.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Forge {
    pub kind: ForgeKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// The forge built into Shopfloor; needs no server and no account.
    #[default]
    Local,
}

/// Bounds: how much at once, how often again, how long to wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Issues worked on at the same time.
    #[schemars(range(min = 1, max = 1000))]
    pub max_jobs: u32,
    /// Times an agent is asked to repair failing checks of one issue.
    pub ci_fixes: u32,
    /// Times a dead session of one issue is replaced.
    pub respawns: u32,
    /// Times an agent is reminded when what it signalled cannot be acted upon.
    pub reminders: u32,
    /// What becomes of an issue whose agent gave up: "blocked" waits for a person, "backlog" has it tried
    /// again, up to three times in all.
    #[schemars(with = "String", extend("enum" = ["blocked", "backlog"]))]
    pub on_failed: OnFailed,
    /// What becomes of an issue whose agent says that it is done already, and has changed nothing: "ask"
    /// has a person look, "close" closes it.
    #[schemars(with = "String", extend("enum" = ["ask", "close"]))]
    pub on_already_done: OnAlreadyDone,
    /// An agent at work that shows no sign for this long is looked after.
    pub idle: Span,
    /// An agent that waits for its own work in the background (tests in a shell, an agent it sent off) may
    /// do so for this long before somebody is told and it counts as idle.
    pub background: Span,
    /// A message to an agent must be taken within this time.
    pub delivery: Span,
    /// Before the first replacement of a dead session; doubles with each.
    pub respawn_backoff: Span,
    /// Times an agent is told to go on after a turn that its model's servers broke off, before a human is
    /// asked.
    pub retries: u32,
    /// Before it is told to go on for the first time; doubles with each, up to half an hour.
    pub retry_backoff: Span,
    /// After this long an open question to a human is repeated.
    pub renotify: Span,
    /// After this long an open question to a human is escalated.
    pub escalate: Span,
    /// What fails for no fault of a change (a disk, a server, a tool) is tried again until it works; after
    /// this long a human is asked to look.
    pub trouble: Span,
}

impl Default for Limits {
    fn default() -> Self {
        let policy = Policy::default();
        Limits {
            max_jobs: u32::try_from(policy.max_jobs).expect("the default is small"),
            ci_fixes: policy.ci_fixes_max,
            respawns: policy.respawns_max,
            reminders: policy.reminders_max,
            on_failed: policy.on_failed,
            on_already_done: policy.on_already_done,
            idle: Span(policy.idle_timeout),
            background: Span(policy.background_timeout),
            delivery: Span(policy.delivery_timeout),
            respawn_backoff: Span(policy.respawn_backoff),
            retries: policy.retries_max,
            retry_backoff: Span(policy.retry_backoff),
            renotify: Span(policy.renotify_after),
            escalate: Span(policy.escalate_after),
            trouble: Span(policy.trouble_after),
        }
    }
}

/// What is done to an issue's worktree before an agent works in it, and before it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Worktree {
    /// Command lines for `sh -c`, run one after another in a new worktree. One that was cut short is run
    /// again, so each must bear that. What it leaves running in the background is ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// The same, before the worktree is removed. What fails is reported and holds nothing up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<String>,
    /// For all commands of one kind together.
    pub timeout: Span,
    /// Files that are copied from your checkout into a new worktree: patterns as in a .gitignore, such as
    /// ".env" and "config/*.local". A file `.worktreeinclude` in your checkout may list more. Only files
    /// that git ignores are copied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Each worktree gets one of these ports, as `SHOPFLOOR_PORT`, that no other worktree has.
    pub ports: PortRange,
}

impl Default for Worktree {
    fn default() -> Self {
        Worktree {
            setup: Vec::new(),
            teardown: Vec::new(),
            timeout: Span::mins(10),
            include: Vec::new(),
            ports: PortRange::DEFAULT,
        }
    }
}

/// How agents' work is kept safe while it is not committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rescue {
    /// Between two snapshots of a worktree in which an agent works. One is also made at each phase and
    /// before anything is ended or removed.
    pub every: Span,
    /// Snapshots of an agent that are kept at least.
    #[schemars(range(min = 1, max = 10_000))]
    pub keep: u32,
    /// After this long the others go as well. A snapshot that is the only copy of something never goes.
    pub keep_for: Span,
    /// Whether snapshots are also sent to the project's origin.
    pub push: bool,
    /// How long the worktree of an issue that did not land is kept. What it holds is kept beyond that.
    pub keep_worktrees: Span,
    /// How long the files of sessions and the logs of checks are kept once nothing needs them.
    pub keep_logs: Span,
}

impl Default for Rescue {
    fn default() -> Self {
        let policy = Policy::default();
        Rescue {
            every: Span(policy.checkpoint_every),
            keep: policy.rescue_keep,
            keep_for: Span(policy.rescue_keep_for),
            push: false,
            keep_worktrees: Span(policy.keep_worktrees),
            keep_logs: Span(policy.keep_logs),
        }
    }
}

/// Where a secret is found: `{ env = "VAR" }` or `{ file = "path" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretRef {
    /// In this environment variable of the daemon.
    Env(String),
    /// In this file, relative to the folder of the configuration file. It must belong to you and
    /// be closed to others.
    File(String),
}
