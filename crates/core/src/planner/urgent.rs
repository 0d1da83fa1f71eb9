//! An urgent entry waits for what is being tried, and for nothing else.
//!
//! It goes behind the line like any newcomer, and is tried there. If that turns out red, the rest of the line
//! would have to be narrowed down first: the entry changes places with it instead. Entries that are passed count
//! as overtaken, so they rise; once risen high enough they are not passed any more, and none starves.

use super::{Plan, Priority, Terms, Waiting};
use crate::ids::EntryId;

impl Waiting {
    /// Nobody is put before it.
    fn is_pressing(&self) -> bool {
        self.is_urgent() || self.level() >= u32::from(Priority::URGENT.0)
    }

    /// An entry that was put aside has lost its place.
    fn is_urgent(&self) -> bool {
        self.priority >= Priority::URGENT && self.back.is_none()
    }
}

impl Plan {
    pub(super) fn is_urgent(&self, id: EntryId) -> bool {
        self.entries.get(&id).is_some_and(Waiting::is_urgent)
    }

    /// Urgent entries change places with those before them in the line, except with those being tried.
    pub(super) fn put_the_urgent_first(&mut self, terms: &Terms) {
        let keep = self.waited_for(terms);
        if keep == self.line.len() {
            return;
        }
        let candidates = self.candidates(terms);
        let joining = candidates[self.line.len().min(candidates.len())..].iter().copied();
        let joining: Vec<EntryId> = joining.filter(|id| self.is_urgent(*id)).collect();
        self.join_line(&joining);
        let tail = self.line.split_off(keep);
        let pressing = |id: &EntryId| self.entries.get(id).is_some_and(Waiting::is_pressing);
        let (first, passed): (Vec<EntryId>, Vec<EntryId>) = tail.iter().partition(|id| pressing(id));
        let by = |id: &EntryId| {
            let at = tail.iter().position(|e| e == id);
            tail.iter().skip(at.unwrap_or(0)).filter(|e| first.contains(e)).count()
        };
        let overtaken: Vec<(EntryId, usize)> = passed.iter().map(|id| (*id, by(id))).collect();
        for (id, by) in overtaken {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.overtaken += u32::try_from(by).unwrap_or(u32::MAX);
            }
        }
        self.line.extend(first);
        self.line.extend(passed);
    }

    /// How much of the line even an urgent entry waits for: what is green, and what is being tried as it would
    /// land. If that is known to be red, the wait would not end with it.
    fn waited_for(&self, terms: &Terms) -> usize {
        let green = self.green_ahead(terms);
        let is_red = |len: usize| self.finding(&self.line[..len]).is_some_and(|f| !f.is_green());
        if (green + 1..=self.line.len()).any(is_red) {
            return green;
        }
        let is_tried = |len: usize| self.trials.iter().any(|t| t.lands() && *t.rest() == self.line[..len]);
        let first = self.line.iter().position(|id| self.is_urgent(*id)).unwrap_or(self.line.len());
        let ends = (green + 1..=self.line.len())
            .take_while(|len| !self.has_to_end(terms, &self.line, *len) || is_tried(*len));
        ends.filter(|len| *len <= first && is_tried(*len)).max().unwrap_or(green)
    }

    /// Whether an urgent entry is tried before the suspects are tried once more.
    pub(super) fn urgent_goes_first(&self, terms: &Terms) -> bool {
        let tried = |id: EntryId| self.trials.iter().any(|t| t.lands() && t.rest().contains(&id));
        let next = self.candidates(terms).into_iter().skip(self.green_ahead(terms)).find(|id| !tried(*id));
        next.is_some_and(|id| self.is_urgent(id))
            && !self.unconfirmed(terms).iter().any(|id| self.entries[id].is_pressing())
    }

    /// An urgent entry was tried before the suspects.
    pub(super) fn overtake_the_suspects(&mut self, terms: &Terms) {
        for id in self.unconfirmed(terms) {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.overtaken += 1;
            }
        }
    }

    /// Where a list that is to extend from `from` to at most `to` ends: urgent entries are not tried together with
    /// what follows them.
    pub(super) fn urgent_end(&self, list: &[EntryId], from: usize, to: usize) -> usize {
        let ends = |len: &usize| self.is_urgent(list[len - 1]) && !self.is_urgent(list[*len]);
        (from + 1..to).find(ends).unwrap_or(to)
    }
}
