//! The durable store: journal, state and outbox, changed together in one transaction.
//!
//! This is the only crate that opens a database. [`Store`] is what the engine needs; [`sqlite`]
//! keeps it on disk, [`memory`] is for the simulator and tests. Both come from one constructor ([`backend::at`])
//! and pass one conformance suite.
//!
//! Invariants: a commit is all or nothing and durable when it returns; a commit based on a state
//! that is no longer the newest is refused ([`StoreError::Stale`]), never merged; a damaged or
//! newer store is an error, never an empty one.

#![cfg_attr(
    not(test),
    warn(
        clippy::disallowed_methods,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::exit,
        clippy::unwrap_used
    )
)]

pub mod backend;
pub mod ci;
pub mod forge;
pub mod memory;
pub mod retention;
pub mod sqlite;

use retention::{Batch, Expired, Stage};
use serde::{Deserialize, Serialize};
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::time::Time;
use std::sync::Arc;
use std::time::Duration;

/// One document of the state: it belongs to the engine and is opaque here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub kind: String,
    pub key: String,
    /// JSON; `None` in a commit deletes the row.
    pub doc: Option<String>,
}

/// A row that is put on the shelf. Its row of the state goes in the same commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShelvedRow {
    pub kind: String,
    pub key: String,
    /// What it belongs to: it is taken down with all that has the same label.
    pub label: String,
    /// A branch that it is looked for under as well.
    pub branch: Option<String>,
    pub doc: String,
}

/// The kind of journal entries that record what the core was told; all others are notes.
pub const EVENT: &str = "event";

/// A journal entry to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJournalEntry {
    /// [`EVENT`], or a note's kind.
    pub kind: String,
    pub project: Option<String>,
    pub issue: Option<u64>,
    /// For people; empty for events.
    pub text: String,
    /// JSON.
    pub body: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub seq: Seq,
    pub at: Time,
    pub kind: String,
    pub project: Option<String>,
    pub issue: Option<u64>,
    pub text: String,
    #[serde(skip)]
    pub body: String,
}

/// The machine that has to perform an effect. While a floor has only one machine, it has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Host(pub String);

impl Host {
    fn is_the_only_one(&self) -> bool {
        self.0.is_empty()
    }
}

/// An effect in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEffect {
    pub id: EffectId,
    pub host: Host,
    /// Shared: whoever reads the outbox again and again copies none of it.
    pub action: Arc<Action>,
    /// Failed attempts so far.
    pub attempts: u32,
    pub not_before: Time,
    pub last_error: Option<String>,
}

/// Everything one step changes.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The journal position the step was computed from.
    pub expected: Seq,
    pub at: Time,
    pub entries: Vec<NewJournalEntry>,
    pub rows: Vec<Row>,
    /// Rows that were on the shelf, by kind and key, and are no longer.
    pub taken_down: Vec<(String, String)>,
    /// Rows that are put there.
    pub shelved: Vec<ShelvedRow>,
    pub effects: Vec<Action>,
    /// The host that has to perform the effects.
    pub host: Host,
    /// The outbox row whose outcome this step took in.
    pub performed: Option<EffectId>,
    /// The lease the writer holds, if it is a daemon. A newer lease makes the commit fail.
    pub lease: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub seq: Seq,
    pub effects: Vec<EffectId>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the state changed meanwhile")]
    Stale,
    /// Rows were deleted since that position, and nobody remembers which.
    #[error("what was deleted since that position is not remembered: read everything anew")]
    TooOld,
    #[error("another daemon has taken over this floor")]
    Fenced,
    /// The effect's outcome was committed before.
    #[error("effect {0} is not in the outbox any more")]
    AlreadyPerformed(EffectId),
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    #[error(
        "the store was written by a newer shopfloor (schema {found}, this one knows up to {known}): use that version"
    )]
    Newer { found: i64, known: i64 },
    /// Only when opened read-only; opened for writing, an older store is migrated.
    #[error(
        "the store has schema {found}, this program needs {known}: open it for writing once to migrate it"
    )]
    Older { found: i64, known: i64 },
    /// A commit must have a journal entry: positions are the journal's.
    #[error("a commit needs at least one journal entry")]
    NoEntry,
    #[error("the store is busy: another process holds it for too long")]
    Busy,
    /// The open file is no longer the one at the path: whatever is written is lost.
    #[error("{0} was deleted or replaced while it was in use")]
    Replaced(String),
    /// Nothing was written; writing works again once there is room.
    #[error("the disk is full: {0}")]
    Full(String),
    #[error("{0}")]
    Io(String),
}

/// A row may be at hand or on the shelf.
fn on_both(kind: &str, key: &str) -> StoreError {
    StoreError::Corrupt(format!("{kind} {key:?} is at hand and on the shelf"))
}

impl StoreError {
    /// Nothing was written, and the same may work later.
    pub fn may_pass(&self) -> bool {
        matches!(self, StoreError::Busy | StoreError::Full(_))
    }
}

/// An effect's error is kept for people to see; the log has the whole of it.
pub const EFFECT_ERROR_BYTES_MAX: usize = 4096;

pub type StoreResult<T> = Result<T, StoreError>;

pub trait Store: Send {
    /// Rows written by commits after `seq` (all of them for `Seq(0)`, deleted ones with no
    /// document), and the newest position, read in one consistent view. [`StoreError::TooOld`]: some deletions since
    /// then are not remembered any more.
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)>;

    /// The rows of these kinds and keys as they are now; a row that does not exist comes without a document.
    fn rows_of(&mut self, keys: &[(&str, &str)]) -> StoreResult<Vec<Row>>;

    /// All rows of one kind, for whoever needs no others.
    fn rows_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>>;

    /// What is on the shelf under a label, or belongs together with what has that branch.
    fn shelf(&mut self, label: &str) -> StoreResult<Vec<Row>>;

    /// All rows of one kind that are on the shelf.
    fn shelf_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>>;

    /// Whether there is such a row, at hand or on the shelf.
    fn is_kept(&mut self, kind: &str, key: &str) -> StoreResult<bool> {
        let at_hand = self.rows_of(&[(kind, key)])?.iter().any(|row| row.doc.is_some());
        Ok(at_hand || self.shelf_of_kind(kind)?.iter().any(|row| row.key == key))
    }

    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed>;

    /// The whole outbox, oldest first.
    fn outbox(&mut self) -> StoreResult<Vec<OutboxEffect>>;

    /// Notes a failed attempt and when to try again.
    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()>;

    /// Journal entries after `seq`, oldest first, at most `limit`.
    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<JournalEntry>>;

    /// The journal's newest position.
    fn position(&mut self) -> StoreResult<Seq>;

    /// The newest notes that pass the filter, at most `limit`, oldest first. (The rest of the journal is the
    /// events themselves, from which the state could be recomputed.)
    fn last_notes(&mut self, filter: &NoteFilter, limit: usize) -> StoreResult<Vec<JournalEntry>>;

    /// Removes a little of what may go, or only counts it, and says where the next call begins. Pruning is no step: it
    /// moves no position, and nobody is woken by it.
    fn prune(&mut self, expired: &Expired, stage: Stage, dry_run: bool) -> StoreResult<Batch>;

    /// Gives back the room of what was removed, if that is worth it. Nobody can write meanwhile, which may take long.
    /// Returns how many bytes it was.
    fn compact(&mut self) -> StoreResult<u64>;

    /// Takes the floor's lease: every commit under an earlier one fails from now on.
    fn take_lease(&mut self) -> StoreResult<u64>;

    /// Announces whatever is written from now on, by anyone.
    fn watch(&self) -> StoreResult<Box<dyn Watch>>;

    /// How long to wait for others who hold the store.
    fn set_patience(&mut self, patience: Duration) -> StoreResult<()>;

    /// Reads everything and checks that it is sound: for `doctor`, not for every start.
    fn verify(&mut self) -> StoreResult<()>;
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        (**self).rows_since(seq)
    }

    fn rows_of(&mut self, keys: &[(&str, &str)]) -> StoreResult<Vec<Row>> {
        (**self).rows_of(keys)
    }

    fn rows_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        (**self).rows_of_kind(kind)
    }

    fn shelf(&mut self, label: &str) -> StoreResult<Vec<Row>> {
        (**self).shelf(label)
    }

    fn shelf_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        (**self).shelf_of_kind(kind)
    }

    fn is_kept(&mut self, kind: &str, key: &str) -> StoreResult<bool> {
        (**self).is_kept(kind, key)
    }

    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed> {
        (**self).commit(commit)
    }

    fn outbox(&mut self) -> StoreResult<Vec<OutboxEffect>> {
        (**self).outbox()
    }

    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        (**self).defer(id, attempts, not_before, error)
    }

    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<JournalEntry>> {
        (**self).journal(after, limit)
    }

    fn position(&mut self) -> StoreResult<Seq> {
        (**self).position()
    }

    fn last_notes(&mut self, filter: &NoteFilter, limit: usize) -> StoreResult<Vec<JournalEntry>> {
        (**self).last_notes(filter, limit)
    }

    fn prune(&mut self, expired: &Expired, stage: Stage, dry_run: bool) -> StoreResult<Batch> {
        (**self).prune(expired, stage, dry_run)
    }

    fn compact(&mut self) -> StoreResult<u64> {
        (**self).compact()
    }

    fn take_lease(&mut self) -> StoreResult<u64> {
        (**self).take_lease()
    }

    fn watch(&self) -> StoreResult<Box<dyn Watch>> {
        (**self).watch()
    }

    fn set_patience(&mut self, patience: Duration) -> StoreResult<()> {
        (**self).set_patience(patience)
    }

    fn verify(&mut self) -> StoreResult<()> {
        (**self).verify()
    }
}

/// Sleeps until somebody writes to a store.
pub trait Watch: Send {
    /// Sleeps until something is written, at most that long. Returns whether something was, as far as is
    /// known: a write may be reported twice, and several writes once.
    fn wait(&mut self, at_most: Duration) -> StoreResult<bool>;
}

/// Which notes to read; the default is all of them.
#[derive(Clone, Debug, Default)]
pub struct NoteFilter {
    pub after: Seq,
    pub since: Time,
    pub project: Option<String>,
    pub issue: Option<u64>,
}

impl NoteFilter {
    /// Whether the note passes the filter.
    pub fn passes(&self, note: &JournalEntry) -> bool {
        note.seq > self.after
            && note.at >= self.since
            && self.project.as_ref().is_none_or(|project| note.project.as_ref() == Some(project))
            && self.issue.is_none_or(|issue| note.issue == Some(issue))
    }
}
