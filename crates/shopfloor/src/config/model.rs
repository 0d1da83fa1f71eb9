//! The files' structure. The doc comments are also the descriptions in the JSON schema, so they
//! speak to whoever writes the file.

use super::duration::Span;
use super::hand::{HandStep, Verify};
use super::ports::PortRange;
use super::sessions::ProjectSessions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::{ProjectName, Role};
use shopfloor_core::policy::{HeadChecks, MergeBatch, MergeMethod, OnAlreadyDone, OnFailed, Policy};
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

/// The checks a change must pass, before review and again before it lands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ci {
    /// The checks, run one after another in a clean checkout; the first that fails decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Says that this project has no checks at all, and that changes may land without any.
    pub no_checks: bool,
    /// For a whole run, all steps together.
    pub timeout: Span,
    /// Names of environment variables that the checks may see, beside a minimal set.
    pub pass_env: Vec<String>,
    /// Bytes of output kept of a run; what comes after is dropped.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub log_max: u64,
    /// Changes of these paths alone land without checks: patterns such as "docs/**" and "*.md", where one
    /// without a slash is for any folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip_paths: Vec<String>,
    /// What in a failing step's output says that it is not the change's fault, beside what is known
    /// (networks, registries, a full disk): such a run is repeated and costs the agent nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub infra: Vec<String>,
    /// Whether a branch that a person queued is checked by itself before it is tried as it would land: "always",
    /// "when-idle" (if nothing else of the queue is being checked) or "never".
    #[schemars(with = "String", extend("enum" = ["always", "when-idle", "never"]))]
    pub heads: HeadChecks,
    /// Times checks that could not run are run again.
    pub infra_retries: u32,
    /// Before the first of those; doubles with each.
    pub infra_cooldown: Span,
}

impl Default for Ci {
    fn default() -> Self {
        Ci {
            steps: Vec::new(),
            no_checks: false,
            timeout: Span(Policy::default().ci_timeout),
            pass_env: Vec::new(),
            log_max: 4 * 1024 * 1024,
            skip_paths: Vec::new(),
            infra: Vec::new(),
            heads: Policy::default().head_checks,
            infra_retries: Policy::default().infra_retries_max,
            infra_cooldown: Span(Policy::default().infra_cooldown),
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Shown in reports; different for each step.
    pub name: String,
    /// A command line for `sh -c`. Exit code 0 means passed.
    pub run: String,
    /// For this step alone.
    #[serde(default = "step_timeout")]
    pub timeout: Span,
}

fn step_timeout() -> Span {
    Span::mins(10)
}

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

/// Review of pull requests by a second agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Review {
    /// Whether a change needs an approving review before it lands.
    pub required: bool,
    /// For one review.
    pub timeout: Span,
    /// For a reviewing agent that has stopped without a review; then another takes its place.
    pub agent_timeout: Span,
    /// Kilobytes of a change's diff that a reviewer is shown; it can look at the rest itself.
    #[schemars(range(min = 1))]
    pub diff_kb: u32,
    /// Reviews of one pull request, before a human is asked.
    #[schemars(range(min = 1))]
    pub rounds: u32,
}

impl Default for Review {
    fn default() -> Self {
        let policy = Policy::default();
        Review {
            required: policy.review_required,
            timeout: Span(policy.review_timeout),
            agent_timeout: Span(policy.reviewer_timeout),
            diff_kb: (policy.review_diff_bytes / 1024) as u32,
            rounds: policy.review_rounds_max,
        }
    }
}

/// How finished work lands on the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Merge {
    /// How an agent's branch joins the primary branch.
    #[schemars(with = "String", extend("enum" = ["squash", "merge", "rebase"]))]
    pub method: MergeMethod,
    /// How a branch joins it that a person queued.
    #[schemars(with = "String", extend("enum" = ["squash", "merge", "rebase"]))]
    pub people: MergeMethod,
    /// What of changes that are checked together must have passed: every commit of the primary branch's
    /// first-parent line ("strict"), or only the last ("tip").
    #[schemars(with = "String", extend("enum" = ["strict", "tip"]))]
    pub batch: MergeBatch,
    /// Attempts to land one pull request (conflicts, failing checks), before a human is asked.
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Merge candidates checked at the same time.
    #[schemars(range(min = 1, max = 64))]
    pub slots: u32,
    /// How long a change may wait in the merge queue before somebody is told.
    pub alarm: Span,
}

impl Default for Merge {
    fn default() -> Self {
        let policy = Policy::default();
        Merge {
            method: policy.merge_method,
            people: policy.merge_people,
            batch: policy.merge_batch,
            rounds: policy.merge_rounds_max,
            slots: policy.merge_slots as u32,
            alarm: Span(policy.merge_alarm),
        }
    }
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

/// A floor's configuration: `floor.toml` in its home folder. The file is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "floor.toml")]
pub struct FloorConfig {
    pub sessions: Sessions,
    pub limits: FloorLimits,
    pub git: Git,
    pub defaults: Defaults,
    pub compat: Compat,
}

/// Getting on with tools that were made for the system the phase protocol comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compat {
    /// Beside the phase files: a question is answered by what is written to `dev-escalation-reply`, and
    /// `ci-result-{project}-{issue}.txt` and `dev-renotify-{project}-{issue}` are kept up to date.
    pub seed_files: bool,
}

/// Agents' sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sessions {
    /// The folder of the phase files; an absolute path.
    pub phase_dir: String,
}

impl Default for Sessions {
    fn default() -> Self {
        Sessions { phase_dir: "/tmp".into() }
    }
}

/// Bounds over all projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FloorLimits {
    /// Issues worked on at the same time, all projects together. Without it only the projects' own
    /// limits hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_jobs: Option<u32>,
}

/// The git program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Git {
    /// A name that is looked up on the PATH, or an absolute path.
    pub program: String,
}

impl Default for Git {
    fn default() -> Self {
        Git { program: "git".into() }
    }
}

/// What a project gets where its own file says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// `[defaults.agents.dev]` stands in for a missing `[agents.dev]`, whole, and likewise review.
    pub agents: Agents,
}
