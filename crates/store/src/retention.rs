//! What a store need not keep for ever: old entries of the journal, jobs that went to the shelf before them, and
//! tombstones, the memory of what was deleted. Issues stay on the shelf for good: others may depend on them.
//!
//! Invariants: the newest entry always stays, since positions are counted by it; a reader whose position is older
//! than a tombstone that was pruned is told so ([`crate::StoreError::TooOld`]), and never misses a deletion. Each call
//! is one short transaction, so that no commit waits long for it.

use crate::{EVENT, JournalEntry};
use shopfloor_core::effect::Tidy;
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::ids::Seq;
use shopfloor_core::state::Issue;
use shopfloor_core::table::Record;
use shopfloor_core::time::Time;
use std::collections::BTreeSet;

/// What may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Entries since then are kept.
    pub journal_before: Time,
    /// Issues, each with its project, whose notes are kept however old they are.
    pub notes_kept: BTreeSet<(String, u64)>,
    /// Tombstones since then are kept.
    pub tombstones_before: Time,
}

impl From<&Tidy> for Expired {
    fn from(tidy: &Tidy) -> Expired {
        let kept = tidy.notes_kept.iter().map(|(project, issue)| (project.to_string(), issue.0));
        Expired {
            journal_before: tidy.journal_before,
            notes_kept: kept.collect(),
            tombstones_before: tidy.tombstones_before,
        }
    }
}

impl Expired {
    /// Whether the entry may go, unless it is the newest.
    pub fn covers(&self, entry: &JournalEntry) -> bool {
        let kept = || match (&entry.project, entry.issue) {
            (Some(project), Some(issue)) if entry.kind != EVENT => {
                self.notes_kept.contains(&(project.clone(), issue))
            }
            _ => false,
        };
        entry.at < self.journal_before && !kept()
    }
}

/// How far a store has been gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// The shelf. Before the journal, whose entries say how old its rows are.
    Shelf,
    /// The journal, as far as this position.
    Journal(Seq),
    Tombstones,
    #[default]
    Over,
}

impl Stage {
    pub const FIRST: Stage = Stage::Shelf;
}

/// What one call removed, or would have, and where the next begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub shelved: Amount,
    pub entries: Amount,
    pub tombstones: u64,
    pub next: Stage,
}

/// The kind of rows that stay on the shelf.
pub(crate) const LASTING_KIND: &str = Issue::KIND;

/// How many rows one call looks at.
pub(crate) const BATCH: usize = 500;

/// Of entries in the journal's order: those that may go, and where the next batch begins. A batch in which nothing is
/// old enough is the last: later entries are younger, but for those written while a clock was wrong, which stay a
/// little longer.
pub(crate) fn choose(batch: &[JournalEntry], newest: Seq, expired: &Expired) -> (Vec<Seq>, Amount, Stage) {
    let goes = |entry: &&JournalEntry| entry.seq < newest && expired.covers(entry);
    let going: Vec<&JournalEntry> = batch.iter().filter(goes).collect();
    let bytes = going.iter().map(|entry| (entry.text.len() + entry.body.len()) as u64).sum();
    let amount = Amount { count: going.len() as u64, bytes };
    let old = batch.iter().any(|entry| entry.at < expired.journal_before);
    let next = match batch.last() {
        Some(last) if old && batch.len() == BATCH => Stage::Journal(last.seq),
        _ => Stage::Tombstones,
    };
    (going.into_iter().map(|entry| entry.seq).collect(), amount, next)
}
