//! `shopfloor pr create`: a pull request for a person's branch.

use super::present;
use crate::cli::body::BodyArgs;
use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::Project;
use shopfloor_engine::ports::forge::{By, NewPr};

/// Open a pull request for a branch of your own
///
/// The branch is one that you pushed (`git push shopfloor BRANCH`) and that belongs to no job. Its pull request
/// follows it; an approval is for one commit. `shopfloor merge-queue add BRANCH` lands it, with the pull
/// request's title and text. Closing it, or requesting changes to that commit, takes it out of the merge queue.
#[derive(Args)]
pub struct CreateArgs {
    branch: String,
    /// Its title [default: the first line of its newest commit]
    #[arg(long)]
    title: Option<String>,
    /// The issue it is for, which is closed when it lands. If that is labelled backlog, an agent continues on
    /// the branch
    #[arg(long, value_name = "ISSUE")]
    issue: Option<IssueNumber>,
    #[command(flatten)]
    body: BodyArgs,
}

pub fn run(context: &Context, project: &Project, args: CreateArgs) -> CliResult<Exit> {
    let name = args.branch.strip_prefix("refs/heads/").unwrap_or(&args.branch);
    let asking = context.asking(project.clone());
    let found = context.may_open_pull(&asking, name)?;
    let redactor = context.redactor()?;
    let new = NewPr {
        by: By::Person(&asking.by),
        title: &redactor.redact(&args.title.unwrap_or(found.subject)),
        body: &redactor.redact(&args.body.read()?.unwrap_or_default()),
        branch: name,
        head: &found.head,
        issue: args.issue,
    };
    let number = context.open_pull(&asking, &new)?;
    if context.json {
        return present(context, project, number);
    }
    output::line(format!("#{number} opened: {name} at {}", found.head.short()));
    Ok(Exit::Fine)
}
