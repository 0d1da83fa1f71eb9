//! The pure core of the factory: all that is decided, and nothing that is done.
//!
//! No clock, no randomness, no I/O. [`step::step`] takes the floor's [`state::Floor`], the time and an
//! [`event::Event`] and returns [`effect::Action`]s to perform and [`event::Note`]s to tell. Everything that
//! decides lives here, so everything that decides can be simulated.

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

pub mod act;
pub mod allow;
pub mod capability;
pub mod ci;
pub mod delivery;
pub mod deps;
pub mod diff;
pub mod digest;
pub mod effect;
pub mod event;
pub mod fill;
pub mod forge;
pub mod guard;
pub mod health;
pub mod hints;
pub mod ids;
pub mod label;
pub mod liveness;
pub mod paths;
pub mod phase;
pub mod planner;
pub mod policy;
pub mod protected;
pub mod recipe;
pub mod redact;
pub mod refusal;
pub mod runtime;
pub mod schema;
pub mod similar;
pub mod state;
pub mod step;
pub mod table;
pub mod text;
pub mod texts;
pub mod time;
pub mod trends;
pub mod vault;
pub mod verdict;
