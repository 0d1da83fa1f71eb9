//! `[ci]`: the checks.

use super::duration::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::policy::{HeadChecks, Policy};

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
    /// Whether a head is checked by itself, an agent's before it is reviewed and a person's before it is tried as it
    /// would land: "always", "when-idle" (only if the merge queue wants no run just then) or "never". What is not is
    /// checked all the same as it would land, before it does.
    #[schemars(with = "String", extend("enum" = ["always", "when-idle", "never"]))]
    pub heads: HeadChecks,
    /// What the checks take at least: a pass that comes sooner is not believed, and counts as a failure of the machinery,
    /// not of the change. "0s" believes every pass.
    pub min_time: Span,
    /// Times checks that could not run are run again.
    pub infra_retries: u32,
    /// Before the first of those; doubles with each.
    pub infra_cooldown: Span,
}

impl Ci {
    /// What is accepted, of the primary branch, with what only the user can say: what is passed to the checks.
    pub fn accepting(&self, accepted: Ci) -> Ci {
        Ci { pass_env: self.pass_env.clone(), ..accepted }
    }
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
            min_time: Span(Policy::default().ci_min_time),
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
