//! Signs of life of sessions that report nothing themselves: that they write to their terminal. The floor is
//! told every quarter of the time that such an agent is given, and no more often.

use shopfloor_core::event::Event;
use shopfloor_core::ids::{Duty, Epoch};
use shopfloor_core::state::{Floor, Session};
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// By the session's name in tmux.
#[derive(Default)]
pub struct Signs(Mutex<BTreeMap<String, Sign>>);

struct Sign {
    epoch: Epoch,
    every: Duration,
    told: Option<Time>,
}

impl Signs {
    pub fn watch(&self, floor: &Floor, session: &Session) {
        let policy = floor.projects.get(&session.project).map(|p| p.policy.clone()).unwrap_or_default();
        let given = match session.role.duty() {
            Duty::Develop => policy.idle_timeout,
            Duty::Review => policy.reviewer_timeout,
        };
        let sign = Sign { epoch: session.epoch, every: given / 4, told: None };
        self.signs().insert(session.tmux.clone(), sign);
    }

    pub fn unwatch(&self, epoch: Epoch) {
        self.signs().retain(|_, sign| sign.epoch != epoch);
    }

    /// Something was written. Returns what the floor is told, if it is time.
    pub fn written(&self, tmux: &str, now: Time) -> Option<Event> {
        let mut signs = self.signs();
        let sign = signs.get_mut(tmux)?;
        if sign.told.is_some_and(|at| now.since(at) < sign.every) {
            return None;
        }
        sign.told = Some(now);
        Some(Event::OutputSeen { epoch: sign.epoch })
    }

    fn signs(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Sign>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
