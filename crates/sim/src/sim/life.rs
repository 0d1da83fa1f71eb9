//! The daemon's life in a run: it starts, dies, and is started again on the same store, beside what is left
//! of its predecessor.

use super::{Crashes, Sim, Wake};
use crate::daemon::Daemon;
use crate::store::CrashingStore;
use crate::world::{Crash, Shared};
use shopfloor_core::effect::outcome;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Epoch;
use shopfloor_engine::Engine;
use shopfloor_store::{StoreError, StoreResult};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

impl Sim {
    pub(super) fn start_daemon(&mut self) {
        if self.daemon.is_some() {
            return;
        }
        self.generation += 1;
        if self.crashes_left > 0 {
            self.crashes_left -= 1;
            // If there are several worlds, the one in which it dies is drawn too.
            let mut world = self.worlds.first().lock();
            let number = if world.several { world.rng.below(self.sites.len() as u64) as usize } else { 0 };
            let within = if world.rng.permille(300) { 20 } else { 400 };
            let crash_in = Some(world.rng.range(1, within));
            drop(world);
            self.worlds.iter().for_each(|world| world.lock().crash_in = None);
            self.worlds.at(number).lock().crash_in = crash_in;
        } else {
            let first = self.generation == 1;
            let crash_in = match self.crashes {
                Crashes::At(place) if first => Some(place),
                _ => None,
            };
            self.worlds.iter().for_each(|world| world.lock().crash_in = crash_in);
        }
        let store = CrashingStore { inner: self.store.clone(), world: self.worlds.first().clone() };
        let mut engine = Engine::open(store).expect("the memory store opens");
        engine.take_lease().expect("the memory store gives a lease");
        self.worlds.first().lock().say(format!("daemon {} starts", self.generation));
        let daemon = Daemon::start(engine, self.worlds.clone());
        self.daemon = Some(daemon);
        let set = |world: &Shared| {
            let world = world.lock();
            let (project, policy) = (world.project.clone(), world.policy.clone());
            Event::ProjectSet { project, checkout: "checkout".into(), policy }
        };
        let set: Vec<Event> = self.worlds.iter().map(set).collect();
        self.with_daemon(|d| {
            set.iter().try_for_each(|set| d.submit(set))?;
            d.after_restart()
        });
        self.wake_the_zombie();
    }

    /// The previous daemon tries to continue. It must not be able to.
    pub(super) fn wake_the_zombie(&mut self) {
        // It is a zombie only beside a newer daemon.
        let Some(mut zombie) = self.zombie.take_if(|_| self.daemon.is_some()) else { return };
        let (crash_in, weather, now) = {
            let mut world = self.worlds.first().lock();
            world.saw("zombie");
            (world.crash_in.take(), std::mem::take(&mut world.weather), world.now)
        };
        let effect = zombie.outbox().ok().and_then(|o| o.into_iter().next());
        let tried = match effect {
            Some(effect) => {
                let outcome = shopfloor_core::effect::Outcome::Impossible(outcome::Impossible {
                    why: "from a zombie".into(),
                });
                zombie.complete(now, &effect, outcome).map(|_| ())
            }
            None => zombie.submit(now, &Event::Tick).map(|_| ()),
        };
        let mut world = self.worlds.first().lock();
        if !matches!(tried, Err(StoreError::Fenced)) {
            world.broken("4 commit, then act", format!("an old daemon committed: {tried:?}"));
        }
        world.crash_in = crash_in;
        world.weather = weather;
    }

    /// Lets the daemon do something, which may kill it.
    pub(super) fn with_daemon(&mut self, act: impl FnOnce(&mut Daemon) -> StoreResult<()>) {
        let Some(mut daemon) = self.daemon.take() else { return };
        let done = catch_unwind(AssertUnwindSafe(|| act(&mut daemon)));
        match done {
            Ok(Ok(())) => {
                let now = self.worlds.now();
                for (late, input) in std::mem::take(&mut daemon.out) {
                    self.at(now + late, Wake::Daemon(self.generation, input));
                }
                self.daemon = Some(daemon);
            }
            Ok(Err(error)) => {
                self.worlds.first().lock().say(format!("daemon stops: {error}"));
                self.restart_later(None);
            }
            Err(panic) if panic.is::<Crash>() => self.restart_later(Some(daemon.conductor.into_engine())),
            Err(panic) => {
                let text = panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
                    .unwrap_or_default();
                self.worlds.first().lock().broken("the code panicked", text);
            }
        }
    }

    pub(super) fn restart_later(&mut self, old: Option<Engine<CrashingStore>>) {
        let now;
        {
            let mut world = self.worlds.first().lock();
            if world.rng.permille(300) {
                self.zombie = old;
            }
            let reboots = world.rng.permille(150);
            drop(world);
            for world in self.worlds.iter().filter(|_| reboots) {
                let mut world = world.lock();
                world.say("the machine reboots");
                world.saw("reboot");
                let live: Vec<Epoch> = world.procs.values().filter(|p| p.alive).map(|p| p.epoch).collect();
                for epoch in live {
                    world.die(epoch, None, "dies with the machine");
                }
            }
            let mut world = self.worlds.first().lock();
            now = world.now + Duration::from_millis(world.rng.range(100, 60_000));
        }
        self.at(now, Wake::StartDaemon);
    }
}
