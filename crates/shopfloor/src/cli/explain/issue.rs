//! Why an issue is where it is.

use crate::cli::ci::{self, RunView};
use crate::cli::context::now;
use crate::cli::events::{self, NoteView};
use crate::cli::view::{self, JobView};
use crate::cli::{CliError, CliResult, Context, Exit, output, questions, status};
use serde::Serialize;
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{EffectId, IssueNumber, ProjectName};
use shopfloor_core::state::{Floor, Job, MessageState};
use shopfloor_core::text::one_line;
use shopfloor_store::ci::CiRun;
use shopfloor_store::sqlite::NoteFilter;
use shopfloor_store::{Entry, Queued, Store};

const NOTES: usize = 20;
/// How far back the issue's last CI run is looked for.
const RUNS_LOOKED_AT: usize = 1000;

#[derive(Serialize)]
struct Explanation {
    project: ProjectName,
    issue: IssueNumber,
    title: String,
    why: Option<String>,
    daemon: status::Daemon,
    job: Option<JobView>,
    /// When the job came into each state.
    history: Vec<StageView>,
    last_ci: Option<RunView>,
    /// What people are asked about it.
    questions: Vec<questions::QuestionView>,
    unread_messages: Vec<MessageView>,
    pending: Vec<PendingView>,
    notes: Vec<NoteView>,
}

#[derive(Serialize)]
struct StageView {
    state: String,
    at: String,
}

#[derive(Serialize)]
struct MessageView {
    text: String,
    queued_at: String,
    deadline: Option<String>,
    /// What keeps it from being delivered.
    held: Option<String>,
}

/// An effect that is still to be performed.
#[derive(Serialize)]
struct PendingView {
    effect: EffectId,
    action: &'static str,
    lane: String,
    attempts: u32,
    not_before: Option<String>,
    last_error: Option<String>,
}

pub fn run(context: &Context, number: IssueNumber) -> CliResult<Exit> {
    let project = context.project()?.name;
    let floor = view::floor(context)?;
    let known = floor.issues.get(&(project.clone(), number));
    let job = floor.work_of(&project, number);
    let Some(title) = known.map(|i| &i.title).or(job.map(|j| &j.title)) else {
        return Err(CliError::no_such(format!("there is no issue #{}", number))
            .hint("`shopfloor issue list --state all` shows them"));
    };
    let mut store = context.reader()?;
    let filter =
        NoteFilter { project: Some(project.to_string()), issue: Some(number.0), ..NoteFilter::default() };
    let notes = store.last_notes(&filter, NOTES)?;
    let outbox = store.outbox()?;
    let pending: Vec<&Queued> =
        outbox.iter().filter(|q| concerns(&q.action, &floor, &project, number, job)).collect();
    let runs = context.ci()?.list(&project, RUNS_LOOKED_AT)?;
    let last_ci = runs.into_iter().find(|run| run.issue == Some(number));
    let why = known.filter(|i| i.open).map(|i| view::why(&floor, i));
    let daemon = status::daemon(context)?;
    if !context.json {
        output::line(format!("#{} {}", number, one_line(title, usize::MAX)));
        print_human(&floor, why, &daemon, job, last_ci.as_ref(), &pending, &notes);
        return Ok(Exit::Fine);
    }
    let stage =
        |s: &shopfloor_core::state::Stage| StageView { state: s.state.clone(), at: output::moment(s.at) };
    output::json(&Explanation {
        title: title.clone(),
        issue: number,
        why,
        daemon,
        job: job.map(|job| JobView::new(&floor, job)),
        history: job.map(|job| job.history.iter().map(stage).collect()).unwrap_or_default(),
        last_ci: last_ci.map(RunView::from),
        questions: job
            .map(|job| questions::of_issue(&floor, job))
            .unwrap_or_default()
            .into_iter()
            .map(Into::into)
            .collect(),
        unread_messages: job.map(|job| unread(&floor, job)).unwrap_or_default(),
        pending: pending.into_iter().map(pending_view).collect(),
        notes: notes.into_iter().map(NoteView::from).collect(),
        project,
    });
    Ok(Exit::Fine)
}

fn pending_view(queued: &Queued) -> PendingView {
    PendingView {
        effect: queued.id,
        action: queued.action.name(),
        lane: queued.action.lane(),
        attempts: queued.attempts,
        not_before: (queued.not_before.0 > 0).then(|| output::moment(queued.not_before)),
        last_error: queued.last_error.clone(),
    }
}

fn unread(floor: &Floor, job: &Job) -> Vec<MessageView> {
    let queued = floor.messages.iter().filter(|m| m.job == job.id && m.state == MessageState::Queued);
    queued
        .map(|m| MessageView {
            text: m.text.clone(),
            queued_at: output::moment(m.queued_at),
            deadline: m.deadline.map(output::moment),
            held: m.held.clone(),
        })
        .collect()
}

/// Whether an effect is about this issue or its job.
fn concerns(
    action: &Action,
    floor: &Floor,
    project: &ProjectName,
    issue: IssueNumber,
    job: Option<&Job>,
) -> bool {
    let my_job = |id| job.is_some_and(|job| job.id == id);
    let my_entry = |entry| floor.entries.get(&entry).is_some_and(|e| e.job.is_some_and(my_job));
    let my_pr = |p: &ProjectName, pr| p == project && job.is_some_and(|job| job.pr == Some(pr));
    match action {
        Action::PrepareWorktree { job, .. }
        | Action::EndSession { job, .. }
        | Action::PublishBranch { job, .. }
        | Action::Checkpoint { job, .. }
        | Action::OpenPr { job, .. }
        | Action::CollectReview { job, .. }
        | Action::MoveReview { job, .. }
        | Action::PostReview { job, .. }
        | Action::Escalate { job, .. }
        | Action::ReleaseWorktree { job, .. } => my_job(*job),
        Action::RunCi { job, .. } => job.is_some_and(my_job),
        Action::StartSession(start) => my_job(start.job),
        Action::RingInbox { epoch, .. } => floor.sessions.get(epoch).is_some_and(|s| my_job(s.job)),
        Action::EditLabels { project: p, issue: i, .. }
        | Action::Comment { project: p, issue: i, .. }
        | Action::CloseIssue { project: p, issue: i } => p == project && *i == issue,
        Action::ClosePr { project: p, pr, .. }
        | Action::MovePr { project: p, pr, .. }
        | Action::CommentPr { project: p, pr, .. } => my_pr(p, *pr),
        Action::Tell(telling) => telling.project == *project && telling.issue == Some(issue),
        Action::BuildTry { project: p, entry, .. } => {
            p == project && job.is_some_and(|j| j.branch == entry.branch)
        }
        Action::BuildChain { list, .. } => list.iter().any(|e| my_entry(e.entry)),
        Action::BuildLanding { steps, .. } => steps.iter().flat_map(|s| &s.list).any(|e| my_entry(e.entry)),
        Action::Publish { entries, .. } => entries.iter().any(|e| my_entry(*e)),
        Action::FindMerged { heads, .. } => heads.iter().any(|h| my_job(h.job)),
        Action::VerifyLanded { landed, .. } => landed.iter().any(|e| my_entry(e.entry)),
        // Of a commit, which may be this job's.
        Action::PostStatus { project: p, commit, .. } => {
            p == project && job.is_some_and(|job| job.head.as_ref() == Some(commit))
        }
        Action::RetireBranch { project: p, issue: i, .. } => p == project && *i == Some(issue),
        Action::SyncCheckout { .. }
        | Action::TakeCheckout { .. }
        | Action::CheckAgents { .. }
        | Action::FindPrimary { .. }
        | Action::CancelCi { .. }
        | Action::Tidy(_) => false,
    }
}

fn print_human(
    floor: &Floor,
    why: Option<String>,
    daemon: &status::Daemon,
    job: Option<&Job>,
    last_ci: Option<&CiRun>,
    pending: &[&Queued],
    notes: &[Entry],
) {
    if let Some(why) = why {
        output::line(format!("  {why}"));
    }
    if !daemon.running {
        output::line("  the daemon does not run: nothing happens before `shopfloor up`");
    }
    match job {
        Some(job) => print_job(floor, job),
        None => output::line("  no job yet"),
    }
    if let Some(run) = last_ci {
        let step = run.step.as_deref().map(|s| format!(" at {}", one_line(s, 80))).unwrap_or_default();
        let verdict = ci::verdict(run);
        output::line(format!("  last CI: run {}, {verdict}{step}, {}", run.run, run.commit.short()));
    }
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
    if !notes.is_empty() {
        output::line("  what happened:");
    }
    notes.iter().for_each(events::print_line);
}

fn print_job(floor: &Floor, job: &Job) {
    let shown = JobView::new(floor, job);
    let age = output::span(now().since(view::since(job)));
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
    let session = view::or_dash(shown.session.as_deref());
    output::line(format!("  session: {session}, last phase: {}", view::or_dash(shown.phase)));
    if let Some(reviewer) = &shown.review_session {
        output::line(format!("  reviewer's session: {reviewer}"));
    }
    if let Some(pr) = job.pr {
        output::line(format!("  pull request #{pr}, branch {}", job.branch));
    }
    for question in questions::of_issue(floor, job) {
        output::line(format!(
            "  {} q{}: `shopfloor answer q{} \"…\"`",
            question.kind, question.id, question.id
        ));
        question.print_text();
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
