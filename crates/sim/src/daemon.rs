//! The daemon's loop, single-threaded and on virtual time: what `shopfloor_engine::Runner` does
//! with worker threads, with every effect begun, done and reported at a time of its own.

use crate::rng::Rng;
use crate::store::CrashingStore;
use crate::world::Shared;
use shopfloor_core::effect::{Action, Outcome};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, ProjectName, Role};
use shopfloor_core::phase::PhaseReport;
use shopfloor_core::state::SessionState;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::Ports;
use shopfloor_engine::{ATTEMPTS_MAX, Attempt, Engine, attempt, backoff, read_forge, runnable};
use shopfloor_store::{Queued, Store, StoreResult};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What the daemon waits for.
pub enum Input {
    /// A worker begins an effect.
    Perform(Queued),
    Attempted(Queued, Attempt),
    Sync,
    Synced(Result<Vec<Event>, String>),
    /// A session's files or its process changed.
    Look(Epoch),
    Poke,
}

/// How much of a session's files was reported.
#[derive(Clone, Copy, Default)]
struct Seen {
    phases: u64,
    results: u64,
}

pub struct Daemon {
    pub engine: Engine<CrashingStore>,
    ports: Ports,
    world: Shared,
    project: ProjectName,
    busy: BTreeSet<String>,
    checks_busy: usize,
    sync_wanted: bool,
    sync_retry_at: Option<Time>,
    sync_failures: u32,
    watched: BTreeMap<Epoch, Seen>,
    /// When it wakes by itself.
    pub wake: Option<Time>,
    /// What is to come to it, and when.
    pub out: Vec<(Duration, Input)>,
}

const CHECK_SLOTS: usize = 2;

impl Daemon {
    pub fn start(engine: Engine<CrashingStore>, ports: Ports, world: Shared, project: ProjectName) -> Self {
        Daemon {
            engine,
            ports,
            world,
            project,
            busy: BTreeSet::new(),
            checks_busy: 0,
            sync_wanted: true,
            sync_retry_at: None,
            sync_failures: 0,
            watched: BTreeMap::new(),
            wake: None,
            out: Vec::new(),
        }
    }

    fn now(&self) -> Time {
        self.world.lock().now
    }

    fn chance(&self, draw: impl FnOnce(&mut Rng) -> u64) -> Duration {
        Duration::from_millis(draw(&mut self.world.lock().rng))
    }

    pub fn take_in(&mut self, input: Input) -> StoreResult<()> {
        match input {
            Input::Perform(effect) => {
                self.world.lock().attempt += 1;
                let attempt = attempt(&self.ports, &effect.action);
                let late = self.chance(|r| r.range(0, 800));
                self.out.push((late, Input::Attempted(effect, attempt)));
                Ok(())
            }
            Input::Attempted(effect, attempt) => self.attempted(effect, attempt),
            Input::Sync => {
                let cursor = self.engine.floor().projects.get(&self.project).map_or(0, |p| p.cursor);
                let events = read_forge(&self.ports, &self.project, cursor);
                let late = self.chance(|r| r.range(0, 300));
                self.out.push((late, Input::Synced(events)));
                Ok(())
            }
            Input::Synced(events) => self.synced(events),
            Input::Look(epoch) => self.look(epoch),
            Input::Poke => {
                self.engine.refresh()?;
                self.sync_wanted = true;
                self.reconcile();
                Ok(())
            }
        }
    }

    pub fn submit(&mut self, event: &Event) -> StoreResult<()> {
        let now = self.now();
        self.engine.submit(now, event)?;
        self.reconcile();
        Ok(())
    }

    pub fn tick(&mut self) -> StoreResult<()> {
        let now = self.now();
        if self.sync_retry_at.is_some_and(|at| at <= now) {
            self.sync_retry_at = None;
            self.sync_wanted = true;
        }
        if self.engine.floor().next_deadline().is_some_and(|d| d <= now) {
            self.submit(&Event::Tick)?;
        }
        Ok(())
    }

    pub fn is_idle(&mut self) -> StoreResult<bool> {
        Ok(self.busy.is_empty() && !self.sync_wanted && self.engine.outbox()?.is_empty())
    }

    /// Hands out what may be performed now.
    pub fn dispatch(&mut self) -> StoreResult<()> {
        let now = self.now();
        let lane = format!("forge:{}", self.project);
        if self.sync_retry_at.is_none() && self.sync_wanted && !self.busy.contains(&lane) {
            self.sync_wanted = false;
            self.busy.insert(lane);
            let late = self.chance(|r| r.range(0, 300));
            self.out.push((late, Input::Sync));
        }
        let free = CHECK_SLOTS.saturating_sub(self.checks_busy);
        let dispatch = runnable(self.engine.outbox()?, &self.busy, now, free);
        for effect in dispatch.now {
            self.busy.insert(effect.action.lane());
            let late = if matches!(effect.action, Action::RunCi { .. }) {
                self.checks_busy += 1;
                self.chance(|r| r.range(5_000, 600_000))
            } else {
                self.chance(|r| r.range(0, 2_000))
            };
            self.out.push((late, Input::Perform(effect)));
        }
        let deadlines = [dispatch.wake, self.engine.floor().next_deadline(), self.sync_retry_at];
        self.wake = deadlines.into_iter().flatten().min();
        Ok(())
    }

    fn attempted(&mut self, effect: Queued, attempt: Attempt) -> StoreResult<()> {
        let lane = effect.action.lane();
        self.busy.remove(&lane);
        if matches!(effect.action, Action::RunCi { .. }) {
            self.checks_busy -= 1;
        }
        let now = self.now();
        if lane.starts_with("forge:") {
            self.sync_wanted = true;
        }
        let outcome = match attempt {
            Attempt::Done(outcome) => outcome,
            Attempt::Failed(why) => {
                let attempts = effect.attempts + 1;
                if attempts < ATTEMPTS_MAX {
                    return self.engine.store().defer(effect.id, attempts, now + backoff(attempts), &why);
                }
                self.world.lock().saw("effect given up");
                Outcome::Impossible { why: format!("{why} (tried {attempts} times)") }
            }
        };
        self.engine.complete(now, &effect, outcome)?;
        self.reconcile();
        Ok(())
    }

    fn synced(&mut self, events: Result<Vec<Event>, String>) -> StoreResult<()> {
        self.busy.remove(&format!("forge:{}", self.project));
        match events {
            Ok(events) => {
                self.sync_failures = 0;
                for event in &events {
                    self.submit(event)?;
                }
            }
            Err(_) => {
                self.sync_failures += 1;
                self.sync_wanted = true;
                self.sync_retry_at = Some(self.now() + backoff(self.sync_failures));
            }
        }
        Ok(())
    }

    /// Watches what has a process and has not ended; a new watch begins with a look.
    fn reconcile(&mut self) {
        let wanted: BTreeSet<Epoch> = self
            .engine
            .floor()
            .sessions
            .iter()
            .filter(|s| s.process.is_some() && s.state != SessionState::Ended)
            .map(|s| s.epoch)
            .collect();
        self.watched.retain(|epoch, _| wanted.contains(epoch));
        for epoch in wanted {
            if let Entry::Vacant(place) = self.watched.entry(epoch) {
                place.insert(Seen::default());
                let late = self.chance(|r| r.range(0, 200));
                self.out.push((late, Input::Look(epoch)));
            }
        }
    }

    pub fn after_restart(&mut self) {
        self.reconcile();
    }

    fn look(&mut self, epoch: Epoch) -> StoreResult<()> {
        let Some(seen) = self.watched.get(&epoch).copied() else { return Ok(()) };
        let Some(proc) = self.world.lock().procs.get(&epoch).cloned() else { return Ok(()) };
        self.watched.insert(epoch, Seen { phases: proc.writes, results: proc.results });
        if proc.writes > seen.phases
            && let Some(text) = &proc.phase
        {
            let stamp = proc.writes.to_string();
            match PhaseReport::parse(text) {
                Ok(Some(report)) => self.submit(&Event::PhaseWritten { epoch, stamp, report })?,
                Ok(None) => {}
                Err(error) => {
                    self.submit(&Event::PhaseUnreadable { epoch, stamp, first_line: error.0 })?;
                }
            }
        }
        if proc.results > seen.results && proc.tree.role == Role::Review {
            self.submit(&Event::ResultWritten { epoch })?;
        }
        if !proc.alive {
            self.submit(&Event::SessionExited { epoch, status: proc.exit })?;
        }
        Ok(())
    }
}
