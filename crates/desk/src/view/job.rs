//! Jobs and issues: a sentence for each that says what it waits for.

use super::held;
use crate::now;
use crate::texts;
use crate::time::{clock, moment, span};
use serde::Serialize;
use shopfloor_core::ids::{Epoch, IssueNumber, JobId, PrNumber, ProjectName, RunNumber, Sha};
use shopfloor_core::label::Label;
use shopfloor_core::liveness::State;
use shopfloor_core::state::{
    About, BaseCheck, Floor, Issue, Job, JobState, PersonsWord, ReviewStanding, SessionAsk, Who,
};
use shopfloor_core::step::{Overlap, Standings, Waiting, overlap};
use shopfloor_core::text::one_line;
use shopfloor_core::texts::files_in_words;
use shopfloor_core::time::Time;

pub const TITLE_CHARS: usize = 50;
const QUESTION_CHARS: usize = 160;

/// Why nothing happens on an issue, or what does.
pub fn why(floor: &Floor, issue: &Issue) -> String {
    why_of(floor, issue, Standings::of(floor).why(issue))
}

/// The same for an issue whose standing is known.
pub fn why_of(floor: &Floor, issue: &Issue, waiting: Waiting) -> String {
    match waiting {
        Waiting::Paused(why) => format!("its project is paused: {}", one_line(&why, 120)),
        Waiting::Outage(why) => format!("its project is held: {}", one_line(&why, 120)),
        Waiting::Ready => {
            let at_work = floor.live_jobs(&issue.project).count();
            let max = floor.projects.get(&issue.project).map_or(1, |p| p.policy.max_jobs.max(1));
            if let Some(Overlap { file, with }) = overlap(floor, issue) {
                let file = one_line(&file, 100);
                format!(
                    "waits: likely touches {file}, which #{with} is changing ({at_work} of {max} slots in use)"
                )
            } else if at_work >= max {
                format!("waits for a free slot ({at_work} of {max} in use)")
            } else {
                "ready".into()
            }
        }
        Waiting::NoActions => texts::no_actions().into(),
        Waiting::NotAsked => texts::label_missing(Label::Backlog),
        Waiting::Blocked => texts::label_set(Label::Blocked),
        Waiting::Underspecified => texts::label_set(Label::Underspecified),
        Waiting::On(issues) => format!("waits for {}", numbers(&issues, ", ")),
        Waiting::OnUnknown(issues) => {
            let verb = if issues.len() == 1 { "does" } else { "do" };
            format!("waits for {}, which {verb} not exist", numbers(&issues, ", "))
        }
        Waiting::Cycle(mut path) => {
            path.push(issue.number);
            format!("cycle {}", numbers(&path, " -> "))
        }
        Waiting::Settling => "label changes are on their way".into(),
        Waiting::AtWork => match floor.job_of(&issue.project, issue.number) {
            Some(job) => format!("{} for {}", job.state.name(), span(now().since(since(job)))),
            None => "at work".into(),
        },
        Waiting::Closed => "closed".into(),
    }
}

pub fn numbers(issues: &[IssueNumber], between: &str) -> String {
    issues.iter().map(|n| format!("#{n}")).collect::<Vec<_>>().join(between)
}

/// What a job is about, in a table.
pub fn title(job: &Job) -> String {
    let what = if job.is_review() { "review: " } else { "" };
    one_line(&format!("{what}{}", job.title), TITLE_CHARS)
}

/// When the job entered its state.
pub fn since(job: &Job) -> Time {
    job.history.last().map_or(job.created_at, |stage| stage.at)
}

/// What has to happen for a job to continue; for an ended one, why it ended.
pub fn waits_for(floor: &Floor, job: &Job) -> Option<String> {
    if let Some(trouble) = floor.trouble_of(job).filter(|_| job.is_live()) {
        let (what, why) = (trouble.what.replace('_', " "), one_line(&trouble.why, 200));
        return Some(format!("{what} to work, which fails and is tried again: {why}"));
    }
    if let Some(outage) = floor.outage_of(job) {
        return Some(format!("held, q{}: {}", floor.question_of(outage), one_line(&outage.why, 200)));
    }
    let held = held::told(floor, job).filter(|_| job.is_live());
    let state = waits_in_its_state(floor, job);
    match (&job.state, held) {
        (JobState::Working | JobState::Respawning { .. } | JobState::Finishing { .. }, Some(held)) => {
            Some(held)
        }
        (_, Some(held)) => Some(format!("{}; {held}", state.unwrap_or_default())),
        (_, None) => state,
    }
}

/// The protected files for which the job waits for nothing but a person: agents have said what they have to say.
fn persons_turn(floor: &Floor, job: &Job, head: &Sha) -> Option<Vec<String>> {
    let PersonsWord::Needed(files) = floor.persons_word(job, head) else { return None };
    let approved = matches!(floor.review_standing(job, head), ReviewStanding::Approved(_));
    (approved || !floor.policy(&job.project).review_required).then_some(files)
}

fn waits_in_its_state(floor: &Floor, job: &Job) -> Option<String> {
    let text = match &job.state {
        JobState::Preparing => "branch and worktree are being made".into(),
        JobState::Starting => "a session is being started".into(),
        JobState::RunningStep => "a command of its run to end".into(),
        JobState::Respawning { .. } => "the session died; its successor is about to start".into(),
        JobState::Working => asks(floor, job.session)
            .or_else(|| parked(floor, job))
            .or_else(|| untold(floor, job))
            .unwrap_or_else(|| "the agent to signal a phase".into()),
        JobState::Pushing { .. } => "the branch to be pushed".into(),
        JobState::Checking { run, .. } => format!("the checks, CI run {run}"),
        JobState::Retrying { .. } => {
            let at = job.deadline.map(clock).unwrap_or_default();
            format!("parked until {at}: the checks could not run, and are tried again")
        }
        JobState::Parked { head, .. } => waits_for_the_primary(floor, job, head),
        JobState::Reviewing { head } => {
            match (floor.review_standing(job, head), persons_turn(floor, job, head), job.pr) {
                (ReviewStanding::Objected { objection, .. }, _, Some(pr)) => format!(
                    "{}, who asked for changes to {}; the reviewer approves: `shopfloor pr review {pr}`",
                    one_line(&objection.author, 80),
                    objection.head.short()
                ),
                (_, Some(files), Some(pr)) => format!(
                    "a person's approval, because it changes {}: `shopfloor pr review {pr} --approve`",
                    files_in_words(&files)
                ),
                (_, None, Some(pr)) => {
                    let asks =
                        asks(floor, job.reviewer.session).map(|asks| format!(": {asks}")).unwrap_or_default();
                    let asked =
                        job.memo.review_asked.as_ref() == Some(head) && job.reviewer.session.is_none();
                    let trouble = job
                        .memo
                        .review_trouble
                        .as_deref()
                        .filter(|_| asked)
                        .map_or_else(String::new, |why| {
                            format!(" by a person, `shopfloor pr review {pr}`: {}", one_line(why, 200))
                        });
                    format!("a review of pull request #{pr} at {}{asks}{trouble}", head.short())
                }
                (.., None) => format!("a review of {}", head.short()),
            }
        }
        JobState::InQueue { entry, .. } => {
            let place = queue(floor, Some(&job.project)).into_iter().find(|(_, e)| e.id == *entry);
            match place {
                Some((position, e)) => {
                    let stands = floor.queues.get(&job.queue()).and_then(|q| {
                        let lost = q.lost.as_ref().map(|lost| lost.tell_of(q.target.as_ref()));
                        let paused = q.holds(e.priority).and(q.pause());
                        lost.or(paused.map(|why| format!("it is paused: {}", one_line(&why, 200))))
                    });
                    let stands = stands.map(|why| format!("; {why}")).unwrap_or_default();
                    format!("the merge queue: position {position}, {}{stands}", floor.entry_status(e))
                }
                None => "the merge queue".into(),
            }
        }
        JobState::NeedsHuman { question, .. } => format!("an answer: {}", one_line(question, QUESTION_CHARS)),
        JobState::Finishing { remaining, .. } => {
            format!("its last steps: {}", remaining.iter().cloned().collect::<Vec<_>>().join(", "))
        }
        JobState::Ended { .. } => return job.reason.clone().filter(|reason| !reason.is_empty()),
    };
    Some(text)
}

/// What a head that is red but may not be to blame waits for.
fn waits_for_the_primary(floor: &Floor, job: &Job, head: &Sha) -> String {
    let queue = floor.queues.get(&job.queue());
    let parked = queue.and_then(|q| q.parked.iter().find(|p| p.who == Who::Job(job.id)));
    let branch = job.queue().branch_in_words();
    let (Some(queue), Some(parked)) = (queue, parked) else { return branch };
    let on = parked.on.as_ref().map_or("?", Sha::short);
    let run = |check: &&BaseCheck| !check.red && (parked.red || Some(&check.head) == parked.on.as_ref());
    let run =
        queue.base_checks().find(run).map(|check| format!("CI run {} of ", check.run)).unwrap_or_default();
    let head = head.short();
    match parked.red {
        false => {
            format!("{run}{branch} itself at {on}, which {head} stands on: {head} failed twice")
        }
        true => {
            format!("{run}{branch} to be fixed: {head} failed twice, and so did {on}, which it stands on")
        }
    }
}

/// What a session's terminal asks a person.
fn asks(floor: &Floor, session: Option<Epoch>) -> Option<String> {
    let session = floor.sessions.get(&session?)?;
    let ask = session.asks.open.as_ref()?;
    if ask.answer.is_some() {
        return Some(format!("the answer to q{} to be typed", ask.id));
    }
    let says = choices(ask);
    Some(match ask.about {
        // The agent continues by itself: nobody has to answer.
        About::Chat { .. } => {
            format!("asks something in its chat, q{}: {says}", ask.id)
        }
        _ => format!("an answer to q{} ({}): {says}", ask.id, ask.kind()),
    })
}

/// What is asked and offered, in one line.
pub fn choices(ask: &SessionAsk) -> String {
    let numbers = match &ask.about {
        About::Dialog { view: Some(view), .. } => view.options.iter().map(|o| o.number).collect(),
        _ => (1..).take(ask.options().len()).collect::<Vec<u32>>(),
    };
    let shown = numbers.iter().zip(ask.options()).map(|(n, label)| format!("{n}. {}", one_line(&label, 40)));
    let options = shown.collect::<Vec<_>>().join(" ");
    format!("{} {options}", one_line(&ask.summary(), QUESTION_CHARS)).trim_end().to_owned()
}

/// What keeps the agent from being told what to do.
fn untold(floor: &Floor, job: &Job) -> Option<String> {
    let message = floor.next_message(job.session?)?;
    let why = message.held.as_ref()?;
    Some(format!("the agent to be told, which is held: {}", one_line(why, QUESTION_CHARS)))
}

/// Until when an agent that could continue has to wait, and for what.
fn parked(floor: &Floor, job: &Job) -> Option<String> {
    let session = floor.session_of(job)?;
    let status = session.status.as_ref()?;
    match &status.state {
        State::LimitedUntil { until } => Some(format!("parked until {}: rate limit", clock(*until))),
        State::Background { what } => Some(format!("its own background work, {}", one_line(what, 100))),
        _ => {
            let at = clock(session.stops.resume_at?);
            Some(format!("parked until {at}: its last request failed, and is tried again"))
        }
    }
}

/// The entries that are not through the merge queue yet, in the order in which they will be, each with its
/// position in its queue.
pub fn queue<'f>(
    floor: &'f Floor,
    project: Option<&ProjectName>,
) -> Vec<(usize, &'f shopfloor_core::state::Entry)> {
    let projects = floor.projects.iter().map(|p| &p.name).filter(|p| project.is_none_or(|only| only == *p));
    let queues = projects.flat_map(|p| floor.queue_ids(p));
    queues.flat_map(|queue| (1..).zip(floor.queue_order(&queue))).collect()
}

/// A job in `--json`.
#[derive(Serialize)]
pub struct JobView {
    pub project: ProjectName,
    /// Its number on the forge; null: it only carries out a run.
    pub issue: Option<IssueNumber>,
    /// issue, run, or review: a pull request that no job carries.
    pub kind: &'static str,
    /// The run of a formula that it carries out.
    pub run: Option<RunNumber>,
    pub title: String,
    pub job: JobId,
    pub state: &'static str,
    /// The last phase a session of the job signalled.
    pub phase: Option<&'static str>,
    pub since: String,
    pub deadline: Option<String>,
    pub branch: String,
    pub pr: Option<PrNumber>,
    /// The name of the agent's tmux session.
    pub session: Option<String>,
    pub review_session: Option<String>,
    pub worktree: Option<String>,
    pub head: Option<Sha>,
    pub waits_for: Option<String>,
    /// A person has it, or its project is paused; and what ends that.
    pub held: Option<String>,
    pub reason: Option<String>,
    pub merged: Option<Sha>,
    pub rescue: Option<String>,
    pub created_at: String,
}

impl JobView {
    pub fn new(floor: &Floor, job: &Job) -> Self {
        let session = |epoch| floor.sessions.get(&epoch);
        let newest = job.session.or(job.last_session).and_then(session);
        JobView {
            project: job.project.clone(),
            issue: job.number(),
            kind: job.assignment.kind(),
            run: job.run(),
            title: job.title.clone(),
            job: job.id,
            state: job.state.name(),
            phase: newest.and_then(|s| s.phase).map(shopfloor_core::phase::Phase::as_str),
            since: moment(since(job)),
            deadline: job.deadline.map(moment),
            branch: job.branch.clone(),
            pr: job.pr,
            session: job.session.and_then(session).map(|s| s.tmux.clone()),
            review_session: job.reviewer.session.and_then(session).map(|s| s.tmux.clone()),
            worktree: job.worktree.clone(),
            head: job.head.clone(),
            waits_for: waits_for(floor, job),
            held: held::told(floor, job).filter(|_| job.is_live()),
            reason: job.reason.clone(),
            merged: job.merged.clone(),
            rescue: job.rescue.clone(),
            created_at: moment(job.created_at),
        }
    }
}
