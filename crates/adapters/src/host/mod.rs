//! The machine the floor runs on: processes, files, locks, environment. Linux only.

pub mod atomic;
pub mod clock;
pub mod command;
pub mod env;
pub mod exit_watch;
pub mod file_watch;
pub mod lock;
pub mod machine;
mod proc_table;
pub mod process;
pub mod prune;
pub mod remove;
pub mod resources;
pub mod rotate;
pub mod samples;
pub mod theirs;
pub mod user;
pub(crate) mod wake;
