//! Hand sessions: sessions that a person, or a program that orchestrates, starts beside the factory's
//! jobs, with `shopfloor session`. What is decided about them: their names ([`name`]), how a template
//! becomes a command ([`fill`]), and what a watch over one concludes ([`watch`]).

pub mod fill;
pub mod name;
pub mod watch;
