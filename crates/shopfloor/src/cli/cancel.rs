//! `shopfloor cancel`: end a job.

use super::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use serde::Serialize;
use shopfloor_core::event::Event;
use shopfloor_core::ids::IssueNumber;

/// End the job of an issue; its work is kept on a rescue ref, the issue stays open
///
/// Also the review of a pull request that no job carries, by the pull request's number.
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
    let project = context.project()?.name;
    let issue = args.issue;
    let engine = context.engine()?;
    let job = engine.floor().work_of(&project, issue);
    if !job.is_some_and(|job| job.is_live()) {
        let error = CliError::no_such(format!("there is no job at work on issue #{issue}"));
        return Err(match job {
            Some(job) => error.hint(format!("its last job is {}", job.state.name())),
            None => error.hint(format!("`shopfloor explain {issue}` says why nothing happens")),
        });
    }
    context.submit(&Event::Cancelled { project: project.clone(), issue })?;
    let engine = context.engine()?;
    let state = engine.floor().work_of(&project, issue).map_or("cancelled", |job| job.state.name());
    if context.json {
        output::json(&Cancelled { issue, state });
    } else {
        output::line(format!("#{issue}: {state}"));
    }
    Ok(Exit::Fine)
}
