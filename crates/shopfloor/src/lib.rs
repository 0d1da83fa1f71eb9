//! The binary's own parts, as a library so that tests can reach them.
pub mod config;
