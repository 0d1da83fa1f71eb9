//! Entries that land after others: the branches that a text names with `Depends on branch NAME`.

use super::{End, Entry, EntryState, Floor, Job};
use crate::time::Time;

impl Floor {
    /// The branch that has to land before the entry is tried; `None`: there is none.
    pub fn waits_for_branch<'e>(&self, entry: &'e Entry) -> Option<&'e str> {
        let policy = self.policy(&entry.project);
        let matters = |name: &&String| **name != entry.branch && !policy.is_landed_on(name);
        entry.after.iter().filter(matters).find(|name| !self.has_landed(entry, name)).map(String::as_str)
    }

    /// When people are told that an entry has waited long for another branch; `None`: it has not, or they were
    /// told.
    pub fn wait_told_at(&self, entry: &Entry) -> Option<Time> {
        // If it waits in vain, people are told at once.
        let told = entry.wait_told || entry.waits_told.is_some();
        let waits = entry.state == EntryState::Queued && !told;
        let branch = waits.then(|| self.waits_for_branch(entry))?;
        branch.map(|_| entry.requested_at + self.policy(&entry.project).merge_alarm)
    }

    /// The entry or the job that is bringing in the branch that has to land first, if there is one.
    pub fn is_at_it(&self, entry: &Entry) -> (Option<&Entry>, Option<&Job>) {
        let Some(name) = self.waits_for_branch(entry) else { return (None, None) };
        let queued = |e: &&Entry| e.queue() == entry.queue() && e.branch == name && e.state.is_live();
        let carries = |j: &&Job| !j.is_review() && j.is_live() && j.branch == name;
        let at_work = |j: &&Job| j.project == entry.project && carries(j);
        (self.entries.iter().find(queued), self.jobs.iter().find(at_work))
    }

    /// What the entry lands after, and why that will not land by itself; `None`: it will, or there is nothing to
    /// wait for.
    pub fn waits_in_vain(&self, entry: &Entry) -> Option<String> {
        let (mut at, mut seen) = (entry, Vec::new());
        while let Some(name) = self.waits_for_branch(at) {
            if seen.contains(&at.id) {
                return Some(format!("{name}, and that after {}", entry.branch));
            }
            seen.push(at.id);
            match self.is_at_it(at) {
                (Some(first), _) => at = first,
                (None, Some(_)) => return None,
                (None, None) => return Some(format!("{name}, which nobody has queued")),
            }
        }
        None
    }

    /// Whether the newest change of branch `name` has landed where the entry is to land.
    fn has_landed(&self, entry: &Entry, name: &str) -> bool {
        let same = |e: &&Entry| e.queue() == entry.queue() && e.branch == name;
        let newest = self.entries.iter().rev().find(same);
        if newest.is_some_and(|e| matches!(e.state, EntryState::Merged { .. })) {
            return true;
        }
        // A person merged it, so the queue had nothing to do.
        let of = |j: &&Job| !j.is_review() && j.queue() == entry.queue() && j.branch == name;
        let newest = self.jobs.iter().rev().find(of);
        newest.is_some_and(|j| j.merged.is_some() || j.end() == Some(End::Merged))
    }
}
