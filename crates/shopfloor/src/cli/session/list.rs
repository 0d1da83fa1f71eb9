//! `shopfloor session list`: the hand sessions there are.

use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::text::one_line;
use shopfloor_hand::list::{SessionView, is_of, view};

/// List the hand sessions of this floor, and those that ended and left a worktree
#[derive(Args)]
pub struct ListArgs {
    /// Only this project's
    #[arg(long)]
    project_only: bool,
}

pub fn run(context: &Context, args: &ListArgs) -> CliResult<Exit> {
    let project = project_filter(context, args.project_only)?;
    let hands = super::sessions(context).all(false)?;
    let views: Vec<SessionView> =
        hands.iter().filter(|hand| is_of(hand, project.as_ref())).map(view).collect();
    if context.json {
        output::json(&views);
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = views.into_iter().map(row).collect();
    output::table(&["NAME", "PROJECT", "STEP", "STORY", "STATE", "AGE", "FOLDER"], &rows);
    Ok(Exit::Fine)
}

/// The project meant by `--project-only` or `--project`; without either, all.
pub(super) fn project_filter(context: &Context, project_only: bool) -> CliResult<Option<ProjectName>> {
    if project_only { context.project().map(|project| Some(project.name)) } else { context.named_project() }
}

fn row(view: SessionView) -> Vec<String> {
    let cell = |text: Option<&String>| text.map_or_else(|| "-".to_owned(), |text| one_line(text, 40));
    let state = match view.exit_status {
        Some(status) => format!("{} {status}", view.state),
        None => view.state.to_owned(),
    };
    vec![
        view.name,
        view.project.map_or_else(|| "-".to_owned(), |project| project.to_string()),
        cell(view.step.as_ref()),
        cell(view.story.as_ref()),
        state,
        view.age_s.map_or_else(|| "-".to_owned(), |s| output::span(std::time::Duration::from_secs(s))),
        view.cwd.map_or_else(|| "-".to_owned(), |cwd| one_line(&cwd, 200)),
    ]
}
