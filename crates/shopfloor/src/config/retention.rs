//! `[retention]` of `floor.toml`: how long what all projects share is kept.

use super::duration::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::policy::Policy;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How long the floor remembers. What a project keeps for itself is in its own file (`[rescue]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// After this long (at least a week), entries of the journal are removed; "never" keeps them all. What happened to
    /// an issue that is being worked on stays. Copies of the store that were made before an upgrade go as well, except
    /// the newest.
    #[schemars(with = "String")]
    pub journal: Keep,
}

/// For how long something is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    For(Span),
    /// It never goes.
    Always,
}

/// Nobody can look into what went wrong last week without last week's journal.
pub(super) const JOURNAL_MIN: Duration = Duration::from_secs(7 * 24 * 3600);

const NEVER: &str = "never";

impl Keep {
    pub fn span(self) -> Option<Duration> {
        match self {
            Keep::For(span) => Some(span.0),
            Keep::Always => None,
        }
    }
}

impl Default for Keep {
    fn default() -> Self {
        Policy::default().keep_journal.map_or(Keep::Always, |span| Keep::For(Span(span)))
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keep::For(span) => span.fmt(f),
            Keep::Always => f.write_str(NEVER),
        }
    }
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == NEVER {
            return Ok(Keep::Always);
        }
        text.parse().map(Keep::For).map_err(|e: shopfloor_core::time::SpanError| e.to_string())
    }
}

impl Serialize for Keep {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Keep {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
