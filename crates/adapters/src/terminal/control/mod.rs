//! tmux's control mode: one connection instead of a process per question.
//!
//! [`protocol`] parses the server's lines, [`quote`] writes commands it cannot misread, [`connection`] keeps
//! a client connected, and [`sightings`] turns one subscription into what happened to every agent's pane.

pub mod connection;
pub mod gate;
mod pipe;
pub mod protocol;
pub mod quote;
pub mod sightings;
