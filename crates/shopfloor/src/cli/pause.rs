//! `shopfloor pause`: a person stops the agents of a project, or of the whole floor.

use super::{CliError, CliResult, Context, Exit, held, output};
use clap::Args;
use shopfloor_core::event::Event;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::text::one_line;

/// Pause all agents, or one project's: nothing is started, typed or reminded
///
/// Sessions stay as they are, and what an agent does by itself counts. Checks and the merge queue go on
/// (`shopfloor merge-queue pause` holds that). `shopfloor resume --all`, or `shopfloor resume PROJECT`,
/// lets the agents go on.
#[derive(Args)]
pub struct PauseArgs {
    /// Only this project
    project: Option<String>,
    /// Why, for whoever asks
    #[arg(long, default_value = "by a person")]
    reason: String,
}

const REASON_CHARS: usize = 200;

pub fn run(context: &Context, args: PauseArgs) -> CliResult<Exit> {
    held::only_people()?;
    let project = args.project.map(|name| project(context, &name)).transpose()?;
    let why = one_line(&args.reason, REASON_CHARS);
    context.submit(&Event::WorkPaused { project: project.clone(), why })?;
    tell(context, project.as_ref(), true);
    Ok(Exit::Fine)
}

/// A project of the floor by its name.
pub fn project(context: &Context, name: &str) -> CliResult<ProjectName> {
    let engine = context.engine()?;
    let known = engine.floor().projects.iter().find(|project| project.name.to_string() == name);
    known.map(|project| project.name.clone()).ok_or_else(|| {
        CliError::no_such(format!("there is no project {}", one_line(name, 80)))
            .hint("`shopfloor status` shows the projects")
    })
}

pub fn tell(context: &Context, project: Option<&ProjectName>, paused: bool) {
    if context.json {
        output::json(&serde_json::json!({ "project": project, "paused": paused }));
        return;
    }
    let who = project.map_or_else(|| "all agents".to_owned(), |name| format!("the agents of {name}"));
    output::line(match (paused, project) {
        (true, None) => format!("{who} are paused; `shopfloor resume --all` lets them go on"),
        (true, Some(name)) => format!("{who} are paused; `shopfloor resume {name}` lets them go on"),
        (false, _) => format!("{who} go on"),
    });
}
