//! `shopfloor merge-queue history`: what became of what was in the queue.

use super::EntryView;
use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::state::Entry;

/// Show what landed or left the queue, newest first
#[derive(Args)]
pub struct HistoryArgs {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub fn run(context: &Context, args: &HistoryArgs) -> CliResult<Exit> {
    let floor = &context.history()?;
    let project = context.named_project()?;
    let through = |e: &&Entry| !e.state.is_live() && project.as_ref().is_none_or(|p| e.project == *p);
    let mut entries: Vec<&Entry> = floor.entries.iter().filter(through).collect();
    entries.sort_by_key(|e| std::cmp::Reverse((e.decided_at, e.id)));
    entries.truncate(args.limit);
    let views: Vec<EntryView> = entries.iter().map(|e| EntryView::new(floor, None, e)).collect();
    if context.json {
        output::json(&views);
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .zip(views)
        .map(|(entry, view)| {
            vec![
                output::or_dash(entry.decided_at.map(output::timestamp)),
                entry.project.to_string(),
                output::or_dash(entry.issue.map(|issue| format!("#{issue}"))),
                entry.branch.clone(),
                view.status.to_owned(),
                view.waits_for,
            ]
        })
        .collect();
    output::table(&["WHEN", "PROJECT", "ISSUE", "BRANCH", "STATUS", "HOW"], &rows);
    Ok(Exit::Fine)
}
