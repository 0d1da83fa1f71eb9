//! Liveness: facts are collected with their source and time, a status is derived from them.
//!
//! - A process is alive, gone or unknown: three values. Only one that is proven gone is dead.
//! - Hooks say what state a session is in. They do not say everything: Esc, `kill -9` and a failed request in
//!   Codex are silent.
//! - The status line's clock proves life, never work: while it moves, a session is not stuck. A session that is
//!   alive, but in which nothing has moved for long, has a state of its own.
//! - A screen may take a claim away but never adds one. A screen that is not understood says nothing. That a
//!   session rests is a claim too: a spinner takes it away.
//! - The end of a turn belongs to that turn. A prompt that was queued during it, and work that continues in the
//!   background, keep a session from being idle.
//! - Finding that an agent has stopped for good, of which it is reminded, takes two kinds of evidence.

mod background;
mod derive;
mod evidence;
mod fact;
mod gate;
mod hook;
mod question;
mod screen;
mod status;

pub use background::Task;
pub use derive::{IDLE_OBSERVATIONS, derive, is_in_doubt, observe};
pub use evidence::Evidence;
pub use fact::{Fact, Process, Source, StatuslineFact, Transcript, TurnEnd, What};
pub use gate::{Gate, time_gate};
pub use hook::{CompactTrigger, HookEvent, HookState, NotificationKind, Stand, StartSource};
pub use question::question_at_end;
pub use status::{Activity, Confidence, Reason, State, Status};

#[cfg(test)]
mod tests;
