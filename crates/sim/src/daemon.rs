//! The daemon in virtual time: the engine's own [`Conductor`], with every task begun, done and reported at a
//! time of its own, and watchers that look at the simulated world.

mod hub;

use crate::attend::Attendant;
use crate::ports::ports;
use crate::rng::Rng;
use crate::store::CrashingStore;
use crate::world::{Shared, Worlds};
use shopfloor_core::effect::Action;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, MessageId, ProjectName};
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
pub enum Arrival {
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
    /// There may be news on the forge.
    Hint(ProjectName),
}

/// How much of a session's files has been reported.
#[derive(Clone, Copy, Default)]
struct Seen {
    phases: u64,
    results: u64,
}

pub struct Daemon {
    pub conductor: Conductor<CrashingStore>,
    /// For each project, in the order of their worlds.
    ports: Vec<Ports>,
    worlds: Worlds,
    watched: BTreeMap<Epoch, Seen>,
    attendants: BTreeMap<Epoch, Attendant>,
    hub: hub::HubWatch,
    /// What is going to arrive, and when.
    pub out: Vec<(Duration, Arrival)>,
}

const CAPACITY: Capacity = Capacity { checks: Some(4), tasks: 12 };

impl Daemon {
    pub fn start(engine: Engine<CrashingStore>, worlds: Worlds) -> Self {
        let conductor = Conductor::new(engine, CAPACITY);
        let (watched, attendants) = (BTreeMap::new(), BTreeMap::new());
        let hub = hub::HubWatch::default();
        let ports = worlds.iter().map(ports).collect();
        Daemon { conductor, ports, worlds, watched, attendants, hub, out: Vec::new() }
    }

    /// When it wakes by itself.
    pub fn wake(&self) -> Option<Time> {
        let attend = self.attendants.values().filter_map(|a| a.due);
        self.conductor.wake().into_iter().chain(attend).min()
    }

    fn now(&self) -> Time {
        self.worlds.now()
    }

    fn chance(&self, draw: impl FnOnce(&mut Rng) -> u64) -> Duration {
        Duration::from_millis(draw(&mut self.worlds.first().lock().rng))
    }

    pub fn take_in(&mut self, input: Arrival) -> StoreResult<()> {
        match input {
            Arrival::Begin(task) => {
                let late = match &task {
                    Task::Perform(_) => {
                        self.worlds.iter().for_each(|world| world.lock().attempt += 1);
                        self.chance(|r| r.range(0, 800))
                    }
                    Task::ReadForge { .. } => self.chance(|r| r.range(0, 300)),
                };
                let project = self.project_of(&task);
                let report = work(&self.ports[self.worlds.number(&project)], task);
                self.out.push((late, Arrival::Report(Box::new(report))));
            }
            Arrival::Report(report) => {
                self.conductor.report(self.now(), *report)?;
                self.reconcile();
            }
            Arrival::Look(epoch) => self.look(epoch)?,
            Arrival::Attend(epoch) => self.attend(epoch)?,
            Arrival::LookAtHub => self.look_at_hub()?,
            Arrival::Hint(project) => self.conductor.hinted(project),
            Arrival::Poke => {
                self.conductor.poked()?;
                self.reconcile();
            }
        }
        Ok(())
    }

    /// The project in whose world a task is done.
    fn project_of(&self, task: &Task) -> ProjectName {
        let floor = self.conductor.floor();
        let of = |epoch: &Epoch| floor.sessions.get(epoch).map(|session| session.project.clone());
        match task {
            Task::ReadForge { project, .. } => project.clone(),
            Task::Perform(effect) => match &*effect.action {
                Action::RingInbox { epoch, .. } => of(epoch),
                action => action.project().cloned(),
            }
            .unwrap_or_else(|| self.worlds.first().lock().project.clone()),
        }
    }

    fn world_of(&self, epoch: Epoch) -> Option<&Shared> {
        let session = self.conductor.floor().sessions.get(&epoch)?;
        Some(self.worlds.of(&session.project))
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
                Task::Perform(effect) if matches!(*effect.action, Action::RunCi { .. }) => {
                    self.chance(|r| r.range(5_000, 600_000))
                }
                Task::Perform(_) => self.chance(|r| r.range(0, 2_000)),
                Task::ReadForge { .. } => self.chance(|r| r.range(0, 300)),
            };
            self.out.push((late, Arrival::Begin(task)));
        }
        Ok(())
    }

    /// Watches sessions that have a process and have not ended; a new watch begins with a look.
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
                self.out.push((late, Arrival::Look(epoch)));
            }
        }
        self.reconcile_attendants();
    }

    /// Attends to live sessions that are typed to, and tells each attendant what is next.
    fn reconcile_attendants(&mut self) {
        let (now, floor) = (self.now(), self.conductor.floor());
        let wanted: BTreeMap<Epoch, (Shared, Option<MessageId>, bool)> = floor
            .sessions
            .iter()
            .filter(|s| s.client.typed && s.state == SessionState::Live)
            .map(|s| {
                let answers = s.asks.open.as_ref().is_some_and(|ask| ask.answer.is_some());
                let left_alone = floor.held(s).is_some();
                let world = self.worlds.of(&s.project).clone();
                (s.epoch, (world, floor.next_message(s.epoch).map(|m| m.id), answers || left_alone))
            })
            .collect();
        self.attendants.retain(|epoch, _| wanted.contains_key(epoch));
        for (epoch, (world, next, stands)) in wanted {
            self.attendants
                .entry(epoch)
                .or_insert_with(|| Attendant::new(epoch, &world))
                .brief(next, stands, now);
        }
    }

    /// What the runner does before anything else.
    pub fn after_restart(&mut self) -> StoreResult<()> {
        self.submit(&Event::Resumed)
    }

    fn look(&mut self, epoch: Epoch) -> StoreResult<()> {
        let Some(seen) = self.watched.get(&epoch).copied() else { return Ok(()) };
        let proc = self.world_of(epoch).and_then(|world| world.lock().procs.get(&epoch).cloned());
        let Some(proc) = proc else { return Ok(()) };
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
