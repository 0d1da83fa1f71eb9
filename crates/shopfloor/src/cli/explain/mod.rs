//! `shopfloor explain`: everything that says why an issue, an agent, or a branch in the merge queue, is where it is.

mod agent;
mod branch;
mod issue;

use super::{CliResult, Context, Exit};
use clap::Args;
use shopfloor_core::ids::IssueNumber;
use shopfloor_desk::view::branch::is_known;

/// Say where an issue, an agent or a branch is, since when, and how that is known
///
/// For an issue: its job, its deadline, and why nothing happens. For an agent or a session: its status
/// with every fact it was derived from, how old each is, and what became of its messages. For a branch: its way
/// through the merge queue.
#[derive(Args)]
pub struct ExplainArgs {
    /// An issue's number, an agent (dev-project-7), a session (its name, or e12), or a branch that was queued or tried
    #[arg(value_name = "ISSUE|AGENT|BRANCH")]
    what: String,
}

pub fn run(context: &Context, args: &ExplainArgs) -> CliResult<Exit> {
    match args.what.parse::<IssueNumber>() {
        Ok(number) => issue::run(context, number),
        Err(_) => {
            let floor = context.history()?;
            let name = args.what.strip_prefix("refs/heads/").unwrap_or(&args.what);
            // Outside of a project, only an agent can be meant.
            let project = context.project().ok().map(|row| row.name);
            match project.filter(|project| is_known(&floor, project, name)) {
                Some(project) => branch::run(context, &floor, &project, name),
                None => agent::run(context, &floor, &args.what),
            }
        }
    }
}
