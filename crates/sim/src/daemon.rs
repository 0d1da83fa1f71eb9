//! The daemon on virtual time: the engine's own [`Conductor`], with every task begun, done and
//! reported at a time of its own, and watchers that look at the simulated world.

mod hub;

use crate::attend::Attendant;
use crate::rng::Rng;
use crate::store::CrashingStore;
use crate::world::Shared;
use shopfloor_core::effect::Action;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, MessageId};
use shopfloor_core::phase::PhaseReport;
use shopfloor_core::state::SessionState;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::Ports;
use shopfloor_engine::{Capacity, Conductor, Engine, Report, Task, work};
use shopfloor_store::StoreResult;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What the daemon waits for.
pub enum Input {
    /// A worker begins a task.
    Begin(Task),
    Report(Box<Report>),
    /// A session's files or its process changed.
    Look(Epoch),
    /// Something stirred at a session's terminal.
    Attend(Epoch),
    /// Somebody may have moved a branch that work lands on.
    LookAtHub,
    Poke,
}

/// How much of a session's files was reported.
#[derive(Clone, Copy, Default)]
struct Seen {
    phases: u64,
    results: u64,
}

pub struct Daemon {
    pub conductor: Conductor<CrashingStore>,
    ports: Ports,
    world: Shared,
    watched: BTreeMap<Epoch, Seen>,
    attendants: BTreeMap<Epoch, Attendant>,
    hub: hub::HubWatch,
    /// What is to come to it, and when.
    pub out: Vec<(Duration, Input)>,
}

const CAPACITY: Capacity = Capacity { checks: 4, tasks: 12 };

impl Daemon {
    pub fn start(engine: Engine<CrashingStore>, ports: Ports, world: Shared) -> Self {
        let conductor = Conductor::new(engine, CAPACITY);
        let (watched, attendants) = (BTreeMap::new(), BTreeMap::new());
        let hub = hub::HubWatch::default();
        Daemon { conductor, ports, world, watched, attendants, hub, out: Vec::new() }
    }

    /// When it wakes by itself.
    pub fn wake(&self) -> Option<Time> {
        let attend = self.attendants.values().filter_map(|a| a.due);
        self.conductor.wake().into_iter().chain(attend).min()
    }

    fn now(&self) -> Time {
        self.world.lock().now
    }

    fn chance(&self, draw: impl FnOnce(&mut Rng) -> u64) -> Duration {
        Duration::from_millis(draw(&mut self.world.lock().rng))
    }

    pub fn take_in(&mut self, input: Input) -> StoreResult<()> {
        match input {
            Input::Begin(task) => {
                let late = match &task {
                    Task::Perform(_) => {
                        self.world.lock().attempt += 1;
                        self.chance(|r| r.range(0, 800))
                    }
                    Task::ReadForge { .. } => self.chance(|r| r.range(0, 300)),
                };
                let report = work(&self.ports, task);
                self.out.push((late, Input::Report(Box::new(report))));
            }
            Input::Report(report) => {
                self.conductor.report(self.now(), *report)?;
                self.reconcile();
            }
            Input::Look(epoch) => self.look(epoch)?,
            Input::Attend(epoch) => self.attend(epoch)?,
            Input::LookAtHub => self.look_at_hub()?,
            Input::Poke => {
                self.conductor.poked()?;
                self.reconcile();
            }
        }
        Ok(())
    }

    pub fn submit(&mut self, event: &Event) -> StoreResult<()> {
        let now = self.now();
        self.conductor.submit(now, event)?;
        self.reconcile();
        Ok(())
    }

    pub fn tick(&mut self) -> StoreResult<()> {
        let now = self.now();
        self.conductor.tick(now)?;
        self.reconcile();
        let due = |a: &&Epoch| self.attendants[*a].due.is_some_and(|at| at <= now);
        let due: Vec<Epoch> = self.attendants.keys().filter(due).copied().collect();
        for epoch in due {
            self.attend(epoch)?;
        }
        Ok(())
    }

    fn attend(&mut self, epoch: Epoch) -> StoreResult<()> {
        if let Some(attendant) = self.attendants.get_mut(&epoch) {
            attendant.attend(&mut self.conductor)?;
            self.reconcile();
        }
        Ok(())
    }

    pub fn is_idle(&mut self) -> StoreResult<bool> {
        Ok(self.attendants.values().all(|a| a.due.is_none()) && self.conductor.is_quiet()?)
    }

    /// Hands out what may be begun now.
    pub fn dispatch(&mut self) -> StoreResult<()> {
        let now = self.now();
        for task in self.conductor.tasks(now)? {
            let late = match &task {
                Task::Perform(effect) if matches!(effect.action, Action::RunCi { .. }) => {
                    self.chance(|r| r.range(5_000, 600_000))
                }
                Task::Perform(_) => self.chance(|r| r.range(0, 2_000)),
                Task::ReadForge { .. } => self.chance(|r| r.range(0, 300)),
            };
            self.out.push((late, Input::Begin(task)));
        }
        Ok(())
    }

    /// Watches what has a process and has not ended; a new watch begins with a look.
    fn reconcile(&mut self) {
        self.reconcile_hub();
        let wanted: BTreeSet<Epoch> = self
            .conductor
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
        self.reconcile_attendants();
    }

    /// Attends to what lives and is typed to, and tells what is next for it.
    fn reconcile_attendants(&mut self) {
        let (now, floor) = (self.now(), self.conductor.floor());
        let wanted: BTreeMap<Epoch, (Option<MessageId>, bool)> = floor
            .sessions
            .iter()
            .filter(|s| s.typed && s.state == SessionState::Live)
            .map(|s| {
                let answers = s.asks.as_ref().is_some_and(|ask| ask.answer.is_some());
                let left_alone = floor.held(s).is_some();
                (s.epoch, (floor.next_message(s.epoch).map(|m| m.id), answers || left_alone))
            })
            .collect();
        self.attendants.retain(|epoch, _| wanted.contains_key(epoch));
        for (epoch, (next, stands)) in wanted {
            self.attendants
                .entry(epoch)
                .or_insert_with(|| Attendant::new(epoch, &self.world))
                .brief(next, stands, now);
        }
    }

    /// What the runner does before anything else.
    pub fn after_restart(&mut self) -> StoreResult<()> {
        self.submit(&Event::Resumed)
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
        if proc.results > seen.results && proc.tree.is_review() {
            self.submit(&Event::ResultWritten { epoch })?;
        }
        if !proc.alive {
            self.submit(&Event::SessionExited { epoch, status: proc.exit })?;
        }
        Ok(())
    }
}
