//! placeholder
pub mod forge;
pub mod layout;
