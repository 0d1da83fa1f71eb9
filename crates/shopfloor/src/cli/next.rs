//! `shopfloor next`: to whoever has waited longest for a person.
//!
//! Who waits follows from what is there already: questions and dialogs of jobs from the floor, hand sessions from
//! a look at their screens. Nothing is remembered, so nobody is passed over because of an earlier call.

use super::attach::{Way, attach};
use super::context::now;
use super::session::{Resting, resting, sessions};
use super::{CliError, CliResult, Context, Exit, output, view};
use clap::Args;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::liveness::State;
use shopfloor_core::state::{Floor, Job, JobState, Session, SessionState};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;

/// Attach to whoever has waited longest for a person
///
/// Agents with a question or a dialog, and hand sessions that rest at their prompt, show a dialog or signalled that
/// they need somebody. Of all projects, unless one is given with --project. Exit code 4 if nobody waits.
#[derive(Args)]
pub struct NextArgs {
    /// Only say who it is, how long already and what for
    #[arg(long)]
    print: bool,
    /// Look only: nothing typed reaches the agent
    #[arg(long, short)]
    read_only: bool,
}

struct Waiting {
    project: Option<ProjectName>,
    issue: Option<IssueNumber>,
    /// The terminal, if there is one.
    session: Option<String>,
    why: String,
    since: Time,
}

#[derive(Serialize)]
struct WaitingView {
    project: Option<ProjectName>,
    issue: Option<IssueNumber>,
    session: Option<String>,
    why: String,
    since: String,
    waits_s: u64,
    /// So many wait after this one.
    others: usize,
}

pub fn run(context: &Context, args: &NextArgs) -> CliResult<Exit> {
    let only = context.named_project()?;
    let engine = context.engine()?;
    let mut all = jobs(engine.floor());
    all.extend(hands(context)?);
    all.retain(|one| only.is_none() || one.project == only);
    all.sort_by_key(|one| one.since);
    let others = all.len().saturating_sub(1);
    let Some(first) = all.into_iter().next() else {
        return Err(CliError::no_such("nobody waits for a person"));
    };
    if args.print || context.json {
        show(context, first, others);
        return Ok(Exit::Fine);
    }
    match (&first.session, first.issue) {
        (Some(session), _) => {
            let way = Way { read_only: args.read_only, print: false };
            attach(context, &sessions(context).tmux, session.clone(), &way)
        }
        (None, issue) => {
            let answer = issue.map(|issue| format!("`shopfloor answer {issue} \"…\"` answers it"));
            show(context, first, others);
            output::line(format!("it has no terminal now; {}", answer.unwrap_or_default()));
            Ok(Exit::Fine)
        }
    }
}

fn show(context: &Context, one: Waiting, others: usize) {
    let waits = now().since(one.since);
    if context.json {
        return output::json(&WaitingView {
            project: one.project,
            issue: one.issue,
            session: one.session,
            why: one.why,
            since: output::moment(one.since),
            waits_s: waits.as_secs(),
            others,
        });
    }
    let issue = one.issue.map(|issue| format!("#{issue}"));
    let who = one.session.or(issue).unwrap_or_default();
    let more = if others == 0 { String::new() } else { format!(" ({others} more wait)") };
    output::line(format!("{who} waits for {}: {}{more}", output::span(waits), one_line(&one.why, 200)));
}

/// Jobs with a question, and jobs' sessions with a dialog; each session once, since the first of them.
fn jobs(floor: &Floor) -> Vec<Waiting> {
    let mut all: Vec<Waiting> = floor.jobs.iter().filter_map(|job| asks(floor, job)).collect();
    for (job, session) in
        floor.jobs.iter().flat_map(|job| live(floor, job).map(move |session| (job, session)))
    {
        let Some((why, since)) = dialog(session) else { continue };
        match all.iter_mut().find(|one| one.session.as_ref() == Some(&session.tmux)) {
            Some(known) => known.since = known.since.min(since),
            None => all.push(Waiting {
                project: Some(job.project.clone()),
                issue: Some(job.issue),
                session: Some(session.tmux.clone()),
                why,
                since,
            }),
        }
    }
    all
}

fn live<'f>(floor: &'f Floor, job: &Job) -> impl Iterator<Item = &'f Session> {
    let of_job = [job.session, job.review_session].into_iter().flatten();
    of_job.filter_map(|epoch| floor.sessions.get(&epoch)).filter(|s| s.state == SessionState::Live)
}

fn asks(floor: &Floor, job: &Job) -> Option<Waiting> {
    let JobState::NeedsHuman { question, .. } = &job.state else { return None };
    Some(Waiting {
        project: Some(job.project.clone()),
        issue: Some(job.issue),
        session: live(floor, job).next().map(|session| session.tmux.clone()),
        why: format!("it asks: {question}"),
        since: view::since(job),
    })
}

fn dialog(session: &Session) -> Option<(String, Time)> {
    let status = session.status.as_ref()?;
    match &status.state {
        State::Dialog { kind } => Some((format!("it shows a dialog ({kind})"), status.since)),
        _ => None,
    }
}

fn hands(context: &Context) -> CliResult<Vec<Waiting>> {
    let waiting = |Resting { name, project, why, since }| Waiting {
        project,
        issue: None,
        session: Some(name),
        why,
        since,
    };
    Ok(resting(context)?.into_iter().map(waiting).collect())
}
