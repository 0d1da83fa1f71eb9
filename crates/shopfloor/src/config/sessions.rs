//! `[sessions]`: people at the agents' terminals.

use super::duration::Span;
use super::settings::settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Agents' terminals, and people at them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectSessions {
    /// Whoever attaches to an agent's terminal and types has it until they detach, run `shopfloor resume`, or
    /// have typed nothing for this long.
    pub handback: Span,
}

settings!(ProjectSessions { handback: handback } and {});
