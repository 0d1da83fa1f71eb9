//! `shopfloor issue`: the issues of a project's forge.

mod add;
mod change;
mod labels;
mod list;
mod search;
mod show;

use super::authority::Needed;
use super::{CliResult, Context, Exit};
use clap::{Args, Subcommand};
use shopfloor_core::capability::Capability;
use std::path::Path;

/// Add, show and change issues
#[derive(Args)]
pub struct IssueArgs {
    #[command(subcommand)]
    command: IssueCommand,
}

impl IssueArgs {
    pub(super) fn persons(&self) -> Option<&'static str> {
        match &self.command {
            IssueCommand::Comment(args) if args.edit.is_some() => {
                Some("an agent may comment again, without --edit")
            }
            IssueCommand::Edit(_) | IssueCommand::Reopen(_) => {
                Some("an agent may comment on the issue, and signals a phase")
            }
            IssueCommand::Add(_)
            | IssueCommand::List(_)
            | IssueCommand::Search(_)
            | IssueCommand::Show(_)
            | IssueCommand::Comment(_)
            | IssueCommand::Label(_)
            | IssueCommand::Close(_) => None,
        }
    }
}

impl IssueArgs {
    pub(super) fn needed(&self) -> Needed {
        Needed::Capability(match &self.command {
            // With which labels, and how many, the factory decides when it takes it in.
            IssueCommand::Add(_) => Capability::CreateIssue,
            IssueCommand::Label(_) => Capability::LabelIssue,
            IssueCommand::Close(_) => Capability::CloseIssue,
            // And whether the issue is the agent's own.
            IssueCommand::Comment(_) => Capability::Comment,
            _ => Capability::Look,
        })
    }

    /// A file that a text is read from.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.command {
            IssueCommand::Add(args) => args.body.file(),
            IssueCommand::Comment(args) => args.body_file.as_deref(),
            _ => None,
        }
    }
}

#[derive(Subcommand)]
enum IssueCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Search(search::SearchArgs),
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
        IssueCommand::Search(args) => search::run(context, args),
        IssueCommand::Show(args) => show::run(context, args),
        IssueCommand::Edit(args) => change::edit(context, args),
        IssueCommand::Label(args) => change::label(context, args),
        IssueCommand::Comment(args) => change::comment(context, args),
        IssueCommand::Close(args) => change::close(context, args),
        IssueCommand::Reopen(args) => change::reopen(context, args),
    }
}
