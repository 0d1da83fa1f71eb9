//! The store in memory, for the simulator and tests: the same contract without a disk.
//!
//! Invariant: a refused commit changes nothing; everything is checked before anything is written.

use crate::{Commit, Committed, EFFECT_ERROR_BYTES_MAX, Entry, Queued, Row, Store, StoreError, StoreResult};
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::text;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A whole store as a value: a clone is a copy that shares nothing, as a restored backup would.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    journal: Vec<Entry>,
    state: BTreeMap<(String, String), (Seq, Option<String>)>,
    outbox: BTreeMap<EffectId, Queued>,
    last_effect: u64,
    lease: u64,
}

impl MemoryStore {
    fn newest(&self) -> Seq {
        self.journal.last().map_or(Seq(0), |entry| entry.seq)
    }
}

impl Store for MemoryStore {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        let rows = self
            .state
            .iter()
            .filter(|(_, (written, doc))| *written > seq && (seq > Seq(0) || doc.is_some()))
            .map(|((kind, key), (_, doc))| Row { kind: kind.clone(), key: key.clone(), doc: doc.clone() })
            .collect();
        Ok((rows, self.newest()))
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
            self.journal.push(Entry {
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
        let mut effects = Vec::with_capacity(commit.effects.len());
        for action in &commit.effects {
            self.last_effect += 1;
            let id = EffectId(self.last_effect);
            let queued =
                Queued { id, action: action.clone(), attempts: 0, not_before: Time(0), last_error: None };
            self.outbox.insert(id, queued);
            effects.push(id);
        }
        Ok(Committed { seq, effects })
    }

    fn outbox(&mut self) -> StoreResult<Vec<Queued>> {
        Ok(self.outbox.values().cloned().collect())
    }

    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        let queued = self.outbox.get_mut(&id).ok_or(StoreError::AlreadyPerformed(id))?;
        queued.attempts = attempts;
        queued.not_before = not_before;
        queued.last_error = Some(text::head(error, EFFECT_ERROR_BYTES_MAX));
        Ok(())
    }

    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<Entry>> {
        let start = self.journal.partition_point(|entry| entry.seq <= after);
        Ok(self.journal[start..].iter().take(limit).cloned().collect())
    }

    fn take_lease(&mut self) -> StoreResult<u64> {
        self.lease += 1;
        Ok(self.lease)
    }
}

/// Several handles on one [`MemoryStore`], as several processes have on one file.
#[derive(Clone, Debug, Default)]
pub struct SharedMemoryStore(Arc<Mutex<MemoryStore>>);

impl SharedMemoryStore {
    pub fn new(store: MemoryStore) -> Self {
        SharedMemoryStore(Arc::new(Mutex::new(store)))
    }

    /// A copy of what is stored now.
    pub fn snapshot(&self) -> MemoryStore {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, MemoryStore> {
        // A panic between two writes cannot happen: no method of the store panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for SharedMemoryStore {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        self.lock().rows_since(seq)
    }

    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed> {
        self.lock().commit(commit)
    }

    fn outbox(&mut self) -> StoreResult<Vec<Queued>> {
        self.lock().outbox()
    }

    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        self.lock().defer(id, attempts, not_before, error)
    }

    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<Entry>> {
        self.lock().journal(after, limit)
    }

    fn take_lease(&mut self) -> StoreResult<u64> {
        self.lock().take_lease()
    }
}
