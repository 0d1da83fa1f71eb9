//! Entries that are to land after others: the branches that a text names with `Depends on branch NAME`.

use super::{End, Entry, EntryState, Floor, Job};

impl Floor {
    /// The branch that has to land before the entry is tried; `None`: there is none.
    pub fn waits_for_branch<'e>(&self, entry: &'e Entry) -> Option<&'e str> {
        let policy = self.policy(&entry.project);
        let matters = |name: &&String| **name != entry.branch && !policy.is_landed_on(name);
        entry.after.iter().filter(matters).find(|name| !self.has_landed(entry, name)).map(String::as_str)
    }

    /// Whether the branch that has to land first is nobody's work just now: a person has to do something about it.
    pub fn waits_for_nobody(&self, entry: &Entry) -> bool {
        let Some(name) = self.waits_for_branch(entry) else { return false };
        let queued = |e: &Entry| e.queue() == entry.queue() && e.branch == name && e.state.is_live();
        let at_work = |j: &Job| j.project == entry.project && j.branch == name && j.is_live();
        !self.entries.iter().any(queued) && !self.jobs.iter().any(at_work)
    }

    /// Whether the branch's newest change is where the entry is to land.
    fn has_landed(&self, entry: &Entry, name: &str) -> bool {
        let same = |e: &&Entry| e.queue() == entry.queue() && e.branch == name;
        if let Some(newest) = self.entries.iter().rev().find(same) {
            return matches!(newest.state, EntryState::Merged { .. });
        }
        // A person merged it, and the queue had nothing to do.
        let by_hand =
            |j: &Job| j.queue() == entry.queue() && j.branch == name && j.end() == Some(End::Merged);
        self.jobs.iter().any(by_hand)
    }
}
