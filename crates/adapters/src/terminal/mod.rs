//! Terminals that agents run in.

pub mod control;
mod events;
pub mod known;
mod launch;
mod pane;
pub mod tmux;
mod transport;
pub mod typing;
