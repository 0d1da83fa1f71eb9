//! `shopfloor predictions`: what was predicted and is open.

use super::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::text::one_line;
use shopfloor_desk::view::prediction::{PredictionView, PredictionsView};

/// List predictions: those that nobody has looked at, and those that are watched
#[derive(Args)]
pub struct PredictionsArgs {
    /// Exit with 78 if there is nothing to plan: no prediction waits, the backlog is not empty, and nothing landed for a
    /// week
    #[arg(long)]
    check: bool,
}

pub fn run(context: &Context, args: &PredictionsArgs) -> CliResult<Exit> {
    let shown = PredictionsView::new(context, &context.project()?.name)?;
    match context.json {
        true => output::json(&shown),
        false => print(&shown),
    }
    let idle = args.check && !shown.is_worth_a_plan();
    Ok(if idle { Exit::NothingToDo } else { Exit::Fine })
}

fn print(shown: &PredictionsView) {
    let row = |state: &'static str| {
        move |prediction: &PredictionView| {
            let PredictionView { issue, title, created_at } = prediction;
            vec![format!("#{issue}"), state.to_owned(), created_at.clone(), one_line(title, 100)]
        }
    };
    let rows: Vec<Vec<String>> = shown
        .unreviewed
        .iter()
        .map(row("unreviewed"))
        .chain(shown.watched.iter().map(row("watched")))
        .collect();
    match rows.is_empty() {
        true => output::line("no predictions are open"),
        false => output::table(&["ISSUE", "STATE", "SINCE", "TITLE"], &rows),
    }
    output::line(format!(
        "{} issues are to be worked on; {} landed within a week",
        shown.backlog, shown.landed
    ));
}
