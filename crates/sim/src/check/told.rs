//! 4: whoever is told how an entry ended is told once, and told the truth.

use super::Checker;
use crate::world::World;
use shopfloor_core::effect::EntryEnd;
use shopfloor_core::state::{EntryState, Floor};

const ONCE: &str = "4 effects are idempotent";

impl Checker {
    pub(super) fn ends_are_told_once(&self, world: &mut World, floor: &Floor) {
        let mut broken = Vec::new();
        for ((entry, end), times) in &world.told {
            if *times > 1 {
                broken.push(format!("the command for entry {entry}, {}, was run twice", end.as_str()));
            }
            let Some(row) = floor.entries.get(entry) else { continue };
            let landed = matches!(row.state, EntryState::Merged { .. });
            if landed != (*end == EntryEnd::Landed) {
                broken.push(format!("entry {entry} is {:?} and was told as {}", row.state, end.as_str()));
            }
        }
        for (number, pr) in &world.forge.prs {
            if super::has_twice(&pr.comments) {
                broken.push(format!("PR {number} has a comment twice"));
            }
        }
        for text in broken {
            world.broken(ONCE, text);
        }
    }

    /// Checked at the end of a run. What was refused for good was reported.
    pub(super) fn every_end_is_told(&self, world: &mut World, floor: &Floor) {
        if !world.policy.tells_landed || world.coverage.contains_key("fault permanent") {
            return;
        }
        let merged = floor.entries.iter().filter(|e| matches!(e.state, EntryState::Merged { .. }));
        let untold = merged.filter(|e| !world.begun.contains(&(e.id, EntryEnd::Landed)));
        for id in untold.map(|e| e.id).collect::<Vec<_>>() {
            world.broken(ONCE, format!("entry {id} landed, and no command was run for it"));
        }
    }
}
