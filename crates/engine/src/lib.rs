//! placeholder docs
pub mod ports;
pub mod proof;
