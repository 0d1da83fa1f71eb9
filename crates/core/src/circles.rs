//! Issues that wait for themselves through others: the circles among a project's open issues.
//!
//! Every issue is looked at once for all circles together, however long a chain is, and nothing recurses: a
//! backlog of tens of thousands costs no more than reading it.

use crate::ids::{IssueNumber, ProjectName};
use crate::state::Floor;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The open issues, and what each waits for.
pub(crate) type Graph<'a> = BTreeMap<IssueNumber, &'a [IssueNumber]>;

/// The open issues of a project that are in circles.
pub(crate) struct Circles<'a> {
    open: Graph<'a>,
    /// The knot that each issue of a circle is in: all issues of a knot wait for one another.
    knots: BTreeMap<IssueNumber, usize>,
}

impl<'a> Circles<'a> {
    pub(crate) fn of(floor: &'a Floor, project: &ProjectName) -> Circles<'a> {
        let open = floor.issues.iter().filter(|issue| issue.open && issue.project == *project);
        let open: Graph<'a> = open.map(|issue| (issue.number, issue.deps.as_slice())).collect();
        Circles::among(open)
    }

    pub(crate) fn among(open: Graph<'a>) -> Circles<'a> {
        let knots = Search::knots(&open);
        Circles { open, knots }
    }

    /// One issue of each circle: the first.
    pub(crate) fn firsts(&self) -> Vec<IssueNumber> {
        let mut seen = BTreeSet::new();
        let mut first = |(issue, knot): (&IssueNumber, &usize)| seen.insert(*knot).then_some(*issue);
        self.knots.iter().filter_map(&mut first).collect()
    }

    /// The shortest path by which an issue waits for itself, itself first.
    pub(crate) fn through(&self, issue: IssueNumber) -> Option<Vec<IssueNumber>> {
        let knot = self.knots.get(&issue)?;
        let mut before: BTreeMap<IssueNumber, IssueNumber> = BTreeMap::new();
        let mut next = VecDeque::from([issue]);
        while let Some(at) = next.pop_front() {
            for dep in self.open.get(&at).into_iter().flat_map(|deps| deps.iter()) {
                if *dep == issue {
                    let mut path = vec![at];
                    while let Some(from) = before.get(path.last()?) {
                        path.push(*from);
                    }
                    path.reverse();
                    return Some(path);
                }
                if self.knots.get(dep) == Some(knot) && !before.contains_key(dep) {
                    before.insert(*dep, at);
                    next.push_back(*dep);
                }
            }
        }
        None
    }
}

/// Tarjan's search for strongly connected components, with a stack of its own.
struct Search<'g, 'a> {
    open: &'g Graph<'a>,
    /// When each was first seen.
    seen: BTreeMap<IssueNumber, usize>,
    /// The earliest issue that each leads back to.
    low: BTreeMap<IssueNumber, usize>,
    /// Seen, and not known to be in a finished component.
    held: Vec<IssueNumber>,
    is_held: BTreeSet<IssueNumber>,
    knots: BTreeMap<IssueNumber, usize>,
    count: usize,
}

impl<'g, 'a> Search<'g, 'a> {
    fn knots(open: &'g Graph<'a>) -> BTreeMap<IssueNumber, usize> {
        // A circle leads up at least once. Most backlogs never do: nothing has to be searched.
        if open.iter().all(|(issue, deps)| deps.iter().all(|dep| dep < issue)) {
            return BTreeMap::new();
        }
        let mut search = Search {
            open,
            seen: BTreeMap::new(),
            low: BTreeMap::new(),
            held: Vec::new(),
            is_held: BTreeSet::new(),
            knots: BTreeMap::new(),
            count: 0,
        };
        for issue in open.keys() {
            if !search.seen.contains_key(issue) {
                search.walk_from(*issue);
            }
        }
        search.knots
    }

    fn walk_from(&mut self, first: IssueNumber) {
        // Each with how many of its dependencies have been looked at.
        let mut path = vec![(first, 0)];
        self.enter(first);
        while let Some((at, looked)) = path.last_mut() {
            let at = *at;
            let deps = self.open.get(&at).copied().unwrap_or_default();
            if let Some(dep) = deps.get(*looked) {
                *looked += 1;
                if !self.open.contains_key(dep) {
                    continue;
                }
                match self.seen.get(dep).copied() {
                    None => {
                        self.enter(*dep);
                        path.push((*dep, 0));
                    }
                    Some(when) if self.is_held.contains(dep) => self.leads_to(at, when),
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let low = self.low[&at];
            if let Some((above, _)) = path.last() {
                self.leads_to(*above, low);
            }
            if low == self.seen[&at] {
                self.finish(at, deps.contains(&at));
            }
        }
    }

    fn enter(&mut self, issue: IssueNumber) {
        let when = self.seen.len();
        self.seen.insert(issue, when);
        self.low.insert(issue, when);
        self.held.push(issue);
        self.is_held.insert(issue);
    }

    fn leads_to(&mut self, issue: IssueNumber, when: usize) {
        let low = self.low.entry(issue).or_insert(when);
        *low = when.min(*low);
    }

    /// All that were seen since `first` and are still held wait for one another.
    fn finish(&mut self, first: IssueNumber, on_itself: bool) {
        let from = self.held.iter().rposition(|issue| *issue == first).unwrap_or(0);
        let knot = self.held.split_off(from);
        for issue in &knot {
            self.is_held.remove(issue);
        }
        if knot.len() > 1 || on_itself {
            self.knots.extend(knot.into_iter().map(|issue| (issue, self.count)));
            self.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles<'a>(all: &'a [(u64, Vec<IssueNumber>)]) -> Circles<'a> {
        let open: Graph<'a> = all.iter().map(|(n, deps)| (IssueNumber(*n), deps.as_slice())).collect();
        Circles::among(open)
    }

    fn graph(all: &[(u64, &[u64])]) -> Vec<(u64, Vec<IssueNumber>)> {
        all.iter().map(|(n, deps)| (*n, deps.iter().map(|d| IssueNumber(*d)).collect())).collect()
    }

    fn through(all: &[(u64, &[u64])], issue: u64) -> Option<Vec<u64>> {
        let graph = graph(all);
        let path = circles(&graph).through(IssueNumber(issue));
        path.map(|path| path.into_iter().map(|n| n.0).collect())
    }

    #[test]
    fn only_those_in_a_circle_wait_for_themselves() {
        // 1 leads into a circle of 2, 3, 4, from which 5 leads out; 6 waits for itself.
        let all: &[(u64, &[u64])] =
            &[(1, &[2]), (2, &[3]), (3, &[4, 5]), (4, &[2]), (5, &[9]), (6, &[6]), (7, &[1, 6])];
        assert_eq!(through(all, 1), None);
        assert_eq!(through(all, 2), Some(vec![2, 3, 4]));
        assert_eq!(through(all, 4), Some(vec![4, 2, 3]));
        assert_eq!((through(all, 5), through(all, 7)), (None, None));
        assert_eq!(through(all, 6), Some(vec![6]));
    }

    #[test]
    fn the_shortest_way_is_told() {
        let all: &[(u64, &[u64])] = &[(1, &[2, 3]), (2, &[4]), (3, &[1]), (4, &[1])];
        assert_eq!(through(all, 1), Some(vec![1, 3]));
        assert_eq!(through(all, 4), Some(vec![4, 1, 2]));
    }

    /// A recursion would end the process.
    #[test]
    fn a_chain_of_a_hundred_thousand_is_walked() {
        const LONG: u64 = 100_000;
        let mut all: Vec<_> = (1..=LONG).map(|n| (n, vec![IssueNumber(n + 1)])).collect();
        assert_eq!(circles(&all).through(IssueNumber(1)), None);
        all[LONG as usize - 1].1 = vec![IssueNumber(1)];
        assert_eq!(circles(&all).through(IssueNumber(7)).map(|path| path.len()), Some(LONG as usize));
    }
}
