//! Invariant 12: a person who is attached and typing has the session, and a person who took a job has the
//! job.
//!
//! That nothing is typed meanwhile is checked where it would happen ([`crate::client`]).

use super::Checker;
use crate::world::World;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Epoch;
use shopfloor_core::state::{Floor, Held, Message, Session, SessionState};
use shopfloor_core::texts::FirstLine;
use shopfloor_core::time::Time;
use shopfloor_store::JournalEntry;

const BOSS: &str = "12 the person is the boss";

/// What may end a session that a person has: they say so, here or on the forge, or leave; or the session is
/// over.
const MAY_END: [&str; 9] = [
    "cancelled",
    "run_cancelled",
    "observed",
    "handed_back",
    "person_left",
    "work_resumed",
    "session_exited",
    "answered",
    "branch_refused",
];

/// What an agent is told only if it was judged.
const JUDGED: [FirstLine; 3] = [FirstLine::PhaseMissing, FirstLine::ResultMissing, FirstLine::Continue];

fn until(held: Held<'_>) -> Time {
    match held {
        Held::Person(hold) => hold.until,
        Held::Taken { .. } | Held::Paused(_) => Time(u64::MAX),
    }
}

impl Checker {
    /// 11: what only a person may bring about, a person has.
    pub(super) fn agents_are_no_people(&self, world: &mut World, entries: &[JournalEntry]) {
        let ours = format!("\"project\":\"{}\"", world.project);
        for entry in entries.iter().filter(|entry| entry.kind == "event" && entry.body.contains(&ours)) {
            let Ok(event) = serde_json::from_str::<Event>(&entry.body) else { continue };
            if !event.is_a_persons() {
                continue;
            }
            if let Some(asked) = world.by_people.get_mut(&entry.body).filter(|asked| **asked > 0) {
                *asked -= 1;
            } else {
                world.broken("11 an agent is not a person", format!("nobody asked for {}", entry.body));
            }
        }
    }

    pub(super) fn the_person_is_the_boss(
        &mut self,
        world: &mut World,
        floor: &Floor,
        entries: &[JournalEntry],
    ) {
        let by_a_person = |e: &JournalEntry| {
            e.kind == "event" && MAY_END.iter().any(|kind| e.body.contains(&format!("\"event\":\"{kind}\"")))
        };
        let excused = entries.iter().any(by_a_person);
        let ends = |s: &&Session| matches!(s.state, SessionState::Ending | SessionState::Ended);
        for session in floor.sessions.iter().filter(ends) {
            let held =
                self.held.get(&session.epoch).is_some_and(|(until, paused)| *until > world.now && !paused);
            if held && !excused {
                world.broken(BOSS, format!("session {} was ended while a person has it", session.epoch));
            }
        }
        let still = |epoch: Epoch| {
            let now = floor.sessions.get(&epoch).and_then(|session| floor.held(session));
            self.held.contains_key(&epoch) && now.is_some()
        };
        let judged = |text: &str| FirstLine::of(text).is_some_and(|first| JUDGED.contains(&first));
        let new: Vec<&Message> = floor.messages.iter().filter(|m| m.id > self.newest_message).collect();
        let wrong = new.iter().find(|m| judged(&m.text) && m.to.is_some_and(still));
        if let Some(message) = wrong {
            let text = format!("message {} judges an agent that a person has", message.id);
            world.broken(BOSS, text);
        }
        self.newest_message = new.iter().map(|m| m.id).max().unwrap_or(self.newest_message);
        let live = floor.sessions.iter().filter(|s| s.state == SessionState::Live);
        let held = live.filter_map(|s| {
            let held = floor.held(s)?;
            Some((s.epoch, (until(held), matches!(held, Held::Paused(_)))))
        });
        self.held = held.collect();
        if !self.held.is_empty() {
            world.saw("a person has a session");
        }
    }
}
