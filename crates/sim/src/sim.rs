//! Plays one seed: a queue of events on a virtual clock, including the daemon's.

mod ending;
mod life;
mod site;

use crate::agents::Wish;
use crate::daemon::{Arrival, Daemon};
use crate::human::Whim;
use crate::human::runs::next_step;
use crate::plan;
use crate::store::CrashingStore;
use crate::together::{self, Together, of_project};
use crate::trouble::Stir;
use crate::world::{Crash, Mutation, Worlds};
use shopfloor_core::event::{Event, StepSaid};
use shopfloor_core::ids::Epoch;
use shopfloor_core::phase::{Phase, PhaseReport};
use shopfloor_core::state::Run;
use shopfloor_core::step::may_say;
use shopfloor_core::time::Time;
use shopfloor_engine::{Engine, Task};
use shopfloor_store::memory::MemoryStore;
use shopfloor_store::{JournalEntry, OutboxEffect, Store};
use site::Site;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Once;
use std::time::Duration;

/// How a run went.
pub struct Report {
    pub seed: u64,
    pub trace: Vec<String>,
    pub violations: Vec<String>,
    pub coverage: BTreeMap<&'static str, u64>,
    pub steps: u64,
    pub crash_points: u64,
}

/// When the daemon dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crashes {
    /// Now and then, as the seed decides.
    Seeded,
    Never,
    /// Once, at that one of all the places where it could die.
    At(u64),
}

enum Wake {
    /// For the daemon of that generation; a later one knows nothing about it.
    Daemon(u64, Arrival),
    /// For whichever daemon there is then.
    Any(Arrival),
    StartDaemon,
    /// In the world of that number.
    In(usize, Happening),
}

/// What happens in the world of one project.
enum Happening {
    Agent(Epoch),
    Client(Epoch, Stir),
    /// A signal from a session that is gone.
    Ghost(Epoch),
    Person(Whim),
    /// A person queues a branch, or deletes it.
    Queue(String),
    Delete(String),
}

struct Sim {
    worlds: Worlds,
    /// What is kept about each world, in their order.
    sites: Vec<Site>,
    store: MemoryStore,
    /// Another process on the same store: the command line, and the checker's eyes.
    cli: Engine<MemoryStore>,
    daemon: Option<Daemon>,
    zombie: Option<Engine<CrashingStore>>,
    generation: u64,
    crashes: Crashes,
    crashes_left: u64,
    queue: BTreeMap<(Time, u64), Wake>,
    number: u64,
    /// The invariants of all projects together.
    together: Together,
}

/// More than any run needs for each project; a run that needs more does not end.
const STEPS_MAX: u64 = 30_000;

/// Plays a seed.
pub fn run(seed: u64, mutation: Option<Mutation>) -> Report {
    play(seed, mutation, Crashes::Seeded)
}

/// Plays a seed in fair weather; the daemon dies at one place, or nowhere.
pub fn run_with_crash(seed: u64, crash_at: Option<u64>) -> Report {
    play(seed, None, crash_at.map_or(Crashes::Never, Crashes::At))
}

fn play(seed: u64, mutation: Option<Mutation>, crashes: Crashes) -> Report {
    hush();
    let mut sim = Sim::new(seed, mutation, crashes);
    let mut steps = 0;
    while !sim.is_broken() {
        steps += 1;
        if steps > STEPS_MAX * sim.sites.len() as u64 {
            sim.worlds.first().lock().broken("7 every wait has a deadline", "the run does not end");
            break;
        }
        if !sim.step() {
            break;
        }
    }
    if !sim.is_broken() {
        sim.finale();
    }
    sim.report(seed, steps)
}

/// Simulated crashes are not worth a message.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<Crash>() {
                before(info);
            }
        }));
    });
}

impl Sim {
    fn new(seed: u64, mutation: Option<Mutation>, crashes: Crashes) -> Sim {
        let rough = crashes == Crashes::Seeded;
        let mut worlds = plan::worlds(seed, mutation, rough);
        let crashes_left = worlds[0].rng.below(9) * u64::from(rough);
        let mut filed = Vec::new();
        for (number, world) in worlds.iter_mut().enumerate() {
            let person = |(at, whim)| (at, Wake::In(number, Happening::Person(whim)));
            filed.extend(plan::issues(world, rough).into_iter().map(person));
        }
        let store = MemoryStore::default();
        worlds.iter_mut().for_each(|world| world.store = Some(store.clone()));
        let cli = Engine::open(store.clone()).expect("the memory store opens");
        let projects = worlds.iter().enumerate();
        let sites = projects.map(|(number, world)| Site::new(number, world.project.clone())).collect();
        let mut sim = Sim {
            worlds: Worlds::new(worlds),
            sites,
            store,
            cli,
            daemon: None,
            zombie: None,
            generation: 0,
            crashes,
            crashes_left,
            queue: BTreeMap::new(),
            number: 0,
            together: Together::default(),
        };
        for (at, wake) in filed {
            sim.at(at, wake);
        }
        for number in 0..sim.sites.len() {
            let plan = plan::whims(&mut sim.worlds.at(number).lock());
            for (at, whim) in plan {
                sim.at(at, Wake::In(number, Happening::Person(whim)));
            }
        }
        sim.at(sim.worlds.now(), Wake::StartDaemon);
        sim
    }

    fn is_broken(&self) -> bool {
        self.worlds.iter().any(|world| !world.lock().violations.is_empty())
    }

    fn report(self, seed: u64, steps: u64) -> Report {
        let (trace, violations, coverage) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut report = Report { seed, trace, violations, coverage, steps, crash_points: 0 };
        for world in self.worlds.iter() {
            let mut world = world.lock();
            report.trace.append(&mut world.trace);
            report.violations.append(&mut world.violations);
            for (what, times) in &world.coverage {
                *report.coverage.entry(what).or_default() += times;
            }
            report.crash_points += world.crash_points;
        }
        // In chronological order, across all worlds.
        report.trace.sort_by_key(|line| line.split_whitespace().next().and_then(|at| at.parse::<u64>().ok()));
        report
    }

    fn at(&mut self, time: Time, wake: Wake) {
        self.number += 1;
        self.queue.insert((time, self.number), wake);
    }

    /// Makes the next thing happen. False when nothing is left to happen.
    fn step(&mut self) -> bool {
        let next = self.queue.first_key_value().map(|((time, _), _)| *time);
        let alarm = self.daemon.as_ref().and_then(super::daemon::Daemon::wake);
        let Some(time) = [next, alarm].into_iter().flatten().min() else { return false };
        if next.is_none() && self.is_quiet() {
            return false;
        }
        self.worlds.pass(|now| now.max(time));
        if next == Some(time) {
            let (_, wake) = self.queue.pop_first().expect("just seen");
            self.happen(wake);
        } else {
            self.with_daemon(Daemon::tick);
        }
        self.with_daemon(Daemon::dispatch);
        self.settle();
        true
    }

    fn happen(&mut self, wake: Wake) {
        match wake {
            Wake::Daemon(generation, input) => {
                if generation == self.generation {
                    // The narrow spots of the queue are where somebody interferes.
                    let narrow = match &input {
                        Arrival::Begin(Task::Perform(q)) if q.action.lane().starts_with("queue:") => {
                            q.action.project().map(|project| self.worlds.number(project))
                        }
                        _ => None,
                    };
                    self.interfere(narrow);
                    self.with_daemon(|d| d.take_in(input));
                    self.interfere(narrow);
                    for number in 0..self.sites.len() {
                        let mut world = self.worlds.at(number).lock();
                        let unanswered = std::mem::take(&mut world.unanswered);
                        let faster = unanswered && world.rng.permille(400);
                        drop(world);
                        if faster {
                            // Somebody is faster than the repeated request.
                            self.happen_in(number, Happening::Person(Whim::Rewind));
                        }
                    }
                }
            }
            Wake::Any(input) => self.with_daemon(|d| d.take_in(input)),
            Wake::StartDaemon => self.start_daemon(),
            Wake::In(number, what) => self.happen_in(number, what),
        }
    }

    fn happen_in(&mut self, number: usize, what: Happening) {
        let shared = self.worlds.at(number).clone();
        let project = self.sites[number].project.clone();
        match what {
            Happening::Agent(epoch) => {
                self.refresh();
                let asks = shared.lock().some_act(epoch, self.cli.floor());
                if let Some(event) = asks {
                    self.submit_from_outside(&event);
                }
                let wish = shared.lock().agent_act(epoch);
                match wish {
                    Wish::Nothing => {}
                    Wish::TakeMessage(epoch) => self.take_message(number, epoch),
                    Wish::SayStep(epoch) => self.say_step(number, epoch),
                }
            }
            Happening::Client(epoch, stir) => shared.lock().stir(epoch, stir),
            Happening::Ghost(epoch) => {
                let event = {
                    let mut world = shared.lock();
                    world.saw("stale signal");
                    world.say(format!("a ghost of session {epoch} signals"));
                    let phase = Phase::ALL[world.rng.below(5) as usize];
                    let report = PhaseReport::new(phase);
                    Event::PhaseWritten { epoch, stamp: format!("ghost-{epoch}"), report }
                };
                self.submit_from_outside(&event);
            }
            Happening::Queue(branch) => {
                self.refresh();
                let floor = of_project(self.cli.floor(), &self.worlds, &project);
                let event = shared.lock().ask_for(&branch, &project, &floor);
                if let Some(event) = event {
                    shared.lock().a_person_asks(&event);
                    self.submit_from_outside(&event);
                }
            }
            Happening::Delete(branch) => shared.lock().delete_branch(&branch),
            Happening::Person(whim) => {
                let undone = match whim {
                    Whim::Pause => Some(Whim::Resume),
                    Whim::TakeJob => Some(Whim::HandBack),
                    Whim::PauseWork => Some(Whim::ResumeWork),
                    _ => None,
                };
                if whim == Whim::PutRight {
                    // If it still stands still, they look again.
                    self.sites[number].righting.clear();
                }
                if let Some(later) = undone {
                    let (now, minutes) = {
                        let mut world = shared.lock();
                        (world.now, world.rng.range(1, 300))
                    };
                    let later = Wake::In(number, Happening::Person(later));
                    self.at(now + Duration::from_secs(60 * minutes), later);
                }
                self.refresh();
                self.sites[number].unsticking &= whim != Whim::Unstick;
                let floor = of_project(self.cli.floor(), &self.worlds, &project);
                let event = shared.lock().whim(whim, &project, &floor);
                if let Some(event) = event {
                    let agents = shared.lock().an_agent_asks_first(&event, &project);
                    if let Some(agents) = agents {
                        self.submit_from_outside(&agents);
                    }
                    shared.lock().a_person_asks(&event);
                    self.submit_from_outside(&event);
                }
                self.poke();
            }
        }
    }

    /// A person, or an agent, does something at the worst moment.
    fn interfere(&mut self, narrow: Option<usize>) {
        let Some(number) = narrow else { return };
        let whim = {
            let mut world = self.worlds.at(number).lock();
            if !world.rng.permille(40) {
                return;
            }
            world.saw("interference");
            let whims = [
                Whim::PushPrimary,
                Whim::LandByPerson,
                Whim::Cancel,
                Whim::CloseIssue,
                Whim::ReviewSomething,
                Whim::ReviewSomething,
                Whim::PushBug,
                Whim::RefuseToMerge,
                Whim::AskToMerge,
                Whim::QueueBranch,
                Whim::MoveBranch,
                Whim::Rewind,
                Whim::Rewind,
                Whim::DeleteTarget,
            ];
            *world.rng.pick(&whims).expect("not empty")
        };
        self.happen_in(number, Happening::Person(whim));
    }

    fn refresh(&mut self) {
        self.cli.refresh().expect("the memory store reads");
    }

    fn poke(&mut self) {
        self.at(self.worlds.now(), Wake::Any(Arrival::Poke));
    }

    /// A process beside the daemon commits an event.
    fn submit_from_outside(&mut self, event: &Event) {
        self.refresh();
        let now = self.worlds.now();
        let before = match event {
            Event::PhaseWritten { epoch, .. } => self.sites[0].checker.owner_of(self.cli.floor(), *epoch),
            _ => None,
        };
        let committed = self.cli.submit(now, event);
        let mut world = self.worlds.first().lock();
        if let Err(error) = committed {
            world.broken("4 commit, then act", format!("a commit failed: {error}"));
        }
        if let Some((job, epoch)) = before {
            let checker = &self.sites[0].checker;
            checker.stale_signals_change_nothing(&mut world, self.cli.floor(), &job, epoch);
        }
        drop(world);
        self.poke();
    }

    fn take_message(&mut self, number: usize, epoch: Epoch) {
        self.refresh();
        let Some(message) = self.cli.floor().next_message(epoch) else { return };
        let (message, text) = (message.id, message.text.clone());
        self.submit_from_outside(&Event::MessageTaken { message, epoch });
        let mut world = self.worlds.at(number).lock();
        let world = &mut *world;
        let Some(proc) = world.procs.get_mut(&epoch) else { return };
        proc.read(&text, &mut world.rng);
        let at = world.now + Duration::from_millis(world.rng.range(500, 120_000));
        world.agent_acts.push((at, epoch));
    }

    /// What `shopfloor step done` and `step skip` do for an agent.
    fn say_step(&mut self, number: usize, epoch: Epoch) {
        self.refresh();
        let floor = self.cli.floor();
        let run = floor.sessions.get(&epoch).and_then(|session| floor.run_of(session.job));
        let next = run.and_then(next_step);
        let (through, late) = (run.is_none_or(Run::is_through), {
            let mut world = self.worlds.at(number).lock();
            world.rng.permille(40)
        });
        let first = run.and_then(|run| run.recipe.steps.first()).map(|step| step.id.clone());
        // Now and then of one that is over, or not its own.
        if let Some(step) = if late { first } else { next.clone() } {
            let skip = self.worlds.at(number).lock().rng.permille(100);
            let may = may_say(self.cli.floor(), epoch, &step).is_ok();
            self.worlds.at(number).lock().saw(match (may, skip) {
                (false, _) => "step refused",
                (true, true) => "step passed over",
                (true, false) => "step done",
            });
            let said = StepSaid { step, skip, note: "so it is".to_owned() };
            self.submit_from_outside(&Event::StepSaid { epoch, said });
        }
        let mut world = self.worlds.at(number).lock();
        world.steps_said(epoch, through, next.is_some());
    }

    /// Schedules what the worlds asked for, and checks everything.
    fn settle(&mut self) {
        let mut wakes = Vec::new();
        for (site, world) in self.sites.iter_mut().zip(self.worlds.iter()) {
            wakes.extend(site.wakes(&mut world.lock()));
        }
        self.refresh();
        let outbox = self.cli.outbox().expect("the memory store reads");
        let seen = self.sites[0].checker.position;
        let journal = self.cli.store().journal(seen, usize::MAX).expect("the memory store reads");
        let newest = journal.last().map_or(seen, |last| last.seq);
        for (site, world) in self.sites.iter_mut().zip(self.worlds.iter()) {
            let known = site.own.take().filter(|(at, _)| *at == newest);
            let floor = known.map_or_else(
                || of_project(self.cli.floor(), &self.worlds, &site.project),
                |(_, own)| Cow::Owned(own),
            );
            let mut world = world.lock();
            wakes.extend(site.hear_of_trouble(&mut world, &floor));
            let name = site.project.as_str();
            let is_own = |e: &&JournalEntry| e.project.as_deref().is_none_or(|of| of == name);
            let entries: Vec<JournalEntry> = journal.iter().filter(is_own).cloned().collect();
            let own: Vec<OutboxEffect> =
                outbox.iter().filter(|q| together::is_of(q, &site.project)).cloned().collect();
            site.checker.after_step(&mut world, &floor, &own, &entries);
            site.checker.position = newest;
            wakes.extend(site.hear_of_red(&mut world, &entries));
            wakes.extend(site.hear_of_waits(&mut world, &floor, &entries));
            if let Cow::Owned(own) = floor {
                site.own = Some((newest, own));
            }
        }
        self.together.after_step(&self.worlds, self.cli.floor(), &outbox, newest > seen);
        for (time, wake) in wakes {
            self.at(time, wake);
        }
    }
}
