//! The daemon's loop: one thread owns the engine, worker threads perform effects, everything
//! else sends [`Input`]s. Nothing here polls: the loop sleeps until an input comes, a deadline
//! passes or a deferred effect is due.

use crate::commit::Engine;
use crate::dispatch::{ATTEMPTS_MAX, backoff, runnable};
use crate::perform::{Attempt, attempt};
use crate::ports::{Changes, Ports};
use shopfloor_core::effect::{Action, Outcome};
use shopfloor_core::event::{Event, Note};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::{End, Floor, Job, JobState};
use shopfloor_core::time::Time;
use shopfloor_store::{Queued, Store, StoreResult};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

/// What the loop is told.
pub enum Input {
    Event(Event),
    /// Another process changed the store, or something on the forge.
    Poke,
    Stop,
    /// From a worker.
    Attempted {
        effect: Queued,
        attempt: Attempt,
    },
    /// From a worker: the forge was read. `Err` says why it could not be.
    Synced {
        project: ProjectName,
        events: Result<Vec<Event>, String>,
    },
}

/// Sends inputs to the loop.
#[derive(Clone)]
pub struct Handle(Sender<Input>);

impl Handle {
    /// False if the loop has ended.
    pub fn send(&self, input: Input) -> bool {
        self.0.send(input).is_ok()
    }
}

/// What watches the world on the loop's behalf; brought in line with the floor after each commit.
pub trait Watches {
    fn reconcile(&mut self, floor: &Floor);
}

pub struct RunnerOptions {
    /// Runs of checks at once.
    pub check_slots: usize,
    /// Effects under way at once, checks included.
    pub workers_max: usize,
    /// Return when no job can go on by itself.
    pub until_idle: bool,
    pub clock: fn() -> Time,
}

/// Why the loop returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    Asked,
    /// Idle; `unfinished` jobs ended blocked or failed in this run or wait for a person.
    Idle {
        unfinished: usize,
    },
}

/// Told of every commit: the floor as it is now, and what happened.
pub type Observer = Box<dyn FnMut(&Floor, &[Note])>;

pub struct Runner<S, W> {
    engine: Engine<S>,
    ports: Ports,
    watches: W,
    options: RunnerOptions,
    sender: Sender<Input>,
    inputs: Receiver<Input>,
    /// Lanes with work under way.
    busy: BTreeSet<String>,
    checks_busy: usize,
    /// Projects whose forge is to be read, in the forge lane's turn.
    sync_wanted: BTreeSet<ProjectName>,
    sync_retry_at: Option<Time>,
    sync_failures: u32,
    observer: Observer,
    ended_badly: usize,
}

impl<S: Store, W: Watches> Runner<S, W> {
    pub fn new(
        engine: Engine<S>,
        ports: Ports,
        options: RunnerOptions,
        watches: impl FnOnce(Handle) -> W,
    ) -> Self {
        let (sender, inputs) = channel();
        let watches = watches(Handle(sender.clone()));
        Runner {
            engine,
            ports,
            watches,
            options,
            sender,
            inputs,
            busy: BTreeSet::new(),
            checks_busy: 0,
            sync_wanted: BTreeSet::new(),
            sync_retry_at: None,
            sync_failures: 0,
            observer: Box::new(|_, _| {}),
            ended_badly: 0,
        }
    }

    pub fn handle(&self) -> Handle {
        Handle(self.sender.clone())
    }

    /// Called after every commit, for whoever shows progress.
    pub fn observe(&mut self, observer: impl FnMut(&Floor, &[Note]) + 'static) {
        self.observer = Box::new(observer);
    }

    pub fn run(&mut self) -> StoreResult<Stop> {
        self.want_sync_all();
        self.watches.reconcile(self.engine.floor());
        loop {
            let wake = self.dispatch()?;
            if self.options.until_idle && self.is_idle()? {
                return Ok(Stop::Idle { unfinished: self.ended_badly + self.waiting_for_people() });
            }
            let input = match self.sleep_until(wake) {
                Some(input) => input,
                None => {
                    self.tick()?;
                    continue;
                }
            };
            match input {
                Input::Stop => return Ok(Stop::Asked),
                Input::Poke => {
                    self.engine.refresh()?;
                    self.want_sync_all();
                    self.committed(&[]);
                }
                Input::Event(event) => self.submit(&event)?,
                Input::Attempted { effect, attempt } => self.attempted(effect, attempt)?,
                Input::Synced { project, events } => self.synced(project, events)?,
            }
        }
    }

    /// The next input, or `None` when it is time to look at deadlines.
    fn sleep_until(&self, wake: Option<Time>) -> Option<Input> {
        let deadlines = [wake, self.engine.floor().next_deadline(), self.sync_retry_at];
        let Some(at) = deadlines.into_iter().flatten().min() else {
            return Some(self.inputs.recv().expect("the runner holds a sender"));
        };
        match self.inputs.recv_timeout(at.since((self.options.clock)())) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the runner holds a sender"),
        }
    }

    fn tick(&mut self) -> StoreResult<()> {
        let now = (self.options.clock)();
        if self.sync_retry_at.is_some_and(|at| at <= now) {
            self.sync_retry_at = None;
            self.want_sync_all();
        }
        if self.engine.floor().next_deadline().is_some_and(|d| d <= now) {
            self.submit(&Event::Tick)?;
        }
        Ok(())
    }

    fn submit(&mut self, event: &Event) -> StoreResult<()> {
        let applied = self.engine.submit((self.options.clock)(), event)?;
        self.committed(&applied.notes);
        Ok(())
    }

    fn committed(&mut self, notes: &[Note]) {
        self.watches.reconcile(self.engine.floor());
        (self.observer)(self.engine.floor(), notes);
    }

    /// Hands out everything that may be performed now.
    fn dispatch(&mut self) -> StoreResult<Option<Time>> {
        let now = (self.options.clock)();
        if self.sync_retry_at.is_none() {
            let ready: Vec<ProjectName> =
                self.sync_wanted.iter().filter(|p| !self.busy.contains(&forge_lane(p))).cloned().collect();
            for project in ready {
                self.sync_wanted.remove(&project);
                self.start_sync(project);
            }
        }
        let free = self.options.check_slots.saturating_sub(self.checks_busy);
        let dispatch = runnable(self.engine.outbox()?, &self.busy, now, free);
        for effect in dispatch.now {
            if self.busy.len() >= self.options.workers_max.max(1) {
                break;
            }
            self.busy.insert(effect.action.lane());
            if matches!(effect.action, Action::RunCi { .. }) {
                self.checks_busy += 1;
            }
            let (ports, sender) = (self.ports.clone(), self.sender.clone());
            std::thread::spawn(move || {
                let attempt = attempt(&ports, &effect.action);
                // The loop may have ended: then the effect is repeated by the next.
                let _ = sender.send(Input::Attempted { effect, attempt });
            });
        }
        Ok(dispatch.wake)
    }

    fn attempted(&mut self, effect: Queued, attempt: Attempt) -> StoreResult<()> {
        let lane = effect.action.lane();
        self.busy.remove(&lane);
        if matches!(effect.action, Action::RunCi { .. }) {
            self.checks_busy -= 1;
        }
        let now = (self.options.clock)();
        // Our own changes come back as observations: read them before the lane goes on.
        if let Some(project) = lane.strip_prefix("forge:").and_then(|p| p.parse().ok()) {
            self.sync_wanted.insert(project);
        }
        let outcome = match attempt {
            Attempt::Done(outcome) => outcome,
            Attempt::Failed(why) => {
                let attempts = effect.attempts + 1;
                if attempts < ATTEMPTS_MAX {
                    return self.engine.store().defer(effect.id, attempts, now + backoff(attempts), &why);
                }
                Outcome::Impossible { why: format!("{why} (tried {attempts} times)") }
            }
        };
        let before = self.badly_ended();
        let applied = self.engine.complete(now, &effect, outcome)?;
        self.ended_badly += self.badly_ended().saturating_sub(before);
        self.committed(&applied.notes);
        Ok(())
    }

    fn start_sync(&mut self, project: ProjectName) {
        let Some(row) = self.engine.floor().projects.get(&project) else { return };
        let cursor = row.cursor;
        self.busy.insert(forge_lane(&project));
        let (ports, sender) = (self.ports.clone(), self.sender.clone());
        std::thread::spawn(move || {
            let events = read_forge(&ports, &project, cursor);
            let _ = sender.send(Input::Synced { project, events });
        });
    }

    fn synced(&mut self, project: ProjectName, events: Result<Vec<Event>, String>) -> StoreResult<()> {
        self.busy.remove(&forge_lane(&project));
        match events {
            Ok(events) => {
                self.sync_failures = 0;
                for event in &events {
                    self.submit(event)?;
                }
            }
            Err(_) => {
                self.sync_failures += 1;
                self.sync_wanted.insert(project);
                self.sync_retry_at = Some((self.options.clock)() + backoff(self.sync_failures));
            }
        }
        Ok(())
    }

    fn want_sync_all(&mut self) {
        self.sync_wanted.extend(self.engine.floor().projects.iter().map(|p| p.name.clone()));
    }

    fn is_idle(&mut self) -> StoreResult<bool> {
        let quiet = self.busy.is_empty() && self.sync_wanted.is_empty() && self.engine.outbox()?.is_empty();
        let floor = self.engine.floor();
        Ok(quiet && floor.jobs.iter().filter(|j| j.is_live()).all(waits_for_a_person))
    }

    fn waiting_for_people(&self) -> usize {
        self.engine.floor().jobs.iter().filter(|j| j.is_live()).count()
    }

    fn badly_ended(&self) -> usize {
        let bad = |end: Option<End>| matches!(end, Some(End::Blocked | End::Failed));
        self.engine.floor().jobs.iter().filter(|j| bad(j.end())).count()
    }
}

/// Nothing but a person's word can move such a job, before a deadline of hours.
fn waits_for_a_person(job: &Job) -> bool {
    match job.state {
        JobState::NeedsHuman { .. } => true,
        JobState::Reviewing { .. } => job.review_session.is_none(),
        _ => false,
    }
}

fn forge_lane(project: &ProjectName) -> String {
    format!("forge:{project}")
}

/// Reads everything new, as events.
pub fn read_forge(ports: &Ports, project: &ProjectName, mut cursor: u64) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    loop {
        let changes = ports.forge.changes(project, cursor).map_err(|e| e.to_string())?;
        if changes.observations.is_empty() {
            return Ok(events);
        }
        let before = std::mem::replace(&mut cursor, changes.cursor);
        events.extend(page(project, before, changes));
    }
}

/// A page as events, each of which is committed by itself. Only the last moves the cursor past the
/// page: a crash between two of them must not skip the rest.
fn page(project: &ProjectName, before: u64, changes: Changes) -> impl Iterator<Item = Event> {
    let (last, after) = (changes.observations.len() - 1, changes.cursor);
    changes.observations.into_iter().enumerate().map(move |(at, observation)| {
        let cursor = if at == last { after } else { before };
        Event::Observed { project: project.clone(), observation, cursor }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::event::Observation;
    use shopfloor_core::ids::PrNumber;

    #[test]
    fn a_crash_within_a_page_skips_nothing() {
        let observations = (1..=3).map(|n| Observation::Pr { number: PrNumber(n), open: true }).collect();
        let project = "p".parse().unwrap();
        let cursors: Vec<u64> = page(&project, 4, Changes { cursor: 7, observations })
            .map(|event| match event {
                Event::Observed { cursor, .. } => cursor,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(cursors, [4, 4, 7]);
    }
}
