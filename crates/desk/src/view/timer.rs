//! Timers: what the floor does next if nothing happens, and when.

use crate::now;
use crate::time::{moment, span};
use serde::Serialize;
use shopfloor_core::ids::{Epoch, JobId, MessageId, ProjectName};
use shopfloor_core::state::{Due, Floor, Timer};
use shopfloor_core::text::one_line;

#[derive(Serialize)]
pub struct TimerView {
    pub due: String,
    pub kind: &'static str,
    pub project: Option<ProjectName>,
    /// The issue or pull request, session, message, project or branch that it is about.
    pub subject: String,
    /// What is done then.
    pub then: &'static str,
    /// The same as `due`, in words, counted from now.
    #[serde(skip)]
    pub within: String,
}

/// Every timer of those projects, the next one first.
pub fn all(floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Vec<TimerView> {
    let mut timers: Vec<Timer> = floor.timers().collect();
    timers.sort_by(|one, other| (one.at, &one.due).cmp(&(other.at, &other.due)));
    let shown = timers.iter().map(|timer| view(floor, timer));
    shown.filter(|t| t.project.as_ref().is_none_or(&mine)).collect()
}

fn view(floor: &Floor, timer: &Timer) -> TimerView {
    let (project, subject) = about(floor, &timer.due);
    let left = timer.at.since(now());
    let within = if timer.at <= now() { "now".to_owned() } else { format!("in {}", span(left)) };
    let (due, kind, then) = (moment(timer.at), timer.due.name(), then(&timer.due));
    TimerView { due, kind, project, subject, then, within }
}

fn about(floor: &Floor, due: &Due) -> (Option<ProjectName>, String) {
    let several = floor.projects.len() > 1;
    let job = |id: &JobId| {
        let job = floor.jobs.get(id)?;
        let project = if several { job.project.as_str() } else { "" };
        Some((
            Some(job.project.clone()),
            match job.number() {
                Some(number) => format!("{project}#{number}"),
                None => job.assignment.to_string(),
            },
        ))
    };
    let session = |epoch: &Epoch| {
        let session = floor.sessions.get(epoch)?;
        Some((Some(session.project.clone()), session.tmux.clone()))
    };
    let message = |id: &MessageId| {
        let message = floor.messages.get(id)?;
        let (project, whose) = session(&message.to?)?;
        let first = one_line(message.text.lines().next().unwrap_or_default(), 40);
        Some((project, format!("{whose}: {first}")))
    };
    let found = match due {
        Due::Handback(epoch) | Due::Resume(epoch) | Due::Review(epoch) => session(epoch),
        Due::Held(id) | Due::Delivery(id) => message(id),
        Due::Checkpoint(id) | Due::Release(id) | Due::Job(id) => job(id),
        Due::Tidy(project)
        | Due::Trouble(project)
        | Due::Config(project)
        | Due::Staff(project)
        | Due::Dependencies(project) => Some((Some(project.clone()), project.to_string())),
        Due::Schedule(project, name) => Some((Some(project.clone()), format!("schedule {name}"))),
        Due::Acknowledged(place) => Some((place.clone(), format!("what is acknowledged of {due}"))),
        Due::Query(id) => floor.query(*id).and_then(|(conduct, _)| job(&conduct.job)),
        Due::Request(number) => {
            floor.requests.get(number).map(|request| (Some(request.project.clone()), due.to_string()))
        }
        Due::Run(number) => floor.runs.get(number).map(|run| (Some(run.project.clone()), due.to_string())),
        Due::Queue(queue) | Due::Signing(queue) => {
            Some((Some(queue.project.clone()), format!("merge queue of {}", queue.branch_in_words())))
        }
        Due::Entry(id) | Due::Wait(id) => {
            let entry = floor.entries.get(id);
            entry.map(|entry| (Some(entry.project.clone()), entry.branch.clone()))
        }
    };
    found.unwrap_or_else(|| (None, due.to_string()))
}

fn then(due: &Due) -> &'static str {
    match due {
        Due::Handback(_) => "nobody has typed: the factory takes the session back",
        Due::Held(_) => "people are told that it cannot be typed",
        Due::Delivery(_) => "it counts as not delivered",
        Due::Resume(_) => "the agent is told to continue",
        Due::Review(_) => "the reviewer has left no review, and is replaced",
        Due::Checkpoint(_) => "its work is snapshotted",
        Due::Release(_) => "its kept worktree is removed",
        Due::Tidy(_) => "what is old is removed",
        Due::Job(_) => "its state has lasted as long as it may",
        Due::Query(_) => "its default is taken, or people are reminded of the question",
        Due::Trouble(_) => "people are asked to look at what still fails",
        Due::Config(_) => "people are reminded of the configuration that nobody has accepted",
        Due::Schedule(..) => "its formula is run, if there is room",
        Due::Request(_) => "people are reminded of it, or it is rejected",
        Due::Run(_) => "it has taken too long, and ends",
        Due::Acknowledged(_) => "it is shown again",
        Due::Staff(_) => "agents that cannot work are tried again, or reported again",
        Due::Dependencies(_) => "dependencies that look wrong are looked at again",
        Due::Queue(_) => "it continues, or somebody is told that it waits",
        Due::Signing(_) => "what could not be signed is tried again",
        Due::Wait(_) => "people are told that it has long waited for another branch",
        Due::Entry(_) => "the checks of its head are tried again",
    }
}
