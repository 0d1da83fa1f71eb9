//! `shopfloor pause`: a person stops the agents of a project, or of the whole floor.

use super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::ids::ProjectName;

/// Pause all agents, or one project's: nothing is started, typed or reminded
///
/// Sessions stay as they are, and what an agent does by itself counts. Checks and the merge queue continue
/// (`shopfloor merge-queue pause` holds the queue). `shopfloor resume --all`, or `shopfloor resume PROJECT`,
/// lets the agents continue.
#[derive(Args)]
pub struct PauseArgs {
    /// Only this project
    project: Option<String>,
    /// Why, for others to see
    #[arg(long, default_value = "by a person")]
    reason: String,
}

pub fn run(context: &Context, args: PauseArgs) -> CliResult<Exit> {
    let project = args.project.map(|name| context.project_named(&name)).transpose()?;
    context.pause_work(project.as_ref(), &args.reason)?;
    tell(context, project.as_ref(), true);
    Ok(Exit::Fine)
}

pub fn tell(context: &Context, project: Option<&ProjectName>, paused: bool) {
    if context.json {
        output::json(&serde_json::json!({ "project": project, "paused": paused }));
        return;
    }
    let who = project.map_or_else(|| "all agents".to_owned(), |name| format!("the agents of {name}"));
    output::line(match (paused, project) {
        (true, None) => format!("{who} are paused; `shopfloor resume --all` lets them continue"),
        (true, Some(name)) => format!("{who} are paused; `shopfloor resume {name}` lets them continue"),
        (false, _) => format!("{who} continue"),
    });
}
