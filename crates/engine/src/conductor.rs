//! The loop without threads and without a clock: what to do next, given what came back. The
//! daemon's [`crate::Runner`] runs it on worker threads and real time, the simulator on virtual
//! time; so what is simulated is what runs.

use crate::commit::Engine;
use crate::dispatch::{Checks, TROUBLE_AFTER, backoff, runnable};
use crate::perform::{Attempt, attempt};
use crate::ports::{Changes, Ports};
use shopfloor_core::effect::{Action, Outcome};
use shopfloor_core::event::{Event, Note};
use shopfloor_core::ids::{IssueNumber, ProjectName, TryId};
use shopfloor_core::state::{Floor, Trouble};
use shopfloor_core::step::{READ_FORGE, is_wanted, read_lane};
use shopfloor_core::time::Time;
use shopfloor_store::{Queued, Store, StoreError, StoreResult};
use std::collections::{BTreeMap, BTreeSet};

/// Something for a worker.
#[derive(Debug)]
pub enum Task {
    Perform(Box<Queued>),
    /// Read what is new on a project's forge.
    ReadForge {
        project: ProjectName,
        cursor: u64,
    },
}

/// What became of a task.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a few at a time, moved twice")]
pub enum Report {
    Attempted {
        effect: Queued,
        attempt: Attempt,
    },
    /// `Err` says why the forge could not be read.
    Read {
        project: ProjectName,
        events: Result<Vec<Event>, String>,
    },
}

/// Does a task, through the ports.
pub fn work(ports: &Ports, task: Task) -> Report {
    match task {
        Task::Perform(effect) => {
            let attempt = attempt(ports, &effect.action);
            Report::Attempted { effect: *effect, attempt }
        }
        Task::ReadForge { project, cursor } => {
            let events = read_forge(ports, &project, cursor);
            Report::Read { project, events }
        }
    }
}

/// How much may be under way at once.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Runs of checks.
    pub checks: usize,
    /// Tasks, runs of checks included.
    pub tasks: usize,
}

/// What alone is worked on by whoever is no daemon.
#[derive(Clone, Debug)]
pub enum Only {
    /// A project's merge queues.
    Merge(ProjectName),
    Try(TryId),
}

pub struct Conductor<S> {
    engine: Engine<S>,
    capacity: Capacity,
    /// Lanes with a task under way.
    busy: BTreeSet<String>,
    /// Runs of checks under way, by project.
    checks: BTreeMap<ProjectName, usize>,
    /// Projects whose forge is to be read, in the forge lane's turn.
    read_wanted: BTreeSet<ProjectName>,
    /// Projects whose forge could not be read: how often in a row, and when to try again.
    unread: BTreeMap<ProjectName, (u32, Time)>,
    /// When a deferred effect is due.
    effect_due: Option<Time>,
    /// Only this is worked on; the rest is left to a daemon.
    only: Option<Only>,
}

impl<S: Store> Conductor<S> {
    pub fn new(engine: Engine<S>, capacity: Capacity) -> Self {
        let mut conductor = Conductor {
            engine,
            capacity,
            busy: BTreeSet::new(),
            checks: BTreeMap::new(),
            read_wanted: BTreeSet::new(),
            unread: BTreeMap::new(),
            effect_due: None,
            only: None,
        };
        conductor.want_all();
        conductor
    }

    /// Leaves everything else alone.
    pub fn only(&mut self, only: Only) {
        self.only = Some(only);
        self.read_wanted.clear();
    }

    pub fn floor(&self) -> &Floor {
        self.engine.floor()
    }

    pub fn engine(&mut self) -> &mut Engine<S> {
        &mut self.engine
    }

    pub fn into_engine(self) -> Engine<S> {
        self.engine
    }

    /// Another process changed the store, or something on the forge.
    pub fn poked(&mut self) -> StoreResult<()> {
        self.engine.refresh()?;
        self.want_all();
        Ok(())
    }

    fn want_all(&mut self) {
        if self.only.is_some() {
            return;
        }
        self.read_wanted.extend(self.engine.floor().projects.iter().map(|p| p.name.clone()));
    }

    /// Everything that may be begun now.
    pub fn tasks(&mut self, now: Time) -> StoreResult<Vec<Task>> {
        // First what may fail: whatever is taken down as begun below is begun.
        let mut outbox = self.wanted(now)?;
        let mut tasks = Vec::new();
        let free = |p: &&ProjectName| {
            !self.busy.contains(&forge_lane(p)) && self.unread.get(*p).is_none_or(|(_, at)| *at <= now)
        };
        let ready: Vec<ProjectName> = self.read_wanted.iter().filter(free).cloned().collect();
        for project in ready {
            self.read_wanted.remove(&project);
            if let Some(cursor) = self.engine.floor().projects.get(&project).map(|p| p.cursor) {
                self.busy.insert(forge_lane(&project));
                tasks.push(Task::ReadForge { project, cursor });
            }
        }
        match &self.only {
            Some(Only::Merge(project)) => outbox.retain(|effect| effect.action.is_merging(project)),
            Some(Only::Try(id)) => outbox.retain(|effect| effect.action.is_trying(*id)),
            None => {}
        }
        let free = self.capacity.checks.saturating_sub(self.checks.values().sum());
        let checks = Checks { free, running: self.checks.clone() };
        let floor = self.engine.floor();
        let dispatch = runnable(outbox, &self.busy, now, checks, |action| floor.urgency(action));
        self.effect_due = dispatch.wake;
        for effect in dispatch.now {
            if self.busy.len() >= self.capacity.tasks.max(1) {
                break;
            }
            self.busy.insert(effect.action.lane());
            if let Action::RunCi { project, .. } = &effect.action {
                *self.checks.entry(project.clone()).or_default() += 1;
            }
            tasks.push(Task::Perform(Box::new(effect)));
        }
        Ok(tasks)
    }

    /// The outbox, without what has failed and nobody waits for any more: that would only hold up its lane.
    fn wanted(&mut self, now: Time) -> StoreResult<Vec<Queued>> {
        let outbox = self.engine.outbox()?;
        let floor = self.engine.floor();
        let idle = |q: &&Queued| q.attempts > 0 && !self.busy.contains(&q.action.lane());
        let given_up: Vec<Queued> =
            outbox.iter().filter(idle).filter(|q| !is_wanted(floor, &q.action)).cloned().collect();
        if given_up.is_empty() {
            return Ok(outbox);
        }
        for effect in given_up {
            let why = effect.last_error.as_deref().unwrap_or("it failed");
            let why = format!("{why} (not wanted any more)");
            self.engine.complete(now, &effect, Outcome::Impossible { why })?;
        }
        self.engine.outbox()
    }

    /// When to look again though nothing happens: [`Conductor::tick`], then [`Conductor::tasks`].
    pub fn wake(&self) -> Option<Time> {
        // One that is being read again is waited for, not woken up for.
        let waiting = self.unread.iter().filter(|(project, _)| !self.busy.contains(&forge_lane(project)));
        let reads = waiting.map(|(_, (_, at))| *at);
        let due = [self.effect_due, self.engine.floor().next_deadline()];
        due.into_iter().flatten().chain(reads).min()
    }

    pub fn tick(&mut self, now: Time) -> StoreResult<Vec<Note>> {
        if self.engine.floor().next_deadline().is_some_and(|d| d <= now) {
            return self.submit(now, &Event::Tick);
        }
        Ok(Vec::new())
    }

    pub fn submit(&mut self, now: Time, event: &Event) -> StoreResult<Vec<Note>> {
        Ok(self.engine.submit(now, event)?.notes)
    }

    pub fn report(&mut self, now: Time, report: Report) -> StoreResult<Vec<Note>> {
        match report {
            Report::Attempted { effect, attempt } => self.attempted(now, effect, attempt),
            Report::Read { project, events } => self.read(now, project, events),
        }
    }

    fn attempted(&mut self, now: Time, effect: Queued, attempt: Attempt) -> StoreResult<Vec<Note>> {
        let lane = effect.action.lane();
        self.busy.remove(&lane);
        if let Action::RunCi { project, .. } = &effect.action
            && let Some(running) = self.checks.get_mut(project)
        {
            *running = running.saturating_sub(1);
        }
        // Our own changes come back as observations: read them before the lane goes on.
        if let Some(project) = lane.strip_prefix("forge:").and_then(|p| p.parse().ok())
            && self.only.is_none()
        {
            self.read_wanted.insert(project);
        }
        let outcome = match attempt {
            Attempt::Done(outcome) => outcome,
            Attempt::Failed(why) => {
                let attempts = effect.attempts.saturating_add(1);
                let again = now + backoff(attempts);
                return match self.engine.store().defer(effect.id, attempts, again, &why) {
                    Ok(()) if attempts >= TROUBLE_AFTER => {
                        let Some(project) = self.floor().project_of(&effect.action) else {
                            return Ok(Vec::new());
                        };
                        self.trouble(now, project, lane, effect.action.name(), effect.action.issue(), why)
                    }
                    // Another daemon's answer came first.
                    Ok(()) | Err(StoreError::AlreadyPerformed(_)) => Ok(Vec::new()),
                    Err(e) => Err(e),
                };
            }
        };
        Ok(self.engine.complete(now, &effect, outcome)?.notes)
    }

    /// Tells of what fails: once, and when it fails in another way.
    fn trouble(
        &mut self,
        now: Time,
        project: ProjectName,
        lane: String,
        what: &str,
        issue: Option<IssueNumber>,
        why: String,
    ) -> StoreResult<Vec<Note>> {
        let known = self.floor().trouble(&project, &lane).filter(|t| t.what == what);
        if known.is_some_and(|t| !t.is_news(&why, now)) {
            return Ok(Vec::new());
        }
        let what = what.to_owned();
        self.submit(now, &Event::TroubleSeen { project, lane, what, issue, why })
    }

    fn read(
        &mut self,
        now: Time,
        project: ProjectName,
        events: Result<Vec<Event>, String>,
    ) -> StoreResult<Vec<Note>> {
        self.busy.remove(&forge_lane(&project));
        let mut notes = Vec::new();
        match events {
            Ok(events) => {
                self.unread.remove(&project);
                let lane = read_lane(&project);
                if self.floor().trouble(&project, &lane).is_some() {
                    notes.extend(self.submit(now, &Event::TroubleOver { project, lane })?);
                }
                for event in &events {
                    notes.extend(self.submit(now, event)?);
                }
            }
            Err(why) => {
                let failures = self.unread.get(&project).map_or(0, |(n, _)| *n) + 1;
                self.unread.insert(project.clone(), (failures, now + backoff(failures)));
                self.read_wanted.insert(project.clone());
                if failures >= TROUBLE_AFTER {
                    let lane = read_lane(&project);
                    notes.extend(self.trouble(now, project, lane, READ_FORGE, None, why)?);
                }
            }
        }
        Ok(notes)
    }

    /// Nothing is left to be done for what landed in that project.
    pub fn has_followed_up(&mut self, project: &ProjectName) -> StoreResult<bool> {
        Ok(!self.engine.outbox()?.iter().any(|effect| effect.action.follows_a_landing(project)))
    }

    /// Nothing is under way and nothing is left to begin, but what people were asked to look at.
    pub fn is_quiet(&mut self) -> StoreResult<bool> {
        let outbox = self.engine.outbox()?;
        let floor = self.engine.floor();
        let asked =
            |project: &ProjectName, lane: &str| floor.trouble(project, lane).is_some_and(Trouble::is_asked);
        let stuck = |q: &Queued| floor.project_of(&q.action).is_some_and(|p| asked(&p, &q.action.lane()));
        Ok(self.busy.is_empty()
            && self.read_wanted.iter().all(|p| asked(p, &read_lane(p)))
            && outbox.iter().all(stuck))
    }
}

fn forge_lane(project: &ProjectName) -> String {
    format!("forge:{project}")
}

/// Reads everything new on the forge, as events.
fn read_forge(ports: &Ports, project: &ProjectName, mut cursor: u64) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    loop {
        let changes = ports.forge.changes(project, cursor).map_err(|e| e.to_string())?;
        if changes.observations.is_empty() {
            if let Some(Event::Observed { more, .. }) = events.last_mut() {
                *more = false;
            }
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
        Event::Observed { project: project.clone(), observation, cursor, more: true }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::event::Observation;
    use shopfloor_core::ids::PrNumber;

    #[test]
    fn a_crash_within_a_page_skips_nothing() {
        let observations = (1..=3)
            .map(|n| Observation::Pr {
                number: PrNumber(n),
                open: true,
                branch: "b".into(),
                head: None,
                fixes: vec![],
                title: String::new(),
                ours: false,
            })
            .collect();
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
