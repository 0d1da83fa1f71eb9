//! The daemon's loop on a disk that fills up: it waits, and nothing that came meanwhile is lost.

use shopfloor_core::event::Event;
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::policy::Policy;
use shopfloor_core::state::Floor;
use shopfloor_core::time::Time;
use shopfloor_engine::{Capacity, Engine, Handle, Input, Runner, RunnerOptions, Stop, Watches};
use shopfloor_sim::ports::ports;
use shopfloor_sim::world::{Shared, World};
use shopfloor_store::memory::SharedMemoryStore;
use shopfloor_store::{Commit, Committed, Entry, Queued, Row, Store, StoreError, StoreResult};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A store on a disk that is full when the second event is to be written, and has room at the next.
struct Filling {
    inner: SharedMemoryStore,
    commits: u32,
}

impl Store for Filling {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        self.inner.rows_since(seq)
    }
    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed> {
        self.commits += 1;
        if self.commits == 2 {
            return Err(StoreError::Full("no room".into()));
        }
        self.inner.commit(commit)
    }
    fn outbox(&mut self) -> StoreResult<Vec<Queued>> {
        self.inner.outbox()
    }
    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        self.inner.defer(id, attempts, not_before, error)
    }
    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<Entry>> {
        self.inner.journal(after, limit)
    }
    fn take_lease(&mut self) -> StoreResult<u64> {
        self.inner.take_lease()
    }
}

/// Asks the loop to stop once both projects are there.
struct Watch(Handle);

impl Watches for Watch {
    fn reconcile(&mut self, floor: &Floor) {
        if floor.projects.iter().count() == 2 {
            self.0.send(Input::Stop);
        }
    }
}

#[test]
fn a_full_disk_is_waited_for_and_every_event_taken_in() {
    static WARNED: AtomicU32 = AtomicU32::new(0);
    let kept = SharedMemoryStore::default();
    let store = Filling { inner: kept.clone(), commits: 0 };
    let options = RunnerOptions {
        capacity: Capacity { checks: 1, tasks: 1 },
        until_idle: false,
        clock: || Time(1),
        warn: |_| {
            WARNED.fetch_add(1, Ordering::SeqCst);
        },
        full_pause: Duration::ZERO,
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
    assert_eq!((names.as_slice(), WARNED.load(Ordering::SeqCst)), (&["one".to_owned(), "two".into()][..], 1));
}
