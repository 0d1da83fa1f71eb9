//! Entries that land after others: they enter the plan when those have landed, not before. If an entry waits for a
//! branch that nobody is bringing in, somebody is told.

use crate::event::NoteKind;
use crate::ids::{EntryId, QueueId};
use crate::planner::PlanEvent;
use crate::state::{Entry, EntryState, Who};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::queue as texts;

impl Turn<'_> {
    /// Enters the plan, unless others have to land first.
    pub(super) fn enter_plan(&mut self, id: EntryId) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let (queue, priority, at, alone) = (entry.queue(), entry.priority, entry.requested_at, entry.alone);
        if let Some(branch) = self.floor.waits_for_branch(entry) {
            let text = texts::lands_after(branch);
            self.note_entry(NoteKind::QueueState, id, text);
            return;
        }
        self.plan(&queue, &PlanEvent::Entered { entry: id, priority, at, alone });
    }

    /// A person asks again for an entry that lands after others: `after` names those still to come.
    pub(super) fn waits_no_more(&mut self, id: EntryId, after: &[String]) {
        let Some(entry) = self.floor.entry_mut(id).filter(|e| e.after != after) else { return };
        entry.after = after.to_vec();
        let queue = entry.queue();
        self.enter_those_behind(&queue);
    }

    /// Something has landed: the entries that waited for it may be tried.
    pub(in crate::step) fn enter_those_behind(&mut self, onto: &QueueId) {
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

    /// Whatever happened may have left an entry waiting for a branch that nobody is bringing in. It is reported
    /// once for each reason.
    pub(in crate::step) fn tell_who_waits_in_vain(&mut self) {
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
            let Some(entry) = self.floor.entry_mut(id) else { continue };
            entry.waits_told.clone_from(&why);
            let (again, persons) = (entry.again(), entry.job.is_none());
            let Some(why) = why else { continue };
            self.note_entry(
                NoteKind::Escalation,
                id,
                one_line(&texts::nobody_works_on(&why, persons, &again), 400),
            );
        }
    }

    /// The branch that it lands after is on its way, but that takes long. The entry is in no plan that would
    /// report it.
    pub(in crate::step) fn tell_of_wait(&mut self, id: EntryId) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let Some(branch) = self.floor.waits_for_branch(entry) else { return };
        let job = match self.floor.is_at_it(entry) {
            (None, Some(job)) => Some(job.assignment),
            _ => None,
        };
        let text = texts::waits_long_for(self.now.since(entry.requested_at), branch, job);
        self.note_entry(NoteKind::Escalation, id, text);
        if let Some(entry) = self.floor.entry_mut(id) {
            entry.wait_told = true;
        }
    }
}
