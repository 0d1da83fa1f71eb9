//! What gardeners answer, and what follows: acts on the forge, dust that is swept together, questions to people. Owns what
//! is remembered of each project's grooming, and how acts are undone.
//!
//! Others may ask it to take in an answer, a person's decision or wish to undo something, and tell it what became of acts.
//!
//! Invariants:
//! - Of an answer all is taken or nothing, in the step that takes it in: a crash neither halves nor doubles it.
//! - A gardener has nothing done that its role may not, nor to an issue that a job carries. What a person chose is theirs.
//! - Dust of one group becomes one issue, once; the question has a number and a time when people are reminded.
//! - What an act changes is on record before it is changed.

mod dust;
mod questions;
mod taken;
mod undo;

pub(in crate::step) use taken::Gardener;
pub use undo::{NotUndone, may_undo};

use crate::ids::ProjectName;
use crate::state::{Floor, Garden};
use crate::step::Turn;

/// The token required to change what is remembered of gardens and acts.
pub struct Gardening(());

impl Floor {
    fn garden_mut(&mut self, project: &ProjectName) -> Option<&mut Garden> {
        self.gardens.edit(Gardening(()), project)
    }
}

impl Turn<'_> {
    /// What is remembered of a project, begun if it is nothing.
    fn garden(&mut self, project: &ProjectName) -> Option<&mut Garden> {
        if self.floor.gardens.get(project).is_none() {
            let project = project.clone();
            let new = Garden { project, judged: vec![], dust: vec![], inquiry: None, decided: vec![] };
            self.floor.gardens.put(Gardening(()), new);
        }
        self.floor.garden_mut(project)
    }

    /// Dust is old, or people have not answered.
    pub(in crate::step) fn garden_due(&mut self, project: &ProjectName) {
        self.sweep_old_dust(project);
        self.remind_of_inquiry(project);
    }
}
