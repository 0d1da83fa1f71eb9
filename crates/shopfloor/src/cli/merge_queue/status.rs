//! `shopfloor merge-queue status`: what is being tried, and how the queue is.

use crate::cli::{CliResult, Context, Exit, output};
use shopfloor_desk::view::queue::{self, QueueView};

pub fn run(context: &Context) -> CliResult<Exit> {
    let only = context.named_project()?;
    let views = queue::all(&context.layout, context.engine()?.floor(), only.as_ref());
    if context.json {
        output::json(&views);
        return Ok(Exit::Fine);
    }
    views.iter().for_each(print);
    Ok(Exit::Fine)
}

fn print(queue: &QueueView) {
    let state = match (&queue.frozen, &queue.pause) {
        (Some(why), _) => format!("frozen: {why}"),
        (None, Some(why)) => format!("paused: {why}"),
        (None, None) => "works".to_owned(),
    };
    output::line(format!("{}  {}  {state}", queue.project, queue.branch));
    if queue.frozen.is_some() {
        output::line("  `shopfloor doctor` says how to fix it; `shopfloor merge-queue accept` accepts it");
    }
    let primary = queue.primary.as_ref().map_or("not known yet", |sha| sha.short());
    let red = if queue.primary_red { ", which fails the checks" } else { "" };
    output::line(format!("  branch          {primary}{red}"));
    output::line(format!("  waiting         {}", queue.waiting));
    output::line(format!("  slots           {} of {} in use", queue.trials.len(), queue.slots));
    if queue.unchecked_commits {
        output::line(
            "  inner commits   not checked: by \"rebase\", only a branch's last is; check_commits = \"each\" checks all",
        );
    }
    for trial in &queue.trials {
        let what = match (&trial.run, trial.running_seconds) {
            (Some(run), Some(seconds)) => {
                let time = output::span(std::time::Duration::from_secs(seconds));
                format!("CI run {run} for {time}")
            }
            _ => "being built".into(),
        };
        let again = if trial.confirms { ", a second time" } else { "" };
        output::line(format!("    {}: {what}{again}", trial.names));
    }
    for tried in &queue.tries {
        output::line(format!("  only tried      {}", tried.tell()));
    }
    if let Some(names) = &queue.publishing_names {
        output::line(format!("  publishing      {names}"));
    }
    if let Some(seconds) = queue.checks_seconds {
        output::line(format!("  checks take     {}", output::span(std::time::Duration::from_secs(seconds))));
    }
    output::line(format!("  failing         about {} of 100", queue.failure_percent));
    if let Some(until) = &queue.held_until {
        output::line(format!(
            "  stands still    until {until}: the checks cannot be run, whatever is in them"
        ));
    }
}
