//! `[ci]`: the checks.

use super::duration::Span;
use super::settings::settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::policy::HeadChecks;

/// The checks a change must pass, before review and again before it lands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ci {
    /// The checks, run one after another in a clean checkout; the first that fails decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Says that this project has no checks at all, and that changes may land without any.
    pub no_checks: bool,
    /// Time limit for a whole run, all steps together.
    pub timeout: Span,
    /// Names of environment variables that the checks may see, besides a minimal set.
    pub pass_env: Vec<String>,
    /// Whether the checks and the setup of worktrees have a network at isolation level "network". At every other
    /// level they do.
    pub network: bool,
    /// Bytes of output kept of a run; what comes after is dropped.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub log_max: u64,
    /// Changes to these paths alone land without checks: patterns such as "docs/**" and "*.md", where one
    /// without a slash matches in any folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip_paths: Vec<String>,
    /// Words in a failing step's output that say it is not the change's fault, besides those that are known
    /// (networks, registries, a full disk). Such a run is repeated and costs the agent nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub infra: Vec<String>,
    /// Whether a head is checked by itself, an agent's before its review and a person's before it is tried as it
    /// would land: "always", "when-idle" (only while the merge queue needs no run) or "never". Whatever this
    /// says, everything is checked as it would land before it does.
    #[schemars(with = "String", extend("enum" = ["always", "when-idle", "never"]))]
    pub heads: HeadChecks,
    /// The least time the checks can take: a pass that comes sooner is not believed, and counts as a failure of
    /// the machinery, not of the change. "0s" believes every pass.
    pub min_time: Span,
    /// How often checks that could not run are run again.
    pub infra_retries: u32,
    /// The pause before the first of those; it doubles with each.
    pub infra_cooldown: Span,
}

impl Ci {
    /// What is accepted, of the primary branch, with what only the user can say: what is passed to the checks.
    pub fn accepting(&self, accepted: Ci) -> Ci {
        Ci { pass_env: self.pass_env.clone(), ..accepted }
    }
}

settings!(Ci {
    no_checks: allow_no_checks,
    timeout: ci_timeout,
    heads: head_checks,
    min_time: ci_min_time,
    infra_retries: infra_retries_max,
    infra_cooldown: infra_cooldown,
} and {
    steps: Vec::new(),
    pass_env: Vec::new(),
    network: false,
    log_max: 4 * 1024 * 1024,
    skip_paths: Vec::new(),
    infra: Vec::new(),
});

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Shown in reports; different for each step.
    pub name: String,
    /// A command line for `sh -c`. Exit code 0 means passed.
    pub run: String,
    /// Time limit for this step.
    #[serde(default = "step_timeout")]
    pub timeout: Span,
}

fn step_timeout() -> Span {
    Span::mins(10)
}
