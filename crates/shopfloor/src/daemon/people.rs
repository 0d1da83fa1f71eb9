//! Who types at the agents' terminals, told to the floor: when somebody begins, now and then while they
//! go on, and when the last of them has left.

use crate::attend::seats;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Epoch;
use shopfloor_core::state::Floor;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Somebody who goes on typing is told of this often, and at least once before the floor would let go.
const TELL_EVERY: Duration = Duration::from_secs(30);
const BEFORE_THE_END: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct People(Mutex<BTreeMap<Epoch, Known>>);

#[derive(Clone, Copy, Default)]
struct Known {
    /// Until when the floor says that a person has it.
    until: Option<Time>,
    /// The newest key that was told.
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
        // What cannot be seen says nothing; the floor's own deadline holds.
        let seats = seats(tmux, session).ok()?;
        let mut all = self.known();
        let known = all.entry(epoch).or_default();
        if seats.stirred.is_none() {
            known.told = None;
            return known.until.map(|_| Event::PersonLeft { epoch });
        }
        let at = seats.typed.filter(|at| known.told.is_none_or(|told| told < *at))?;
        let soon = known.until.is_none_or(|until| until.since(now) <= BEFORE_THE_END);
        if known.told.is_some_and(|told| at.since(told) < TELL_EVERY) && !soon {
            return None;
        }
        known.told = Some(at);
        Some(Event::PersonTyped { epoch, at })
    }
}
