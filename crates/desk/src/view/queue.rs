//! The merge queues: what is being tried in each, and what state it is in.

use super::entry::names;
use super::tries::TryView;
use crate::now;
use crate::time::moment;
use serde::Serialize;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ids::{EntryId, IssueNumber, ProjectName, QueueId, RunId, Sha};
use shopfloor_core::planner::{Priority, Purpose, TrialId};
use shopfloor_core::state::{Floor, Queue, Try};

#[derive(Serialize)]
pub struct QueueView {
    pub project: ProjectName,
    /// The branch that it moves.
    pub branch: String,
    /// Why it is held.
    pub paused: Option<String>,
    /// If set, only what is below this threshold is held: `priority` or `urgent`.
    pub paused_below: Option<&'static str>,
    /// Who it is held for, in words.
    #[serde(skip)]
    pub pause: Option<String>,
    /// Why it stands still until somebody puts the primary branch right.
    pub frozen: Option<String>,
    /// Where the primary branch was last seen.
    pub primary: Option<Sha>,
    /// Whether the primary branch itself is known to fail.
    pub primary_red: bool,
    pub slots: usize,
    pub waiting: usize,
    pub trials: Vec<TrialLine>,
    pub publishing: Option<Vec<IssueNumber>>,
    /// The same by name, people's branches included.
    pub publishing_names: Option<String>,
    /// How many of a hundred changes fail, as estimated.
    pub failure_percent: u32,
    /// Whether commits land on the first-parent line that were not checked by themselves: with "rebase", all
    /// but a branch's last.
    pub unchecked_commits: bool,
    /// How long the checks take, on average.
    pub checks_seconds: Option<u64>,
    /// Until when nothing is tried, because the checks could not be run.
    pub held_until: Option<String>,
    /// What is being tried on top of that branch without landing.
    pub tries: Vec<TryView>,
}

#[derive(Serialize)]
pub struct TrialLine {
    pub trial: TrialId,
    pub issues: Vec<IssueNumber>,
    /// The same by name, people's branches included.
    pub names: String,
    /// A second run, for the last of them.
    pub confirms: bool,
    pub commit: Option<Sha>,
    pub run: Option<RunId>,
    pub running_seconds: Option<u64>,
}

/// The queues of one project, or of all.
pub fn all(layout: &Layout, floor: &Floor, only: Option<&ProjectName>) -> Vec<QueueView> {
    let mine = floor.projects.iter().filter(|p| only.is_none_or(|only| p.name == *only));
    let queues = mine.flat_map(|project| floor.queue_ids(&project.name));
    let queue = |id: QueueId| floor.queues.get(&id).cloned().unwrap_or_else(|| Queue::new(id));
    queues.map(|id| view(layout, floor, &queue(id))).collect()
}

fn view(layout: &Layout, floor: &Floor, queue: &Queue) -> QueueView {
    let tried = |t: &&Try| t.project == queue.project && t.on == queue.target && t.state.is_live();
    let tries = floor.tries.iter().filter(tried).map(|row| TryView::new(floor, layout, row)).collect();
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
        held_until: queue.plan.held_until().map(moment),
        tries,
    }
}
