//! How often entries fail, as a moving estimate, and the size of the chunks that follows from it.

use serde::{Deserialize, Serialize};

/// One entry, in the unit of the sums. Whole numbers, so that a plan that was written and read back decides the
/// same.
const ONE: u32 = 1 << 16;

/// The weight of what was seen so far shrinks by one part in this many with each entry, so that the estimate
/// reflects about as many entries.
const MEMORY: u32 = 32;

/// A list is never longer than this, whatever the estimate: a person's urgent change waits for what is being
/// tried.
pub(super) const LIST_MAX: usize = 64;

/// The share of entries that fail on their own account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRate {
    seen: u32,
    bad: u32,
}

/// Before anything is known: as if one in twenty had failed. Entries have usually been checked by themselves, so
/// fewer fail than elsewhere; and a list that is too long costs one more run, while one that is too short costs
/// one more with each queue.
impl Default for FailureRate {
    fn default() -> Self {
        FailureRate { seen: 10 * ONE, bad: ONE / 2 }
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

    /// How many entries to add from one prefix to the next, with that many slots. The factors were found by
    /// simulation; the optimum is flat.
    pub fn chunk(&self, slots: usize) -> usize {
        let size = 2.0 / (self.chance() * (slots as f64 + 2.0));
        (size.round() as usize).clamp(1, LIST_MAX / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_while_entries_land_and_shrink_when_they_fail() {
        let mut rate = FailureRate::default();
        let at_first = rate.chunk(4);
        (0..8).for_each(|_| rate.landed());
        let grown = rate.chunk(4);
        assert!(at_first < grown, "{at_first} {grown}");
        (0..30).for_each(|_| rate.failed());
        assert_eq!(rate.chunk(4), 1);
        (0..1_000).for_each(|_| rate.landed());
        assert!(rate.chunk(4) > grown && rate.chunk(1) <= LIST_MAX / 2);
    }
}
