//! What lands: only what passed, once, and whoever it is said to have landed for is in it.

use super::Checker;
use crate::git::commit_of;
use crate::world::World;
use shopfloor_core::effect::Action;
use shopfloor_core::policy::{CheckCommits, MergeBatch, MergeMethod};
use shopfloor_core::state::{End, EntryState, Floor, Job, JobState, Who};
use shopfloor_store::Queued;

impl Checker {
    /// 6: a person's branch that landed is in the primary branch, and gone unless it went on.
    pub(super) fn people_are_answered(&mut self, world: &mut World, floor: &Floor, outbox: &[Queued]) {
        for entry in floor.entries.iter().filter(|e| e.job.is_none()) {
            match &entry.state {
                EntryState::Failed { .. } => world.saw("branch by hand failed"),
                EntryState::Conflicted { .. } => world.saw("branch by hand conflicted"),
                EntryState::Cancelled { .. } => world.saw("branch by hand cancelled"),
                _ => {}
            }
            let EntryState::Merged { commit } = &entry.state else { continue };
            let mine = |q: &Queued| matches!(&q.action, Action::RetireBranch { branch, .. } if *branch == entry.branch);
            if outbox.iter().any(mine) || !self.retired.insert(entry.id) {
                continue;
            }
            world.saw("branch by hand merged");
            let (commit, head) = (commit_of(commit), commit_of(&entry.head));
            if !world.git.is_ancestor(commit, world.git.primary()) {
                world.broken(
                    "6 completion is evidence",
                    format!("{} is not in the primary branch", entry.branch),
                );
            }
            // What could not be done for good was told.
            if world.git.hub.get(&entry.branch) == Some(&head) && world.weather.permanent == 0 {
                world.broken(
                    "6 completion is evidence",
                    format!("{} landed and is there still", entry.branch),
                );
            }
        }
    }

    /// 7: whatever is in the merge queue is planned for, or waits for the primary branch to be mended;
    /// and a job that waits for the queue is in it.
    pub(super) fn no_entry_is_forgotten(&self, world: &mut World, floor: &Floor, outbox: &[Queued]) {
        let mut forgotten = Vec::new();
        for entry in floor.entries.iter().filter(|e| e.state.is_live()) {
            let queue = floor.queues.get(&entry.queue());
            let parked = queue.is_some_and(|q| q.is_parked(Who::Entry(entry.id)));
            let checked = match entry.state {
                EntryState::Checking { again_at: Some(_), .. } => true,
                EntryState::Checking { run, .. } => {
                    outbox.iter().any(|q| matches!(q.action, Action::RunCi { run: r, .. } if r == run))
                }
                _ => false,
            };
            if floor.standing(entry).is_none() && !parked && !checked {
                forgotten.push(format!("entry {} is in no plan", entry.id));
            }
            let waits = |j: &Job| j.state == JobState::Merging { entry: entry.id };
            let job = entry.job.and_then(|job| floor.jobs.get(&job));
            if entry.job.is_some() && !job.is_some_and(waits) {
                forgotten.push(format!("entry {} has no job that waits for it", entry.id));
            }
        }
        for job in floor.jobs.iter() {
            if let JobState::Merging { entry } = &job.state
                && !floor.entries.get(entry).is_some_and(|e| e.state.is_live())
            {
                forgotten.push(format!("job {} waits for entry {entry}, which is through", job.id));
            }
        }
        for text in forgotten {
            world.broken("7 every wait has a deadline", text);
        }
    }

    /// 1: the primary branch moves in the queue, to a commit whose content passed the checks, on top of
    /// where it was; or a person pushed. With strict batches that holds for every first-parent commit, but
    /// for those an agent made, which a rebase lands as they are.
    pub(super) fn primary_moves_are_tested(&mut self, world: &mut World, floor: &Floor) {
        let new = world.git.moves[self.moves..].to_vec();
        self.moves = world.git.moves.len();
        for step in new {
            let before = self.last_primary.unwrap_or(0);
            if step.old != before || !world.git.is_ancestor(step.old, step.new) {
                let text = format!("c{} -> c{} on top of c{before}", step.old, step.new);
                world.broken("1 the tree that lands passed", text);
            }
            self.last_primary = Some(step.new);
            let Some(entries) = step.entries else { continue };
            let policy = entries.first().and_then(|id| Some(floor.policy(&floor.entries.get(id)?.project)));
            let strict = policy.is_some_and(|p| {
                p.merge_batch != MergeBatch::Tip
                    && (p.merge_method != MergeMethod::Rebase || p.check_commits == CheckCommits::Each)
            });
            let mut at = step.new;
            while at != step.old {
                let content = world.git.content(at);
                if !world.green.iter().any(|g| world.git.content(g.commit) == content) {
                    world.broken("1 the tree that lands passed", format!("c{at} landed without passing"));
                }
                at = match world.git.commits[at as usize].parents.first() {
                    Some(parent) if strict => *parent,
                    _ => break,
                };
            }
            for id in entries {
                let Some(entry) = floor.entries.get(&id) else {
                    world.broken("1 the tree that lands passed", format!("no entry {id}"));
                    continue;
                };
                let whose = (entry.job, entry.branch.clone());
                let times = self.landed.entry(whose.clone()).or_default();
                *times += 1;
                if *times > 1 {
                    world.broken("4 effects are idempotent", format!("{whose:?} landed twice"));
                }
            }
        }
        if world.git.primary() != self.last_primary.unwrap_or(0) {
            world.broken("1 the tree that lands passed", "the primary branch moved by itself");
        }
    }

    /// 6: a job that ended merged has its change in the primary branch.
    pub(super) fn merged_is_in_the_primary_branch(&mut self, world: &mut World, floor: &Floor) {
        for job in floor.jobs.iter().filter(|j| j.end() == Some(End::Merged)) {
            if !self.over.insert(job.id) {
                continue;
            }
            let (Some(merged), Some(head)) = (&job.merged, &job.head) else {
                world.broken("6 completion is evidence", format!("job {} merged nothing", job.id));
                continue;
            };
            let (merged, head) = (commit_of(merged), commit_of(head));
            if !world.git.is_ancestor(merged, world.git.primary()) {
                let text = format!("what job {} landed as is not in the primary branch", job.id);
                world.broken("6 completion is evidence", text);
            }
            // In what landed, or earlier on the primary branch: a person may have merged a part by
            // hand and somebody else changed that since.
            let line: Vec<u32> = world.git.moves.iter().map(|m| m.new).collect();
            let landed =
                |file, version| line.iter().any(|c| world.git.content(*c).get(file) == Some(version));
            let missing = world.git.content(head).iter().find(|(file, version)| {
                world.git.versions[**version as usize].issue == Some(job.issue) && !landed(file, version)
            });
            if missing.is_some() || !world.git.is_ancestor(merged, world.git.primary()) {
                let text = format!("job {}: {missing:?} of c{head} is not in c{merged}", job.id);
                world.broken("6 completion is evidence", text);
            }
        }
    }
}
