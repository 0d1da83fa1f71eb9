//! Who asks for what only a person may: people, and agents that try to be people.

use crate::world::{Mutation, World};
use shopfloor_core::event::Event;
use shopfloor_core::ids::ProjectName;

/// So often an agent has the same wish first.
const AGENTS_ASK_EVERY: usize = 3;

impl World {
    /// An agent asks for it too, as whoever it can pretend to be. What is committed then.
    pub(crate) fn an_agent_asks_first(&mut self, event: &Event, project: &ProjectName) -> Option<Event> {
        if !event.is_a_persons() || !self.by_people.len().is_multiple_of(AGENTS_ASK_EVERY) {
            return None;
        }
        self.saw("agent asked for what is a person's");
        if self.is(Mutation::AsksNobodyWhoTheyAre) {
            return Some(event.clone());
        }
        let asked = "what only a person may".to_owned();
        Some(Event::PersonNeeded { project: project.clone(), by: "agent 1".to_owned(), asked })
    }

    pub(crate) fn a_person_asks(&mut self, event: &Event) {
        if event.is_a_persons() {
            let asked = serde_json::to_string(event).expect("an event is JSON");
            *self.by_people.entry(asked).or_default() += 1;
        }
    }
}
