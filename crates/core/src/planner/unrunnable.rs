//! Checks that could not be run. Either the machinery fails, and nobody is to blame; or a change makes it look
//! that way wherever it is included. The two are told apart in the way red is narrowed down: the list is cut until
//! one entry is left with which nothing runs. That entry is put *aside* for a while, and the others continue
//! without it.
//!
//! - If the others' checks run in the meantime, the entry is the cause: after a few more tries it leaves the
//!   queue.
//! - If nothing runs without it either, the machinery is the cause: the whole queue pauses, for longer each time,
//!   somebody is told, and nobody is charged.

use super::{Alarm, Finding, Order, Place, Plan, Purpose, Terms, Trial, TrialResult};
use crate::ids::EntryId;
use crate::time::Time;
use std::time::Duration;

/// How often an entry may be found to be the one with which nothing runs before it leaves the queue.
const ASIDE_MAX: u32 = 3;
/// The first pause, of an entry or of the queue; it doubles each time.
const PAUSE: Duration = Duration::from_secs(30);
const PAUSE_MAX: Duration = Duration::from_secs(600);

fn pause(times: u32) -> Duration {
    (PAUSE * 2u32.pow(times.saturating_sub(1).min(10))).min(PAUSE_MAX)
}

/// An entry that was red before its checks could not be run is still red.
fn after_aside(place: &Place) -> Place {
    match place {
        Place::Aside { red: Some(red), .. } => Place::Suspect { red: *red, infra: false },
        _ => Place::Queued,
    }
}

impl Plan {
    /// A trial's checks could not be run, or its list could not be built.
    pub(super) fn could_not_run(&mut self, now: Time, terms: &Terms, trial: &Trial, orders: &mut Vec<Order>) {
        match trial.purpose {
            Purpose::Land => {
                let list = trial.rest().to_vec();
                self.learn(terms, &list, Finding::Red { trial: trial.id, infra: true });
            }
            Purpose::Confirm { entry } => self.put_aside(now, terms, entry, trial, orders),
        }
    }

    /// This entry is the one with which nothing runs.
    fn put_aside(
        &mut self,
        now: Time,
        terms: &Terms,
        entry: EntryId,
        trial: &Trial,
        orders: &mut Vec<Order>,
    ) {
        let Some(waiting) = self.entries.get_mut(&entry) else { return };
        waiting.aside += 1;
        if waiting.aside >= ASIDE_MAX && waiting.ran_without {
            self.forget(entry, orders);
            orders.push(Order::Unrunnable { entry, trial: trial.id });
            return;
        }
        let red = match waiting.place {
            Place::Suspect { red, infra: false } => Some(red),
            _ => None,
        };
        waiting.place = Place::Aside { until: now + pause(waiting.aside), red };
        let is_aside = |place: &Place| matches!(place, Place::Aside { .. });
        let aside = self.entries.values().filter(|e| is_aside(&e.place)).count();
        let charged = self.entries.values().any(|e| is_aside(&e.place) && e.ran_without);
        let tried = self.entries.values().filter(|e| is_aside(&e.place) || terms.admits(e)).count();
        if charged || (aside < 2 && aside < tried) {
            return;
        }
        // Nothing runs, whatever is included.
        self.infra += 1;
        let until = now + pause(self.infra);
        self.hold_until = Some(until);
        for entry in self.entries.values_mut().filter(|e| is_aside(&e.place)) {
            entry.place = after_aside(&entry.place);
            entry.aside = 0;
            entry.ran_without = false;
        }
        orders.push(Order::Alarm(Alarm::Infra { times: self.infra, until }));
    }

    /// A trial's checks ran, whatever they found.
    pub(super) fn has_run(&mut self, trial: &Trial, verdict: TrialResult) {
        if verdict == TrialResult::Infra {
            return;
        }
        self.infra = 0;
        self.hold_until = None;
        for (id, entry) in &mut self.entries {
            let doubted = entry.aside > 0 || matches!(entry.place, Place::Suspect { infra: true, .. });
            entry.ran_without |= doubted && !trial.list.contains(id);
        }
    }

    /// Entries that have been aside long enough are tried again, behind the others: two of them taking turns at
    /// the front would let nobody else through.
    pub(super) fn take_back(&mut self, now: Time) {
        for entry in self.entries.values_mut() {
            if matches!(entry.place, Place::Aside { until, .. } if until <= now) {
                entry.place = after_aside(&entry.place);
                entry.back = Some(now);
                entry.overtaken = 0;
            }
        }
    }

    /// When the first of the entries put aside is tried again.
    pub fn aside_until(&self) -> Option<Time> {
        let until = |place: &Place| match place {
            Place::Aside { until, .. } => Some(*until),
            _ => None,
        };
        self.entries.values().filter_map(|e| until(&e.place)).min()
    }
}
