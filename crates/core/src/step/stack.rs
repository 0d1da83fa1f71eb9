//! Entries that land after others: they are in the plan when those have landed, and not before. Of one that waits for
//! what nobody is at, somebody is told.

use super::Turn;
use super::deadline::minutes;
use crate::event::NoteKind;
use crate::ids::{EntryId, QueueId};
use crate::planner::Input;
use crate::state::{Entry, EntryState, Who};
use crate::text::one_line;

impl Turn<'_> {
    /// Into the plan, unless others have to land before it.
    pub(super) fn enter_plan(&mut self, id: EntryId) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (queue, priority, at, alone) = (entry.queue(), entry.priority, entry.requested_at, entry.alone);
        if let Some(branch) = self.floor.waits_for_branch(entry) {
            let text = format!("it lands after {branch}");
            self.note_entry(NoteKind::QueueState, id, text);
            return;
        }
        self.plan(&queue, &Input::Entered { entry: id, priority, at, alone });
    }

    /// A person asks for an entry again that lands after others: `after` is what of them is still to come.
    pub(super) fn waits_no_more(&mut self, id: EntryId, after: &[String]) {
        let Some(entry) = self.floor.entries.edit(&id).filter(|e| e.after != after) else { return };
        entry.after = after.to_vec();
        let queue = entry.queue();
        self.enter_those_behind(&queue);
    }

    /// Something has landed: what waited for it may be tried.
    pub(super) fn enter_those_behind(&mut self, onto: &QueueId) {
        let waits = |e: &&Entry| {
            e.state == EntryState::Queued
                && e.queue() == *onto
                && self.floor.standing(e).is_none()
                && !self.floor.queues.get(onto).is_some_and(|q| q.is_parked(Who::Entry(e.id)))
                && self.floor.waits_for_branch(e).is_none()
        };
        for id in self.floor.entries.iter().filter(waits).map(|e| e.id).collect::<Vec<_>>() {
            self.enter_plan(id);
        }
    }

    /// Whatever happened may have left an entry waiting for what nobody is at. It is told once for each reason.
    pub(super) fn tell_who_waits_in_vain(&mut self) {
        let waits = |e: &&Entry| !e.after.is_empty() && e.state == EntryState::Queued;
        let news: Vec<(EntryId, Option<String>)> = self
            .floor
            .entries
            .iter()
            .filter(waits)
            .map(|e| (e.id, self.floor.waits_in_vain(e)))
            .filter(|(id, why)| self.floor.entries.get(id).is_some_and(|e| e.waits_told != *why))
            .collect();
        for (id, why) in news {
            let Some(entry) = self.floor.entries.edit(&id) else { continue };
            entry.waits_told.clone_from(&why);
            let (again, by_hand) = (entry.again(), entry.job.is_none());
            let Some(why) = why else { continue };
            let next = match by_hand {
                // What a branch names is looked up when it is queued.
                true => format!("queue that, or delete it and `{again}`"),
                false => format!("queue that; `{again}` does not wait for it"),
            };
            self.note_entry(
                NoteKind::Escalation,
                id,
                one_line(&format!("it lands after {why}: {next}"), 400),
            );
        }
    }

    /// Somebody is at what it lands after, and that takes long. It is in no plan that would tell of it.
    pub(super) fn tell_of_wait(&mut self, id: EntryId) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let Some(branch) = self.floor.waits_for_branch(entry) else { return };
        let who = match self.floor.is_at_it(entry) {
            (None, Some(job)) => format!("which the job of issue #{} works on", job.issue),
            _ => "which is queued".to_owned(),
        };
        let waited = minutes(self.now.since(entry.requested_at));
        let text = format!("it waits for {waited} until {branch} has landed, {who}");
        self.note_entry(NoteKind::Escalation, id, text);
        if let Some(entry) = self.floor.entries.edit(&id) {
            entry.wait_told = true;
        }
    }
}
