//! What the planner concludes from what it is told: verdicts, suspicions, publications.

use super::{
    Finding, Known, Link, Order, Ordered, Place, Plan, PlanEvent, Purpose, Step, TREES_MAX, Terms, TreeId,
    Trial, TrialId, TrialResult, Waiting,
};
use crate::ids::{EntryId, Sha};
use crate::time::Time;

impl Plan {
    pub(super) fn take_in(&mut self, now: Time, terms: &Terms, input: &PlanEvent, orders: &mut Vec<Order>) {
        if self.hold_until.is_some_and(|until| until <= now) {
            self.hold_until = None;
        }
        self.take_back(now);
        match input {
            PlanEvent::Entered { entry, priority, at, alone } => {
                self.entries.entry(*entry).or_insert(Waiting {
                    priority: *priority,
                    at: *at,
                    overtaken: 0,
                    deferrals: 0,
                    place: Place::Queued,
                    alarmed: false,
                    aside: 0,
                    ran_without: false,
                    back: None,
                    alone: *alone,
                });
            }
            PlanEvent::Prioritised { entry, priority } => {
                if let Some(entry) = self.entries.get_mut(entry) {
                    entry.priority = *priority;
                }
            }
            PlanEvent::Alone { entry } => self.set_alone(*entry, orders),
            PlanEvent::Removed { entry } => {
                if !self.is_landing(*entry) {
                    self.forget(*entry, orders);
                }
            }
            // While a publication is under way, the primary branch may be seen before or after the move: the
            // answer will tell.
            PlanEvent::Primary { head } => {
                if self.publishing.is_none() && self.base.as_ref() != Some(head) {
                    self.start_over(head, orders);
                }
            }
            PlanEvent::Green { tree, commit } => self.remember_tree(tree, commit),
            PlanEvent::Unproven { trial, entries } => {
                if let Some(trial) = self.trials.iter_mut().find(|t| t.id == *trial) {
                    trial.unproven.clone_from(entries);
                }
            }
            PlanEvent::Built { trial, chain } => self.built(terms, *trial, chain, orders),
            PlanEvent::Conflicted { trial, at, with_base } => {
                self.conflicted(*trial, *at, *with_base, orders);
            }
            PlanEvent::Finished { trial, verdict } => self.finished(now, terms, *trial, *verdict, orders),
            PlanEvent::Dropped { trial } => self.dropped(*trial, orders),
            PlanEvent::Published { tip, head } => self.published(tip, head),
            PlanEvent::Refused { tip, head } => {
                if self.publishing.take_if(|p| p.tip == *tip).is_some() {
                    self.start_over(head, orders);
                }
            }
            PlanEvent::CalledBack { tip, entry } => {
                // Everything known and tried builds on what was to land, so all of it contains the entry.
                if self.publishing.take_if(|p| p.tip == *tip).is_some() {
                    self.forget(*entry, orders);
                }
            }
            PlanEvent::Unpublishable { tip } => {
                if let Some(gone) = self.publishing.take_if(|p| p.tip == *tip) {
                    gone.list.into_iter().for_each(|entry| self.forget(entry, orders));
                }
            }
            PlanEvent::ChecksChanged => {
                self.trees.clear();
                if let Some(base) = self.base.clone() {
                    self.start_over(&base, orders);
                }
            }
            PlanEvent::Tick => {}
        }
    }

    /// Somebody else moved the primary branch: everything found on the old base is void. A list that is being
    /// published was found before, and its answer will tell.
    fn start_over(&mut self, base: &Sha, orders: &mut Vec<Order>) {
        self.base = Some(base.clone());
        self.known.clear();
        self.line = self.landing().to_vec();
        orders.extend(self.trials.drain(..).map(|t| Order::Cancel { trial: t.id }));
        for entry in self.entries.values_mut() {
            entry.place = Place::Queued;
        }
    }

    /// The entry is out of the queue, and so is every list that contains it.
    pub(super) fn forget(&mut self, entry: EntryId, orders: &mut Vec<Order>) {
        self.entries.remove(&entry);
        self.line.retain(|e| *e != entry);
        self.known.retain(|k| !k.list.contains(&entry));
        self.cancel(orders, |t| t.rest().contains(&entry));
    }

    /// Trials of the entry together with others can no longer be used.
    fn set_alone(&mut self, id: EntryId, orders: &mut Vec<Order>) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if std::mem::replace(&mut entry.alone, true) || self.is_landing(id) {
            return;
        }
        let landing = self.landing().to_vec();
        let with_others =
            |list: &[EntryId]| list.contains(&id) && list.strip_prefix(&landing[..]) != Some(&[id]);
        self.line.retain(|e| *e != id);
        self.known.retain(|k| !with_others(&k.list) || k.result.is_really_red());
        self.cancel(orders, |t| with_others(t.rest()));
    }

    /// Cancels trials. An entry whose confirmation is cancelled is no longer a suspect.
    pub(super) fn cancel(&mut self, orders: &mut Vec<Order>, which: impl Fn(&Trial) -> bool) {
        for trial in self.trials.extract_if(.., |t| which(t)).collect::<Vec<_>>() {
            orders.push(Order::Cancel { trial: trial.id });
            if let Purpose::Confirm { entry } = trial.purpose {
                self.put(entry, Place::Queued);
            }
        }
    }

    /// Nothing was learned from the trial: a suspect remains one.
    fn dropped(&mut self, id: TrialId, orders: &mut Vec<Order>) {
        let suspect = self.trials.iter().find(|t| t.id == id).and_then(|t| match t.purpose {
            Purpose::Confirm { entry } => Some((entry, self.entries.get(&entry)?.place.clone())),
            Purpose::Land => None,
        });
        self.cancel(orders, |t| t.id == id);
        if let Some((entry, place)) = suspect {
            self.put(entry, place);
        }
    }

    fn remember_tree(&mut self, tree: &TreeId, commit: &Sha) {
        if self.tested(tree).is_none() {
            self.trees.push_back((tree.clone(), commit.clone()));
            if self.trees.len() > TREES_MAX {
                self.trees.pop_front();
            }
        }
    }

    /// The green commit with that tree.
    fn tested(&self, tree: &TreeId) -> Option<&Sha> {
        self.trees.iter().find(|(t, _)| t == tree).map(|(_, commit)| commit)
    }

    fn built(&mut self, terms: &Terms, id: TrialId, chain: &[Link], orders: &mut Vec<Order>) {
        let Some(at) = self.trials.iter().position(|t| t.id == id && t.chain.is_none()) else { return };
        let trial = &mut self.trials[at];
        assert_eq!(chain.len(), trial.list.len(), "one link for each entry of the list");
        let Some(last) = chain.last() else { return };
        trial.chain = Some(chain.to_vec());
        if !trial.lands() {
            // A confirmation is a second run, whatever is known.
            orders.push(Order::Test { trial: id, commit: last.commit.clone() });
            return;
        }
        let (on, list, unproven) = (trial.on(chain), trial.rest().to_vec(), trial.unproven.clone());
        let chain = chain[trial.landed..].to_vec();
        let found: Vec<(usize, Sha)> = (1..=list.len())
            .filter_map(|n| {
                let Link { commit, tree } = &chain[n - 1];
                // If nothing changes, there is nothing to test.
                let tested = match Some(commit) == self.base.as_ref() {
                    true => Some(commit),
                    false => self.tested(tree).filter(|_| !unproven.contains(&list[n - 1])),
                };
                Some((n, tested?.clone()))
            })
            .collect();
        for (n, tested) in &found {
            let chain = chain[..*n].to_vec();
            let green = Finding::Green { chain, tested: tested.clone(), on: Some(on.clone()) };
            self.learn(terms, &list[..*n], green);
        }
        if found.last().is_some_and(|(n, _)| *n == list.len()) {
            self.trials.remove(at);
        } else {
            orders.push(Order::Test { trial: id, commit: last.commit.clone() });
        }
    }

    fn conflicted(&mut self, id: TrialId, entry: EntryId, with_base: bool, orders: &mut Vec<Order>) {
        let Some(at) = self.trials.iter().position(|t| t.id == id && t.chain.is_none()) else { return };
        let trial = self.trials.remove(at);
        if let Purpose::Confirm { entry } = trial.purpose {
            self.put(entry, Place::Queued);
        }
        let Some(n) = trial.rest().iter().position(|e| *e == entry) else { return };
        if trial.detached {
            return;
        }
        if n == 0 || (with_base && trial.landed == 0) {
            let Some(base) = self.base.clone() else { return };
            self.forget(entry, orders);
            orders.push(Order::Conflict { entry, with: base });
            return;
        }
        let entries = trial.rest()[..n].to_vec();
        if let Some(waiting) = self.entries.get_mut(&entry) {
            waiting.deferrals += 1;
            waiting.place = Place::Behind { entries };
        }
        self.line.retain(|e| *e != entry);
        // It would conflict there, too.
        self.cancel(orders, |t| t.chain.is_none() && t.rest().contains(&entry));
    }

    fn finished(
        &mut self,
        now: Time,
        terms: &Terms,
        id: TrialId,
        verdict: TrialResult,
        orders: &mut Vec<Order>,
    ) {
        let is_it = |t: &Trial| t.id == id && (t.chain.is_some() || verdict == TrialResult::Infra);
        let Some(at) = self.trials.iter().position(is_it) else { return };
        let trial = self.trials.remove(at);
        self.has_run(&trial, verdict);
        if verdict == TrialResult::Infra {
            self.could_not_run(now, terms, &trial, orders);
            return;
        }
        let (list, landed) = (trial.rest().to_vec(), trial.landed);
        let chain = trial.chain.clone().unwrap_or_default();
        if verdict == TrialResult::Green
            && let Some(last) = chain.last()
        {
            self.remember_tree(&last.tree, &last.commit);
            if !trial.detached {
                let on = Some(trial.on(&chain));
                let (chain, tested) = (chain[landed..].to_vec(), last.commit.clone());
                self.learn(terms, &list, Finding::Green { chain, tested, on });
            }
        }
        match (trial.purpose, verdict) {
            (Purpose::Land, TrialResult::Green) => {}
            (Purpose::Land, _) => {
                self.learn(terms, &list, Finding::Red { trial: id, infra: false });
            }
            (Purpose::Confirm { entry }, _) => {
                let Some(Place::Suspect { red, infra }) = self.entries.get(&entry).map(|e| e.place.clone())
                else {
                    return;
                };
                if verdict == TrialResult::Green {
                    self.put(entry, Place::Queued);
                    if !infra {
                        orders.push(Order::Flake { trial: red, entry: Some(entry) });
                    }
                    if !trial.detached {
                        self.join_line(&list);
                    }
                } else if infra {
                    // Red for the first time.
                    self.put(entry, Place::Suspect { red: id, infra: false });
                } else {
                    let before = chain.iter().rev().nth(1);
                    let on_base = before.is_none();
                    let on = before.map_or(&trial.base, |link| &link.commit).clone();
                    let behind = trial.list[..trial.list.len() - 1].to_vec();
                    self.forget(entry, orders);
                    self.rate.failed();
                    orders.push(Order::Fail { entry, on, on_base, behind, red, confirmed: id });
                }
            }
        }
    }

    /// Records a verdict on a list. A list that is being published already has its verdict.
    pub(super) fn learn(&mut self, terms: &Terms, list: &[EntryId], result: Finding) {
        let news = list.len() > self.landing().len()
            && !self.known.iter().any(|k| k.list == list && k.result.is_green());
        if !news {
            return;
        }
        if terms.strict {
            // A red list inside this one would land with it: that has to be settled first.
            if !result.is_green() {
                self.known.retain(|k| !(k.result.is_green() && k.list.starts_with(list)));
            } else if self.known.iter().any(|k| !k.result.is_green() && list.starts_with(&k.list))
                || list.iter().any(|entry| self.is_suspect(*entry) && list.last() != Some(entry))
            {
                return;
            }
        }
        self.known.push(Known { list: list.to_vec(), result });
    }

    fn is_suspect(&self, entry: EntryId) -> bool {
        self.entries.get(&entry).is_some_and(|e| matches!(e.place, Place::Suspect { .. }))
    }

    pub(super) fn finding(&self, list: &[EntryId]) -> Option<&Finding> {
        #[cfg(test)]
        super::effort::spend(self.known.len());
        self.known.iter().find(|k| k.list == list).map(|k| &k.result)
    }

    /// Publishes the longest green list of the line. A list that has left the line (a cleared suspect) is
    /// published if nothing that is being tried would land more.
    pub(super) fn publish(&mut self, terms: &Terms, orders: &mut Vec<Order>) {
        if self.publishing.is_some() {
            return;
        }
        let Some(old) = self.base.clone() else { return };
        let in_line = |list: &[EntryId]| self.line.starts_with(list);
        let tried = || self.trials.iter().filter(|t| t.lands() && in_line(t.rest()));
        let ahead = tried().map(|t| t.rest().len()).max();
        // That entry would have to be tried again.
        let delays = |list: &[EntryId]| {
            tried().any(|t| t.rest().iter().any(|e| self.is_urgent(*e) && !list.contains(e)))
        };
        let best = self
            .known
            .iter()
            .filter_map(|k| match &k.result {
                Finding::Green { chain, on, .. } => Some((&k.list, chain, on)),
                Finding::Red { .. } => None,
            })
            .filter(|(list, ..)| self.may_land(terms, list))
            .filter(|(list, ..)| in_line(list) || (ahead.is_none_or(|n| n <= list.len()) && !delays(list)))
            .max_by_key(|(list, ..)| (list.len(), in_line(list)));
        let Some((list, chain, on)) = best else { return };
        let Some(Link { commit: tip, .. }) = chain.last().cloned() else { return };
        let (list, on) = (list.clone(), on.clone().unwrap_or_else(|| old.clone()));
        let steps = self.steps(terms, &on, &list, chain);

        // What was red in it was not red again.
        for k in self.known.iter().filter(|k| list.starts_with(&k.list)) {
            if let Finding::Red { trial, infra: false } = k.result {
                orders.push(Order::Flake { trial, entry: None });
            }
        }
        for id in &list {
            let place = self.entries.get(id).map(|e| e.place.clone());
            if let Some(Place::Suspect { red, infra: false }) = place {
                orders.push(Order::Flake { trial: red, entry: Some(*id) });
            }
        }
        self.cancel(orders, |t| match t.purpose {
            Purpose::Land => !(t.rest().starts_with(&list) && t.rest().len() > list.len()),
            Purpose::Confirm { entry } => list.contains(&entry),
        });
        for trial in &mut self.trials {
            trial.detached |= !trial.rest().starts_with(&list);
        }
        for id in &list {
            self.put(*id, Place::Queued);
        }
        self.known.retain(|k| k.list.starts_with(&list) && k.list.len() > list.len());
        self.line.retain(|id| !list.contains(id));
        self.line.splice(0..0, list.iter().copied());
        self.publishing = Some(Ordered { list, tip });
        orders.push(Order::Publish { old, on, steps });
    }

    /// Whether a green list may be published as it is.
    fn may_land(&self, terms: &Terms, list: &[EntryId]) -> bool {
        let is = |entry: &EntryId, what: fn(&Terms, &Waiting) -> bool| {
            self.entries.get(entry).is_some_and(|e| what(terms, e))
        };
        list.iter().all(|e| is(e, Terms::admits))
            && (list.len() == 1 || !list.iter().any(|e| is(e, |_, e| e.alone)))
            && (1..list.len()).all(|len| !self.has_to_end(terms, list, len) || self.is_green(&list[..len]))
    }

    fn is_green(&self, list: &[EntryId]) -> bool {
        self.finding(list).is_some_and(Finding::is_green)
    }

    /// Whether the first `len` entries of a list have to be green by themselves before more of it lands.
    pub(super) fn has_to_end(&self, terms: &Terms, list: &[EntryId], len: usize) -> bool {
        let alone = |at: usize| list.get(at).and_then(|e| self.entries.get(e)).is_some_and(|e| e.alone);
        terms.each || alone(len - 1) || alone(len)
    }

    /// How much of a list is known to be green, as far as that may land.
    pub(super) fn proven(&self, terms: &Terms, list: &[EntryId]) -> usize {
        let landing = self.landing().len();
        let missing = (landing + 1..=list.len())
            .find(|len| self.has_to_end(terms, list, *len) && !self.is_green(&list[..*len]));
        let end = missing.map_or(list.len(), |len| len - 1);
        let known = self.known.iter().filter(|k| k.result.is_green() && list[..end].starts_with(&k.list));
        known.map(|k| k.list.len()).max().unwrap_or(0)
    }

    /// How a green list lands: cut wherever a part of it is known to be green by itself.
    fn steps(&self, terms: &Terms, on: &Sha, list: &[EntryId], chain: &[Link]) -> Vec<Step> {
        let green = |len: usize| {
            self.known.iter().filter(|k| k.list == list[..len]).find_map(|k| match &k.result {
                // A chain on another base with the same tree has other commits.
                Finding::Green { chain: same, tested, .. } if same.last()?.tree == chain[len - 1].tree => {
                    Some(tested.clone())
                }
                _ => None,
            })
        };
        let (mut steps, mut from) = (Vec::new(), 0);
        for len in if terms.strict { 1 } else { list.len() }..=list.len() {
            // A part that adds nothing new has nothing to land by itself.
            if len < list.len() && chain[len - 1].commit == *on {
                continue;
            }
            let Some(tested) = green(len) else { continue };
            let links = list.iter().copied().zip(chain.iter().cloned());
            steps.push(Step { entries: links.take(len).skip(from).collect(), tested });
            from = len;
        }
        steps
    }

    /// The base is now what was published. The lists that continue from it stay as they are, on top.
    fn published(&mut self, tip: &Sha, head: &Sha) {
        let Some(Ordered { list, .. }) = self.publishing.take_if(|p| p.tip == *tip) else { return };
        for trial in &mut self.trials {
            if !trial.detached {
                trial.landed += list.len();
            }
        }
        for known in &mut self.known {
            known.list.drain(..list.len());
            if let Finding::Green { chain, on, .. } = &mut known.result {
                *on = chain.drain(..list.len()).next_back().map(|link| link.commit);
            }
        }
        for id in &list {
            self.entries.remove(id);
            self.rate.landed();
        }
        self.line.retain(|id| !list.contains(id));
        self.base = Some(head.clone());
    }

    /// If the first red list is one entry longer than a green one, that entry is the culprit: it is put aside to
    /// be tried once more.
    pub(super) fn suspect_the_first_red(&mut self, terms: &Terms) -> bool {
        let green = self.green_ahead(terms);
        let reds = self.known.iter().filter_map(|k| match k.result {
            Finding::Red { trial, infra } => Some((&k.list, trial, infra)),
            Finding::Green { .. } => None,
        });
        let candidates = self.candidates(terms);
        let one_more = |list: &[EntryId]| list.len() == green + 1 && candidates.starts_with(list);
        let Some((list, red, infra)) = reds.into_iter().find(|(list, ..)| one_more(list)) else {
            return false;
        };
        let entry = list[green];
        // If it is cleared, the red lists that have more than it have to be settled, too.
        let more = |k: &Known| k.result.is_really_red() && k.list.last() != Some(&entry);
        self.known.retain(|k| !k.list.contains(&entry) || more(k));
        self.line.retain(|e| *e != entry);
        self.put(entry, Place::Suspect { red, infra });
        true
    }

    /// How much of the line is known to be green, or is being published.
    pub(super) fn green_ahead(&self, terms: &Terms) -> usize {
        self.proven(terms, &self.line).max(self.landing().len())
    }
}
