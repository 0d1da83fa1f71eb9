//! A floor's health: what is urgent is told, nothing is looked into for ever, and every letter gets an answer.

use super::Checker;
use crate::world::World;
use shopfloor_core::effect::Action;
use shopfloor_core::health::FINDINGS_MAX;
use shopfloor_core::state::{Floor, REMEDIES_MAX};
use shopfloor_store::OutboxEffect;

const TOLD: &str = "7 what is urgent is told first";
const ONCE: &str = "4 effects are idempotent";
const BOUNDED: &str = "9 everything is bounded";
const OWN: &str = "8 unknown is not dead";
const LETTERS_MAX: usize = 50;

impl Checker {
    pub(super) fn health_is_looked_after(&self, world: &mut World, floor: &Floor, outbox: &[OutboxEffect]) {
        let mut broken = Vec::new();
        for row in floor.health.iter() {
            for known in &row.findings {
                let key = &known.finding.key;
                let acked = row.acks.iter().any(|ack| ack.key == *key);
                let told = known.told.is_some_and(|told| told <= known.finding.priority);
                if known.finding.priority.is_urgent() && !told && !acked {
                    broken.push((TOLD, format!("{key} is urgent, and nobody was told")));
                }
                if known.tried > REMEDIES_MAX {
                    broken.push((BOUNDED, format!("{key} was remedied {} times", known.tried)));
                }
            }
            if row.findings.len() > FINDINGS_MAX || row.letters.len() > LETTERS_MAX {
                broken.push((BOUNDED, "too much is known of a floor's health".to_owned()));
            }
            for letter in row.open_letters().filter(|letter| letter.run.is_some()) {
                let run = letter.run.and_then(|run| floor.runs.get(&run));
                if run.is_none_or(|run| !run.is_live()) {
                    broken.push((TOLD, format!("letter {} waits for a run that is over", letter.number)));
                }
            }
        }
        for ((at, _), times) in &world.diary.entries {
            if *times > 1 {
                broken.push((ONCE, format!("the entry of {at:?} was written {times} times")));
            }
        }
        for effect in outbox {
            if let Action::EndStray(order) = &*effect.action
                && floor.sessions.get(&order.stray.epoch).is_some_and(|session| session.process.is_some())
            {
                broken.push((OWN, format!("session {} is somebody's", order.stray.epoch)));
            }
        }
        for (invariant, text) in broken {
            world.broken(invariant, text);
        }
    }
}
