//! The loop without threads and without a clock: it says what to do next, given what came back. The daemon's
//! [`crate::Runner`] runs it on worker threads and in real time, the simulator in virtual time; so what is
//! simulated is what runs.

use crate::commit::Engine;
use crate::dispatch::{Checks, TROUBLE_AFTER, backoff, runnable, serve};
use crate::perform::{Attempt, attempt};
use crate::ports::Ports;
use crate::ports::forge::{Changes, Resync};
use crate::reading::Reading;
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{Action, Outcome};
use shopfloor_core::event::{Event, Note, Page, Seen};
use shopfloor_core::forge::Cursor;
use shopfloor_core::ids::{IssueNumber, ProjectName, TryId};
use shopfloor_core::state::{Floor, Project, Trouble};
use shopfloor_core::step::{READ_FORGE, is_wanted, read_lane};
use shopfloor_core::time::Time;
use shopfloor_store::{OutboxEffect, Store, StoreError, StoreResult};
use std::collections::{BTreeMap, BTreeSet};

/// Something for a worker.
#[derive(Debug)]
pub enum Task {
    Perform(Box<OutboxEffect>),
    /// Read the next page of what is new on a project's forge.
    ReadForge {
        project: ProjectName,
        cursor: Cursor,
    },
}

/// What became of a task.
#[derive(Debug)]
pub enum Report {
    Attempted {
        effect: OutboxEffect,
        attempt: Attempt,
    },
    /// `Err` says why the forge could not be read; `resync` says how often it wants to be read.
    Read {
        project: ProjectName,
        page: Result<Page, String>,
        resync: Option<Resync>,
    },
}

/// Does a task, through the ports.
pub fn work(ports: &Ports, task: Task) -> Report {
    match task {
        Task::Perform(effect) => {
            let attempt = attempt(ports, &effect.action);
            Report::Attempted { effect: *effect, attempt }
        }
        Task::ReadForge { project, cursor } => read_forge(ports, project, cursor),
    }
}

/// The lanes of calls to a project's forge: `forge:PROJECT/…`.
const FORGE_LANES: &str = "forge:";
/// How many calls to one project's forge may be under way at a time.
const FORGE_CALLS_MAX: usize = 4;

/// How much may be under way at once.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Runs of checks. Without it: more than any project's merge queue can use, so that none can hold up pull requests.
    pub checks: Option<usize>,
    /// Tasks, runs of checks included.
    pub tasks: usize,
}

/// The only thing that a process other than a daemon works on.
#[derive(Clone, Debug)]
pub enum Only {
    /// A project's merge queues.
    Merge(ProjectName),
    Try(TryId),
    Tidying,
}

pub struct Conductor<S> {
    engine: Engine<S>,
    capacity: Capacity,
    /// Lanes with a task under way.
    busy: BTreeSet<String>,
    /// Runs of checks under way, by project.
    checks: BTreeMap<ProjectName, usize>,
    /// How many runs of checks had begun when a project's last one did.
    served: BTreeMap<ProjectName, u64>,
    /// Whose forge is to be read, and when.
    reading: Reading,
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
            served: BTreeMap::new(),
            reading: Reading::default(),
            effect_due: None,
            only: None,
        };
        conductor.want_all_here();
        conductor
    }

    /// Works on this and leaves everything else alone.
    pub fn only(&mut self, only: Only) {
        self.only = Some(only);
        self.reading.want_none();
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

    /// Another process changed the store, and perhaps what the embedded forge keeps there.
    pub fn poked(&mut self) -> StoreResult<()> {
        self.engine.refresh()?;
        self.want_all_here();
        Ok(())
    }

    /// There may be news on that project's forge. Reading says what it is; the hint does not.
    pub fn hinted(&mut self, project: ProjectName) {
        if self.only.is_none() {
            self.reading.want(project);
        }
    }

    fn want_all_here(&mut self) {
        if self.only.is_some() {
            return;
        }
        self.reading.want_all_here(self.engine.floor().projects.iter().map(|p| p.name.clone()));
    }

    /// Everything that may be begun now.
    pub fn tasks(&mut self, now: Time) -> StoreResult<Vec<Task>> {
        // What may fail comes first: everything noted below as begun is then really begun.
        let mut outbox = self.wanted(now)?;
        let mut tasks = Vec::new();
        let busy = &self.busy;
        for project in self.reading.ready(now, |p| busy.contains(&read_lane(p))) {
            if let Some(cursor) = self.engine.floor().projects.get(&project).map(|p| p.cursor.clone()) {
                self.busy.insert(read_lane(&project));
                tasks.push(Task::ReadForge { project, cursor });
            }
        }
        match &self.only {
            Some(Only::Merge(project)) => outbox.retain(|effect| effect.action.is_merging(project)),
            Some(Only::Try(id)) => outbox.retain(|effect| effect.action.is_trying(*id)),
            Some(Only::Tidying) => outbox.retain(|effect| matches!(*effect.action, Action::Tidy(_))),
            None => {}
        }
        let free = self.check_slots().saturating_sub(self.checks.values().sum());
        let checks = Checks { free, running: self.checks.clone(), served: self.served.clone() };
        let floor = self.engine.floor();
        let dispatch = runnable(outbox, &self.busy, now, checks, |action| floor.urgency(action));
        self.effect_due = dispatch.wake;
        for effect in dispatch.now {
            if self.busy.len() >= self.capacity.tasks.max(1) {
                break;
            }
            if self.calls_enough(&effect.action) {
                continue;
            }
            self.busy.insert(effect.action.lane());
            if let Action::RunCi { project, .. } = &*effect.action {
                *self.checks.entry(project.clone()).or_default() += 1;
                serve(&mut self.served, project);
            }
            tasks.push(Task::Perform(Box::new(effect)));
        }
        Ok(tasks)
    }

    /// Runs of checks at once, as the projects are now.
    fn check_slots(&self) -> usize {
        let slots = self.engine.floor().projects.iter().map(|project| project.policy.merge_slots);
        self.capacity.checks.map_or_else(|| slots.max().unwrap_or(1) + 1, |most| most.max(1))
    }

    /// Whether so many calls to a project's forge are under way that another has to wait: a call that hangs
    /// takes a worker from everybody.
    fn calls_enough(&self, action: &Action) -> bool {
        let lane = action.lane();
        let mine =
            lane.split_once('/').map(|(forge, _)| forge).filter(|forge| forge.starts_with(FORGE_LANES));
        let under_way = |forge: &str| {
            let of = |lane: &&String| lane.split_once('/').is_some_and(|(other, _)| other == forge);
            self.busy.iter().filter(of).count()
        };
        mine.is_some_and(|forge| under_way(forge) >= FORGE_CALLS_MAX)
    }

    /// The outbox, without effects that have failed and that nobody waits for any more: they would only hold
    /// up their lanes.
    fn wanted(&mut self, now: Time) -> StoreResult<Vec<OutboxEffect>> {
        let outbox = self.engine.outbox()?;
        let floor = self.engine.floor();
        let idle = |q: &&OutboxEffect| q.attempts > 0 && !self.busy.contains(&q.action.lane());
        let given_up: Vec<OutboxEffect> =
            outbox.iter().filter(idle).filter(|q| !is_wanted(floor, &q.action)).cloned().collect();
        if given_up.is_empty() {
            return Ok(outbox);
        }
        for effect in given_up {
            let why = effect.last_error.as_deref().unwrap_or("it failed");
            let why = format!("{why} (not wanted any more)");
            self.engine.complete(now, &effect, Outcome::Impossible(outcome::Impossible { why }))?;
        }
        self.engine.outbox()
    }

    /// When to look again if nothing happens: [`Conductor::tick`], then [`Conductor::tasks`].
    pub fn wake(&self) -> Option<Time> {
        let reads = self.reading.wake(|project| self.busy.contains(&read_lane(project)));
        [self.effect_due, self.engine.floor().next_deadline(), reads].into_iter().flatten().min()
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
            Report::Read { project, page, resync } => self.read(now, project, page, resync),
        }
    }

    fn attempted(&mut self, now: Time, effect: OutboxEffect, attempt: Attempt) -> StoreResult<Vec<Note>> {
        let lane = effect.action.lane();
        self.busy.remove(&lane);
        if let Action::RunCi { project, .. } = &*effect.action
            && let Some(running) = self.checks.get_mut(project)
        {
            *running = running.saturating_sub(1);
        }
        // Our own changes come back as observations.
        if let Some(project) = effect.action.forge() {
            self.hinted(project.clone());
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
                        self.trouble(now, project, lane, effect.action.name(), effect.action.number(), why)
                    }
                    // Another daemon's outcome came first.
                    Ok(()) | Err(StoreError::AlreadyPerformed(_)) => Ok(Vec::new()),
                    Err(e) => Err(e),
                };
            }
        };
        Ok(self.engine.complete(now, &effect, outcome)?.notes)
    }

    /// Reports a failure: once, and again when it fails in another way.
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
        page: Result<Page, String>,
        resync: Option<Resync>,
    ) -> StoreResult<Vec<Note>> {
        let lane = read_lane(&project);
        self.busy.remove(&lane);
        let mut notes = Vec::new();
        match page {
            Ok(page) => {
                self.reading.was_read(now, &project, resync, !page.seen.0.is_empty());
                if page.more {
                    self.hinted(project.clone());
                }
                if self.floor().trouble(&project, &lane).is_some() {
                    let project = project.clone();
                    notes.extend(self.submit(now, &Event::TroubleOver { project, lane })?);
                }
                let known = self.floor().projects.get(&project);
                let same = |p: &Project| p.cursor == page.cursor && p.reading == page.more;
                if !(page.seen.0.is_empty() && known.is_none_or(same)) {
                    notes.extend(self.submit(now, &Event::Observed { project, page })?);
                }
            }
            Err(why) => {
                if self.reading.could_not(now, &project) >= TROUBLE_AFTER {
                    notes.extend(self.trouble(now, project, lane, READ_FORGE, None, why)?);
                }
            }
        }
        Ok(notes)
    }

    /// Whether nothing is left to do for what landed in that project.
    pub fn has_followed_up(&mut self, project: &ProjectName) -> StoreResult<bool> {
        Ok(!self.engine.outbox()?.iter().any(|effect| effect.action.follows_a_landing(project)))
    }

    /// Whether nothing is under way and nothing is left to begin, except what people were asked to look at.
    pub fn is_quiet(&mut self) -> StoreResult<bool> {
        let outbox = self.engine.outbox()?;
        let floor = self.engine.floor();
        let asked =
            |project: &ProjectName, lane: &str| floor.trouble(project, lane).is_some_and(Trouble::is_asked);
        let stuck =
            |q: &OutboxEffect| floor.project_of(&q.action).is_some_and(|p| asked(&p, &q.action.lane()));
        Ok(self.busy.is_empty()
            && self.reading.wanted().all(|p| asked(p, &read_lane(p)))
            && outbox.iter().all(stuck))
    }
}

/// The next page of what is new on the forge. It is committed as a whole.
fn read_forge(ports: &Ports, project: ProjectName, cursor: Cursor) -> Report {
    let mut resync = None;
    let read = ports.forges.of(&project).and_then(|forge| {
        resync = forge.resync();
        forge.changes(&cursor)
    });
    let page = read.map_err(|e| e.to_string()).map(|Changes { cursor: next, observations, more }| Page {
        seen: Seen(observations),
        after: Some(cursor),
        cursor: next,
        more,
    });
    Report::Read { project, page, resync }
}

#[cfg(test)]
mod tests;
