//! `shopfloor explain`: everything that says why an issue, or an agent, is where it is.

mod agent;
mod issue;

use super::{CliResult, Context, Exit};
use clap::Args;
use shopfloor_core::ids::IssueNumber;

/// Say where an issue or an agent stands, since when, and what that is known from
///
/// For an issue: its job, its deadline, and why nothing happens. For an agent or a session: its status
/// with every fact it was derived from, how old each is, and what became of its messages.
#[derive(Args)]
pub struct ExplainArgs {
    /// An issue's number, an agent (dev-project-7), or a session (its name, or e12)
    #[arg(value_name = "ISSUE|AGENT")]
    what: String,
}

pub fn run(context: &Context, args: &ExplainArgs) -> CliResult<Exit> {
    match args.what.parse::<IssueNumber>() {
        Ok(number) => issue::run(context, number),
        Err(_) => agent::run(context, &args.what),
    }
}
