//! Runs of formulas, and the schedules by which they are due. Owns them.
//!
//! Others may ask it to take a run in, to end it, and tell it what became of its steps and of its job. A run is carried
//! out by a job of its own, which has the worktree, the agent and the branch; what is to be done next, the run says.
//!
//! Invariants:
//! - Of one formula of a project, one run goes on at a time.
//! - A step begins only when all that it needs is over; what is over is never begun again.
//! - An agent is started only if there is a step for it, and a run ends only when every step is over or it cannot be.
//! - A run that is not over has a deadline, of its own or its job's.

mod actions;
mod answers;
mod asked;
mod end;
mod schedules;
mod steps;

pub use asked::may_run;
pub use steps::{NotAStep, may_say};

use crate::ids::RunNumber;
use crate::state::{Floor, Run};

/// The token required to change runs.
pub struct Runs(());

impl Floor {
    fn run_mut(&mut self, number: RunNumber) -> Option<&mut Run> {
        self.runs.edit(Runs(()), &number)
    }
}
