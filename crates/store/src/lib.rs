//! The durable store: journal, state and outbox, changed together in one transaction.
//!
//! This is the only crate that opens a database. [`Store`] is what the engine needs; [`sqlite`]
//! keeps it on disk, [`memory`] is for the simulator and tests. Both pass one conformance suite.
//!
//! Invariants: a commit is all or nothing and durable when it returns; a commit based on a state
//! that is no longer the newest is refused ([`StoreError::Stale`]), never merged; a damaged or
//! newer store is an error, never an empty one.

pub mod ci;
pub mod forge;
pub mod memory;
pub mod sqlite;

use serde::{Deserialize, Serialize};
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::time::Time;

/// One document of the state: the engine's, opaque here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub kind: String,
    pub key: String,
    /// JSON; `None` in a commit deletes the row.
    pub doc: Option<String>,
}

/// A journal entry to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// `event` for what the core was told, else a note's kind.
    pub kind: String,
    pub project: Option<String>,
    pub issue: Option<u64>,
    /// For people; empty for events.
    pub text: String,
    /// JSON.
    pub body: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub seq: Seq,
    pub at: Time,
    pub kind: String,
    pub project: Option<String>,
    pub issue: Option<u64>,
    pub text: String,
    #[serde(skip)]
    pub body: String,
}

/// An effect in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    pub id: EffectId,
    pub action: Action,
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
    pub entries: Vec<NewEntry>,
    pub rows: Vec<Row>,
    pub effects: Vec<Action>,
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
    #[error("another daemon has taken over this floor")]
    Fenced,
    /// The effect's outcome was committed before.
    #[error("effect {0} is not in the outbox any more")]
    AlreadyPerformed(EffectId),
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    #[error("the store has schema {found}, this program knows up to {known}")]
    Newer { found: i64, known: i64 },
    /// Only when opened read-only; opened for writing, an older store is migrated.
    #[error(
        "the store has schema {found}, this program needs {known}: open it for writing once to migrate it"
    )]
    Older { found: i64, known: i64 },
    /// A commit must say in the journal what it is: positions are the journal's.
    #[error("a commit needs at least one journal entry")]
    NoEntry,
    #[error("the store is busy: another process holds it for too long")]
    Busy,
    /// What is open is not what is there: whatever is written goes nowhere.
    #[error("{0} was deleted or replaced while it was in use")]
    Replaced(String),
    /// Nothing was written; it works again once there is room.
    #[error("the disk is full: {0}")]
    Full(String),
    #[error("{0}")]
    Io(String),
}

impl StoreError {
    /// Nothing was written, and the same may work later.
    pub fn may_pass(&self) -> bool {
        matches!(self, StoreError::Busy | StoreError::Full(_))
    }
}

/// An effect's error is kept for people to see; the whole of it is for the log.
pub const EFFECT_ERROR_BYTES_MAX: usize = 4096;

pub type StoreResult<T> = Result<T, StoreError>;

pub trait Store {
    /// Rows written by commits after `seq` (all of them for `Seq(0)`, deleted ones with no
    /// document), and the newest position, read in one consistent view.
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)>;

    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed>;

    /// The whole outbox, oldest first.
    fn outbox(&mut self) -> StoreResult<Vec<Queued>>;

    /// Notes a failed attempt and when to try again.
    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()>;

    /// Journal entries after `seq`, oldest first, at most `limit`.
    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<Entry>>;

    /// Takes the floor's lease: every commit under an earlier one fails from now on.
    fn take_lease(&mut self) -> StoreResult<u64>;
}
