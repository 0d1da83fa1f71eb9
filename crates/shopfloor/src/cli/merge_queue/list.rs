//! `shopfloor merge-queue list`: what is about to land, in order.

use super::{EntryView, TryView};
use crate::cli::{CliResult, Context, Exit, now, output};
use clap::Args;
use shopfloor_core::state::{Entry, Try};
use shopfloor_desk::view::job;

/// List the branches on their way to the primary branch, or another target, in order
#[derive(Args)]
pub struct ListArgs {
    /// Also those that landed or left the queue
    #[arg(long)]
    all: bool,
}

pub fn run(context: &Context, args: &ListArgs) -> CliResult<Exit> {
    let floor = &if args.all { context.history()? } else { context.committed_about(&[])? };
    let project = context.named_project()?;
    let waiting = job::queue(floor, project.as_ref());
    let mut entries: Vec<(Option<usize>, &Entry)> = waiting.iter().map(|(at, e)| (Some(*at), *e)).collect();
    if args.all {
        let mine = |e: &&Entry| project.as_ref().is_none_or(|p| e.project == *p);
        let through = |e: &&Entry| !e.state.is_live();
        entries.extend(floor.entries.iter().rev().filter(through).filter(mine).map(|e| (None, e)));
    }
    let views: Vec<EntryView> = entries.iter().map(|(at, e)| EntryView::new(floor, *at, e)).collect();
    if context.json {
        output::json(&views);
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .zip(&views)
        .map(|((position, entry), view)| {
            vec![
                output::or_dash(*position),
                entry.project.to_string(),
                output::or_dash(entry.issue.map(|issue| format!("#{issue}"))),
                output::or_dash(entry.pr.map(|pr| format!("#{pr}"))),
                match &entry.target {
                    Some(target) => format!("{} -> {}", entry.branch, target.branch()),
                    None => entry.branch.clone(),
                },
                view.status.to_owned(),
                output::span(now().since(entry.requested_at)),
                output::or_dash(view.estimate()),
                view.waits_for.clone(),
            ]
        })
        .collect();
    let header =
        ["POSITION", "PROJECT", "ISSUE", "PR", "BRANCH", "STATUS", "REQUESTED", "ABOUT", "WAITS FOR"];
    output::table(&header, &rows);
    let mine = |t: &&Try| project.as_ref().is_none_or(|p| t.project == *p) && (args.all || t.state.is_live());
    for row in floor.tries.iter().rev().filter(mine) {
        output::line(format!("tried: {}", TryView::new(floor, &context.layout, row).tell()));
    }
    for queue in floor.queues.iter().filter(|q| project.as_ref().is_none_or(|p| q.project == *p)) {
        if let Some(why) = queue.pause() {
            output::line(format!("{} is paused: {why}", queue.id()));
        }
        if let Some(lost) = &queue.lost {
            output::line(format!("{} stands still: {}", queue.id(), lost.tell_of(queue.target.as_ref())));
        }
    }
    Ok(Exit::Fine)
}
