//! Why a branch in the merge queue is where it is: its newest entry, and what was noted of it.

use crate::cli::events::{self, NoteView};
use crate::cli::merge_queue::{EntryView, TryView};
use crate::cli::{CliResult, Context, Exit, output};
use serde::Serialize;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::{Entry, Floor};
use shopfloor_core::text::one_line;
use shopfloor_store::sqlite::NoteFilter;

const NOTES: usize = 20;
const TRIES: usize = 5;
/// Notes of the project that are looked through for those of the branch.
const NOTES_LOOKED_AT: usize = 2000;

#[derive(Serialize)]
struct Explanation {
    /// `null`: it was tried, and never queued.
    entry: Option<EntryView>,
    /// How it was tried without landing, the newest first.
    tries: Vec<TryView>,
    notes: Vec<NoteView>,
}

/// The newest entry of that branch.
fn find<'f>(floor: &'f Floor, project: &ProjectName, branch: &str) -> Option<&'f Entry> {
    floor.entries.iter().rev().find(|e| e.project == *project && e.branch == branch)
}

/// Whether it was queued, or tried.
pub fn is_known(floor: &Floor, project: &ProjectName, branch: &str) -> bool {
    find(floor, project, branch).is_some() || floor.newest_try(project, branch).is_some()
}

pub fn run(context: &Context, floor: &Floor, project: &ProjectName, branch: &str) -> CliResult<Exit> {
    let entry = find(floor, project, branch);
    let place = |entry: &Entry| floor.queue_order(&entry.queue()).iter().position(|e| e.id == entry.id);
    let shown = entry.map(|entry| EntryView::new(floor, place(entry).map(|at| at + 1), entry));
    let tried = floor.tries.iter().rev().filter(|t| t.project == *project && t.branch == branch);
    let tries: Vec<TryView> = tried.take(TRIES).map(|row| TryView::new(floor, context, row)).collect();
    let filter = NoteFilter { project: Some(project.to_string()), ..NoteFilter::default() };
    let own = format!("{branch}: ");
    let mut notes = context.reader()?.last_notes(&filter, NOTES_LOOKED_AT)?;
    notes.retain(|note| note.text.starts_with(&own));
    let surplus = notes.len().saturating_sub(NOTES);
    notes.drain(..surplus);
    if context.json {
        let notes = notes.into_iter().map(NoteView::from).collect();
        output::json(&Explanation { entry: shown, tries, notes });
        return Ok(Exit::Fine);
    }
    if let Some((entry, shown)) = entry.zip(shown.as_ref()) {
        print_entry(entry, shown);
    }
    tries.iter().for_each(|tried| output::line(format!("tried: {}", tried.tell())));
    if !notes.is_empty() {
        output::line("  what happened:");
    }
    notes.iter().for_each(events::print_line);
    Ok(Exit::Fine)
}

fn print_entry(entry: &Entry, shown: &EntryView) {
    let place = shown.position.map(|at| format!(", position {at}")).unwrap_or_default();
    output::line(format!("{} at {}: {}{place}", entry.branch, entry.head.short(), shown.status));
    let what = if shown.position.is_some() { "waits for" } else { "what became of it" };
    output::line(format!("  {what}: {}", shown.waits_for));
    if let Some(by) = &entry.by_hand {
        let author = by.author.as_ref().map(|author| format!("; its newest commit is by {author}"));
        let author = one_line(&author.unwrap_or_default(), 200);
        output::line(format!("  queued by {}{author}", one_line(&by.by, 80)));
    }
    if let Some(command) = &shown.command {
        output::line(format!("  the project's command: {}", one_line(command, 200)));
    }
    if shown.position.is_some() {
        output::line(format!("  estimate: {}", shown.estimate()));
    }
}
