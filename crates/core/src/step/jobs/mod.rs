//! Jobs: the work on one issue, or one review, from start to end. Owns jobs and work records.
//!
//! Others may ask it to enter a state, wait longer or end; to check or publish a head; to start an agent's
//! successor or a reviewer; to update a work record. Nobody else writes these records.
//!
//! Invariants:
//! - Every state but the last has a deadline.
//! - A job that ends has committed all its last effects with that decision, and has ended when none is left.
//! - A job knows its agents only by epoch: a session of another epoch changes nothing in it.

mod checks;
mod circles;
mod deadline;
mod finish;
mod heads;
mod overlap;
mod phase;
mod pull_review;
mod record;
mod recovery;
mod refusal;
mod review;
mod run;
mod run_waiting;
mod scheduler;
mod staffing;
mod states;
mod tidy;
mod worktree;

pub(in crate::step) use checks::cooldown;
pub(in crate::step) use finish::action_key;
pub(in crate::step) use heads::HEAD_RUNS_MAX;
pub use overlap::{Overlap, overlap};
pub use pull_review::{NotReviewed, may_ask_for_review};
pub(in crate::step) use recovery::OpenPulls;
pub use run_waiting::RunWaiting;
use scheduler::START_WITHIN;
pub use scheduler::{Standings, Waiting};
pub use tidy::tidy_order;

use crate::ids::JobId;
use crate::state::{Floor, Job};

/// The token required to change jobs and work records.
pub struct Jobs(());

impl Floor {
    fn job_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.jobs.edit(Jobs(()), &id)
    }
}
