//! The pure core of the factory: what is decided, and nothing that is done.
//!
//! No clock, no randomness, no I/O. [`step::step`] takes the floor's [`state::Floor`], the time and
//! an [`event::Event`] and gives back [`effect::Action`]s to perform and [`event::Note`]s to tell.
//! Everything that decides lives here, so everything that decides can be simulated.

pub mod allow;
pub mod ci;
pub mod delivery;
pub mod deps;
pub mod digest;
pub mod effect;
pub mod event;
pub mod guard;
pub mod hand;
pub mod hints;
pub mod ids;
pub mod liveness;
pub mod phase;
pub mod planner;
pub mod policy;
pub mod refusal;
pub mod runtime;
pub mod state;
pub mod step;
pub mod table;
pub mod text;
pub mod time;
pub mod verdict;
