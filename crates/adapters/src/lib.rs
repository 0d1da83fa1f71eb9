//! placeholder
pub mod layout;
