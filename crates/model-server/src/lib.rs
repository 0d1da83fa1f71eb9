//! A scripted model server on loopback, so that real agent clients can be tested, and tried by `doctor agents --client`,
//! without a network, an account or a model.
//!
//! It speaks Anthropic Messages and OpenAI Responses on one port of 127.0.0.1. What it answers is a
//! [`Scenario`]; what goes wrong is a [`Fault`]; what it was asked is kept for the test to look at. A
//! test in the same process holds a [`ModelServer`]; others run `model-server` and use `/control/…`.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, clippy::exit, clippy::unwrap_used))]

mod anthropic;
mod control;
mod director;
mod fault;
mod http;
mod log;
mod openai;
mod scenario;
mod server;
mod turn;

pub use director::By;
pub use fault::{Fault, FaultKind};
pub use log::Asked;
pub use scenario::{Call, Capture, Rule, Scenario, ScenarioError, Step, Tool, Usage, When};
pub use server::ModelServer;
pub use turn::{Client, Kind};
