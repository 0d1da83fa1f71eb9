//! `shopfloor resume`: what a person holds goes on: a job, a project's agents, or all.

use super::{CliError, CliResult, Context, Exit, held, output, pause};
use clap::Args;
use shopfloor_core::event::Event;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::Job;

/// Hand a job back to its agent, or let paused agents go on
///
/// With an issue's number: undoes `shopfloor take`, and lets the agent go on at whose terminal somebody
/// types. With a project's name, or --all: undoes `shopfloor pause`.
#[derive(Args)]
pub struct ResumeArgs {
    /// An issue's number, or a project's name
    #[arg(required_unless_present = "all")]
    what: Option<String>,
    /// Every project
    #[arg(long, conflicts_with = "what")]
    all: bool,
}

pub fn run(context: &Context, args: ResumeArgs) -> CliResult<Exit> {
    held::only_people()?;
    let number = args.what.as_deref().and_then(|what| what.parse::<IssueNumber>().ok());
    let Some(issue) = number else {
        let project = args.what.map(|name| pause::project(context, &name)).transpose()?;
        context.submit(&Event::WorkResumed { project: project.clone() })?;
        pause::tell(context, project.as_ref(), false);
        return Ok(Exit::Fine);
    };
    let job = live_job(context, issue)?;
    if context.engine()?.floor().agent_held(&job).is_none() {
        return Err(CliError::failed(format!("nobody holds issue #{issue}"))
            .hint(format!("`shopfloor explain {issue}` says what it waits for")));
    }
    context.submit(&Event::HandedBack { project: job.project, issue })?;
    if context.json {
        output::json(&serde_json::json!({ "issue": issue.0, "taken": false }));
    } else {
        output::line(format!("#{issue}: its agent goes on"));
    }
    Ok(Exit::Fine)
}

/// The job at work on an issue of the present project.
pub fn live_job(context: &Context, issue: IssueNumber) -> CliResult<Job> {
    let project = context.project()?.name;
    let engine = context.engine()?;
    let job = engine.floor().job_of(&project, issue);
    match job {
        Some(job) if job.is_live() => Ok(job.clone()),
        Some(job) => Err(CliError::no_such(format!("there is no job at work on issue #{issue}"))
            .hint(format!("its last job is {}", job.state.name()))),
        None => Err(CliError::no_such(format!("there is no job at work on issue #{issue}"))
            .hint(format!("`shopfloor explain {issue}` says why nothing happens"))),
    }
}
