//! `shopfloor resume`: a job, a project's agents or all agents, held by a person, continue.

use super::{CliResult, Context, Exit, output, pause};
use clap::Args;
use shopfloor_core::ids::IssueNumber;

/// Hand a job back to its agent, or let paused agents continue
///
/// With an issue's number: undoes `shopfloor take`, and hands the agent's terminal back even if somebody types
/// there. With a project's name, or --all: undoes `shopfloor pause`.
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
    let number = args.what.as_deref().and_then(|what| what.parse::<IssueNumber>().ok());
    let Some(issue) = number else {
        let project = args.what.map(|name| context.project_named(&name)).transpose()?;
        context.resume_work(project.as_ref())?;
        pause::tell(context, project.as_ref(), false);
        return Ok(Exit::Fine);
    };
    context.hand_back(&context.project()?.name, issue)?;
    if context.json {
        output::json(&serde_json::json!({ "issue": issue.0, "taken": false }));
    } else {
        output::line(format!("#{issue}: its agent continues"));
    }
    Ok(Exit::Fine)
}
