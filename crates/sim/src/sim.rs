//! Plays one seed: a queue of things to happen on a virtual clock, the daemon among them.

mod ending;
mod life;

use crate::agents::Wish;
use crate::check::Checker;
use crate::daemon::{Daemon, Input};
use crate::git::branch_of;
use crate::human::Whim;
use crate::plan;
use crate::store::CrashingStore;
use crate::trouble::Stir;
use crate::world::{Crash, Mutation, Shared, Weather, World};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, ProjectName, QueueId};
use shopfloor_core::phase::{Phase, PhaseReport};
use shopfloor_core::policy::Policy;
use shopfloor_core::state::{Entry, LostPrimary, Queue};
use shopfloor_core::time::Time;
use shopfloor_engine::{Engine, Task};
use shopfloor_store::Store;
use shopfloor_store::memory::SharedMemoryStore;
use std::collections::{BTreeMap, BTreeSet};
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
    /// Now and then, as the seed says.
    Seeded,
    Never,
    /// Once, at that place of all places it could.
    At(u64),
}

enum Wake {
    /// For the daemon of that generation; a later one knows nothing of it.
    Daemon(u64, Input),
    /// For whatever daemon there is then.
    Any(Input),
    StartDaemon,
    Agent(Epoch),
    Client(Epoch, Stir),
    /// A signal of a session that is gone.
    Ghost(Epoch),
    Person(Whim),
    /// A person queues a branch, or deletes it.
    Queue(String),
    Delete(String),
}

struct Sim {
    world: Shared,
    store: SharedMemoryStore,
    /// Another process at the same store: the command line, and the checker's eyes.
    cli: Engine<SharedMemoryStore>,
    daemon: Option<Daemon>,
    zombie: Option<Engine<CrashingStore>>,
    generation: u64,
    crashes: Crashes,
    crashes_left: u64,
    queue: BTreeMap<(Time, u64), Wake>,
    number: u64,
    poked_for: Option<Time>,
    /// A person has seen that such a branch is red.
    mending: BTreeSet<String>,
    /// A person knows that a queue stands still for where its branch is.
    righting: Vec<(QueueId, LostPrimary)>,
    /// A person will see to what waits in vain, as they were told.
    unsticking: bool,
    /// Moves of branches that work lands on of which the daemon was told.
    moves: usize,
    checker: Checker,
    project: ProjectName,
}

/// More than any run needs; one that needs more does not end.
const STEPS_MAX: u64 = 30_000;

/// Plays a seed.
pub fn run(seed: u64, mutation: Option<Mutation>) -> Report {
    play(seed, mutation, Crashes::Seeded)
}

/// Plays a seed in fair weather, with the daemon's death at one place or none.
pub fn run_with_crash(seed: u64, crash_at: Option<u64>) -> Report {
    play(seed, None, crash_at.map_or(Crashes::Never, Crashes::At))
}

fn play(seed: u64, mutation: Option<Mutation>, crashes: Crashes) -> Report {
    hush();
    let mut sim = Sim::new(seed, mutation, crashes);
    let mut steps = 0;
    while sim.checker.violations_in(&sim.world) == 0 {
        steps += 1;
        if steps > STEPS_MAX {
            sim.world.lock().broken("7 every wait has a deadline", "the run does not end");
            break;
        }
        if !sim.step() {
            break;
        }
    }
    if sim.checker.violations_in(&sim.world) == 0 {
        sim.finale();
    }
    let mut world = sim.world.lock();
    Report {
        seed,
        trace: std::mem::take(&mut world.trace),
        violations: std::mem::take(&mut world.violations),
        coverage: std::mem::take(&mut world.coverage),
        steps,
        crash_points: world.crash_points,
    }
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

/// A person mends, in a while, what has become red.
fn see_red(mending: &mut BTreeSet<String>, world: &mut World) -> Vec<(Time, Wake)> {
    let mut wakes = Vec::new();
    for target in world.landed_on() {
        let branch = branch_of(target.as_ref());
        let red = world.git.tip(target.as_ref()).is_some_and(|tip| world.git.is_red(tip));
        if !red {
            mending.remove(branch);
        } else if mending.insert(branch.to_owned()) {
            let late = Duration::from_secs(60 * world.rng.range(1, 240));
            wakes.push((world.now + late, Wake::Person(Whim::Mend)));
        }
    }
    wakes
}

impl Sim {
    fn new(seed: u64, mutation: Option<Mutation>, crashes: Crashes) -> Sim {
        let mut world = World::new(seed, Policy::default(), mutation);
        world.policy = plan::policy(&mut world.rng);
        plan::queues(&mut world);
        world.weather = plan::weather(&mut world.rng);
        world.storm = plan::storm(&mut world);
        let mut crashes_left = world.rng.below(9);
        if crashes != Crashes::Seeded {
            world.weather = Weather::default();
            world.storm = None;
            crashes_left = 0;
        }
        let store = SharedMemoryStore::default();
        let cli = Engine::open(store.clone()).expect("the memory store opens");
        let mut queue = BTreeMap::new();
        // Now and then a crowd, so that many are in the merge queue at once.
        let crowd = crashes == Crashes::Seeded && world.rng.permille(80);
        let (issues, apart) = if crowd { (world.rng.range(5, 9), 60) } else { (world.rng.range(1, 4), 3600) };
        if crowd {
            world.policy.max_jobs = issues as usize;
        }
        for number in 0..issues {
            let at = world.now + Duration::from_secs(number * world.rng.below(apart));
            queue.insert((at, number), Wake::Person(Whim::FileIssue));
        }
        let now = world.now;
        let mut sim = Sim {
            world: Shared::new(world),
            store,
            cli,
            daemon: None,
            zombie: None,
            generation: 0,
            crashes,
            crashes_left,
            queue,
            number: 100,
            poked_for: None,
            mending: BTreeSet::new(),
            righting: Vec::new(),
            unsticking: false,
            moves: 0,
            checker: Checker::default(),
            project: "sim".parse().expect("a valid name"),
        };
        let plan = plan::whims(&mut sim.world.lock());
        for (at, whim) in plan {
            sim.at(at, Wake::Person(whim));
        }
        sim.at(now, Wake::StartDaemon);
        sim
    }

    fn at(&mut self, time: Time, wake: Wake) {
        self.number += 1;
        self.queue.insert((time, self.number), wake);
    }

    /// Makes the next thing happen. False when nothing is left to happen.
    fn step(&mut self) -> bool {
        let next = self.queue.first_key_value().map(|((time, _), _)| *time);
        let alarm = self.daemon.as_ref().and_then(|d| d.wake());
        let Some(time) = [next, alarm].into_iter().flatten().min() else { return false };
        if next.is_none() && self.is_quiet() {
            return false;
        }
        {
            let mut world = self.world.lock();
            world.now = world.now.max(time);
        }
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
                    // The narrow places of the queue are where somebody interferes.
                    let narrow = matches!(&input, Input::Begin(Task::Perform(q)) if q.action.lane().starts_with("queue:"));
                    self.interfere(narrow);
                    self.with_daemon(|d| d.take_in(input));
                    self.interfere(narrow);
                    let unanswered = std::mem::take(&mut self.world.lock().unanswered);
                    if unanswered && self.world.lock().rng.permille(400) {
                        // Somebody is faster than whoever asks again.
                        self.happen(Wake::Person(Whim::Rewind));
                    }
                }
            }
            Wake::Any(input) => self.with_daemon(|d| d.take_in(input)),
            Wake::StartDaemon => self.start_daemon(),
            Wake::Agent(epoch) => {
                let wish = self.world.lock().agent_act(epoch);
                if let Wish::TakeMessage(epoch) = wish {
                    self.take_message(epoch);
                }
            }
            Wake::Client(epoch, stir) => self.world.lock().stir(epoch, stir),
            Wake::Ghost(epoch) => {
                let event = {
                    let mut world = self.world.lock();
                    world.saw("stale signal");
                    world.say(format!("a ghost of session {epoch} signals"));
                    let phase = Phase::ALL[world.rng.below(5) as usize];
                    let report = PhaseReport::new(phase);
                    Event::PhaseWritten { epoch, stamp: format!("ghost-{epoch}"), report }
                };
                self.submit_from_outside(&event);
            }
            Wake::Queue(branch) => {
                self.refresh();
                let event = self.world.lock().ask_for(&branch, &self.project, self.cli.floor());
                if let Some(event) = event {
                    self.submit_from_outside(&event);
                }
            }
            Wake::Delete(branch) => self.world.lock().delete_branch(&branch),
            Wake::Person(whim) => {
                let undone = match whim {
                    Whim::Pause => Some(Whim::Resume),
                    Whim::TakeJob => Some(Whim::HandBack),
                    Whim::PauseWork => Some(Whim::ResumeWork),
                    _ => None,
                };
                if whim == Whim::PutRight {
                    // If it stands still all the same, they look again.
                    self.righting.clear();
                }
                if let Some(later) = undone {
                    let (now, minutes) = {
                        let mut world = self.world.lock();
                        (world.now, world.rng.range(1, 300))
                    };
                    self.at(now + Duration::from_secs(60 * minutes), Wake::Person(later));
                }
                self.refresh();
                self.unsticking &= whim != Whim::Unstick;
                let event = self.world.lock().whim(whim, &self.project, self.cli.floor());
                if let Some(event) = event {
                    self.submit_from_outside(&event);
                }
                self.poke();
            }
        }
    }

    /// A person, or an agent, does something at the worst moment.
    fn interfere(&mut self, narrow: bool) {
        if !narrow {
            return;
        }
        let whim = {
            let mut world = self.world.lock();
            if !world.rng.permille(40) {
                return;
            }
            world.saw("interference");
            let whims = [
                Whim::PushPrimary,
                Whim::LandByHand,
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
        self.happen(Wake::Person(whim));
    }

    fn refresh(&mut self) {
        self.cli.refresh().expect("the memory store reads");
    }

    fn poke(&mut self) {
        let now = self.world.lock().now;
        self.at(now, Wake::Any(Input::Poke));
    }

    /// A process beside the daemon commits an event.
    fn submit_from_outside(&mut self, event: &Event) {
        self.refresh();
        let now = self.world.lock().now;
        let before = match event {
            Event::PhaseWritten { epoch, .. } => self.checker.owner_of(self.cli.floor(), *epoch),
            _ => None,
        };
        if let Err(error) = self.cli.submit(now, event) {
            self.world.lock().broken("4 commit, then act", format!("a commit failed: {error}"));
        }
        if let Some((job, epoch)) = before {
            self.checker.stale_signals_change_nothing(&mut self.world.lock(), self.cli.floor(), &job, epoch);
        }
        self.poke();
    }

    fn take_message(&mut self, epoch: Epoch) {
        self.refresh();
        let Some(message) = self.cli.floor().next_message(epoch) else { return };
        let (message, text) = (message.id, message.text.clone());
        self.submit_from_outside(&Event::MessageTaken { message, epoch });
        let mut world = self.world.lock();
        let world = &mut *world;
        let Some(proc) = world.procs.get_mut(&epoch) else { return };
        proc.read(&text, &mut world.rng);
        let at = world.now + Duration::from_millis(world.rng.range(500, 120_000));
        world.agent_acts.push((at, epoch));
    }

    /// Schedules what the world asked for, and checks everything.
    fn settle(&mut self) {
        let mut wakes = Vec::new();
        let visible;
        {
            let mut world = self.world.lock();
            let now = world.now;
            for (time, epoch) in std::mem::take(&mut world.agent_acts) {
                wakes.push((time, Wake::Agent(epoch)));
            }
            for (time, epoch, stir) in std::mem::take(&mut world.stirs) {
                wakes.push((time, Wake::Client(epoch, stir)));
            }
            for epoch in std::mem::take(&mut world.stirred) {
                let late = Duration::from_millis(world.rng.range(0, 1_500));
                wakes.push((now + late, Wake::Any(Input::Attend(epoch))));
            }
            for epoch in std::mem::take(&mut world.notices) {
                let late = Duration::from_millis(world.rng.range(0, 1_500));
                wakes.push((now + late, Wake::Any(Input::Look(epoch))));
                let dead = world.procs.get(&epoch).is_some_and(|p| !p.alive);
                if dead && world.rng.permille(80) {
                    let late = Duration::from_millis(world.rng.range(1_000, 7_200_000));
                    wakes.push((now + late, Wake::Ghost(epoch)));
                }
            }
            if world.git.moves[self.moves..].iter().any(|m| m.entries.is_none()) {
                let late = Duration::from_millis(world.rng.range(0, 1_500));
                wakes.push((now + late, Wake::Any(Input::LookAtHub)));
            }
            self.moves = world.git.moves.len();
            let to_queue = std::mem::take(&mut world.to_queue).into_iter();
            wakes.extend(to_queue.map(|(at, branch)| (at, Wake::Queue(branch))));
            let deletions = std::mem::take(&mut world.deletions).into_iter();
            wakes.extend(deletions.map(|(at, branch)| (at, Wake::Delete(branch))));
            visible = world.forge.visible_after(now);
            wakes.extend(see_red(&mut self.mending, &mut world));
        }
        for (time, wake) in wakes {
            self.at(time, wake);
        }
        if let Some(time) = visible
            && self.poked_for != visible
        {
            self.poked_for = visible;
            self.at(time, Wake::Any(Input::Poke));
        }
        self.refresh();
        self.hear_of_trouble();
        let outbox = self.cli.outbox().expect("the memory store reads");
        let seen = self.checker.position;
        let entries = self.cli.store().journal(seen, usize::MAX).expect("the memory store reads");
        self.checker.after_step(&mut self.world.lock(), self.cli.floor(), &outbox, &entries);
        let told = |e: &Entry| e.state.is_live() && e.waits_told.is_some();
        let takes_long =
            |e: &shopfloor_store::Entry| e.kind == "ESCALATION" && e.text.contains("merging takes longer");
        let waits = self.cli.floor().entries.iter().any(told) || entries.iter().any(takes_long);
        if waits && !std::mem::replace(&mut self.unsticking, true) {
            let mut world = self.world.lock();
            let at = world.now + Duration::from_secs(60 * world.rng.range(1, 120));
            drop(world);
            self.at(at, Wake::Person(Whim::Unstick));
        }
    }

    /// A person puts right, in a while, what a queue stands still for.
    fn hear_of_trouble(&mut self) {
        let lost = |q: &Queue| Some((q.id(), q.lost.clone()?));
        let lost: Vec<(QueueId, LostPrimary)> = self.cli.floor().queues.iter().filter_map(lost).collect();
        let news = lost.iter().filter(|lost| !self.righting.contains(lost)).count();
        self.righting = lost;
        for _ in 0..news {
            let mut world = self.world.lock();
            world.saw("queue stands still for its branch");
            let at = world.now + Duration::from_secs(60 * world.rng.range(1, 240));
            drop(world);
            self.at(at, Wake::Person(Whim::PutRight));
        }
    }
}
