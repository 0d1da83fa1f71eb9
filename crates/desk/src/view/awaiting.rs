//! Who waits for a person, and since when. That follows from what exists already: jobs' questions and dialogs
//! from the floor, hand sessions from a look at their screens. Nothing is remembered, so nobody is passed
//! over because of an earlier look.

use super::job;
use crate::now;
use crate::time::moment;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::liveness::State;
use shopfloor_core::state::{Floor, Job, JobState, Session, SessionState};
use shopfloor_core::time::Time;

/// Somebody who waits: a job, or a hand session.
pub struct Awaiting {
    pub project: Option<ProjectName>,
    pub issue: Option<IssueNumber>,
    /// The terminal, if there is one.
    pub session: Option<String>,
    pub why: String,
    pub since: Time,
}

#[derive(Serialize)]
pub struct AwaitingView {
    pub project: Option<ProjectName>,
    pub issue: Option<IssueNumber>,
    pub session: Option<String>,
    pub why: String,
    pub since: String,
    pub waits_s: u64,
    /// How many others wait.
    pub others: usize,
}

impl Awaiting {
    /// The form that programs get.
    pub fn view(self, others: usize) -> AwaitingView {
        AwaitingView {
            project: self.project,
            issue: self.issue,
            session: self.session,
            why: self.why,
            since: moment(self.since),
            waits_s: now().since(self.since).as_secs(),
            others,
        }
    }
}

/// Whoever has waited longest, in one project or in all, and how many others wait.
pub fn longest(mut all: Vec<Awaiting>, only: Option<&ProjectName>) -> Option<(Awaiting, usize)> {
    all.retain(|one| only.is_none() || one.project.as_ref() == only);
    let others = all.len().saturating_sub(1);
    all.into_iter().min_by_key(|one| one.since).map(|first| (first, others))
}

/// Jobs with a question, and jobs' sessions with a dialog; each session only once, since the first of these.
pub fn jobs(floor: &Floor) -> Vec<Awaiting> {
    let mut all: Vec<Awaiting> = floor.jobs.iter().filter_map(|job| asks(floor, job)).collect();
    for (job, session) in
        floor.jobs.iter().flat_map(|job| live(floor, job).map(move |session| (job, session)))
    {
        let Some((why, since)) = dialog(session) else { continue };
        match all.iter_mut().find(|one| one.session.as_ref() == Some(&session.tmux)) {
            Some(known) => known.since = known.since.min(since),
            None => all.push(Awaiting {
                project: Some(job.project.clone()),
                issue: job.number(),
                session: Some(session.tmux.clone()),
                why,
                since,
            }),
        }
    }
    all
}

fn live<'f>(floor: &'f Floor, job: &Job) -> impl Iterator<Item = &'f Session> {
    let of_job = [job.session, job.reviewer.session].into_iter().flatten();
    of_job.filter_map(|epoch| floor.sessions.get(&epoch)).filter(|s| s.state == SessionState::Live)
}

fn asks(floor: &Floor, job: &Job) -> Option<Awaiting> {
    let JobState::NeedsHuman { question, .. } = &job.state else { return None };
    Some(Awaiting {
        project: Some(job.project.clone()),
        issue: job.number(),
        session: live(floor, job).next().map(|session| session.tmux.clone()),
        why: format!("it asks: {question}"),
        since: job::since(job),
    })
}

fn dialog(session: &Session) -> Option<(String, Time)> {
    let status = session.status.as_ref()?;
    match &status.state {
        State::Dialog { kind } => Some((format!("it shows a dialog ({kind})"), status.since)),
        _ => None,
    }
}
