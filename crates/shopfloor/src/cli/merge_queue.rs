//! `shopfloor merge-queue`: what is about to land, in order.

use super::context::now;
use super::{CliResult, Context, Exit, output, view};
use clap::{Args, Subcommand};
use serde::Serialize;
use shopfloor_core::ids::{PrNumber, ProjectName, Role, agent_name};
use shopfloor_core::state::{Entry, Floor};

/// Show the merge queue
#[derive(Args)]
pub struct MergeQueueArgs {
    #[command(subcommand)]
    command: MergeQueueCommand,
}

#[derive(Subcommand)]
enum MergeQueueCommand {
    /// List the branches on their way to the primary branch, in order
    List {
        /// Also those that landed or left the queue
        #[arg(long)]
        all: bool,
    },
}

/// An entry as `--json` shows it.
#[derive(Serialize)]
pub struct EntryView {
    /// In its project's queue, from 1; `null` once it is through.
    position: Option<usize>,
    identity_name: String,
    branch: String,
    worktree_path: Option<String>,
    pr_number: PrNumber,
    /// The issue's number.
    bead_id: String,
    /// The project's name.
    node_id: ProjectName,
    requested_at: String,
    status: &'static str,
}

impl EntryView {
    fn new(floor: &Floor, position: Option<usize>, entry: &Entry) -> Self {
        EntryView {
            position,
            identity_name: agent_name(Role::Dev, &entry.project, entry.issue),
            branch: entry.branch.clone(),
            worktree_path: floor.jobs.get(&entry.job).and_then(|job| job.worktree.clone()),
            pr_number: entry.pr,
            bead_id: entry.issue.to_string(),
            node_id: entry.project.clone(),
            requested_at: output::moment(entry.requested_at),
            status: entry.state.name(),
        }
    }
}

/// The queue in order.
pub fn queue(floor: &Floor, project: Option<&ProjectName>) -> Vec<EntryView> {
    let entries = view::queue(floor, project).into_iter();
    entries.map(|(position, entry)| EntryView::new(floor, Some(position), entry)).collect()
}

pub fn run(context: &Context, args: MergeQueueArgs) -> CliResult<Exit> {
    let MergeQueueCommand::List { all } = args.command;
    let engine = context.engine()?;
    let floor = engine.floor();
    let project = context.named_project()?;
    let waiting = view::queue(floor, project.as_ref());
    let mut entries: Vec<(Option<usize>, &Entry)> = waiting.iter().map(|(at, e)| (Some(*at), *e)).collect();
    if all {
        let through = |e: &&Entry| !waiting.iter().any(|(_, w)| w.id == e.id);
        let mine = |e: &&Entry| project.as_ref().is_none_or(|p| e.project == *p);
        entries.extend(floor.entries.iter().rev().filter(through).filter(mine).map(|e| (None, e)));
    }
    if context.json {
        output::json(&entries.iter().map(|(at, e)| EntryView::new(floor, *at, e)).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|(position, entry)| {
            vec![
                view::or_dash(*position),
                entry.project.to_string(),
                format!("#{}", entry.issue),
                format!("#{}", entry.pr),
                entry.branch.clone(),
                entry.state.name().to_owned(),
                output::span(now().since(entry.requested_at)),
            ]
        })
        .collect();
    output::table(&["POSITION", "PROJECT", "ISSUE", "PR", "BRANCH", "STATUS", "REQUESTED"], &rows);
    Ok(Exit::Fine)
}
