//! `shopfloor take`: a person takes a job from its agent, without attaching.

use super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::ids::IssueNumber;

/// Take an issue's job from its agent, which is then neither typed to, reminded, replaced nor ended
///
/// Attaching to its terminal (`shopfloor attach`) and typing does the same for a while. This lasts until
/// `shopfloor resume ISSUE`. What the agent does by itself meanwhile still counts.
#[derive(Args)]
pub struct TakeArgs {
    issue: IssueNumber,
}

pub fn run(context: &Context, args: TakeArgs) -> CliResult<Exit> {
    let issue = args.issue;
    context.take(&context.project()?.name, issue)?;
    if context.json {
        output::json(&serde_json::json!({ "issue": issue.0, "taken": true }));
    } else {
        output::line(format!("#{issue}: you have it; `shopfloor resume {issue}` hands it back"));
    }
    Ok(Exit::Fine)
}
