//! `shopfloor explain`: everything that says why an issue, a run, an agent, or a branch in the merge queue, is where it
//! is.

mod agent;
mod branch;
mod issue;
mod run;

use super::{CliResult, Context, Exit};
use clap::Args;
use shopfloor_core::ids::{IssueNumber, RunNumber};
use shopfloor_desk::view::branch::is_known;

/// Say where an issue, a run, an agent or a branch is, since when, and how that is known
///
/// For an issue, or a run of a formula: its job, its deadline, and why nothing happens. For an agent or a session: its status
/// with every fact it was derived from, how old each is, and what became of its messages. For a branch: its way
/// through the merge queue.
#[derive(Args)]
pub struct ExplainArgs {
    /// An issue's number, a run (r12), an agent (dev-project-7), a session (its name, or e12), or a branch that was queued
    /// or tried
    #[arg(value_name = "ISSUE|RUN|AGENT|BRANCH")]
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
            let number = args.what.strip_prefix('r').and_then(|number| number.parse::<RunNumber>().ok());
            match (project, number) {
                (Some(project), _) if is_known(&floor, &project, name) => {
                    branch::run(context, &floor, &project, name)
                }
                (Some(project), Some(number)) => run::run(context, &floor, &project, number),
                _ => agent::run(context, &floor, &args.what),
            }
        }
    }
}
