//! What lands: only what passed, once; and the change of whoever is told that it landed is in it.

use super::Checker;
use crate::git::{branch_of, commit_of};
use crate::world::{GreenRun, World};
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{EntryId, Target};
use shopfloor_core::policy::{CheckCommits, MergeBatch, MergeMethod};
use shopfloor_core::state::{End, Entry, EntryState, Floor, Job, JobState, Who};
use shopfloor_store::OutboxEffect;
use std::collections::btree_map;

const TESTED: &str = "1 the tree that lands passed";

impl Checker {
    /// 6: a person's branch that landed is in the primary branch, and is deleted unless it moved on.
    pub(super) fn people_are_answered(&mut self, world: &mut World, floor: &Floor, outbox: &[OutboxEffect]) {
        for entry in floor.entries.iter().filter(|e| e.job.is_none()) {
            match &entry.state {
                EntryState::Failed { .. } => world.saw("branch by hand failed"),
                EntryState::Conflicted { .. } => world.saw("branch by hand conflicted"),
                EntryState::Cancelled { .. } => world.saw("branch by hand cancelled"),
                _ => {}
            }
            let EntryState::Merged { commit } = &entry.state else { continue };
            let mine = |q: &OutboxEffect| matches!(&*q.action, Action::RetireBranch { branch, .. } if *branch == entry.branch);
            if outbox.iter().any(mine) || !self.retired.insert(entry.id) {
                continue;
            }
            world.saw("branch by hand merged");
            let (commit, head) = (commit_of(commit), commit_of(&entry.head));
            if !was_in(world, entry.target.as_ref(), commit) {
                world.broken(
                    "6 completion is evidence",
                    format!("{} was never where it landed", entry.branch),
                );
            }
            // What could not be done for good was reported; and if a person took the change off, its branch
            // stays.
            let tip = world.git.tip(entry.target.as_ref());
            let there = tip.is_some_and(|tip| world.git.is_ancestor(commit, tip));
            let taken_off = world.rewinds.iter().any(|r| r.removed.contains(&commit));
            if world.git.hub.get(&entry.branch) == Some(&head)
                && world.weather.permanent == 0
                && there
                && !taken_off
                && !world.coverage.contains_key("rewind put back")
                && !world.coverage.contains_key("target made again")
            {
                world.broken(
                    "6 completion is evidence",
                    format!("{} landed and is there still", entry.branch),
                );
            }
        }
    }

    /// 7: whatever is in the merge queue is planned for, or waits for the primary branch to be mended; and a
    /// job that waits for the queue is in it.
    pub(super) fn no_entry_is_forgotten(&self, world: &mut World, floor: &Floor, outbox: &[OutboxEffect]) {
        let mut forgotten = Vec::new();
        for entry in floor.entries.iter().filter(|e| e.state.is_live()) {
            let queue = floor.queues.get(&entry.queue());
            let parked = queue.is_some_and(|q| q.is_parked(Who::Entry(entry.id)));
            let checked = match entry.state {
                EntryState::Checking { again_at: Some(_), .. } => true,
                EntryState::Checking { run, .. } => {
                    outbox.iter().any(|q| matches!(*q.action, Action::RunCi { run: r, .. } if r == run))
                }
                _ => false,
            };
            let waits = floor.waits_for_branch(entry).is_some();
            if floor.standing(entry).is_none() && !parked && !checked && !waits {
                forgotten.push(format!("entry {} is in no plan", entry.id));
            }
            let waits =
                |j: &Job| matches!(j.state, JobState::InQueue { entry: waits, .. } if waits == entry.id);
            let job = entry.job.and_then(|job| floor.jobs.get(&job));
            if entry.job.is_some() && !job.is_some_and(waits) {
                forgotten.push(format!("entry {} has no job that waits for it", entry.id));
            }
        }
        for job in floor.jobs.iter() {
            if let JobState::InQueue { entry, .. } = &job.state
                && !floor.entries.get(entry).is_some_and(|e| e.state.is_live())
            {
                forgotten.push(format!("job {} waits for entry {entry}, which is through", job.id));
            }
        }
        for text in forgotten {
            world.broken("7 every wait has a deadline", text);
        }
    }

    /// 1: a branch that work lands on is moved by its queue, to a commit whose content passed the checks for
    /// it, on top of where it was; or a person pushed. With strict batches that holds for every first-parent
    /// commit, except for those an agent made, which a rebase lands unchanged.
    pub(super) fn moves_are_tested(&mut self, world: &mut World, floor: &Floor) {
        let new = world.git.moves[self.moves..].to_vec();
        let from = std::mem::replace(&mut self.moves, world.git.moves.len());
        for (at, step) in (from..).zip(new) {
            let before = self.tips.insert(step.branch.clone(), step.new).unwrap_or(Some(0));
            if step.old != before && (step.old, before) != (None, Some(0)) {
                let text =
                    format!("{}: {:?} -> {:?}, but it was at {before:?}", step.branch, step.old, step.new);
                world.broken(TESTED, text);
            }
            if let (Some(entries), Some(old), Some(new)) = (&step.entries, step.old, step.new) {
                self.landing_is_tested(world, floor, &step.branch, (old, new), entries);
                self.what_was_removed_stays_off(world, floor, (at, &step.branch), (old, new), entries);
                self.the_order_is_kept(world, floor, &step.branch, entries);
            }
        }
        for (branch, tip) in &self.tips {
            if world.git.hub.get(branch) != tip.as_ref() {
                let text = format!("{branch} moved by itself");
                world.broken(TESTED, text);
                break;
            }
        }
    }

    fn landing_is_tested(
        &mut self,
        world: &mut World,
        floor: &Floor,
        branch: &str,
        (old, new): (u32, u32),
        entries: &[EntryId],
    ) {
        if !world.git.is_ancestor(old, new) {
            world.broken(TESTED, format!("{branch}: c{new} does not go on from c{old}"));
            return;
        }
        let rows: Vec<&Entry> = entries.iter().filter_map(|id| floor.entries.get(id)).collect();
        if rows.len() != entries.len() {
            world.broken(TESTED, format!("not each of {entries:?} is an entry"));
        }
        let policy = world.policy.clone();
        let by_people = rows.iter().any(|e| e.job.is_none());
        let method = |m| policy.merge_method == m || (by_people && policy.merge_people == m);
        let strict = policy.merge_batch != MergeBatch::Tip
            && (!method(MergeMethod::Rebase) || policy.check_commits == CheckCommits::Each);
        let mut at = new;
        while at != old {
            let content = world.git.content(at);
            let passed = |g: &GreenRun| {
                branch_of(g.target.as_ref()) == branch && world.git.content(g.commit) == content
            };
            if !world.green.iter().any(passed) {
                world.broken(TESTED, format!("c{at} landed on {branch} without passing for it"));
            }
            if policy.merge_signed && world.git.commits[at as usize].ours {
                match world.git.commits[at as usize].signed {
                    true => world.saw("signed commit landed"),
                    false => world.broken("1 what the queue lands is signed", format!("c{at} is not")),
                }
            }
            at = match world.git.commits[at as usize].parents.first() {
                Some(parent) if strict => *parent,
                _ => break,
            };
        }
        for entry in rows {
            self.landed_where_it_should(world, entry, branch, new, entries);
        }
    }

    /// It landed on the branch that it was for, once, and alone if it was to be.
    fn landed_where_it_should(
        &mut self,
        world: &mut World,
        entry: &Entry,
        branch: &str,
        new: u32,
        together: &[EntryId],
    ) {
        let asked = world.asked.get(&(entry.branch.clone(), commit_of(&entry.head)));
        let meant = match entry.job {
            Some(job) => self.meant.get(&job).cloned().unwrap_or_default(),
            None => asked.cloned().unwrap_or_default(),
        };
        if branch_of(meant.as_ref()) != branch || entry.target != meant {
            let text = format!("entry {} was for {meant:?}, and landed on {branch}", entry.id);
            world.broken("1 what lands was for that branch", text);
        }
        if meant.is_some() {
            world.saw("landed on a target");
        }
        // A person may queue another change under the same name.
        let head = entry.job.is_none().then(|| commit_of(&entry.head));
        let whose = (branch.to_owned(), entry.job, entry.branch.clone(), head);
        // What a person took off may land again, if a person wants it to.
        let before = self.landed.insert(whose, new).filter(|c| world.git.is_ancestor(*c, new) && *c != new);
        if before.is_some() {
            let text = format!("{} landed twice on {branch}", entry.branch);
            world.broken("4 effects are idempotent", text);
        }
        if self.alone.contains(&entry.id) {
            world.saw("landed alone");
            if together.len() > 1 {
                world.broken("1 who is alone lands alone", format!("{} landed with others", entry.id));
            }
        }
    }

    /// 6: a job that ended merged had its change in the branch that it was for; a person may have taken it
    /// off since.
    pub(super) fn merged_is_where_it_lands(&mut self, world: &mut World, floor: &Floor) {
        for job in floor.jobs.iter().filter(|j| j.end() == Some(End::Merged)) {
            if !self.over.insert(job.id) {
                continue;
            }
            let (Some(merged), Some(head)) = (&job.merged, &job.head) else {
                world.broken("6 completion is evidence", format!("job {} merged nothing", job.id));
                continue;
            };
            let (merged, head) = (commit_of(merged), commit_of(head));
            if !was_in(world, job.target.as_ref(), merged) {
                let text = format!("what job {} landed as was never in its branch", job.id);
                world.broken("6 completion is evidence", text);
            }
            // In what landed, or earlier on that branch: a person may have merged a part by hand, and
            // somebody else changed it since. What was taken off does not come back with it.
            let branch = branch_of(job.target.as_ref());
            let line: Vec<u32> =
                world.git.moves.iter().filter(|m| m.branch == branch).filter_map(|m| m.new).collect();
            let landed =
                |file, version| line.iter().any(|c| world.git.content(*c).get(file) == Some(version));
            let missing = world.git.content(head).iter().find(|(file, version)| {
                world.git.versions[**version as usize].issue == Some(crate::agents::writer(job.assignment))
                    && !landed(file, version)
            });
            let left_out = floor.entries.iter().any(|e| e.job == Some(job.id) && e.left_out > 0);
            if missing.is_some() && !left_out {
                let text = format!("job {}: {missing:?} of c{head} is not in c{merged}", job.id);
                world.broken("6 completion is evidence", text);
            }
        }
    }

    /// Remembers what cannot be found out later: where a job's change is to land, which entries are alone,
    /// which are held.
    pub(super) fn what_is_wanted_is_remembered(&mut self, world: &mut World, floor: &Floor) {
        for job in floor.jobs.iter() {
            if let btree_map::Entry::Vacant(place) = self.meant.entry(job.id) {
                let issue = job.place().and_then(|place| floor.issues.get(&place));
                let labels = issue.map(|i| i.labels.clone()).unwrap_or_default();
                place.insert(world.policy.target_of(&labels).cloned());
                if job.target.is_some() {
                    world.saw("job for a target");
                }
            }
        }
        let held = |e: &&Entry| {
            let queue = floor.queues.get(&e.queue());
            queue.is_some_and(|q| q.holds(e.priority).is_some() || q.lost.is_some())
        };
        let waits = |e: &&Entry| matches!(e.state, EntryState::Queued | EntryState::Checking { .. });
        for entry in floor.entries.iter().filter(|e| e.state == EntryState::Merging) {
            if self.waiting.contains(&entry.id) && self.held_back.contains(&entry.id) && held(&entry) {
                let text = format!("entry {} is published, though its queue is held", entry.id);
                world.broken("12 the person is the boss", text);
            }
        }
        self.held_back = floor.entries.iter().filter(held).map(|e| e.id).collect();
        self.waiting = floor.entries.iter().filter(waits).map(|e| e.id).collect();
        self.alone.extend(floor.entries.iter().filter(waits).filter(|e| e.alone).map(|e| e.id));
    }
}

/// Whether the commit was ever in that branch.
fn was_in(world: &World, target: Option<&Target>, commit: u32) -> bool {
    let branch = branch_of(target);
    let mut tips = world.git.moves.iter().rev().filter(|m| m.branch == branch).filter_map(|m| m.new);
    let now = world.git.tip(target).is_some_and(|tip| world.git.is_ancestor(commit, tip));
    now || tips.any(|tip| world.git.is_ancestor(commit, tip))
}
