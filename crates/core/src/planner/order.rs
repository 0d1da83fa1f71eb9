//! Who is next: priority, then age.
//!
//! An entry that is overtaken rises: every [`OVERTAKEN_PER_LEVEL`] younger entries that are taken up first count
//! as one level of priority. So an entry of the lowest priority is overtaken a bounded number of times, however
//! many urgent ones come, and no clock is needed for it.
//!
//! The line (what is being tried) is not sorted again. An entry leaves it when it is decided or a suspect, and the
//! end of the line is taken back when no trial contains it any more.

use super::{Place, Plan, Terms, Waiting};
use crate::ids::EntryId;
use crate::time::Time;
use std::cmp::Reverse;

const OVERTAKEN_PER_LEVEL: u32 = 8;

/// An entry that has waited this often for others it conflicts with is given precedence: nobody joins the line
/// before it.
const DEFERRALS_MAX: u32 = 2;

impl Waiting {
    pub(super) fn level(&self) -> u32 {
        let priority = if self.back.is_some() { 0 } else { u32::from(self.priority.0) };
        priority + self.overtaken / OVERTAKEN_PER_LEVEL
    }

    /// Since when it has been waiting, for its place among the others.
    fn since(&self) -> Time {
        self.back.unwrap_or(self.at)
    }
}

impl Plan {
    /// Every entry that has not landed, in the order in which it would, as far as is known now.
    pub fn order(&self) -> Vec<EntryId> {
        let aside = self.entries.iter().filter(|(_, e)| e.place != Place::Queued).map(|(id, _)| *id);
        let mut order = self.line.clone();
        order.extend(aside.filter(|id| !self.line.contains(id)));
        order.extend(self.waiting());
        order
    }

    /// The entries that could join the line, the next one first.
    pub(super) fn waiting(&self) -> Vec<EntryId> {
        #[cfg(test)]
        super::effort::spend(self.entries.len());
        let free = |id: &EntryId, e: &Waiting| e.place == Place::Queued && !self.line.contains(id);
        let mut waiting: Vec<_> = self.entries.iter().filter(|(id, e)| free(id, e)).collect();
        waiting.sort_by_key(|(id, e)| (Reverse(e.is_patient()), Reverse(e.level()), e.since(), **id));
        waiting.into_iter().map(|(id, _)| *id).collect()
    }

    /// What lists are made of: the line, then the entries that may join it. If an entry has precedence, only those
    /// that it waits for may join.
    ///
    /// An entry that is alone is included only if nothing but what is landing is before it; nobody passes it.
    pub(super) fn candidates(&self, terms: &Terms) -> Vec<EntryId> {
        let admitted = |id: &EntryId| self.entries.get(id).is_some_and(|e| terms.admits(e));
        let patient = self.entries.values().filter(|e| e.is_patient() && terms.admits(e));
        let waited_for = patient.filter_map(|e| match &e.place {
            Place::Behind { entries } => Some(entries),
            _ => None,
        });
        let waited_for: Vec<&Vec<EntryId>> = waited_for.collect();
        let may_join = |id: &EntryId| waited_for.is_empty() || waited_for.iter().any(|w| w.contains(id));
        let joining = self.waiting().into_iter().filter(admitted).filter(may_join);
        let mut candidates: Vec<EntryId> = self.line.iter().copied().chain(joining).collect();
        let alone = |id: &EntryId| self.entries.get(id).is_some_and(|e| e.alone);
        let not_yet = (self.landing().len() + 1..candidates.len()).find(|at| alone(&candidates[*at]));
        candidates.truncate(not_yet.unwrap_or(candidates.len()));
        candidates
    }

    /// The entries of a list that are not in the line yet join it. Older ones that stay behind are overtaken, even
    /// by those that join right before them.
    pub(super) fn join_line(&mut self, list: &[EntryId]) {
        let joining: Vec<EntryId> = list.iter().copied().filter(|id| !self.line.contains(id)).collect();
        if joining.is_empty() {
            return;
        }
        let ages: Vec<_> = joining.iter().map(|id| Some((self.entries.get(id)?.since(), *id))).collect();
        let waits = |(id, e): &(&EntryId, &mut Waiting)| e.place == Place::Queued && !self.line.contains(id);
        for (id, e) in self.entries.iter_mut().filter(waits) {
            let before = joining.iter().position(|other| other == id).unwrap_or(joining.len());
            let younger = ages[..before].iter().flatten().filter(|age| (e.since(), *id) < **age);
            e.overtaken += younger.count() as u32;
        }
        self.line.extend(joining);
    }

    /// Entries that may not land now leave the line; results of trials that contain them are known when they end.
    /// A trial's entries rejoin the line once all of them may land.
    pub(super) fn keep_the_line(&mut self, terms: &Terms) {
        let landing = self.landing().to_vec();
        self.line.retain(|id| landing.contains(id) || self.entries.get(id).is_some_and(|e| terms.admits(e)));
        let may_join =
            |id: &EntryId| self.entries.get(id).is_some_and(|e| e.place == Place::Queued && terms.admits(e));
        let back = self.trials.iter().filter(|t| t.lands() && t.rest().iter().all(may_join));
        let longest =
            back.map(|t| t.rest()).filter(|list| list.starts_with(&self.line)).max_by_key(|l| l.len());
        if let Some(list) = longest.map(<[EntryId]>::to_vec) {
            self.join_line(&list);
        }
    }

    /// The end of the line that nothing refers to any more returns to the waiting entries.
    pub(super) fn shorten_the_line(&mut self) {
        let spoken_of = |id: &EntryId| {
            self.landing().contains(id)
                || self.trials.iter().any(|t| t.lands() && t.rest().contains(id))
                || self.known.iter().any(|k| k.list.contains(id))
        };
        let keep = self.line.iter().rposition(spoken_of).map_or(0, |at| at + 1);
        self.line.truncate(keep);
    }

    /// Entries that waited for others are free when each of those is decided or put aside.
    pub(super) fn release_the_deferred(&mut self, terms: &Terms) {
        let in_play =
            |id: &EntryId| self.entries.get(id).is_some_and(|e| e.place == Place::Queued && terms.admits(e));
        let is_free =
            |e: &Waiting| matches!(&e.place, Place::Behind { entries } if !entries.iter().any(in_play));
        let free: Vec<EntryId> = self.entries.iter().filter(|(_, e)| is_free(e)).map(|(id, _)| *id).collect();
        for id in free {
            self.put(id, Place::Queued);
        }
    }

    pub(super) fn put(&mut self, id: EntryId, place: Place) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.place = place;
        }
    }
}

impl Waiting {
    fn is_patient(&self) -> bool {
        self.deferrals >= DEFERRALS_MAX
    }
}
