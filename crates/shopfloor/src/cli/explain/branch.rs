//! Why a branch in the merge queue is where it is.

use crate::cli::events;
use crate::cli::merge_queue::EntryView;
use crate::cli::{CliResult, Context, Exit, output};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::{Entry, Floor};
use shopfloor_core::text::one_line;
use shopfloor_desk::view::branch::Explained;

pub fn run(context: &Context, floor: &Floor, project: &ProjectName, branch: &str) -> CliResult<Exit> {
    let explained = Explained::new(context, floor, project, branch)?;
    if context.json {
        output::json(&explained.view());
        return Ok(Exit::Fine);
    }
    if let Some((entry, shown)) = &explained.entry {
        print_entry(entry, shown);
    }
    explained.tries.iter().for_each(|tried| output::line(format!("tried: {}", tried.tell())));
    if !explained.notes.is_empty() {
        output::line("  what happened:");
    }
    explained.notes.iter().for_each(events::print_line);
    Ok(Exit::Fine)
}

fn print_entry(entry: &Entry, shown: &EntryView) {
    let place = shown.position.map(|at| format!(", position {at}")).unwrap_or_default();
    output::line(format!("{} at {}: {}{place}", entry.branch, entry.head.short(), shown.status));
    let what = if shown.position.is_some() { "waits for" } else { "what became of it" };
    output::line(format!("  {what}: {}", shown.waits_for));
    if let Some(by) = &entry.person {
        let author = by.author.as_ref().map(|author| format!("; its newest commit is by {author}"));
        let author = one_line(&author.unwrap_or_default(), 200);
        output::line(format!("  queued by {}{author}", one_line(&by.by, 80)));
    }
    if let Some(command) = &shown.command {
        output::line(format!("  the project's command: {}", one_line(command, 200)));
    }
    if shown.position.is_some() {
        output::line(format!("  estimate: {}", output::or_dash(shown.estimate())));
    }
}
