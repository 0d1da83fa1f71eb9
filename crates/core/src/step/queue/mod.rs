//! The merge queues: entries, what is tried together, what lands. Owns entries, queues and tries.
//!
//! Others may ask it to add an entry or take one out; to try a branch; where a target branch is; whether a red
//! head is itself at fault.
//!
//! Invariants:
//! - The planner decides what is tried and published when; its orders are carried out one after another.
//! - A publication is ordered in one place only (`landing.rs`), for commits that are green.
//! - An entry that is being published is not taken out: only git knows what has become of it.

mod blame;
mod checkout;
mod entries;
mod landing;
mod persons_branch;
mod primary;
mod stack;
mod told;
mod trials;
mod tries;

pub use entries::may_merge;
pub(in crate::step) use landing::landing_lane;
pub use persons_branch::{Hindrance, may_queue};
pub(in crate::step) use trials::Orders;
pub use tries::may_try;

use crate::ids::{EntryId, QueueId, Sha};
use crate::state::{Entry, Floor};

/// The token required to change entries, queues and tries.
pub struct Queues(());

impl Floor {
    /// Where the branch that the queue lands on is, as far as is known.
    pub(in crate::step) fn base_of(&self, onto: &QueueId) -> Option<Sha> {
        self.queues.get(onto)?.plan.base().cloned()
    }

    fn entry_mut(&mut self, id: EntryId) -> Option<&mut Entry> {
        self.entries.edit(Queues(()), &id)
    }
}
