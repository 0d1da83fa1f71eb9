//! The binary's own parts, as a library so that tests can reach them: the commands ([`cli`]), the
//! daemon ([`daemon`]), who attends to the agents' sessions ([`attend`]), the configuration
//! ([`config`], as it is in force: [`projects`], and wired to the real tools: `ports`) and the built-in scripted
//! agent ([`demo_agent`]). The commands and the daemon meet in none of their own modules: only `up`, and what is waited
//! for in the foreground, start a daemon. Only this crate prints, reads the environment or exits.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr))]

mod asker;
pub mod attend;
#[cfg_attr(not(test), expect(clippy::print_stderr, reason = "commands print"))]
pub mod cli;
pub mod config;
pub mod conformance;
pub mod daemon;
#[cfg_attr(not(test), expect(clippy::print_stdout, reason = "an agent prints to its terminal"))]
pub mod demo_agent;
mod door;
mod log;
mod ports;
pub mod projects;
