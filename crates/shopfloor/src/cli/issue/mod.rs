//! `shopfloor issue`: the issues of a project's forge.

mod add;
mod change;
mod labels;
mod list;
mod show;

use super::{CliResult, Context, Exit};
use clap::{Args, Subcommand};

/// Add, show and change issues
#[derive(Args)]
pub struct IssueArgs {
    #[command(subcommand)]
    command: IssueCommand,
}

#[derive(Subcommand)]
enum IssueCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Edit(change::EditArgs),
    Label(change::LabelArgs),
    Comment(change::CommentArgs),
    /// Close an issue; its job ends, and its work is kept
    Close(change::NumberArgs),
    /// Reopen a closed issue
    Reopen(change::NumberArgs),
}

pub fn run(context: &Context, args: IssueArgs) -> CliResult<Exit> {
    match args.command {
        IssueCommand::Add(args) => add::run(context, args),
        IssueCommand::List(args) => list::run(context, args),
        IssueCommand::Show(args) => show::run(context, args),
        IssueCommand::Edit(args) => change::edit(context, args),
        IssueCommand::Label(args) => change::label(context, args),
        IssueCommand::Comment(args) => change::comment(context, args),
        IssueCommand::Close(args) => change::close(context, args),
        IssueCommand::Reopen(args) => change::reopen(context, args),
    }
}
