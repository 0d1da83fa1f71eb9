//! The fake ports, one file each, all on one [`crate::world::World`].

mod agents;
mod ci;
mod forge;
mod merger;
mod workspace;

use crate::world::Shared;
use shopfloor_engine::ports::{
    Escalation, Escalations, Outfit, PortResult, Ports, Setup, SetupFailure, Tree,
};
use std::sync::Arc;

/// All ports on one world.
pub fn ports(world: &Shared) -> Ports {
    Ports {
        workspace: Arc::new(workspace::FakeWorkspace(world.clone())),
        setup: Arc::new(FakeSetup(world.clone())),
        merger: Arc::new(merger::FakeMerger(world.clone())),
        ci: Arc::new(ci::FakeCi(world.clone())),
        forge: Arc::new(forge::FakeForge(world.clone())),
        agents: Arc::new(agents::FakeAgents(world.clone())),
        escalations: Arc::new(Record(world.clone())),
    }
}

/// The record of bad ends; only that it is asked for matters here.
struct Record(Shared);

impl Escalations for Record {
    fn record(&self, _: &Escalation<'_>) -> PortResult<()> {
        self.0.call("escalate", |_| Ok(()))
    }
}

/// The project's setup of worktrees: it works, most of the time.
struct FakeSetup(Shared);

impl Setup for FakeSetup {
    fn set_up(&self, _: &Tree) -> PortResult<Result<Outfit, SetupFailure>> {
        self.0.call("set_up", |world| {
            let roll = world.weather.transient / 3;
            if world.rng.permille(roll) {
                world.saw("setup failed");
                return Ok(Err(SetupFailure { why: "exit code 1".into(), excerpt: "no luck".into() }));
            }
            Ok(Ok(Outfit::default()))
        })
    }

    fn tear_down(&self, _: &Tree) -> PortResult<Option<String>> {
        self.0.call("tear_down", |_| Ok(None))
    }
}
