//! What agents have the factory do on the forge, and ask people, with commands. Owns the conduct of agents.
//!
//! Others may ask it to take an act or a question in, and tell it what became of an act, of a question, and that a job is
//! over. Whether an act is allowed is decided here, in the same step that counts it.
//!
//! Invariants:
//! - What is not allowed is not ordered: no act without its capability, no label outside of the role's, no more than the
//!   quota, whichever of a job's sessions asks. To have an issue worked on counts as making one.
//! - What a role's issues always have, they have. Nothing is made of a prediction without work or a reason.
//! - An act is ordered once, however often it is asked for and whoever died in between.
//! - A question is answered once: by a person, or by its default.

mod asked;
mod done;
mod queries;

pub use asked::{dressed, may_act, may_ask, may_ask_the_vault, may_do};

use crate::ids::{JobId, Role};
use crate::state::{Conduct, Floor};

/// The token required to change the conduct of agents.
pub struct Acts(());

impl Floor {
    fn conduct_mut(&mut self, key: (JobId, Role)) -> Option<&mut Conduct> {
        self.conducts.edit(Acts(()), &key)
    }
}
