//! The fake ports, one file each, all on one [`crate::world::World`].

mod agents;
mod chain;
mod ci;
mod forge;
pub mod health;
mod merger;
pub mod schedules;
pub mod steps;
pub mod vault;
mod workspace;

use crate::world::{Mutation, Shared};
use shopfloor_core::effect::outcome::{Amount, Pruned};
use shopfloor_core::effect::{CommandEnd, Telling, Tidy};
use shopfloor_engine::ports::{
    Archive, Escalation, Escalations, Notices, Outfit, PortError, PortResult, Ports, Setup, SetupFailure,
    Tree,
};
use shopfloor_store::Store;
use shopfloor_store::retention::{Expired, Stage};
use std::sync::Arc;

/// All ports on one world.
pub fn ports(world: &Shared) -> Ports {
    Ports {
        workspace: Arc::new(workspace::FakeWorkspace(world.clone())),
        setup: Arc::new(FakeSetup(world.clone())),
        merger: Arc::new(merger::FakeMerger(world.clone())),
        ci: Arc::new(ci::FakeCi(world.clone())),
        forges: Arc::new(forge::FakeForge(world.clone())),
        agents: Arc::new(agents::FakeAgents(world.clone())),
        steps: Arc::new(steps::FakeSteps(world.clone())),
        schedules: Arc::new(schedules::FakeSchedules(world.clone())),
        health: Arc::new(health::FakeHealth(world.clone())),
        escalations: Arc::new(Record(world.clone())),
        notices: Arc::new(FakeNotices(world.clone())),
        vault: Arc::new(vault::FakeVault(world.clone())),
        archive: Arc::new(FakeArchive(world.clone())),
    }
}

/// The record of bad ends.
struct Record(Shared);

impl Escalations for Record {
    fn record(&self, escalation: &Escalation<'_>) -> PortResult<()> {
        self.0.call("escalate", |world| {
            let Escalation { job, trigger, about, .. } = *escalation;
            world.escalated.insert((job, trigger.to_owned(), about.to_owned()));
            Ok(())
        })
    }
}

/// The project's commands about what became of its changes, with the record that each was begun.
struct FakeNotices(Shared);

impl Notices for FakeNotices {
    fn run(&self, telling: &Telling) -> PortResult<CommandEnd> {
        self.0.call("tell", |world| {
            let key = (telling.entry, telling.end);
            let forgets = world.is(Mutation::ForgetsTheCommand);
            if world.begun.insert(key) || forgets {
                // Between the record and the start.
                world.crash_point("tell", "crash inside a port call");
                *world.told.entry(key).or_default() += 1;
                world.saw("told by a command");
                world.say(format!("command: entry {} {}", telling.entry, telling.end.as_str()));
            }
            Ok(CommandEnd { trouble: None, log: String::new() })
        })
    }

    fn prune(&self, _: &Tidy) -> PortResult<Amount> {
        self.0.call("prune_notices", |_| Ok(Amount::default()))
    }
}

/// The floor's own store, pruned as the real one is, while others read and write it.
struct FakeArchive(Shared);

impl Archive for FakeArchive {
    fn prune(&self, tidy: &Tidy) -> PortResult<Pruned> {
        self.0.call("prune_archive", |world| {
            let mut pruned = Pruned::default();
            let Some(mut store) = world.store.clone() else { return Ok(pruned) };
            let expired = Expired::from(tidy);
            let mut stage = Stage::FIRST;
            while stage != Stage::Over {
                world.crash_point("prune_archive", "crash inside a port call");
                let batch = store.prune(&expired, stage, tidy.dry_run).map_err(PortError::transient)?;
                pruned.shelved += batch.shelved;
                pruned.entries += batch.entries;
                pruned.tombstones += batch.tombstones;
                stage = batch.next;
            }
            if pruned.entries.count > 0 {
                world.saw("journal pruned");
            }
            if pruned.shelved.count > 0 {
                world.saw("shelf pruned");
            }
            if pruned.tombstones > 0 {
                world.saw("tombstones pruned");
            }
            Ok(pruned)
        })
    }
}

/// The project's setup of worktrees: it usually works.
struct FakeSetup(Shared);

impl Setup for FakeSetup {
    fn set_up(&self, tree: &Tree) -> PortResult<Result<Outfit, SetupFailure>> {
        self.0.call("set_up", |world| {
            let key = tree.clone().onto(None);
            if !world.set_up.contains_key(&key) {
                let roll = world.weather.transient / 3;
                let unlucky = world.rng.permille(roll).then(|| "no luck".to_owned());
                if let Some(excerpt) = unlucky.or(world.setup_fails.clone()) {
                    world.saw("setup failed");
                    return Ok(Err(SetupFailure { why: "exit code 1".into(), excerpt }));
                }
                let taken = |port: &u16| world.set_up.values().any(|(_, other)| other == port);
                let port = (20_000..).find(|port| !taken(port)).expect("a port is free");
                world.set_up.insert(key.clone(), (1, port));
            }
            Ok(Ok(Outfit { port: Some(world.set_up[&key].1), notes: Vec::new() }))
        })
    }

    fn tear_down(&self, tree: &Tree, _keep: &dyn Fn() -> PortResult<()>) -> PortResult<Option<String>> {
        self.0.call("tear_down", |world| {
            world.set_up.remove(&tree.clone().onto(None));
            Ok(None)
        })
    }
}
