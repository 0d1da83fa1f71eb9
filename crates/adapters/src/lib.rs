//! The thin edges: each folder implements one port of the engine on a real tool.
//!
//! Nothing here decides, reads the process environment, prints or exits; what an adapter needs of
//! those it is given by the binary.

pub mod agent;
pub mod ci;
pub mod escalations;
pub mod forge;
pub mod git;
pub mod hand;
pub mod host;
pub mod layout;
pub mod notices;
pub mod phase_file;
pub mod seed_files;
pub mod setup;
pub mod terminal;
pub mod verify;
