//! The daemon's loop: one thread owns the engine, worker threads do the tasks, everything else sends
//! [`Input`]s. Nothing here polls: the loop sleeps until an input arrives, a deadline passes or a deferred
//! effect is due.

use crate::commit::Engine;
use crate::conductor::{Capacity, Conductor, Only, Report, Task, work};
use crate::perform::Attempt;
use crate::ports::Ports;
use shopfloor_core::event::{Event, Note};
use shopfloor_core::ids::{EntryId, ProjectName, TryId};
use shopfloor_core::state::{End, Entry, EntryState, Floor, Job, JobState, Queue, Trouble, Who};
use shopfloor_core::step::RunWaiting;
use shopfloor_core::time::Time;
use shopfloor_store::{Store, StoreError, StoreResult};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What the loop is told.
#[expect(clippy::large_enum_variant, reason = "a few at a time, moved twice")]
pub enum Input {
    Event(Event),
    /// Another process changed the store.
    Poke,
    /// There may be news on that project's forge: a webhook says so, or somebody has just been there.
    Hint(ProjectName),
    Stop,
    /// From a worker.
    Report(Report),
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

/// Whatever watches the world on the loop's behalf; brought in line with the floor after each commit.
pub trait Watches {
    fn reconcile(&mut self, floor: &Floor);

    /// There may be news of that project elsewhere: whoever looks only now and then should look now.
    fn look(&mut self, project: &ProjectName);
}

pub struct RunnerOptions {
    pub capacity: Capacity,
    pub until: Until,
    pub clock: fn() -> Time,
    /// Called for the log when something keeps the loop from continuing.
    pub warn: fn(&str),
    /// How long to leave a store that cannot be written to alone before the next attempt.
    pub store_pause: Duration,
}

/// When the loop returns by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    Never,
    /// When no job can continue by itself.
    Idle,
    /// When the entry is through its project's merge queue, or waits for somebody to mend the primary branch.
    /// Only that queue's work is done.
    Decided(ProjectName, EntryId),
    /// When it is known whether that branch would land. Nothing else is done.
    Tried(TryId),
    /// When every project is tidy, or it is known why not. Nothing else is done.
    Tidied,
}

/// Why the loop returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    Asked,
    /// Idle; `unfinished` jobs and people's branches ended badly in this run or wait for a person.
    Idle {
        unfinished: usize,
    },
}

/// Waking up this late means that the machine slept, not that the agents did.
const OVERSLEPT: Duration = Duration::from_secs(60);

/// Told of every commit: the floor as it is now, and what happened.
pub type Observer = Box<dyn FnMut(&Floor, &[Note])>;

pub struct Runner<S, W> {
    conductor: Conductor<S>,
    ports: Ports,
    watches: W,
    options: RunnerOptions,
    sender: Sender<Input>,
    inputs: Receiver<Input>,
    /// Inputs that arrived while the store could not be written to, in order.
    backlog: VecDeque<Input>,
    observer: Observer,
    /// Jobs that had ended badly before this run.
    bad_before: usize,
}

impl<S: Store, W: Watches> Runner<S, W> {
    /// `watches` makes whatever reports to the loop.
    pub fn new<E>(
        engine: Engine<S>,
        ports: Ports,
        options: RunnerOptions,
        watches: impl FnOnce(Handle) -> Result<W, E>,
    ) -> Result<Self, E> {
        let (sender, inputs) = channel();
        let watches = watches(Handle(sender.clone()))?;
        let mut conductor = Conductor::new(engine, options.capacity);
        match &options.until {
            Until::Decided(project, _) => conductor.only(Only::Merge(project.clone())),
            Until::Tried(id) => conductor.only(Only::Try(*id)),
            Until::Tidied => conductor.only(Only::Tidying),
            Until::Never | Until::Idle => {}
        }
        let bad_before = badly_ended(conductor.floor());
        let observer: Observer = Box::new(|_, _| {});
        let backlog = VecDeque::new();
        Ok(Runner { conductor, ports, watches, options, sender, inputs, backlog, observer, bad_before })
    }

    pub fn handle(&self) -> Handle {
        Handle(self.sender.clone())
    }

    /// Called after every commit, for whoever shows progress.
    pub fn observe(&mut self, observer: impl FnMut(&Floor, &[Note]) + 'static) {
        self.observer = Box::new(observer);
    }

    pub fn run(&mut self) -> StoreResult<Stop> {
        self.backlog.push_front(Input::Event(Event::Resumed));
        let mut wake = None;
        loop {
            let input = self.next_input(wake);
            if matches!(input, Some(Input::Stop)) {
                return Ok(Stop::Asked);
            }
            let again = match &input {
                Some(Input::Event(event)) => Some(event.clone()),
                _ => None,
            };
            let went = match self.take_in(wake, input) {
                Ok(notes) => {
                    self.watches.reconcile(self.conductor.floor());
                    (self.observer)(self.conductor.floor(), &notes);
                    self.go_on()
                }
                Err(e) => {
                    // It was not taken in, so it goes first once the store works again.
                    again.into_iter().for_each(|event| self.backlog.push_front(Input::Event(event)));
                    Err(e)
                }
            };
            match went {
                Ok(None) => wake = self.conductor.wake(),
                Ok(Some(stop)) => return Ok(stop),
                Err(e) if e.may_pass() => {
                    if self.wait_for_the_store(e)? {
                        return Ok(Stop::Asked);
                    }
                    wake = Some((self.options.clock)());
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Begins whatever may be begun. Returns why to stop, if that was all.
    fn go_on(&mut self) -> StoreResult<Option<Stop>> {
        for task in self.conductor.tasks((self.options.clock)())? {
            self.start(task);
        }
        let over = match self.options.until.clone() {
            Until::Never => false,
            Until::Idle => self.is_idle()?,
            Until::Decided(project, entry) => {
                is_decided(self.conductor.floor(), entry) && self.conductor.has_followed_up(&project)?
            }
            Until::Tried(id) => !self.conductor.floor().tries.get(&id).is_some_and(|t| t.state.is_live()),
            Until::Tidied => !is_being_tidied(self.conductor.floor()),
        };
        Ok(over.then(|| Stop::Idle { unfinished: self.unfinished() }))
    }

    fn take_in(&mut self, wake: Option<Time>, input: Option<Input>) -> StoreResult<Vec<Note>> {
        let now = (self.options.clock)();
        match input {
            None => {
                if wake.is_some_and(|at| now.since(at) > OVERSLEPT) {
                    self.conductor.submit(now, &Event::Resumed)?;
                }
                self.conductor.tick(now)
            }
            Some(Input::Event(event)) => self.conductor.submit(now, &event),
            Some(Input::Report(report)) => self.conductor.report(now, report),
            Some(Input::Hint(project)) => {
                self.watches.look(&project);
                self.conductor.hinted(project);
                Ok(Vec::new())
            }
            Some(Input::Poke | Input::Stop) => {
                self.conductor.poked()?;
                Ok(Vec::new())
            }
        }
    }

    /// Nothing was committed, so nothing is lost: once the store can be written to, the inputs are taken in,
    /// in order, and an effect whose outcome could not be noted is performed again. True: asked to stop.
    fn wait_for_the_store(&mut self, error: StoreError) -> StoreResult<bool> {
        let mut error = error;
        loop {
            (self.options.warn)(&format!("nothing goes on until the store can be written to again: {error}"));
            let until = Instant::now() + self.options.store_pause;
            loop {
                match self.inputs.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(Input::Stop) => return Ok(true),
                    Ok(input) => self.backlog.push_back(input),
                    Err(_) => break,
                }
            }
            match self.conductor.poked() {
                Ok(()) => return Ok(false),
                Err(e) if e.may_pass() => error = e,
                Err(e) => return Err(e),
            }
        }
    }

    /// The next input, or `None` when it is time to look at deadlines.
    fn next_input(&mut self, wake: Option<Time>) -> Option<Input> {
        if let Some(input) = self.backlog.pop_front() {
            return Some(input);
        }
        let Some(at) = wake else {
            return Some(self.inputs.recv().expect("the runner holds a sender"));
        };
        match self.inputs.recv_timeout(at.since((self.options.clock)())) {
            Ok(input) => Some(input),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the runner holds a sender"),
        }
    }

    fn start(&self, task: Task) {
        let (ports, sender) = (self.ports.clone(), self.sender.clone());
        std::thread::spawn(move || {
            let begun = Instant::now();
            let report = work_safely(&ports, task);
            log(&report, begun.elapsed());
            // If the loop has ended, the next one repeats the effect.
            let _ = sender.send(Input::Report(report));
        });
    }

    fn is_idle(&mut self) -> StoreResult<bool> {
        let quiet = self.conductor.is_quiet()?;
        let floor = self.conductor.floor();
        Ok(quiet
            && floor.jobs.iter().filter(|j| j.is_live()).all(|j| waits_for_a_person(floor, j))
            && of_people(floor).filter(|e| e.state.is_live()).all(|e| stands_still(floor, e)))
    }

    fn unfinished(&self) -> usize {
        let floor = self.conductor.floor();
        let waiting = floor.jobs.iter().filter(|j| j.is_live()).count()
            + of_people(floor).filter(|e| e.state.is_live()).count();
        // None of their work could be begun, and nobody can tell how much there was to do.
        let held = floor.outages().filter(|(_, outage)| outage.role.develops()).count();
        badly_ended(floor).saturating_sub(self.bad_before) + waiting.max(held)
    }
}

fn log(report: &Report, took: Duration) {
    match report {
        Report::Attempted { effect, attempt } => {
            let failed = matches!(attempt, Attempt::Failed(_));
            let (lane, action) = (effect.action.lane(), effect.action.name());
            tracing::debug!(effect = %effect.id, %lane, failed, ?took, "{action} was performed");
        }
        Report::Read { project, page, .. } => {
            tracing::debug!(%project, failed = page.is_err(), ?took, "its forge was read");
        }
    }
}

/// A task whose code panics has failed: its lane must not stay taken.
fn work_safely(ports: &Ports, task: Task) -> Report {
    let again = match &task {
        Task::Perform(effect) => Ok(effect.clone()),
        Task::ReadForge { project, .. } => Err(project.clone()),
    };
    catch_unwind(AssertUnwindSafe(|| work(ports, task))).unwrap_or_else(|_| {
        let why = "a bug: the program panicked; see its log".to_owned();
        match again {
            Ok(effect) => Report::Attempted { effect: *effect, attempt: Attempt::Failed(why) },
            Err(project) => Report::Read { project, page: Err(why), resync: None },
        }
    })
}

/// Whether something is being tidied, and nothing that keeps failing stands in the way.
pub fn is_being_tidied(floor: &Floor) -> bool {
    floor.projects.iter().any(|p| p.upkeep.ordered_at.is_some() && p.tidy_trouble().is_none())
}

/// Whether the entry is through the merge queue, or waits there for somebody to put the primary branch right.
pub fn is_decided(floor: &Floor, entry: EntryId) -> bool {
    let Some(entry) = floor.entries.get(&entry).filter(|e| e.state.is_live()) else { return true };
    let queue = floor.queues.get(&entry.queue());
    queue.is_some_and(|q| waits_for_the_primary(q, entry)) || waits_in_vain(floor, entry, &mut Vec::new())
}

fn waits_for_the_primary(queue: &Queue, entry: &Entry) -> bool {
    let red = queue.base_check.as_ref().is_some_and(|c| c.red);
    // Somebody may have put it right: that is being found out.
    (queue.lost.is_some() && !queue.finding) || (red && queue.is_parked(Who::Entry(entry.id)))
}

/// People's branches in the merge queue; the others are their jobs' concern.
fn of_people(floor: &Floor) -> impl Iterator<Item = &Entry> {
    floor.entries.iter().filter(|e| e.job.is_none())
}

/// Only a person can get the entry going again.
fn stands_still(floor: &Floor, entry: &Entry) -> bool {
    stands_still_before(floor, entry, &mut Vec::new())
}

/// `seen` holds the entries that wait for this one, so that a cycle is noticed.
fn stands_still_before(floor: &Floor, entry: &Entry, seen: &mut Vec<EntryId>) -> bool {
    let queue = floor.queues.get(&entry.queue());
    let held = queue.is_some_and(|q| q.holds(entry.priority).is_some() || waits_for_the_primary(q, entry));
    (held || waits_in_vain(floor, entry, seen)) && entry.state == EntryState::Queued
}

/// The entry lands after another branch, and nobody is working on that one, or it stands still itself.
fn waits_in_vain(floor: &Floor, entry: &Entry, seen: &mut Vec<EntryId>) -> bool {
    if floor.waits_for_branch(entry).is_none() {
        return false;
    }
    if seen.contains(&entry.id) {
        return true;
    }
    seen.push(entry.id);
    match floor.is_at_it(entry) {
        (Some(first), _) => stands_still_before(floor, first, seen),
        (None, Some(job)) => waits_for_a_person(floor, job),
        (None, None) => true,
    }
}

/// Only a person's word can move such a job, before a deadline hours away.
fn waits_for_a_person(floor: &Floor, job: &Job) -> bool {
    if floor.trouble_of(job).is_some_and(Trouble::is_asked) || floor.outage_of(job).is_some() {
        return true;
    }
    // None of its work continues before they say so. A person who only types there leaves by themselves.
    let at_rest = matches!(job.state, JobState::Working | JobState::Respawning { .. })
        || (matches!(job.state, JobState::Reviewing { .. }) && job.reviewer.put_off);
    if at_rest && floor.job_held(job).is_some() {
        return true;
    }
    if asks_a_person(floor, job) {
        return true;
    }
    match job.state {
        JobState::InQueue { entry, .. } => floor.entries.get(&entry).is_some_and(|e| stands_still(floor, e)),
        JobState::NeedsHuman { .. } => true,
        JobState::Preparing => {
            RunWaiting::behind(floor, job).is_some_and(|before| waits_for_a_person(floor, before))
        }
        JobState::Parked { .. } => {
            let queue = floor.queues.get(&job.queue());
            queue.is_some_and(|q| {
                q.base_check.as_ref().is_some_and(|c| c.red) && q.is_parked(Who::Job(job.id))
            })
        }
        JobState::Reviewing { .. } => job.reviewer.session.is_none() && !job.reviewer.wanted,
        _ => false,
    }
}

/// Whether the agent whose turn it is waits in a dialog that nobody has answered.
fn asks_a_person(floor: &Floor, job: &Job) -> bool {
    let whose = match job.state {
        JobState::Working => job.session,
        JobState::Reviewing { .. } => job.reviewer.session,
        _ => None,
    };
    let asks = whose.and_then(|epoch| floor.sessions.get(&epoch)?.asks.open.as_ref());
    asks.is_some_and(|ask| ask.answer.is_none() && ask.stops_it())
}

fn badly_ended(floor: &Floor) -> usize {
    let failed = |e: &&Entry| matches!(e.state, EntryState::Failed { .. } | EntryState::Conflicted { .. });
    floor.jobs.iter().filter(|j| matches!(j.end(), Some(End::Blocked | End::Failed))).count()
        + of_people(floor).filter(failed).count()
}
