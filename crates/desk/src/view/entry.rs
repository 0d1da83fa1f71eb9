//! An entry of the merge queue as it is shown to people: what it waits for, and for how much longer.

use super::job;
use crate::command::Change;
use crate::time::{clock, moment, span};
use crate::{Error, Result, now, texts};
use serde::Serialize;
use shopfloor_core::ids::{
    Assignment, EntryId, IssueNumber, PrNumber, ProjectName, Role, RunId, Sha, agent_name,
};
use shopfloor_core::planner::{Progress, TrialId};
use shopfloor_core::state::{Entry, EntryState, Floor, JobState, StoodOn, Who};
use std::time::Duration;

/// An entry as `--json` shows it.
#[derive(Serialize)]
pub struct EntryView {
    pub entry: EntryId,
    /// Its position in its project's queue, from 1; `null` once it is through.
    pub position: Option<usize>,
    /// Whose change it is: an agent's, or a person's.
    identity_name: String,
    pub branch: String,
    /// The branch it is to land on.
    target: String,
    worktree_path: Option<String>,
    pub pr_number: Option<PrNumber>,
    /// The issue's number; `null` for a person's branch without one.
    pub bead_id: Option<String>,
    /// The project's name.
    pub node_id: ProjectName,
    requested_at: String,
    pub status: &'static str,
    priority: u8,
    /// Never tried or landed together with others.
    alone: bool,
    head: Sha,
    /// Who approved it.
    approved_by: Option<String>,
    /// What has to happen next; if it is through, what became of it.
    pub waits_for: String,
    /// How much longer it will take if all goes well, if known.
    pub estimate_seconds: Option<u64>,
    /// How much longer it will take if checks are as slow as they sometimes are, and fail as often as they
    /// do.
    pub estimate_seconds_max: Option<u64>,
    pub decided_at: Option<String>,
    /// The commit it landed as.
    pub commit: Option<Sha>,
    /// Who made the newest commit of a person's branch.
    author: Option<String>,
    /// What it was last tried on, or landed on: a commit, the branches in it that had not landed yet, and the
    /// run of the checks that decided.
    base: Option<Sha>,
    behind: Vec<String>,
    run: Option<RunId>,
    log: Option<String>,
    /// How the project's command about its end went: `ran`, or what went wrong.
    pub command: Option<String>,
}

impl EntryView {
    pub fn new(floor: &Floor, position: Option<usize>, entry: &Entry) -> Self {
        let commit = match &entry.state {
            EntryState::Merged { commit } => Some(commit.clone()),
            _ => None,
        };
        let estimate = position.and_then(|at| estimate(floor, entry, at));
        let stood_on = entry.stood_on.clone().unwrap_or_default();
        EntryView {
            entry: entry.id,
            position,
            identity_name: match (&entry.person, entry.issue) {
                (Some(by), _) => by.by.clone(),
                (None, issue) => {
                    agent_name(Role::DEV, &entry.project, Assignment::Issue(issue.unwrap_or_default()))
                }
            },
            branch: entry.branch.clone(),
            target: floor.policy(&entry.project).branch_of(entry.target.as_ref()).to_owned(),
            worktree_path: entry.job.and_then(|job| floor.jobs.get(&job)?.worktree.clone()),
            pr_number: entry.pr,
            bead_id: entry.issue.map(|issue| issue.to_string()),
            node_id: entry.project.clone(),
            requested_at: moment(entry.requested_at),
            status: floor.entry_status(entry),
            priority: entry.priority.0,
            alone: entry.alone,
            head: entry.head.clone(),
            approved_by: match &entry.person {
                Some(by) => by.approved_by.clone(),
                None => entry.approved_by.clone(),
            },
            waits_for: waits_for(floor, entry),
            estimate_seconds: estimate.map(|(short, _)| short.as_secs()),
            estimate_seconds_max: estimate.map(|(_, long)| long.as_secs()),
            decided_at: entry.decided_at.map(moment),
            commit,
            author: entry.person.as_ref().and_then(|by| by.author.clone()),
            base: stood_on.base,
            behind: stood_on.behind,
            run: stood_on.run,
            log: Some(stood_on.log).filter(|log| !log.is_empty()),
            command: entry.command.as_ref().map(|c| c.trouble.clone().unwrap_or_else(|| "ran".to_owned())),
        }
    }

    /// How much longer it will take, in words.
    pub fn estimate(&self) -> Option<String> {
        let words = |seconds: u64| span(Duration::from_secs(seconds));
        let (short, long) = self.estimate_seconds.zip(self.estimate_seconds_max)?;
        Some(match (words(short), words(long)) {
            (short, long) if short == long => short,
            (short, long) => format!("{short} to {long}"),
        })
    }
}

/// The place of a change that somebody has just put into the queue, or taken out.
#[derive(Serialize)]
#[serde(untagged)]
pub enum PlaceView {
    Job {
        issue: IssueNumber,
        position: Option<usize>,
        state: &'static str,
    },
    Branch {
        branch: String,
        entry: EntryId,
        head: Sha,
        issue: Option<IssueNumber>,
        position: Option<usize>,
        state: &'static str,
        /// Its head is checked before it gets in line.
        #[serde(skip)]
        is_checked: bool,
    },
}

impl PlaceView {
    /// The place of an issue's job, or of the newest entry of a branch that no job carries.
    pub fn new(floor: &Floor, project: &ProjectName, change: &Change) -> Result<PlaceView> {
        match change {
            Change::Issue(issue) => {
                let job = floor.job_of(project, *issue);
                let entry = job.and_then(|job| match job.state {
                    JobState::InQueue { entry, .. } => floor.entries.get(&entry),
                    _ => None,
                });
                let position = entry.and_then(|entry| position(floor, entry));
                let state = job.map_or("gone", |job| job.state.name());
                Ok(PlaceView::Job { issue: *issue, position, state })
            }
            Change::Branch(name) => {
                let mine = |e: &&Entry| e.project == *project && e.branch == *name && e.job.is_none();
                let Some(entry) = floor.entries.iter().rev().find(mine) else {
                    return Err(Error::failed(format!("{name} was not queued")));
                };
                Ok(PlaceView::Branch {
                    branch: name.clone(),
                    entry: entry.id,
                    head: entry.head.clone(),
                    issue: entry.issue,
                    position: position(floor, entry),
                    state: floor.entry_status(entry),
                    is_checked: matches!(entry.state, EntryState::Checking { .. }),
                })
            }
        }
    }

    /// The place, in one line.
    pub fn tell(&self) -> String {
        let place = |at: &Option<usize>| at.map(|at| format!(", position {at}")).unwrap_or_default();
        match self {
            PlaceView::Job { issue, position, state } => format!("#{issue}: {state}{}", place(position)),
            PlaceView::Branch { branch, position, state, is_checked, .. } => {
                let checks = if *is_checked { ": its head is checked first" } else { "" };
                format!("{branch}: {state}{}{checks}", place(position))
            }
        }
    }
}

/// What it stood on, unless the state says so itself.
fn on_top(entry: &Entry) -> String {
    let told = entry.stood_on.as_ref().map(StoodOn::tell).filter(|told| !told.is_empty());
    told.map(|told| format!(" ({told})")).unwrap_or_default()
}

/// What people call it: by its issue or, if it is a person's branch, by its branch.
pub fn name(entry: &Entry) -> String {
    match entry.issue {
        Some(issue) if entry.job.is_some() => format!("#{issue}"),
        _ => entry.branch.clone(),
    }
}

pub fn names<'e>(floor: &Floor, entries: impl IntoIterator<Item = &'e EntryId>) -> String {
    let rows = entries.into_iter().filter_map(|e| floor.entries.get(e));
    rows.map(name).collect::<Vec<_>>().join(", ")
}

/// Its place in its queue, from 1.
pub fn position(floor: &Floor, entry: &Entry) -> Option<usize> {
    floor.queue_order(&entry.queue()).iter().position(|e| e.id == entry.id).map(|at| at + 1)
}

/// The queue in order.
pub fn queue(floor: &Floor, project: Option<&ProjectName>) -> Vec<EntryView> {
    let entries = job::queue(floor, project).into_iter();
    entries.map(|(position, entry)| EntryView::new(floor, Some(position), entry)).collect()
}

fn waits_for(floor: &Floor, entry: &Entry) -> String {
    match &entry.state {
        EntryState::Merged { commit } => return format!("landed as {}{}", commit.short(), on_top(entry)),
        EntryState::Conflicted { files } => {
            let files = shopfloor_core::text::one_line(&files.join(", "), 120);
            return format!("conflicts in {files}{}", on_top(entry));
        }
        EntryState::Failed { reason } | EntryState::Cancelled { reason } => {
            return shopfloor_core::text::one_line(reason, 160);
        }
        EntryState::Checking { run, again_at: None } => return format!("CI run {run} of its own head"),
        EntryState::Checking { again_at: Some(at), .. } => {
            return texts::next_try("the checks, which could not run", &clock(*at));
        }
        EntryState::Queued | EntryState::Merging => {}
    }
    if let Some(branch) = floor.waits_for_branch(entry) {
        let newest = |e: &&Entry| e.queue() == entry.queue() && e.branch == branch;
        let state = floor.entries.iter().rev().find(newest).map(|e| floor.entry_status(e));
        return format!("{branch} to land first ({})", state.unwrap_or("not queued"));
    }
    let Some(queue) = floor.queues.get(&entry.queue()) else { return "the queue".into() };
    if queue.is_parked(Who::Entry(entry.id)) {
        return match &queue.base_check {
            Some(check) if check.red => texts::primary_to_be_fixed().into(),
            _ => "the checks of the primary branch itself".into(),
        };
    }
    let run = |trial: &TrialId| queue.runs.get(trial).map(|r| format!("CI run {}", r.run));
    let what = match queue.plan.standing(entry.id) {
        Some(Progress::Landing) => "the primary branch to be moved".into(),
        Some(Progress::Testing(trial)) => run(&trial).unwrap_or_else(|| "the checks".into()),
        Some(Progress::Building(_)) => "its candidate to be built".into(),
        Some(Progress::Suspect) => "a second run: the first failed".into(),
        Some(Progress::Aside(until)) => {
            texts::next_try("the checks, which cannot run with it", &clock(until))
        }
        Some(Progress::Behind(entries)) => {
            format!("{}, with which it conflicts", names(floor, &entries))
        }
        Some(Progress::InLine | Progress::Waiting) | None if entry.alone => "its turn, alone".into(),
        Some(Progress::InLine | Progress::Waiting) | None => "its turn".into(),
    };
    if let Some(lost) = &queue.lost {
        return format!("people: {}", lost.tell());
    }
    let Some(why) = queue.holds(entry.priority) else { return what };
    let why = shopfloor_core::text::one_line(why, 80);
    match queue.below {
        Some(least) => {
            format!("the paused queue ({why}): it is not {}; then {what}", least.name())
        }
        None => format!("the paused queue ({why}); then {what}"),
    }
}

/// The time for the rounds of checks until it is its turn, minus the elapsed part of a running one: if
/// everything is green, and if as many of those before it fail as usual and are run a second time.
fn estimate(floor: &Floor, entry: &Entry, position: usize) -> Option<(Duration, Duration)> {
    let queue = floor.queues.get(&entry.queue())?;
    if queue.holds(entry.priority).is_some() || queue.lost.is_some() || queue.is_parked(Who::Entry(entry.id))
    {
        return None;
    }
    let (short, long) = queue.checks_take()?;
    let standing = queue.plan.standing(entry.id);
    if matches!(standing, Some(Progress::Aside(_))) {
        return None;
    }
    let held = queue.plan.held_until().map_or(Duration::ZERO, |until| until.since(now()));
    if standing == Some(Progress::Landing) {
        return Some((Duration::ZERO, Duration::ZERO));
    }
    if let Some(Progress::Testing(trial)) = &standing
        && let Some(run) = queue.runs.get(trial)
    {
        let passed = now().since(run.since);
        return Some((short.saturating_sub(passed), long.saturating_sub(passed)));
    }
    let slots = floor.policy(&entry.project).merge_slots.max(1);
    let rate = queue.plan.rate();
    let rounds = position.div_ceil(slots * rate.chunk(slots)).max(1);
    let again = (rate.chance() * position as f64).ceil() as usize;
    let times = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Some((held + short * times(rounds), held + long * times(rounds + again)))
}
