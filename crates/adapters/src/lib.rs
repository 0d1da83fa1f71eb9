//! The thin edges: each folder implements one port of the engine on a real tool.
//!
//! Nothing here decides, reads the process environment, prints or exits; the binary gives an adapter what it
//! needs of those.

#![cfg_attr(
    not(test),
    warn(
        clippy::disallowed_methods,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::exit,
        clippy::unwrap_used
    )
)]

pub mod agent;
pub mod archive;
pub mod ci;
pub mod escalations;
pub mod forge;
pub mod git;
pub mod health;
pub mod host;
pub mod jail;
pub mod layout;
pub mod notices;
pub mod phase_file;
pub mod seed_files;
pub mod setup;
pub mod steps;
pub mod terminal;
pub mod vault;
