//! Why a branch in the merge queue is where it is: its newest entry, and the notes about it.

use super::entry::{EntryView, position};
use super::note::NoteView;
use super::tries::TryView;
use crate::{Desk, Result};
use serde::Serialize;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::{Entry, Floor};
use shopfloor_store::{JournalEntry, NoteFilter, Store};

const NOTES: usize = 20;
const TRIES: usize = 5;
/// How many of the project's notes are searched for those about the branch.
const NOTES_LOOKED_AT: usize = 2000;

#[derive(Serialize)]
pub struct Explanation {
    /// `null`: it was tried but never queued.
    pub entry: Option<EntryView>,
    /// Its tries, newest first.
    pub tries: Vec<TryView>,
    pub notes: Vec<NoteView>,
}

/// What an explanation is made of.
pub struct Explained<'f> {
    pub entry: Option<(&'f Entry, EntryView)>,
    pub tries: Vec<TryView>,
    pub notes: Vec<JournalEntry>,
}

/// The newest entry of that branch.
fn find<'f>(floor: &'f Floor, project: &ProjectName, branch: &str) -> Option<&'f Entry> {
    floor.entries.iter().rev().find(|e| e.project == *project && e.branch == branch)
}

/// Whether the branch was ever queued or tried.
pub fn is_known(floor: &Floor, project: &ProjectName, branch: &str) -> bool {
    find(floor, project, branch).is_some() || floor.newest_try(project, branch).is_some()
}

impl<'f> Explained<'f> {
    pub fn new(desk: &Desk, floor: &'f Floor, project: &ProjectName, branch: &str) -> Result<Self> {
        let shown = |entry| EntryView::new(floor, position(floor, entry), entry);
        let entry = find(floor, project, branch).map(|entry| (entry, shown(entry)));
        let tried = floor.tries.iter().rev().filter(|t| t.project == *project && t.branch == branch);
        let tries = tried.take(TRIES).map(|row| TryView::new(floor, &desk.layout, row)).collect();
        let filter = NoteFilter { project: Some(project.to_string()), ..NoteFilter::default() };
        let own = format!("{branch}: ");
        let mut notes = desk.reader()?.last_notes(&filter, NOTES_LOOKED_AT)?;
        notes.retain(|note| note.text.starts_with(&own));
        let surplus = notes.len().saturating_sub(NOTES);
        notes.drain(..surplus);
        Ok(Explained { entry, tries, notes })
    }

    /// The form that programs get.
    pub fn view(self) -> Explanation {
        Explanation {
            entry: self.entry.map(|(_, shown)| shown),
            tries: self.tries,
            notes: self.notes.into_iter().map(NoteView::from).collect(),
        }
    }
}
