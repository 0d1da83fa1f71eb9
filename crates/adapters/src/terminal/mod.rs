//! Terminals that agents run in.

pub mod control;
mod events;
mod launch;
mod pane;
pub mod tmux;
mod transport;
pub mod typing;
