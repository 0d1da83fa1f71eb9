//! `[sessions]`: people at the agents' terminals.

use super::duration::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::policy::Policy;

/// Agents' terminals, and people at them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectSessions {
    /// Who attaches to an agent's terminal and types has it until they detach, run `shopfloor resume`, or
    /// have typed nothing for this long.
    pub handback: Span,
}

impl Default for ProjectSessions {
    fn default() -> Self {
        ProjectSessions { handback: Span(Policy::default().handback) }
    }
}
