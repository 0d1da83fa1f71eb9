//! How a floor is doing, looked at by its supervisor's schedule. Owns the rows of findings, of what people acknowledged of
//! them and of what they wrote to the supervisor.
//!
//! Others may ask it for a checkup when a supervisor's schedule is due, and tell it when a run of that formula began and
//! ended. It orders remedies, and says whether there is anything for an agent to do.
//!
//! Invariants:
//! - What is urgent is told to people in the commit that finds it, before anything is done about it; once, and again when
//!   it gets worse or comes back.
//! - A remedy is applied a few times at the most, and each time is put on record.
//! - No agent is started for what a remedy may still end, what people acknowledged or only they can mend, or what an agent
//!   has looked into already.
//! - An acknowledgement has an end; a letter gets an answer, or people are told that there is none.

mod acks;
mod checkup;
mod letters;
mod remedies;

pub use letters::may_tell;

use super::Turn;
use crate::ids::ProjectName;
use crate::state::Health;

/// The token required to change what is known of a floor's health.
pub struct Healths(());

impl Turn<'_> {
    /// The row of a project, or of the machine; made if there is none.
    fn health_row(&mut self, place: &Option<ProjectName>) -> &mut Health {
        if self.floor.health.get(place).is_none() {
            self.floor.health.put(Healths(()), Health::new(place.clone()));
        }
        self.floor.health.edit(Healths(()), place).expect("just put")
    }

    fn edit_health(&mut self, place: &Option<ProjectName>, change: impl FnOnce(&mut Health)) {
        if let Some(row) = self.floor.health.edit(Healths(()), place) {
            change(row);
        }
    }
}
