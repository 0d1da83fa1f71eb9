//! Hand sessions: sessions that a person or an orchestrating program starts beside the factory's jobs, with
//! `shopfloor session`.
//!
//! The factory does not know about them. They build on it: its terminals, its worktrees and rescue refs, its
//! desk. What is decided about them is pure: their names ([`name`]), what a watch over one concludes
//! ([`watch`]), what a single look says ([`check`]). The rest acts: records and processes ([`sessions`]),
//! watching ([`monitor`]), typing ([`typing`]), ending ([`end`], [`finish`]), [`verify`].
//!
//! Invariants:
//! - A job's session is never ended or typed into here: its job would not know.
//! - Nothing is ended before what its worktree holds is kept (if the worktree is the floor's).
//! - Nothing here prints, reads the environment or exits: the caller provides the [`Means`].

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

pub mod beside;
pub mod check;
pub mod conversation;
pub mod end;
pub mod finish;
pub mod fork;
pub mod key;
pub mod leader;
pub mod list;
pub mod look;
pub mod marker;
mod means;
pub mod monitor;
pub mod name;
mod record;
pub mod resting;
pub mod sessions;
pub mod spawn;
pub mod step;
pub mod typing;
pub mod verify;
pub mod watch;
mod watcher;

pub use means::{Means, find, find_live, printed};
pub use record::{Ended, Finish, Finishing, Record, Stand};
pub use sessions::{Hand, HandError, HandResult, HandSessions, Spawn};
