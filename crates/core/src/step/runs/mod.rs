//! Runs of formulas. Owns them.
//!
//! Others may ask it to take a run in, to end it, and tell it what became of its steps. A run is carried out by a job of
//! its own, which has the worktree, the agent and the branch; what is to be done next, the run says.
//!
//! Invariants:
//! - Of one formula of a project, one run goes on at a time.
//! - A step begins only when all that it needs is over; what is over is never begun again.
//! - A run that is not over has a deadline, of its own or its job's.

mod asked;

use crate::ids::RunNumber;
use crate::state::{Floor, Run};

/// The token required to change runs.
pub struct Runs(());

impl Floor {
    fn run_mut(&mut self, number: RunNumber) -> Option<&mut Run> {
        self.runs.edit(Runs(()), &number)
    }
}
