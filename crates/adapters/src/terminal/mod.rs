//! Terminals that agents run in.

mod launch;
pub mod tmux;
