//! Continuous integration: running a project's checks on one commit.

mod checkout;
mod clean;
pub mod local;
pub(crate) mod log;
pub mod own;
pub(crate) mod record;
pub(crate) mod step;
mod trees;

pub use log::last_step;
pub use record::{digest, load_process};
