//! The structure of `shopfloor.toml`; its larger parts have files of their own. The doc comments are also the descriptions in the JSON schema, so they
//! speak to whoever writes the file.

use super::agents::{Agent, Agents};
use super::ci::Ci;
use super::duration::Span;
use super::hand::{HandStep, Verify};
use super::health::Health;
use super::merge::{Merge, Review};
use super::ports::PortRange;
use super::roles::{RoleRights, Roles};
use super::schedule::ScheduleConfig;
use super::sessions::ProjectSessions;
use super::settings::settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_adapters::git::Caps;
use shopfloor_core::ids::{ProjectName, Role};
use shopfloor_core::policy::{OnAlreadyDone, OnFailed};
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
    /// Who does the work, by role.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Agent>")]
    pub agents: Agents,
    /// What they may have the factory do, by role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, RoleRights>")]
    pub roles: Roles,
    #[serde(default)]
    pub review: Review,
    #[serde(default)]
    pub merge: Merge,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub health: Health,
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
    /// When formulas are run by themselves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub schedules: BTreeMap<String, ScheduleConfig>,
}

impl ProjectConfig {
    /// The agent of a role. A loaded configuration always has one for `dev`, and one for `review`
    /// if review is required.
    pub fn agent(&self, role: Role) -> Option<&Agent> {
        self.agents.get(&role)
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
    /// Where the branches live: the URL of a git remote (https, http, ssh or git). `shopfloor init` settles it for
    /// good; a later change of this line counts for nothing. Without one they live in a repository of the floor's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
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

/// Limits: how much at once, how often again, how long to wait.
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
    /// Times an agent is reminded when what it signalled cannot be acted on.
    pub reminders: u32,
    /// What becomes of an issue whose agent gave up: "blocked" waits for a person, "backlog" has it tried
    /// again, up to three times in all.
    #[schemars(with = "String", extend("enum" = ["blocked", "backlog"]))]
    pub on_failed: OnFailed,
    /// What becomes of an issue whose agent says that it is already done, and has changed nothing: "ask" has a
    /// person look, "close" closes it.
    #[schemars(with = "String", extend("enum" = ["ask", "close"]))]
    pub on_already_done: OnAlreadyDone,
    /// After this long without a sign of life, somebody looks after an agent at work.
    pub idle: Span,
    /// How long an agent may wait for its own work in the background (tests in a shell, an agent it sent off)
    /// before somebody is told and it counts as idle.
    pub background: Span,
    /// A message to an agent must be taken within this time.
    pub delivery: Span,
    /// The pause before the first replacement of a dead session; it doubles with each.
    pub respawn_backoff: Span,
    /// Times an agent is told to continue after its model's servers broke off a turn, before a human is asked.
    pub retries: u32,
    /// The pause before it is told so for the first time; it doubles with each, up to half an hour.
    pub retry_backoff: Span,
    /// After this long, an open question to a human is repeated.
    pub renotify: Span,
    /// After this long, an open question to a human is escalated.
    pub escalate: Span,
    /// What fails through no fault of a change (a disk, a server, a tool) is retried until it works; after this
    /// long, a human is asked to look.
    pub trouble: Span,
    /// What is due by a schedule waits until this much memory is available, in MB; 0: it does not.
    pub min_memory: u32,
    /// What is due by a schedule waits until the load of the last minute is at most this for each core; 0: it does not.
    pub max_load: u32,
}

settings!(Limits {
    max_jobs: max_jobs,
    ci_fixes: ci_fixes_max,
    respawns: respawns_max,
    reminders: reminders_max,
    on_failed: on_failed,
    on_already_done: on_already_done,
    idle: idle_timeout,
    background: background_timeout,
    delivery: delivery_timeout,
    respawn_backoff: respawn_backoff,
    retries: retries_max,
    retry_backoff: retry_backoff,
    renotify: renotify_after,
    escalate: escalate_after,
    trouble: trouble_after,
} and { min_memory: 2000, max_load: 4 });

/// What is done to an issue's worktree before an agent works in it, and before it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Worktree {
    /// Command lines for `sh -c`, run one after another in a new worktree. One that was cut short is run again,
    /// so a second run must do no harm. What it leaves running in the background is ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// The same, before the worktree is removed. A failure is reported and holds nothing up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<String>,
    /// Time limit for all commands of one kind together.
    pub timeout: Span,
    /// Files that are copied from your checkout into a new worktree: patterns as in a .gitignore, such as
    /// ".env" and "config/*.local". A file `.worktreeinclude` in your checkout may list more. Only files
    /// that git ignores are copied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Each worktree gets one of these ports as `SHOPFLOOR_PORT`, and no other worktree has it.
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
    /// Time between two snapshots of a worktree in which an agent works. One is also made at each phase, and
    /// before anything is ended or removed.
    pub every: Span,
    /// How many snapshots of an agent are kept at least.
    #[schemars(range(min = 1, max = 10_000))]
    pub keep: u32,
    /// How long the others are kept. A snapshot that is the only copy of something is never removed.
    pub keep_for: Span,
    /// Whether snapshots are also sent to the project's origin.
    pub push: bool,
    /// The largest file that a snapshot takes in, in MiB. One that is larger is left out, and its worktree is not
    /// removed.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_file_mib: u32,
    /// How much a snapshot takes in besides what is committed, in MiB. If there is more, the largest files are left
    /// out.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_total_mib: u32,
    /// How long the worktree of an issue that did not land is kept. Its snapshots are kept longer.
    pub keep_worktrees: Span,
    /// How long the files of sessions and the logs of checks are kept once nothing needs them.
    pub keep_logs: Span,
}

settings!(Rescue {
    every: checkpoint_every,
    keep: rescue_keep,
    keep_for: rescue_keep_for,
    keep_worktrees: keep_worktrees,
    keep_logs: keep_logs,
} and { push: false, max_file_mib: 100, max_total_mib: 1000 });

impl Rescue {
    pub fn caps(&self) -> Caps {
        Caps::of_mib(self.max_file_mib.into(), self.max_total_mib.into())
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
