//! `shopfloor cancel`: end a job.

use super::{CliResult, Context, Exit, output};
use clap::Args;
use serde::Serialize;
use shopfloor_core::ids::IssueNumber;

/// End the job of an issue; its work is kept on a rescue ref, and the issue stays open
///
/// Given the number of a pull request of a person's, it ends an agent's review of that.
#[derive(Args)]
pub struct CancelArgs {
    issue: IssueNumber,
}

#[derive(Serialize)]
struct Cancelled {
    issue: IssueNumber,
    state: &'static str,
}

pub fn run(context: &Context, args: CancelArgs) -> CliResult<Exit> {
    let issue = args.issue;
    let state = context.cancel(&context.project()?.name, issue)?;
    if context.json {
        output::json(&Cancelled { issue, state });
    } else {
        output::line(format!("#{issue}: {state}"));
    }
    Ok(Exit::Fine)
}
