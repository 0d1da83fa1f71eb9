//! The structure of `floor.toml`.

use super::agents::Agents;
use super::grants::{Acceptance, Grants};
use super::health::MachineHealth;
use super::isolation::Isolation;
use super::retention::Retention;
use super::vault::Vault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::ProjectName;
use std::collections::BTreeMap;

/// A floor's configuration: `floor.toml` in its home folder. The file is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "floor.toml")]
pub struct FloorConfig {
    pub sessions: Sessions,
    pub limits: FloorLimits,
    pub retention: Retention,
    pub health: MachineHealth,
    pub isolation: Isolation,
    pub git: Git,
    pub defaults: Defaults,
    pub compat: Compat,
    pub config: Acceptance,
    pub vault: Vault,
    /// What each project may have of yours, by its name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Grants>")]
    pub grants: BTreeMap<ProjectName, Grants>,
}

/// Compatibility with tools made for the system the phase protocol comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compat {
    /// Beside the phase files, what is written to `dev-escalation-reply` answers a question, and
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

/// Limits over all projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FloorLimits {
    /// Issues worked on at the same time, all projects together. Without it, only the projects' own limits
    /// apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub max_jobs: Option<u32>,
    /// Runs of checks at the same time, all projects together, which take turns. Without it: one more than the
    /// largest `slots` of a project's merge queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub checks: Option<u32>,
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
    /// `[defaults.agents.dev]` stands in for a missing `[agents.dev]`, whole, and likewise for every other role.
    #[schemars(with = "std::collections::BTreeMap<String, super::agents::Agent>")]
    pub agents: Agents,
}
