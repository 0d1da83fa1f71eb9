//! The fake ports, one file each, all on one [`crate::world::World`].

mod agents;
mod ci;
mod forge;
mod merger;
mod workspace;

use crate::world::Shared;
use shopfloor_engine::ports::Ports;
use std::sync::Arc;

/// All ports on one world.
pub fn ports(world: &Shared) -> Ports {
    Ports {
        workspace: Arc::new(workspace::FakeWorkspace(world.clone())),
        merger: Arc::new(merger::FakeMerger(world.clone())),
        ci: Arc::new(ci::FakeCi(world.clone())),
        forge: Arc::new(forge::FakeForge(world.clone())),
        agents: Arc::new(agents::FakeAgents(world.clone())),
    }
}
