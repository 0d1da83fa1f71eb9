//! The daemon's loop on a store that cannot be written to for a while: it waits, and nothing that came
//! meanwhile is lost.

use shopfloor_core::event::Event;
use shopfloor_core::ids::{EffectId, ProjectName, Seq};
use shopfloor_core::policy::Policy;
use shopfloor_core::state::Floor;
use shopfloor_core::time::Time;
use shopfloor_engine::{Capacity, Engine, Handle, Input, Runner, RunnerOptions, Stop, Until, Watches};
use shopfloor_sim::ports::ports;
use shopfloor_sim::world::{Shared, World};
use shopfloor_store::memory::MemoryStore;
use shopfloor_store::retention::{Batch, Expired, Stage};
use shopfloor_store::{
    Commit, Committed, JournalEntry, NoteFilter, OutboxEffect, Row, Store, StoreError, StoreResult,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A store that cannot be written to when the second event is to be, nor read for a while after that.
struct Filling {
    inner: MemoryStore,
    commits: u32,
    full: bool,
    /// Reads that fail; an outbox is read before anything else.
    fails: u32,
}

impl Filling {
    fn error(&self) -> StoreError {
        if self.full { StoreError::Full("no room".into()) } else { StoreError::Busy }
    }

    fn read(&mut self) -> StoreResult<()> {
        if self.commits < 2 || self.fails == 0 {
            return Ok(());
        }
        self.fails -= 1;
        Err(self.error())
    }
}

impl Store for Filling {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        self.read()?;
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
        self.commits += 1;
        if self.commits == 2 {
            return Err(self.error());
        }
        self.inner.commit(commit)
    }
    fn outbox(&mut self) -> StoreResult<Vec<OutboxEffect>> {
        self.read()?;
        self.inner.outbox()
    }
    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
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
    fn watch(&self) -> StoreResult<Box<dyn shopfloor_store::Watch>> {
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

/// Asks the loop to stop once both projects are there.
struct Watch(Handle);

impl Watches for Watch {
    fn look(&mut self, _: &ProjectName) {}

    fn reconcile(&mut self, floor: &Floor) {
        if floor.projects.iter().count() == 2 {
            self.0.send(Input::Stop);
        }
    }
}

#[test]
fn a_full_disk_and_a_store_that_others_hold_are_waited_for_and_every_event_taken_in() {
    for full in [true, false] {
        for fails in 0..4 {
            waits(full, fails);
        }
    }
}

fn waits(full: bool, fails: u32) {
    static WARNED: AtomicU32 = AtomicU32::new(0);
    WARNED.store(0, Ordering::SeqCst);
    let kept = MemoryStore::default();
    let store = Filling { inner: kept.clone(), commits: 0, full, fails };
    let options = RunnerOptions {
        capacity: Capacity { checks: Some(1), tasks: 1 },
        until: Until::Never,
        clock: || Time(1),
        warn: |_| {
            WARNED.fetch_add(1, Ordering::SeqCst);
        },
        store_pause: Duration::ZERO,
    };
    let engine = Engine::open(store).unwrap();
    let ports = ports(&Shared::new(World::new(1, Policy::default(), None)));
    let mut runner = Runner::new(engine, ports, options, |handle| Ok::<_, ()>(Watch(handle))).unwrap();
    for name in ["one", "two"] {
        let project = name.parse().unwrap();
        let policy = Policy::default();
        let event = Event::ProjectSet { project, checkout: "/nowhere".into(), policy };
        runner.handle().send(Input::Event(event));
    }
    assert_eq!(runner.run().unwrap(), Stop::Asked);
    let engine = Engine::open(kept).unwrap();
    let names: Vec<String> = engine.floor().projects.iter().map(|p| p.name.to_string()).collect();
    assert_eq!(names, ["one", "two"]);
    assert!(WARNED.load(Ordering::SeqCst) > fails.min(1), "full: {full}, {fails} reads failed");
}
