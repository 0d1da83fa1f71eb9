//! How often entries fail, as a moving estimate, and the size of the chunks that follows from it.

use serde::{Deserialize, Serialize};

/// One entry, in the unit the sums are kept in. Whole numbers, so that a plan that was written and
/// read back decides the same.
const ONE: u32 = 1 << 16;

/// The weight of what was seen so far shrinks by one part in this many with each entry, so that the
/// estimate follows about as many entries.
const MEMORY: u32 = 32;

/// A list is not longer than this, whatever the estimate: a person's urgent change waits for what is
/// being tried.
pub(super) const LIST_MAX: usize = 64;

/// The share of entries that fail on their own account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRate {
    seen: u32,
    bad: u32,
}

/// Before anything is known: as if one in twelve had failed.
impl Default for FailureRate {
    fn default() -> Self {
        FailureRate { seen: 6 * ONE, bad: ONE / 2 }
    }
}

impl FailureRate {
    pub(super) fn landed(&mut self) {
        self.seen = self.seen - self.seen / MEMORY + ONE;
        self.bad -= self.bad / MEMORY;
    }

    pub(super) fn failed(&mut self) {
        self.landed();
        self.bad += ONE;
    }

    /// The chance that an entry is bad. Never quite none and never quite certain.
    pub fn chance(&self) -> f64 {
        (f64::from(self.bad) / f64::from(self.seen)).clamp(0.01, 0.75)
    }

    /// How many entries to add from one prefix to the next, with so many slots.
    pub(super) fn chunk(&self, slots: usize) -> usize {
        chunk(self.chance(), slots)
    }
}

fn chunk(p: f64, slots: usize) -> usize {
    let a: f64 = std::env::var("A").ok().and_then(|v| v.parse().ok()).unwrap_or(1.0);
    let b: f64 = std::env::var("B").ok().and_then(|v| v.parse().ok()).unwrap_or(0.0);
    let size = a / (p * (slots as f64 + b));
    (size.round() as usize).clamp(1, LIST_MAX / 2)
}
