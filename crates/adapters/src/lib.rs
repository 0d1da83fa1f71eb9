//! placeholder
pub mod ci;
pub mod host;
pub mod layout;
pub mod phase_file;
pub mod terminal;
