//! The whole factory on a virtual clock, with fake ports and seeded faults.
//!
//! [`run`] plays one seed: the real engine over a store in memory, the real order of commits and effects, and
//! a [`world::World`] in which agents, people, git, the forge and the checks are models that fail, lag and
//! interfere. The daemon dies at chosen points and is started again on the same store. After every step the
//! [`check::Checker`] checks whether an invariant of the design is broken. One thread, no clock: a seed
//! reproduces a run to the byte.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, clippy::exit, clippy::unwrap_used))]

pub mod acts;
mod agents;
pub mod attend;
pub mod check;
pub mod client;
pub mod daemon;
pub mod forge;
pub mod garden;
pub mod git;
pub mod human;
pub mod plan;
pub mod ports;
pub mod reviewers;
pub mod rng;
pub mod sim;
pub mod store;
pub mod together;
pub mod trouble;
pub mod world;

pub use sim::{Crashes, Report, run, run_with_crash};
