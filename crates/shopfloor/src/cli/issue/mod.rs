//! `shopfloor issue`: the issues of the embedded forge.

mod add;
mod change;
mod labels;
mod list;
mod show;

use super::{CliError, CliResult, Context, Exit};
use clap::{Args, Subcommand};
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName};
use shopfloor_store::forge::{ForgeDb, ForgeError, ForgeResult, IssueFilter};

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
    /// Close an issue; a job at work on it ends, nothing of it is lost
    Close(change::NumberArgs),
    /// Open a closed issue again
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

/// How many neighbours of a number that is no issue are named.
const NEAR_MAX: usize = 5;

/// As an answer of the forge; a missing issue comes with what may have been meant.
fn found<T>(forge: &mut ForgeDb, project: &ProjectName, result: ForgeResult<T>) -> CliResult<T> {
    match result {
        Err(ForgeError::NoSuchIssue(number)) => {
            let hint = what_instead(forge, project, number)?;
            Err(CliError::from(ForgeError::NoSuchIssue(number)).hint(hint))
        }
        other => Ok(other?),
    }
}

fn what_instead(forge: &mut ForgeDb, project: &ProjectName, number: IssueNumber) -> CliResult<String> {
    // Both take their numbers from one sequence.
    if forge.pr_summary(project, PrNumber(number.0)).is_ok() {
        return Ok(format!("#{number} is a pull request: `shopfloor pr show {number}`"));
    }
    let mut near: Vec<IssueNumber> =
        forge.issues(project, &IssueFilter::default())?.iter().map(|i| i.number).collect();
    if near.is_empty() {
        return Ok(format!("project {project} has no issues yet: `shopfloor issue add TITLE` makes one"));
    }
    near.sort_by_key(|n| n.0.abs_diff(number.0));
    near.truncate(NEAR_MAX);
    near.sort_unstable();
    Ok(format!("the nearest are {}", super::view::numbers(&near, ", ")))
}
