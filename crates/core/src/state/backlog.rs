//! Which open issues could be started as far as they themselves and what they wait for say: kept up to date from what
//! was changed, so that an event need not look at a whole backlog to find that nothing in it is ready.
//!
//! Nothing of this is stored. It follows the table of issues, whoever changes that, and names issues to look at: what
//! is decided about one is decided from its record.

use super::{Floor, Issue};
use crate::ids::{IssueNumber, ProjectName};
use crate::label::Label;
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

type Place = (ProjectName, IssueNumber);

/// What is known of the issues at hand, as of the last [`Floor::follow_backlog`].
#[derive(Clone, Default)]
pub struct Backlog {
    /// Open issues that ask for work, and that neither their labels nor other issues keep from it.
    free: BTreeMap<ProjectName, BTreeSet<IssueNumber>>,
    /// Those that wait for an issue.
    waiting_for: BTreeMap<Place, BTreeSet<IssueNumber>>,
    /// The same the other way round, as it was when it was noted.
    waits_for: BTreeMap<Place, Vec<IssueNumber>>,
    /// Closed issues: what waits for one need not wait any more.
    closed: BTreeSet<Place>,
    /// Issues whose dependencies are to be looked at again.
    doubted: BTreeSet<Place>,
}

/// It follows from the issues, and from whether somebody has asked for it yet.
impl fmt::Debug for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backlog").finish_non_exhaustive()
    }
}

impl Backlog {
    fn follow(&mut self, issues: &mut Table<Issue>) {
        match issues.take_moved() {
            None => {
                *self = Backlog::default();
                issues
                    .iter()
                    .for_each(|issue| self.note(&(issue.project.clone(), issue.number), Some(issue)));
                issues.iter().for_each(|issue| self.judge(issues, &(issue.project.clone(), issue.number)));
            }
            Some(moved) => moved.iter().for_each(|place| {
                let was_closed = self.closed.contains(place);
                self.note(place, issues.get(place));
                self.judge(issues, place);
                if was_closed != self.closed.contains(place) {
                    let waiting = self.waiting_for.get(place).cloned().unwrap_or_default();
                    waiting.into_iter().for_each(|number| self.judge(issues, &(place.0.clone(), number)));
                }
            }),
        }
    }

    /// What an issue waits for, and what it is waited for.
    fn note(&mut self, place: &Place, issue: Option<&Issue>) {
        let here = |number: &IssueNumber| (place.0.clone(), *number);
        for dep in self.waits_for.remove(place).unwrap_or_default() {
            if let Some(waiting) = self.waiting_for.get_mut(&here(&dep)) {
                waiting.remove(&place.1);
                if waiting.is_empty() {
                    self.waiting_for.remove(&here(&dep));
                }
            }
        }
        let deps = issue.filter(|issue| issue.open).map(|issue| issue.deps.as_slice()).unwrap_or_default();
        for dep in deps {
            self.waiting_for.entry(here(dep)).or_default().insert(place.1);
        }
        if !deps.is_empty() {
            self.waits_for.insert(place.clone(), deps.to_vec());
        }
        is_in(&mut self.closed, place, issue.is_some_and(|issue| !issue.open));
        is_in(&mut self.doubted, place, issue.is_some_and(|issue| issue.deps_due.is_some()));
    }

    fn judge(&mut self, issues: &Table<Issue>, place: &Place) {
        let met = |dep: &IssueNumber| self.closed.contains(&(place.0.clone(), *dep));
        let issue = issues.get(place).filter(|issue| is_asked_for(issue) && issue.deps.iter().all(met));
        let free = issue.is_some();
        if free || self.free.contains_key(&place.0) {
            let numbers = self.free.entry(place.0.clone()).or_default();
            is_in(numbers, &place.1, free);
            if numbers.is_empty() {
                self.free.remove(&place.0);
            }
        }
    }
}

fn is_in<T: Ord + Clone>(set: &mut BTreeSet<T>, member: &T, is: bool) {
    match is {
        true => drop(set.insert(member.clone())),
        false => drop(set.remove(member)),
    }
}

/// As far as the issue's own record says. Less is asked here than of an issue that is started.
fn is_asked_for(issue: &Issue) -> bool {
    #[cfg(test)]
    looks::one();
    let has = |label: Label| issue.labels.contains(label.as_str());
    issue.open
        && issue.edits_pending == 0
        && !issue.held
        && !has(Label::Blocked)
        && !has(Label::Underspecified)
        && [Label::Backlog, Label::InProgress, Label::Action].into_iter().any(has)
}

impl Floor {
    /// Takes in what became of the issues since the last call.
    pub(crate) fn follow_backlog(&mut self) {
        self.backlog.follow(&mut self.issues);
    }

    /// The issues of a project that may be ready, as of the last [`Floor::follow_backlog`]. Not among them are those
    /// that only a pull request asks for.
    pub(crate) fn free_issues<'a>(&'a self, project: &ProjectName) -> impl Iterator<Item = &'a Issue> {
        let numbers = self.backlog.free.get_key_value(project);
        let places = numbers.into_iter().flat_map(|(project, all)| all.iter().map(|n| (project.clone(), *n)));
        places.filter_map(|place| self.issues.get(&place))
    }

    /// The issues whose dependencies are to be looked at again, in their order.
    pub(crate) fn doubted_issues(&self) -> Vec<&Issue> {
        let is_doubted = |issue: &&Issue| {
            #[cfg(test)]
            looks::one();
            issue.deps_due.is_some()
        };
        match self.issues.moved() {
            None => self.issues.iter().filter(is_doubted).collect(),
            Some(moved) => {
                let places = self.backlog.doubted.union(moved);
                places.filter_map(|place| self.issues.get(place)).filter(is_doubted).collect()
            }
        }
    }
}

/// How many issues were looked at on this thread: a test bounds it.
#[cfg(test)]
pub(crate) mod looks {
    use std::cell::Cell;

    thread_local! {
        static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn one() {
        LOOKS.set(LOOKS.get() + 1);
    }

    /// How many there were since the last call.
    pub(crate) fn take() -> usize {
        LOOKS.take()
    }
}
