//! The store in memory, for the simulator and tests: the same contract without a disk.
//!
//! Invariant: a refused commit changes nothing; everything is checked before anything is written.

mod ci;
mod retention;

use crate::forge::SharedForge;
use crate::retention::{Batch, Expired, Stage};
use crate::{
    Commit, Committed, EFFECT_ERROR_BYTES_MAX, EVENT, JournalEntry, NoteFilter, OutboxEffect, Row,
    ShelvedRow, Store, StoreError, StoreResult, Watch, on_both,
};
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::text;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Everything in a floor's store, in memory.
#[derive(Debug, Default)]
pub struct Memory {
    pub(crate) store: MemoryStore,
    pub(crate) ci: ci::MemoryCi,
    /// Made on first use: its tables are SQL, so they are in an SQLite of their own.
    pub(crate) forge: Mutex<Option<SharedForge>>,
}

/// One handle on a store. A clone is another handle on the same store, as several processes have on one file.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    held: Mutex<Held>,
    written: Condvar,
}

#[derive(Debug, Default)]
struct Held {
    journal: Vec<JournalEntry>,
    state: BTreeMap<(String, String), (Seq, Option<String>)>,
    shelf: BTreeMap<(String, String), (Seq, ShelvedRow)>,
    outbox: BTreeMap<EffectId, OutboxEffect>,
    /// The newest position whose tombstone was pruned.
    gone: Seq,
    last_effect: u64,
    lease: u64,
    /// Grows with every write.
    writes: u64,
}

impl Held {
    fn newest(&self) -> Seq {
        self.journal.last().map_or(Seq(0), |entry| entry.seq)
    }

    fn rows_since(&self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        if seq > Seq(0) && seq < self.gone {
            return Err(StoreError::TooOld);
        }
        let rows = self
            .state
            .iter()
            .filter(|(_, (written, doc))| *written > seq && (seq > Seq(0) || doc.is_some()))
            .map(|((kind, key), (_, doc))| Row { kind: kind.clone(), key: key.clone(), doc: doc.clone() })
            .collect();
        Ok((rows, self.newest()))
    }

    fn rows_of(&self, keys: &[(&str, &str)]) -> Vec<Row> {
        let read = |(kind, key): &(&str, &str)| {
            let (kind, key) = ((*kind).to_owned(), (*key).to_owned());
            let doc = self.state.get(&(kind.clone(), key.clone())).and_then(|(_, doc)| doc.clone());
            Row { kind, key, doc }
        };
        keys.iter().map(read).collect()
    }

    fn shelf(&self, label: &str) -> Vec<Row> {
        let rows = || self.shelf.values().map(|(_, row)| row);
        let looked_for = |row: &&ShelvedRow| row.branch.as_deref() == Some(label);
        let mut labels: Vec<&str> = rows().filter(looked_for).map(|row| &*row.label).collect();
        labels.push(label);
        rows().filter(|row| labels.contains(&&*row.label)).map(taken_down).collect()
    }

    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed> {
        if commit.entries.is_empty() {
            return Err(StoreError::NoEntry);
        }
        if commit.lease.is_some_and(|lease| lease != self.lease) {
            return Err(StoreError::Fenced);
        }
        if commit.expected != self.newest() {
            return Err(StoreError::Stale);
        }
        if let Some(id) = commit.performed
            && self.outbox.remove(&id).is_none()
        {
            return Err(StoreError::AlreadyPerformed(id));
        }
        let mut seq = commit.expected;
        for entry in &commit.entries {
            seq.0 += 1;
            self.journal.push(JournalEntry {
                seq,
                at: commit.at,
                kind: entry.kind.clone(),
                project: entry.project.clone(),
                issue: entry.issue,
                text: entry.text.clone(),
                body: entry.body.clone(),
            });
        }
        for row in &commit.rows {
            self.state.insert((row.kind.clone(), row.key.clone()), (seq, row.doc.clone()));
        }
        for place in &commit.taken_down {
            self.shelf.remove(place);
        }
        for row in &commit.shelved {
            self.shelf.insert((row.kind.clone(), row.key.clone()), (seq, row.clone()));
        }
        let mut effects = Vec::with_capacity(commit.effects.len());
        for action in &commit.effects {
            self.last_effect += 1;
            let id = EffectId(self.last_effect);
            let (host, action) = (commit.host.clone(), Arc::new(action.clone()));
            let queued =
                OutboxEffect { id, host, action, attempts: 0, not_before: Time(0), last_error: None };
            self.outbox.insert(id, queued);
            effects.push(id);
        }
        Ok(Committed { seq, effects })
    }

    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        let queued = self.outbox.get_mut(&id).ok_or(StoreError::AlreadyPerformed(id))?;
        queued.attempts = attempts;
        queued.not_before = not_before;
        queued.last_error = Some(text::head(error, EFFECT_ERROR_BYTES_MAX));
        Ok(())
    }
}

fn taken_down(row: &ShelvedRow) -> Row {
    Row { kind: row.kind.clone(), key: row.key.clone(), doc: Some(row.doc.clone()) }
}

impl MemoryStore {
    fn lock(&self) -> MutexGuard<'_, Held> {
        // Nothing here panics between two writes, so a poisoned lock is still consistent.
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(&self, change: impl FnOnce(&mut Held) -> StoreResult<T>) -> StoreResult<T> {
        let mut held = self.lock();
        let done = change(&mut held)?;
        held.writes += 1;
        self.0.written.notify_all();
        Ok(done)
    }
}

impl Store for MemoryStore {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        self.lock().rows_since(seq)
    }

    fn rows_of(&mut self, keys: &[(&str, &str)]) -> StoreResult<Vec<Row>> {
        Ok(self.lock().rows_of(keys))
    }

    fn rows_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        let (mut rows, _) = self.lock().rows_since(Seq(0))?;
        rows.retain(|row| row.kind == kind);
        Ok(rows)
    }

    fn shelf(&mut self, label: &str) -> StoreResult<Vec<Row>> {
        Ok(self.lock().shelf(label))
    }

    fn shelf_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        let held = self.lock();
        Ok(held.shelf.values().map(|(_, row)| row).filter(|row| row.kind == kind).map(taken_down).collect())
    }

    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed> {
        self.write(|held| held.commit(commit))
    }

    fn outbox(&mut self) -> StoreResult<Vec<OutboxEffect>> {
        Ok(self.lock().outbox.values().cloned().collect())
    }

    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        self.write(|held| held.defer(id, attempts, not_before, error))
    }

    fn position(&mut self) -> StoreResult<Seq> {
        Ok(self.lock().newest())
    }

    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<JournalEntry>> {
        let held = self.lock();
        let start = held.journal.partition_point(|entry| entry.seq <= after);
        Ok(held.journal[start..].iter().take(limit).cloned().collect())
    }

    fn last_notes(&mut self, filter: &NoteFilter, limit: usize) -> StoreResult<Vec<JournalEntry>> {
        let held = self.lock();
        let passing = held.journal.iter().rev().filter(|e| e.kind != EVENT && filter.passes(e));
        let mut notes: Vec<JournalEntry> = passing.take(limit).cloned().collect();
        notes.reverse();
        Ok(notes)
    }

    fn prune(&mut self, expired: &Expired, stage: Stage, dry_run: bool) -> StoreResult<Batch> {
        Ok(self.lock().prune(expired, stage, dry_run))
    }

    /// What is removed from memory is free at once.
    fn compact(&mut self) -> StoreResult<u64> {
        Ok(0)
    }

    fn take_lease(&mut self) -> StoreResult<u64> {
        self.write(|held| {
            held.lease += 1;
            Ok(held.lease)
        })
    }

    fn watch(&self) -> StoreResult<Box<dyn Watch>> {
        let seen = self.lock().writes;
        Ok(Box::new(MemoryWatch { store: self.clone(), seen }))
    }

    /// Nobody holds this store for long.
    fn set_patience(&mut self, _: Duration) -> StoreResult<()> {
        Ok(())
    }

    fn verify(&mut self) -> StoreResult<()> {
        let held = self.lock();
        let at_hand =
            |place: &&(String, String)| held.state.get(*place).is_some_and(|(_, doc)| doc.is_some());
        match held.shelf.keys().find(at_hand) {
            Some((kind, key)) => Err(on_both(kind, key)),
            None => Ok(()),
        }
    }
}

struct MemoryWatch {
    store: MemoryStore,
    seen: u64,
}

impl Watch for MemoryWatch {
    fn wait(&mut self, at_most: Duration) -> StoreResult<bool> {
        let began = Instant::now();
        let mut held = self.store.lock();
        while held.writes == self.seen {
            let left = at_most.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            let waited = self.store.0.written.wait_timeout(held, left);
            held = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.seen = held.writes;
        Ok(true)
    }
}
