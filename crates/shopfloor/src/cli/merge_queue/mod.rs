//! `shopfloor merge-queue`: what is about to land, in order, and people's say in it.

mod backport;
mod change;
mod history;
mod landed;
mod list;
mod process;
mod revert;
mod stats;
mod status;
mod try_branch;

pub use shopfloor_desk::view::entry::{self, EntryView};
pub use shopfloor_desk::view::tries::TryView;

use super::authority::ELSEWHERE;
use super::{CliResult, Context, Exit};
use clap::{Args, Subcommand};

/// Show the merge queue, and change what is in it
#[derive(Args)]
pub struct MergeQueueArgs {
    #[command(subcommand)]
    command: MergeQueueCommand,
}

#[derive(Subcommand)]
enum MergeQueueCommand {
    List(list::ListArgs),
    Add(change::AddArgs),
    Remove(change::RemoveArgs),
    /// Carry the next change through the queue, in the foreground
    ///
    /// Without a daemon this does the queue's work, and nothing else, until that change has landed or left the
    /// queue. If a daemon runs, it waits until the daemon has done it. Exit code 3 if the change did not land.
    Process,
    /// Show what is being tried, and the state of the queue
    Status,
    Pause(change::PauseArgs),
    Resume(change::ResumeArgs),
    Accept(change::AcceptArgs),
    Retry(change::RetryArgs),
    Revert(revert::RevertArgs),
    Backport(backport::BackportArgs),
    Try(try_branch::TryArgs),
    History(history::HistoryArgs),
    Stats(stats::StatsArgs),
}

impl MergeQueueArgs {
    pub(super) fn persons(&self) -> Option<&'static str> {
        match &self.command {
            MergeQueueCommand::List(_)
            | MergeQueueCommand::Status
            | MergeQueueCommand::History(_)
            | MergeQueueCommand::Stats(_) => None,
            MergeQueueCommand::Add(_) => Some("a person approves, or a reviewing agent in its result file"),
            MergeQueueCommand::Revert(_) => Some("an agent reverts in its own branch"),
            MergeQueueCommand::Backport(_) => Some("an agent works in its own branch"),
            MergeQueueCommand::Remove(_)
            | MergeQueueCommand::Process
            | MergeQueueCommand::Pause(_)
            | MergeQueueCommand::Resume(_)
            | MergeQueueCommand::Accept(_)
            | MergeQueueCommand::Retry(_)
            | MergeQueueCommand::Try(_) => Some(ELSEWHERE),
        }
    }
}

pub fn run(context: &Context, args: MergeQueueArgs) -> CliResult<Exit> {
    match args.command {
        MergeQueueCommand::List(args) => list::run(context, &args),
        MergeQueueCommand::Add(args) => change::add(context, &args),
        MergeQueueCommand::Remove(args) => change::remove(context, &args),
        MergeQueueCommand::Process => process::run(context),
        MergeQueueCommand::Status => status::run(context),
        MergeQueueCommand::Pause(args) => change::pause(context, args),
        MergeQueueCommand::Resume(args) => change::resume(context, &args),
        MergeQueueCommand::Accept(args) => change::accept(context, &args),
        MergeQueueCommand::Retry(args) => change::retry(context, &args),
        MergeQueueCommand::Revert(args) => revert::run(context, &args),
        MergeQueueCommand::Backport(args) => backport::run(context, &args),
        MergeQueueCommand::Try(args) => try_branch::run(context, &args),
        MergeQueueCommand::History(args) => history::run(context, &args),
        MergeQueueCommand::Stats(args) => stats::run(context, &args),
    }
}
