//! `shopfloor session list`: the hand sessions there are.

use crate::cli::{CliResult, Context, Exit, now, output};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::hand::{Hand, Stand};
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::text::one_line;

/// List the hand sessions of this floor, and those that ended and left a worktree
#[derive(Args)]
pub struct ListArgs {
    /// Only this project's
    #[arg(long)]
    project_only: bool,
}

#[derive(Serialize)]
struct SessionView {
    name: String,
    project: Option<ProjectName>,
    step: Option<String>,
    epic: Option<String>,
    story: Option<String>,
    cycle: Option<u32>,
    runtime: Option<String>,
    /// `alive`, `exited`, `starting`, `ended` if only its worktree is left, or `unknown`, which is not dead.
    state: &'static str,
    exit_status: Option<i32>,
    pid: Option<u32>,
    created_at: Option<String>,
    age_s: Option<u64>,
    cwd: Option<String>,
    /// Of the worktree that is its own.
    branch: Option<String>,
    forked_from: Option<String>,
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

/// A session without a record belongs to no project that is known.
pub(super) fn is_of(hand: &Hand, project: Option<&ProjectName>) -> bool {
    project.is_none_or(|project| hand.record.as_ref().is_some_and(|record| record.project == *project))
}

fn view(hand: &Hand) -> SessionView {
    let (state, exit_status) = state(hand);
    let record = hand.record.as_ref();
    SessionView {
        name: hand.name.to_string(),
        project: record.map(|r| r.project.clone()),
        step: record.map(|r| r.step.clone()),
        epic: record.map(|r| r.epic.clone()),
        story: record.map(|r| r.story.clone()),
        cycle: record.and_then(|r| r.cycle),
        runtime: record.map(|r| r.runtime.clone()),
        state,
        exit_status,
        pid: hand.process().map(|process| process.pid),
        created_at: record.map(|r| output::moment(r.created)),
        age_s: record.map(|r| now().since(r.created).as_secs()),
        cwd: record.map(|r| r.cwd.clone()),
        branch: record.and_then(|r| r.branch.clone()),
        forked_from: record.and_then(|r| r.forked_from.clone()),
    }
}

fn state(hand: &Hand) -> (&'static str, Option<i32>) {
    match (&hand.probe, hand.record.as_ref().map(|record| &record.stand)) {
        // It left a worktree.
        (Ok(Probe::Absent) | Err(_), Some(Stand::Ended(_))) => ("ended", None),
        (Ok(Probe::Alive(_)), _) => ("alive", None),
        (Ok(Probe::Dead { status }), _) => ("exited", *status),
        (_, Some(Stand::Starting { .. })) => ("starting", None),
        // tmux has it no more, or does not answer; the process itself can still be asked.
        (probe, _) => match (hand.process().map(is_same), probe) {
            (Some(Liveness::Alive), _) => ("alive", None),
            (Some(Liveness::Gone), _) | (None, Ok(_)) => ("exited", None),
            _ => ("unknown", None),
        },
    }
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
