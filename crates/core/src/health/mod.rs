//! How a floor is doing, as findings: what is not as it should be, how urgent that is, and what may be done about it.
//! Pure: measurements of the machine and the floor's own records go in, findings come out.
//!
//! Invariants:
//! - The priorities and their thresholds are the seeds'; every threshold can be set, and zero switches it off.
//! - What is not known is not found: a measurement that could not be had says nothing.
//! - Findings are bounded, in number and in size, and their keys are stable: the same trouble has the same key.

mod finding;
mod limits;
mod machine;
mod measured;
mod work;

#[cfg(test)]
mod tests;

pub use finding::{Concern, Finding, FindingKey, Priority, Remedy};
pub use limits::{MachineLimits, WorkLimits};
pub use machine::of_machine;
pub use measured::{CheckSeen, Containers, Machine, Measured, OldLock, Recent, Stray, TreeSeen};
pub use work::{of_project, wanted_checks};

/// How many findings of one place are kept; what is less urgent goes first.
pub const FINDINGS_MAX: usize = 60;
