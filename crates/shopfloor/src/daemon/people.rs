//! Tells the floor who types at the agents' terminals: when somebody begins, now and then while they
//! continue, and when the last of them has left. Scrolling does not begin a person's hold, but it prolongs
//! one.

use crate::attend::{Seats, seats};
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Epoch;
use shopfloor_core::state::Floor;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the floor is told about somebody who keeps typing; and at least once before it would let go.
const TELL_EVERY: Duration = Duration::from_secs(30);
const BEFORE_THE_END: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct People(Mutex<BTreeMap<Epoch, Known>>);

#[derive(Clone, Copy, Default)]
struct Known {
    /// Until when the floor considers the session held by a person.
    until: Option<Time>,
    /// The newest key that the floor was told about.
    told: Option<Time>,
}

impl People {
    fn known(&self) -> MutexGuard<'_, BTreeMap<Epoch, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The floor has changed.
    pub fn reconcile(&self, floor: &Floor) {
        let mut known = self.known();
        known.retain(|epoch, _| floor.sessions.get(epoch).is_some());
        for session in floor.sessions.iter() {
            let until = session.hold.as_ref().map(|hold| hold.until);
            if until.is_some() || known.contains_key(&session.epoch) {
                known.entry(session.epoch).or_default().until = until;
            }
        }
    }

    /// Something stirred at a session's terminals, or may have while nobody watched.
    pub fn look(&self, tmux: &Tmux, epoch: Epoch, session: &str, now: Time) -> Option<Event> {
        // A terminal that cannot be seen says nothing; the floor's own deadline holds.
        self.heed(epoch, seats(tmux, session).ok()?, now)
    }

    fn heed(&self, epoch: Epoch, seats: Seats, now: Time) -> Option<Event> {
        let mut all = self.known();
        let known = all.entry(epoch).or_default();
        if seats.stirred.is_none() {
            known.told = None;
            return known.until.map(|_| Event::PersonLeft { epoch });
        }
        let active = if known.until.is_some() { seats.used } else { seats.typed };
        let at = active.filter(|at| known.told.is_none_or(|told| told < *at))?;
        let soon = known.until.is_none_or(|until| until.since(now) <= BEFORE_THE_END);
        if known.told.is_some_and(|told| at.since(told) < TELL_EVERY) && !soon {
            return None;
        }
        known.told = Some(at);
        Some(Event::PersonTyped { epoch, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: Epoch = Epoch(1);

    fn at(second: u64) -> Time {
        Time(second * 1000)
    }

    fn seats(used: u64, typed: Option<u64>) -> Seats {
        Seats { stirred: Some(at(used)), used: Some(at(used)), typed: typed.map(at) }
    }

    #[test]
    fn who_scrolls_does_not_take_a_session_and_who_has_it_keeps_it_by_that() {
        let people = People::default();
        assert_eq!(people.heed(EPOCH, seats(10, None), at(10)), None);
        let typed = people.heed(EPOCH, seats(20, Some(20)), at(20));
        assert_eq!(typed, Some(Event::PersonTyped { epoch: EPOCH, at: at(20) }));
        // The floor says that they have it.
        people.known().entry(EPOCH).or_default().until = Some(at(80));
        let scrolled = people.heed(EPOCH, seats(60, None), at(60));
        assert_eq!(scrolled, Some(Event::PersonTyped { epoch: EPOCH, at: at(60) }));
        assert_eq!(people.heed(EPOCH, Seats::default(), at(61)), Some(Event::PersonLeft { epoch: EPOCH }));
    }
}
