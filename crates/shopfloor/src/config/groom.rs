//! `[groom]`: from when on something in the backlog is worth a look.

use super::check::{count, deadline};
use super::duration::Span;
use super::error::ConfigError;
use super::source::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::groom::Limits;

/// What `shopfloor groom` finds, and so what the gardener looks at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Groom {
    /// An issue's text with fewer characters, and without a box to tick, is too short.
    #[schemars(range(max = 10000))]
    pub short_chars: u32,
    /// A text with more words is too large.
    #[schemars(range(min = 1, max = 100000))]
    pub large_words: u32,
    /// One with more boxes to tick is.
    #[schemars(range(min = 1, max = 1000))]
    pub large_checks: u32,
    /// One that names more files is.
    #[schemars(range(min = 1, max = 40))]
    pub large_files: u32,
    /// An issue to which nothing happens for this long is stale.
    pub stale: Span,
    /// Two issues are alike if this much of their texts is the same, in per cent.
    #[schemars(range(min = 30, max = 100))]
    pub alike_percent: u32,
}

impl Default for Groom {
    fn default() -> Self {
        let Limits { short_chars, large_words, large_checks, large_files, stale, alike_percent } =
            Limits::default();
        Groom {
            short_chars: short_chars as u32,
            large_words: large_words as u32,
            large_checks: large_checks as u32,
            large_files: large_files as u32,
            stale: Span(stale),
            alike_percent: alike_percent as u32,
        }
    }
}

impl Groom {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            short_chars: self.short_chars as usize,
            large_words: self.large_words as usize,
            large_checks: self.large_checks as usize,
            large_files: self.large_files as usize,
            stale: self.stale.0,
            alike_percent: self.alike_percent as usize,
        }
    }
}

pub(super) fn check(source: &Source<'_>, groom: &Groom) -> Result<(), ConfigError> {
    count(source, &["groom", "short_chars"], groom.short_chars, 0..=10_000)?;
    count(source, &["groom", "large_words"], groom.large_words, 1..=100_000)?;
    count(source, &["groom", "large_checks"], groom.large_checks, 1..=1000)?;
    count(source, &["groom", "large_files"], groom.large_files, 1..=40)?;
    count(source, &["groom", "alike_percent"], groom.alike_percent, 30..=100)?;
    deadline(source, &["groom", "stale"], groom.stale)
}
