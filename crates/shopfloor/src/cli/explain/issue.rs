//! Why an issue is where it is.

use crate::cli::events;
use crate::cli::{CliResult, Context, Exit, output, questions};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::{Floor, Job, Shelf};
use shopfloor_core::text::one_line;
use shopfloor_desk::view::explanation::{Explained, unread};
use shopfloor_desk::view::job::{self, JobView};
use shopfloor_desk::view::question;
use shopfloor_desk::view::run::verdict;
use shopfloor_desk::{DaemonView, now};
use shopfloor_store::OutboxEffect;

pub fn run(context: &Context, number: IssueNumber) -> CliResult<Exit> {
    let project = context.project()?.name;
    let floor = context.floor_about(&[Shelf::Number(project.clone(), number)])?;
    let explained = Explained::new(context, &floor, project, number)?;
    if context.json {
        output::json(&explained.view(&floor));
        return Ok(Exit::Fine);
    }
    output::line(format!("#{number} {}", one_line(explained.title, usize::MAX)));
    print_human(&floor, &explained);
    Ok(Exit::Fine)
}

fn print_human(floor: &Floor, explained: &Explained<'_>) {
    let Explained { why, daemon, job, last_ci, pending, notes, .. } = explained;
    if let Some(why) = why {
        output::line(format!("  {why}"));
    }
    print_daemon(daemon);
    match job {
        Some(job) => print_job(floor, job),
        None => output::line("  no job yet"),
    }
    if let Some(run) = last_ci {
        let step = run.step.as_deref().map(|s| format!(" at {}", one_line(s, 80))).unwrap_or_default();
        let verdict = verdict(run);
        output::line(format!("  last CI: run {}, {verdict}{step}, {}", run.run, run.commit.short()));
    }
    print_pending(floor, pending);
    if !notes.is_empty() {
        output::line("  what happened:");
    }
    notes.iter().for_each(events::print_line);
}

pub(super) fn print_daemon(daemon: &DaemonView) {
    if !daemon.running {
        output::line("  the daemon does not run: nothing happens until `shopfloor up`");
    }
}

pub(super) fn print_pending(floor: &Floor, pending: &[OutboxEffect]) {
    if !pending.is_empty() {
        output::line("  still to be done:");
    }
    for queued in pending {
        let mut text = format!("    {} (effect {})", queued.action.name(), queued.id);
        if queued.attempts > 0 {
            let wait = output::span(queued.not_before.since(now()));
            let since = floor.project_of(&queued.action);
            let since = since.and_then(|p| floor.trouble(&p, &queued.action.lane())).map(|t| t.since);
            let since = since.map(|at| format!(" in {}", output::span(now().since(at)))).unwrap_or_default();
            text.push_str(&format!(", failed {} times{since}, again in {wait}", queued.attempts));
        }
        if let Some(error) = &queued.last_error {
            text.push_str(&format!(": {}", one_line(error, 300)));
        }
        output::line(text);
    }
}

pub(super) fn print_job(floor: &Floor, job: &Job) {
    let shown = JobView::new(floor, job);
    let age = output::span(now().since(job::since(job)));
    output::line(format!("  job {}: {} since {} ({age})", job.id, shown.state, shown.since));
    if let Some(waits_for) = &shown.waits_for {
        output::line(format!("  waits for: {}", one_line(waits_for, 300)));
    }
    if let Some(deadline) = job.deadline {
        let left = output::span(deadline.since(now()));
        output::line(format!(
            "  deadline: {} (in {left}), then somebody is told",
            output::timestamp(deadline)
        ));
    }
    if let Some(reason) = &job.reason {
        output::line(format!("  reason: {}", one_line(reason, 300)));
    }
    let session = output::or_dash(shown.session.as_deref());
    output::line(format!("  session: {session}, last phase: {}", output::or_dash(shown.phase)));
    if let Some(reviewer) = &shown.review_session {
        output::line(format!("  reviewer's session: {reviewer}"));
    }
    if let Some(pr) = job.pr {
        output::line(format!("  pull request #{pr}, branch {}", job.branch));
    }
    for question in question::about(floor, job) {
        output::line(format!(
            "  {} q{}: `shopfloor answer q{} \"…\"`",
            question.kind, question.id, question.id
        ));
        questions::print_text(&question);
    }
    for message in unread(floor, job) {
        let first = message.text.lines().next().unwrap_or_default();
        let held = message.held.map(|why| format!(" ({})", one_line(&why, 200))).unwrap_or_default();
        output::line(format!("  not taken by the agent yet: {}{held}", one_line(first, 120)));
    }
    if let Some(rescue) = &job.rescue {
        output::line(format!("  rescued work: {}", one_line(rescue, 200)));
    }
}
