//! The engine: load, step, commit, perform.
//!
//! [`Engine`] takes an event, runs the pure step on the floor, and commits journal, state and
//! outbox in one transaction; only then are effects performed ([`perform`]), through the [`ports`],
//! at least once. There is no separate recovery: starting is loading what was committed and
//! performing what is still in the outbox.
//!
//! [`Conductor`] says what to do next, [`Runner`] is the daemon's loop around it. Any other process may use
//! an [`Engine`] on the same store to submit an event of its own: a commit based on an old state is refused
//! and redone.

#![cfg_attr(
    not(test),
    warn(
        clippy::disallowed_methods,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::exit,
        clippy::unwrap_used
    )
)]

mod act;
mod commit;
mod conductor;
mod dispatch;
pub mod perform;
pub mod ports;
pub mod proof;
mod pull;
mod reading;
mod rows;
mod runner;
mod tree;
mod undo;

pub use commit::{Applied, Engine, Steps};
pub use conductor::{Capacity, Conductor, Report, Task, work};
pub use rows::records;
pub use runner::{
    Handle, Input, Observer, Runner, RunnerOptions, Stop, Until, Watches, is_being_tidied, is_decided,
};
