//! Commands: what people and programs may tell a floor, checked before it is committed as an event. Whoever
//! offers a command decides who may give it.

mod act;
mod answer;
mod approval;
mod asking;
mod branch;
mod escalate;
mod health;
mod job;
mod pull;
mod queue;
mod run;
mod schedule;
mod tries;
mod vault;
mod work;

pub use act::allowing;
pub use answer::{Answered, FreeText, Meant};
pub use approval::{Approve, CommitName};
pub use asking::{Asking, Change, target_named};
pub use branch::Wish;
pub use escalate::Escalated;
pub use queue::{HoldView, Queued};
pub use vault::{Wanted, Which};

use shopfloor_core::event::NoteKind;
use shopfloor_engine::Applied;

/// Why an event was not taken in after all: somebody else was first.
fn not_taken(applied: &Applied) -> Option<String> {
    let stale = applied.notes.iter().find(|note| note.kind == NoteKind::StaleSignal);
    stale.map(|note| note.text.clone())
}
