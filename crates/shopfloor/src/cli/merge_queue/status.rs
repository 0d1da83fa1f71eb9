//! `shopfloor merge-queue status`: what is being tried, and how the queue is.

use super::TryView;
use super::entry::names;
use crate::cli::{CliResult, Context, Exit, now, output};
use serde::Serialize;
use shopfloor_core::ids::{EntryId, IssueNumber, ProjectName, QueueId, RunId, Sha};
use shopfloor_core::planner::{Priority, Purpose, TrialId};
use shopfloor_core::state::{Floor, Queue, Try};

#[derive(Serialize)]
struct QueueView {
    project: ProjectName,
    /// The branch that it moves.
    branch: String,
    /// Why it is held.
    paused: Option<String>,
    /// Only what is below that is held: `priority` or `urgent`.
    paused_below: Option<&'static str>,
    /// Whom it is held for, in words.
    #[serde(skip)]
    pause: Option<String>,
    /// Why it stands still until somebody puts the primary branch right.
    frozen: Option<String>,
    /// Where the primary branch was last seen.
    primary: Option<Sha>,
    /// Whether the primary branch itself is known to fail.
    primary_red: bool,
    slots: usize,
    waiting: usize,
    trials: Vec<TrialLine>,
    publishing: Option<Vec<IssueNumber>>,
    /// The same by name, people's branches included.
    publishing_names: Option<String>,
    /// How many of a hundred changes fail, as estimated.
    failure_percent: u32,
    /// Commits land on the first-parent line that were not checked by themselves: by "rebase", all but a branch's last.
    unchecked_commits: bool,
    /// How long the checks take, on average.
    checks_seconds: Option<u64>,
    /// Nothing is tried until then, since the checks could not be run.
    held_until: Option<String>,
    /// What is tried on top of that branch without landing.
    tries: Vec<TryView>,
}

#[derive(Serialize)]
struct TrialLine {
    trial: TrialId,
    issues: Vec<IssueNumber>,
    /// The same by name, people's branches included.
    names: String,
    /// A second run for the last of them.
    confirms: bool,
    commit: Option<Sha>,
    run: Option<RunId>,
    running_seconds: Option<u64>,
}

pub fn run(context: &Context) -> CliResult<Exit> {
    let engine = context.engine()?;
    let floor = engine.floor();
    let project = context.named_project()?;
    let mine = floor.projects.iter().filter(|p| project.as_ref().is_none_or(|only| p.name == *only));
    let queues = mine.flat_map(|project| floor.queue_ids(&project.name));
    let queue = |id: QueueId| floor.queues.get(&id).cloned().unwrap_or_else(|| Queue::new(id));
    let views: Vec<QueueView> = queues.map(|id| view_of(context, floor, &queue(id))).collect();
    if context.json {
        output::json(&views);
        return Ok(Exit::Fine);
    }
    for queue in &views {
        print(queue);
    }
    Ok(Exit::Fine)
}

fn view_of(context: &Context, floor: &Floor, queue: &Queue) -> QueueView {
    let tried = |t: &&Try| t.project == queue.project && t.on == queue.target && t.state.is_live();
    let tries = floor.tries.iter().filter(tried).map(|row| TryView::new(floor, context, row)).collect();
    let issue = |entry: &EntryId| floor.entries.get(entry).and_then(|e| e.issue);
    let trials = queue.plan.trials().map(|t| {
        let run = queue.runs.get(&t.id);
        TrialLine {
            trial: t.id,
            issues: t.list.iter().filter_map(issue).collect(),
            names: names(floor, t.list),
            confirms: matches!(t.purpose, Purpose::Confirm { .. }),
            commit: t.built.map(|link| link.commit.clone()),
            run: run.map(|r| r.run),
            running_seconds: run.map(|r| now().since(r.since).as_secs()),
        }
    });
    QueueView {
        project: queue.project.clone(),
        branch: floor.policy(&queue.project).branch_of(queue.target.as_ref()).to_owned(),
        paused: queue.paused.clone(),
        paused_below: queue.below.map(Priority::name),
        pause: queue.pause(),
        frozen: queue.lost.as_ref().map(|lost| lost.tell_of(queue.target.as_ref())),
        primary: queue.plan.base().cloned(),
        primary_red: queue.base_check.as_ref().is_some_and(|c| c.red),
        slots: floor.policy(&queue.project).merge_slots,
        waiting: floor.queue_order(&queue.id()).len(),
        trials: trials.collect(),
        publishing: queue
            .publishing
            .as_ref()
            .map(|p| p.entries.iter().filter_map(|(entry, _)| issue(entry)).collect()),
        publishing_names: queue.publishing.as_ref().map(|p| names(floor, p.entries.iter().map(|(e, _)| e))),
        failure_percent: (queue.plan.rate().chance() * 100.0).round() as u32,
        unchecked_commits: floor.policy(&queue.project).lands_unchecked_commits(),
        checks_seconds: queue.checks_ms.map(|ms| ms / 1000),
        held_until: queue.plan.held_until().map(output::moment),
        tries,
    }
}

fn print(queue: &QueueView) {
    let state = match (&queue.frozen, &queue.pause) {
        (Some(why), _) => format!("frozen: {why}"),
        (None, Some(why)) => format!("paused: {why}"),
        (None, None) => "works".to_owned(),
    };
    output::line(format!("{}  {}  {state}", queue.project, queue.branch));
    if queue.frozen.is_some() {
        output::line(
            "  `shopfloor doctor` says how to put it right; `shopfloor merge-queue resume` accepts it",
        );
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
