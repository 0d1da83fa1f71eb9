//! An entry of the merge queue as people are shown it: what it waits for, and for how long yet.

use crate::cli::{now, output, view};
use serde::Serialize;
use shopfloor_core::ids::{EntryId, PrNumber, ProjectName, Role, RunId, Sha, agent_name};
use shopfloor_core::planner::{Standing, TrialId};
use shopfloor_core::state::{Entry, EntryState, Floor, StoodOn, Who};
use std::time::Duration;

/// An entry as `--json` shows it.
#[derive(Serialize)]
pub struct EntryView {
    pub entry: EntryId,
    /// In its project's queue, from 1; `null` once it is through.
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
    /// What has to happen next; for one that is through, what became of it.
    pub waits_for: String,
    /// How long it will take yet if all goes well, if that can be said.
    pub estimate_seconds: Option<u64>,
    /// And how long if checks take as long as they do at times, and fail as often as they do.
    pub estimate_seconds_max: Option<u64>,
    pub decided_at: Option<String>,
    /// The commit it landed as.
    pub commit: Option<Sha>,
    /// Who made the newest commit of a person's branch.
    author: Option<String>,
    /// What it was last tried on, or landed on: a commit, the branches in it that were not in the primary branch,
    /// and the run of the checks that decided.
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
            identity_name: match (&entry.by_hand, entry.issue) {
                (Some(by), _) => by.by.clone(),
                (None, issue) => agent_name(Role::Dev, &entry.project, issue.unwrap_or_default()),
            },
            branch: entry.branch.clone(),
            target: floor.policy(&entry.project).branch_of(entry.target.as_ref()).to_owned(),
            worktree_path: entry.job.and_then(|job| floor.jobs.get(&job)?.worktree.clone()),
            pr_number: entry.pr,
            bead_id: entry.issue.map(|issue| issue.to_string()),
            node_id: entry.project.clone(),
            requested_at: output::moment(entry.requested_at),
            status: floor.entry_status(entry),
            priority: entry.priority.0,
            alone: entry.alone,
            head: entry.head.clone(),
            approved_by: match &entry.by_hand {
                Some(by) => by.approved_by.clone(),
                None => entry.approved_by.clone(),
            },
            waits_for: waits_for(floor, entry),
            estimate_seconds: estimate.map(|(short, _)| short.as_secs()),
            estimate_seconds_max: estimate.map(|(_, long)| long.as_secs()),
            decided_at: entry.decided_at.map(output::moment),
            commit,
            author: entry.by_hand.as_ref().and_then(|by| by.author.clone()),
            base: stood_on.base,
            behind: stood_on.behind,
            run: stood_on.run,
            log: Some(stood_on.log).filter(|log| !log.is_empty()),
            command: entry.command.as_ref().map(|c| c.trouble.clone().unwrap_or_else(|| "ran".to_owned())),
        }
    }

    pub fn estimate(&self) -> String {
        let span = |seconds: u64| output::span(Duration::from_secs(seconds));
        let range = self.estimate_seconds.zip(self.estimate_seconds_max);
        view::or_dash(range.map(|(short, long)| match (span(short), span(long)) {
            (short, long) if short == long => short,
            (short, long) => format!("{short} to {long}"),
        }))
    }
}

/// What it stood on, where that does not say so itself.
fn on_top(entry: &Entry) -> String {
    let told = entry.stood_on.as_ref().map(StoodOn::tell).filter(|told| !told.is_empty());
    told.map(|told| format!(" ({told})")).unwrap_or_default()
}

/// What people call it: by its issue or, if it is a person's branch, by that.
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

/// The queue in order.
pub fn queue(floor: &Floor, project: Option<&ProjectName>) -> Vec<EntryView> {
    let entries = view::queue(floor, project).into_iter();
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
            return format!("the checks, which could not run; the next try is at {}", output::clock(*at));
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
            Some(check) if check.red => "the primary branch, which fails the checks, to be mended".into(),
            _ => "the checks of the primary branch itself".into(),
        };
    }
    let run = |trial: &TrialId| queue.runs.get(trial).map(|r| format!("CI run {}", r.run));
    let what = match queue.plan.standing(entry.id) {
        Some(Standing::Landing) => "the primary branch to be moved".into(),
        Some(Standing::Testing(trial)) => run(&trial).unwrap_or_else(|| "the checks".into()),
        Some(Standing::Building(_)) => "its candidate to be built".into(),
        Some(Standing::Suspect) => "a second run: the first failed".into(),
        Some(Standing::Aside(until)) => {
            format!("the checks, which cannot be run with it; the next try is at {}", output::clock(until))
        }
        Some(Standing::Behind(entries)) => {
            format!("{}, with which it conflicts", names(floor, &entries))
        }
        Some(Standing::InLine | Standing::Waiting) | None if entry.alone => "its turn, alone".into(),
        Some(Standing::InLine | Standing::Waiting) | None => "its turn".into(),
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

/// As many rounds of the checks as it takes until it is its turn, less what has passed of this one: if all is green,
/// and if as many of those before it fail as usual, and are run a second time.
fn estimate(floor: &Floor, entry: &Entry, position: usize) -> Option<(Duration, Duration)> {
    let queue = floor.queues.get(&entry.queue())?;
    if queue.holds(entry.priority).is_some() || queue.lost.is_some() || queue.is_parked(Who::Entry(entry.id))
    {
        return None;
    }
    let (short, long) = queue.checks_take()?;
    let standing = queue.plan.standing(entry.id);
    if matches!(standing, Some(Standing::Aside(_))) {
        return None;
    }
    let held = queue.plan.held_until().map_or(Duration::ZERO, |until| until.since(now()));
    if standing == Some(Standing::Landing) {
        return Some((Duration::ZERO, Duration::ZERO));
    }
    if let Some(Standing::Testing(trial)) = &standing
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
