//! The fake ports, one file each, all on one [`crate::world::World`].

mod agents;
mod ci;
mod forge;
mod merger;
mod workspace;

use crate::world::Shared;
use shopfloor_engine::ports::{Escalation, Escalations, PortResult, Ports};
use std::sync::Arc;

/// All ports on one world.
pub fn ports(world: &Shared) -> Ports {
    Ports {
        workspace: Arc::new(workspace::FakeWorkspace(world.clone())),
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
