//! `shopfloor take`: a person takes a job from its agent, without attaching.

use super::{CliResult, Context, Exit, held, output, resume};
use clap::Args;
use shopfloor_core::event::Event;
use shopfloor_core::ids::IssueNumber;

/// Take an issue's job from its agent: nothing is typed to it, and it is neither reminded, replaced nor ended
///
/// Whoever attaches to its terminal (`shopfloor attach`) and types has it without this. It lasts until
/// `shopfloor resume ISSUE`; what the agent does by itself meanwhile counts.
#[derive(Args)]
pub struct TakeArgs {
    issue: IssueNumber,
}

pub fn run(context: &Context, args: TakeArgs) -> CliResult<Exit> {
    held::only_people()?;
    let issue = args.issue;
    let job = resume::live_job(context, issue)?;
    context.submit(&Event::Taken { project: job.project, issue })?;
    if context.json {
        output::json(&serde_json::json!({ "issue": issue.0, "taken": true }));
    } else {
        output::line(format!("#{issue}: you have it; `shopfloor resume {issue}` hands it back"));
    }
    Ok(Exit::Fine)
}
