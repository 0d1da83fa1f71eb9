//! The binary's own parts, as a library so that tests can reach them: the commands ([`cli`]), the
//! daemon ([`daemon`]), who attends to the agents' sessions ([`attend`]), the registry
//! ([`registry`]), the configuration ([`config`]) and the built-in scripted agent
//! ([`demo_agent`]). Only this crate prints, reads the environment or exits.

pub mod attend;
pub mod cli;
pub mod config;
pub mod conformance;
pub mod daemon;
pub mod demo_agent;
pub mod registry;
