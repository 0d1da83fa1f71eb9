//! What is only tried does not land, and whoever asked hears about it.

use super::Checker;
use crate::git::commit_of;
use crate::world::World;
use shopfloor_core::state::{Floor, TryState};
use shopfloor_store::OutboxEffect;

impl Checker {
    pub(super) fn a_try_is_only_that(&self, world: &mut World, floor: &Floor, outbox: &[OutboxEffect]) {
        let primary = world.git.primary();
        let mut broken = Vec::new();
        for row in floor.tries.iter() {
            if world.git.is_ancestor(commit_of(&row.head), primary) {
                broken
                    .push(("1 the tree that lands passed", format!("{} was tried, and landed", row.branch)));
            }
            // It waits for an effect: nothing else can end it.
            if row.state.is_live() && !outbox.iter().any(|q| q.action.is_trying(row.id)) {
                broken.push(("7 every wait has a deadline", format!("try {} waits for nothing", row.id)));
            }
            match row.state {
                TryState::Green { .. } => world.saw("try green"),
                TryState::Red { .. } => world.saw("try red"),
                TryState::Conflicted { .. } => world.saw("try conflicted"),
                _ => {}
            }
        }
        for (invariant, text) in broken {
            world.broken(invariant, text);
        }
    }
}
