//! Continuous integration: running a project's checks on one commit.

mod checkout;
pub mod local;
mod log;
mod record;
mod step;
mod trees;

pub use record::digest;
