//! How often a project's floor has refused what needs a person, lately: so much is put on record, and a flood is not.

use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Within that time, so many of each, and of so many, are put on record.
const WITHIN: Duration = Duration::from_secs(3600);
const EACH_MAX: u32 = 50;
const WHO_MAX: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refusals {
    since: Time,
    /// Who was refused, and how often.
    of: BTreeMap<String, u32>,
}

impl Refusals {
    /// Counts another one. `false`: there were so many that it is not put on record.
    pub fn count(&mut self, by: &str, now: Time) -> bool {
        if now.since(self.since) >= WITHIN {
            *self = Refusals { since: now, of: BTreeMap::new() };
        }
        if !self.of.contains_key(by) && self.of.len() >= WHO_MAX {
            return false;
        }
        let times = self.of.entry(by.to_owned()).or_default();
        *times = times.saturating_add(1);
        *times <= EACH_MAX
    }

    /// Whether another one would be put on record.
    pub fn have_room(&self, by: &str, now: Time) -> bool {
        self.clone().count(by, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_not_put_on_record_and_hides_nobody_else() {
        let mut refusals = Refusals::default();
        let at = |seconds| Time::default() + WITHIN + Duration::from_secs(seconds);
        let counted = (0..120).filter(|_| refusals.count("agent 1", at(0))).count();
        assert_eq!(counted, 50);
        assert!(!refusals.have_room("agent 1", at(1)));
        assert!(refusals.count("a check", at(1)), "that is another");
        let others = (2..200).filter(|n| refusals.count(&format!("agent {n}"), at(2))).count();
        assert_eq!(others, 48, "nor is a flood of names");
        assert!(refusals.count("agent 1", at(3600)), "later it is worth knowing again");
    }
}
