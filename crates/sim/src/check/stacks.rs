//! Stacks, reverts and back-ports: no branch lands before those that it has to land after, nobody waits in
//! vain without being told, and a change that undoes another one, or takes it elsewhere, really does.

use super::Checker;
use crate::git::{Content, commit_of};
use crate::world::World;
use shopfloor_core::ids::EntryId;
use shopfloor_core::state::{Entry, EntryState, Floor, Job};
use std::time::Duration;

/// How long an entry may wait for a branch nobody is working on before somebody is told.
const TOLD_WITHIN: Duration = Duration::from_secs(600);

impl Checker {
    pub(super) fn the_order_is_kept(
        &self,
        world: &mut World,
        floor: &Floor,
        branch: &str,
        entries: &[EntryId],
    ) {
        for entry in entries.iter().filter_map(|id| floor.entries.get(id)) {
            let key = (entry.branch.clone(), commit_of(&entry.head));
            let issue = entry.issue.and_then(|n| world.forge.issues.get(&n));
            let after = match entry.job {
                Some(_) if world.asked_anyway.contains(&entry.id) => Vec::new(),
                Some(_) => issue.map(|i| i.after.clone()).unwrap_or_default(),
                None => world.asked_after.get(&key).cloned().unwrap_or_default(),
            };
            for first in after.iter().filter(|name| **name != entry.branch) {
                let landed = |(onto, _, name, _): &(String, _, String, _)| onto == branch && name == first;
                let by_person = |j: &Job| j.branch == *first && j.merged.is_some();
                // An entry that brought nothing moved nothing: the commit it counts as is in the branch, or was until
                // a person took it off.
                let tip = world.git.hub.get(branch).copied().unwrap_or_else(|| world.git.primary());
                let moves = world.git.moves.iter().filter(|step| step.branch == branch);
                let tips: Vec<u32> = moves.filter_map(|step| step.new).chain([tip]).collect();
                let brought_nothing = |e: &Entry| match &e.state {
                    EntryState::Merged { commit } => {
                        let commit = commit_of(commit);
                        e.branch == *first && tips.iter().any(|tip| world.git.is_ancestor(commit, *tip))
                    }
                    _ => false,
                };
                let nothing = floor.entries.iter().any(brought_nothing);
                if nothing || self.landed.keys().any(landed) || floor.jobs.iter().any(by_person) {
                    world.saw("landed after what it depends on");
                } else {
                    let text = format!("{} landed before {first}", entry.branch);
                    world.broken("1 what is below lands first", text);
                }
            }
        }
    }

    /// 7: an entry does not wait for a branch nobody is working on, unless somebody was told.
    pub(super) fn nobody_waits_in_vain(&mut self, world: &mut World, floor: &Floor) {
        let mut waiting = Vec::new();
        let live = |e: &&Entry| e.state == EntryState::Queued && !e.after.is_empty();
        for entry in floor.entries.iter().filter(live) {
            if floor.waits_for_branch(entry).is_some() {
                world.saw("entry waits for a branch");
            }
            if is_in_vain(floor, entry) {
                waiting.push((entry.id, entry.branch.clone(), entry.issue));
            }
        }
        self.vain.retain(|id, _| waiting.iter().any(|(waits, ..)| waits == id));
        for (id, branch, issue) in waiting {
            let since = *self.vain.entry(id).or_insert(world.now);
            let told = self.told_of.contains(&branch) || issue.is_some_and(|n| self.told.contains(&n));
            if told {
                world.saw("told that it waits in vain");
            } else if world.now.since(since) > TOLD_WITHIN {
                let text = format!("entry {id}, {branch}, waits for what nobody is at, and nobody knows");
                world.broken("7 every wait has a deadline", text);
            }
        }
    }

    /// 6: what landed to undo another change has nothing of it; what landed to take it elsewhere has it.
    pub(super) fn what_is_carried_is_there(&mut self, world: &mut World, floor: &Floor) {
        for entry in floor.entries.iter().filter(|e| e.job.is_none()) {
            let EntryState::Merged { commit } = &entry.state else { continue };
            let back = entry.branch.strip_prefix("revert-entry-");
            let on = entry.branch.strip_prefix("backport-entry-").and_then(|rest| rest.split('-').next());
            let Some(of) = back.or(on).and_then(|id| id.parse().ok()).map(EntryId) else { continue };
            if !self.carried.insert(entry.id) {
                continue;
            }
            let Some(of) = floor.entries.get(&of) else { continue };
            let (EntryState::Merged { commit: landed }, Some(before)) = (&of.state, &of.landed_on) else {
                continue;
            };
            world.saw(if back.is_some() { "revert landed" } else { "back-port landed" });
            let content = |sha| -> &Content { world.git.content(commit_of(sha)) };
            let (before, after, now) = (content(before), content(landed), content(commit));
            let mut changed = after.iter().filter(|(file, version)| before.get(file) != Some(version));
            let wrong = changed.find(|(file, version)| (now.get(file) == Some(version)) == back.is_some());
            if let Some((file, _)) = wrong {
                let text = format!("{} landed, and file{file} is not as it should be", entry.branch);
                world.broken("6 completion is evidence", text);
            }
        }
    }
}

/// Whether nobody is working on the first of the branches it has to land after.
fn is_in_vain(floor: &Floor, entry: &Entry) -> bool {
    let (mut at, mut seen) = (entry, Vec::new());
    while floor.waits_for_branch(at).is_some() {
        if seen.contains(&at.id) {
            return true;
        }
        seen.push(at.id);
        at = match floor.is_at_it(at) {
            (Some(first), _) => first,
            (None, job) => return job.is_none(),
        };
    }
    false
}
