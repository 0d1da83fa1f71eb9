//! Hand sessions: sessions that a person, or a program that orchestrates, starts beside the factory's
//! jobs, with `shopfloor session`. What is decided about them: their names ([`name`]), how a template
//! becomes a command ([`fill`]), which files a verifier means ([`paths`]), what a watch over one
//! concludes ([`watch`]), and what a single look says ([`check`]).

pub mod check;
pub mod fill;
pub mod key;
pub mod name;
pub mod paths;
pub mod watch;
