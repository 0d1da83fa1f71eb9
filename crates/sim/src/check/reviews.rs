//! What is queued, and what is published, is approved: checked on the forge as it is, by the changes
//! themselves and not by the names under which the floor knows them.

use super::Checker;
use crate::forge::Review;
use crate::git::{PROTECTED, commit_of};
use crate::world::World;
use shopfloor_core::effect::Verdict;
use shopfloor_core::ids::Sha;
use shopfloor_core::state::{Entry, EntryState, Floor};
use std::collections::BTreeMap;

const EVIDENCE: &str = "6 completion is evidence";

impl Checker {
    /// 6: when an entry is queued, and when it is to be published, the newest visible verdict on its change
    /// is an approval, and no person objects to it.
    pub(super) fn what_is_queued_is_approved(&mut self, world: &mut World, floor: &Floor) {
        if !world.policy.review_required {
            return;
        }
        // A branch that a person queues is approved by that person.
        for entry in floor.entries.iter().filter(|e| e.state.is_live() && e.job.is_some()) {
            let publishing = entry.state == EntryState::Merging;
            if self.queued.insert(entry.id, publishing) == Some(publishing) {
                continue;
            }
            // What people took off the branch does not land with it.
            let head = world.git.reachable([commit_of(&entry.head)]);
            if world.rewinds.iter().any(|r| !r.removed.is_disjoint(&head)) {
                continue;
            }
            if let Some(wrong) = unapproved(world, floor, entry) {
                world.broken(EVIDENCE, format!("entry {} is queued, but {wrong}", entry.id));
            }
        }
    }
}

impl Checker {
    /// 11: whatever agents say of it, and whether reviews are required or not, a change of what is protected is
    /// queued and published with a person's approval of that very change.
    pub(super) fn what_is_protected_has_a_persons_word(&mut self, world: &mut World, floor: &Floor) {
        // A branch that a person queues is approved by that person.
        for entry in floor.entries.iter().filter(|e| e.state.is_live() && e.job.is_some()) {
            let publishing = entry.state == EntryState::Merging;
            if self.with_a_persons_word.insert(entry.id, publishing) == Some(publishing) {
                continue;
            }
            // What people took off the branch does not land with it.
            let below = world.git.reachable([commit_of(&entry.head)]);
            if world.rewinds.iter().any(|r| !r.removed.is_disjoint(&below)) {
                continue;
            }
            let patch = |head: &Sha| world.patches.get(&commit_of(head));
            if !patch(&entry.head).is_some_and(|patch| patch.contains_key(&PROTECTED)) {
                continue;
            }
            let same = |head: &Sha| *head == entry.head || patch(head) == patch(&entry.head);
            let approves = |r: &&Review| {
                r.author != "reviewer"
                    && Some(r.pr) == entry.pr
                    && r.verdict == Verdict::Approve
                    && same(&r.head)
            };
            let approved = world.forge.reviews.iter().any(|r| approves(&r));
            world.saw("protected change queued");
            if !approved {
                let text = format!("entry {} changes what is protected, and no person approved it", entry.id);
                world.broken("11 an agent is not a person", text);
            }
        }
    }
}

fn unapproved(world: &World, floor: &Floor, entry: &Entry) -> Option<String> {
    let Some(pr) = entry.pr else { return Some("it has no pull request".into()) };
    let Some(known) = floor.pulls.get(&(entry.project.clone(), pr)) else {
        return Some("no review of its pull request was seen".into());
    };
    let posted = world.forge.reviews.iter().enumerate().filter(|(_, r)| r.pr == pr);
    let seen: Vec<_> =
        posted.filter(|(at, _)| known.reviews.iter().any(|k| k.id == *at as u64 + 1)).collect();
    let patch = |head: &Sha| world.patches.get(&commit_of(head));
    let same =
        |head: &Sha| *head == entry.head || (patch(head).is_some() && patch(head) == patch(&entry.head));
    let Some((newest, review)) = seen.iter().rfind(|(_, r)| same(&r.head)) else {
        // What was approved is in the primary branch already, and the head brings nothing else.
        let brings_nothing = patch(&entry.head).is_some_and(|patch| patch.is_empty());
        return (!brings_nothing).then(|| "nobody reviewed its change".into());
    };
    if review.verdict != Verdict::Approve {
        return Some(format!("the newest review of its change says {:?}", review.verdict));
    }
    let mut people: BTreeMap<&str, (usize, Verdict)> = BTreeMap::new();
    for (at, said) in seen.iter().filter(|(_, r)| r.author != "reviewer" && r.verdict != Verdict::Discuss) {
        people.insert(&said.author, (*at, said.verdict));
    }
    let by_person = review.author != "reviewer";
    let objects = |(at, verdict): &&(usize, Verdict)| {
        *verdict == Verdict::RequestChanges && !(by_person && newest > at)
    };
    people.values().find(objects).map(|_| "a person asked for changes".to_owned())
}
