//! The desk: where people and programs ask a floor and tell it things, whatever they use for it. The command
//! line uses it; a web page, a chat or another program's tool would use the same.
//!
//! [`Desk`] is a floor's door, with or without a daemon behind it. [`view`]s say what is there, as
//! serialisable values; [`command`]s change it, as events that are committed like any other; a
//! [`Subscription`] reports changes, from a position in the journal on.
//!
//! Nothing here prints, reads the environment or exits, and everything can be sent to another thread. Answers
//! come from the store: no view waits for a network.

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

pub mod command;
mod desk;
mod door;
pub mod dossier;
mod error;
pub mod json;
pub mod mirror;
mod seen;
mod subscription;
pub mod texts;
pub mod time;
pub mod view;

pub use desk::{DaemonView, Desk, Speaker};
pub use error::{Error, Exit, Result, answer};
pub use subscription::{Changes, Subscription};
pub use time::now;
