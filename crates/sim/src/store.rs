//! The daemon's door to the store: it may die just before or just after a commit took effect.

use crate::world::Shared;
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::time::Time;
use shopfloor_store::memory::MemoryStore;
use shopfloor_store::retention::{Batch, Expired, Stage};
use shopfloor_store::{
    Commit, Committed, JournalEntry, NoteFilter, OutboxEffect, Row, Store, StoreError, StoreResult, Watch,
};
use std::time::Duration;

pub struct CrashingStore {
    pub inner: MemoryStore,
    pub world: Shared,
}

impl Store for CrashingStore {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        self.inner.rows_since(seq)
    }

    fn rows_of(&mut self, keys: &[(&str, &str)]) -> StoreResult<Vec<Row>> {
        self.inner.rows_of(keys)
    }

    fn rows_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        self.inner.rows_of_kind(kind)
    }

    fn shelf(&mut self, label: &str) -> StoreResult<Vec<Row>> {
        self.inner.shelf(label)
    }

    fn shelf_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        self.inner.shelf_of_kind(kind)
    }

    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed> {
        {
            let mut world = self.world.lock();
            world.crash_point("commit", "crash before a commit");
            let rough = world.weather.transient / 10;
            if world.rng.permille(rough) {
                world.say("fault: the store does not write");
                world.saw("fault store");
                return Err(StoreError::Io("disk full (simulated)".into()));
            }
        }
        let committed = self.inner.commit(commit)?;
        for (rows, what) in [(commit.shelved.len(), "shelved"), (commit.taken_down.len(), "taken down")] {
            if rows > 0 {
                self.world.lock().saw(what);
            }
        }
        self.world.lock().crash_point("commit", "crash after a commit");
        Ok(committed)
    }

    fn outbox(&mut self) -> StoreResult<Vec<OutboxEffect>> {
        self.inner.outbox()
    }

    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        self.world.lock().crash_point("defer", "crash before a commit");
        self.inner.defer(id, attempts, not_before, error)
    }

    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<JournalEntry>> {
        self.inner.journal(after, limit)
    }

    fn position(&mut self) -> StoreResult<Seq> {
        self.inner.position()
    }

    fn last_notes(&mut self, filter: &NoteFilter, limit: usize) -> StoreResult<Vec<JournalEntry>> {
        self.inner.last_notes(filter, limit)
    }

    fn watch(&self) -> StoreResult<Box<dyn Watch>> {
        self.inner.watch()
    }

    fn set_patience(&mut self, patience: Duration) -> StoreResult<()> {
        self.inner.set_patience(patience)
    }

    fn verify(&mut self) -> StoreResult<()> {
        self.inner.verify()
    }

    fn prune(&mut self, expired: &Expired, stage: Stage, dry_run: bool) -> StoreResult<Batch> {
        self.inner.prune(expired, stage, dry_run)
    }
    fn compact(&mut self) -> StoreResult<u64> {
        self.inner.compact()
    }
    fn take_lease(&mut self) -> StoreResult<u64> {
        self.inner.take_lease()
    }
}
