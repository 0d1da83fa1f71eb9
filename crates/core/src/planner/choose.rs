//! Which lists to try next.
//!
//! A *path* is one way things may go: which entries are taken for green, and which follow. The first path is the
//! line as it is, with a chance of one. On each path, the next prefix is as useful as it is probable that
//! everything before it is green. If a red list is known on a path, lists inside it are tried; when each of those
//! is under way, the path forks: one path for each entry that may be the culprit, without that entry. The most
//! useful lists of all paths get the slots.

use super::rate::LIST_MAX;
use super::{Finding, Order, Place, Plan, Purpose, Terms, Trial, TrialId, Waiting};
use crate::ids::EntryId;
use crate::time::Time;

/// A list that is less likely than this to be of use is not worth a run, even if a slot is free. Of two entries
/// about which nothing is known, one by itself is worth it.
const USEFUL_MIN: f64 = 0.06;
/// At this usefulness a list is worth another trial's slot, if that trial's answer will hardly matter.
const URGENT_MIN: f64 = 0.3;
/// How many paths are looked at in one step.
const PATHS_MAX: usize = 64;

struct Path {
    chance: f64,
    /// How much of `list` is taken for green.
    green: usize,
    list: Vec<EntryId>,
    forked: bool,
}

/// What is known about a prefix of a path, by its length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Nothing,
    Tried,
    Green,
    Red,
}

/// What a path wants next, and how useful that is.
enum Want {
    Try(Vec<usize>),
    Fork(Vec<(f64, usize)>),
}

impl Plan {
    pub(super) fn start_trials(&mut self, now: Time, terms: &Terms, orders: &mut Vec<Order>) {
        if self.base.is_none() || self.hold_until.is_some_and(|until| now < until) {
            return;
        }
        if self.urgent_goes_first(terms) && self.start_lists(terms, 1, orders) > 0 {
            self.overtake_the_suspects(terms);
        }
        self.start_confirmations(terms, orders);
        self.start_lists(terms, usize::MAX, orders);
    }

    /// Starts at most that many lists. Returns how many.
    fn start_lists(&mut self, terms: &Terms, most: usize, orders: &mut Vec<Order>) -> usize {
        let doubtful: Vec<TrialId> = self.doubtful(terms);
        let free = terms.slots.saturating_sub(self.trials.len());
        let mut give_way = doubtful.into_iter();
        let mut begun = 0;
        let wanted = self.wanted(terms, most.min(free + give_way.len()));
        for (n, (list, usefulness)) in wanted.into_iter().enumerate() {
            if n >= free {
                if usefulness < URGENT_MIN || terms.slots < self.trials.len() {
                    break;
                }
                let Some(id) = give_way.next() else { break };
                self.cancel(orders, |t| t.id == id);
            }
            self.begin(Purpose::Land, list, orders);
            begun += 1;
        }
        begun
    }

    /// Suspects that are not being tried once more.
    pub(super) fn unconfirmed(&self, terms: &Terms) -> Vec<EntryId> {
        let is_suspect = |e: &Waiting| matches!(e.place, Place::Suspect { .. }) && terms.admits(e);
        let suspects = self.entries.iter().filter(|(_, e)| is_suspect(e)).map(|(id, _)| *id);
        suspects
            .filter(|id| !self.trials.iter().any(|t| t.purpose == Purpose::Confirm { entry: *id }))
            .collect()
    }

    fn start_confirmations(&mut self, terms: &Terms, orders: &mut Vec<Order>) {
        for entry in self.unconfirmed(terms) {
            if self.trials.len() >= terms.slots {
                let Some(id) = self.doubtful(terms).first().copied() else { return };
                if self.trials.len() > terms.slots {
                    return;
                }
                self.cancel(orders, |t| t.id == id);
            }
            let alone = self.entries.get(&entry).is_some_and(|e| e.alone);
            let below = if alone { self.landing().len() } else { self.green_ahead(terms) };
            let mut list = self.line[..below].to_vec();
            list.push(entry);
            self.begin(Purpose::Confirm { entry }, list, orders);
        }
    }

    fn begin(&mut self, purpose: Purpose, list: Vec<EntryId>, orders: &mut Vec<Order>) {
        let Some(base) = self.base.clone() else { return };
        self.last_trial += 1;
        let id = TrialId(self.last_trial);
        if purpose == Purpose::Land {
            self.join_line(&list);
        }
        orders.push(Order::Build { trial: id, base: base.clone(), list: list.clone(), purpose });
        self.trials.push(Trial {
            id,
            purpose,
            list,
            landed: 0,
            base,
            detached: false,
            chain: None,
            unproven: Vec::new(),
        });
    }

    /// The trials whose answer matters only if a red one was a flake, longest first.
    fn doubtful(&self, terms: &Terms) -> Vec<TrialId> {
        let mut doubtful: Vec<&Trial> =
            self.trials.iter().filter(|t| t.lands() && self.is_doubtful(terms, t.rest())).collect();
        doubtful.sort_by_key(|t| std::cmp::Reverse((t.rest().len(), t.id)));
        doubtful.into_iter().map(|t| t.id).collect()
    }

    fn is_doubtful(&self, terms: &Terms, list: &[EntryId]) -> bool {
        let mut line = self.line.iter();
        // If it contains an entry that may not land now, its result will be known when it ends, and it may rejoin
        // the line.
        if list.iter().any(|e| self.entries.get(e).is_some_and(|e| !terms.admits(e))) {
            return false;
        }
        !list.iter().all(|e| line.any(|l| l == e))
            || self.known.iter().any(|k| !k.result.is_green() && list.starts_with(&k.list))
    }

    /// Up to `room` lists to try, the most useful first.
    fn wanted(&self, terms: &Terms, room: usize) -> Vec<(Vec<EntryId>, f64)> {
        let mut candidates = self.candidates(terms);
        candidates.truncate(LIST_MAX);
        let mut paths =
            vec![Path { chance: 1.0, green: self.green_ahead(terms), list: candidates, forked: false }];
        let mut wanted: Vec<(Vec<EntryId>, f64)> = Vec::new();
        while wanted.len() < room {
            let best = paths
                .iter()
                .enumerate()
                .filter_map(|(n, p)| {
                    let (usefulness, want) = self.next_on(terms, p, room - wanted.len(), &wanted)?;
                    Some((n, usefulness, want))
                })
                // The first of equals: the line itself before its branches.
                .reduce(|a, b| if b.1 > a.1 { b } else { a });
            let Some((n, usefulness, want)) = best else { break };
            if usefulness < USEFUL_MIN {
                break;
            }
            match want {
                Want::Try(lengths) => {
                    wanted.extend(lengths.into_iter().map(|len| (paths[n].list[..len].to_vec(), usefulness)));
                }
                Want::Fork(culprits) => {
                    paths[n].forked = true;
                    for (chance, at) in culprits {
                        if paths.len() >= PATHS_MAX {
                            break;
                        }
                        let mut list = paths[n].list.clone();
                        list.remove(at);
                        paths.push(Path { chance: paths[n].chance * chance, green: at, list, forked: false });
                    }
                }
            }
        }
        wanted
    }

    /// What is known of a path, by length. Each list is compared with it once: there are few lists, and many
    /// lengths.
    fn marks_on(&self, path: &Path, wanted: &[(Vec<EntryId>, f64)]) -> Vec<Mark> {
        #[cfg(test)]
        super::effort::spend(self.known.len() + self.trials.len() + wanted.len());
        let verdict = |result: &Finding| if result.is_green() { Mark::Green } else { Mark::Red };
        let known = self.known.iter().map(|k| (&k.list[..], verdict(&k.result)));
        let trials = self.trials.iter().filter(|t| t.lands()).map(|t| (t.rest(), Mark::Tried));
        let wanted = wanted.iter().map(|(list, _)| (&list[..], Mark::Tried));
        let mut marks = vec![Mark::Nothing; path.list.len() + 1];
        for (list, mark) in known.chain(trials).chain(wanted) {
            // A verdict says more than another trial; of two, the first counts.
            if marks.get(list.len()) == Some(&Mark::Nothing) && path.list.starts_with(list) {
                marks[list.len()] = mark;
            }
        }
        marks
    }

    fn next_on(
        &self,
        terms: &Terms,
        path: &Path,
        room: usize,
        wanted: &[(Vec<EntryId>, f64)],
    ) -> Option<(f64, Want)> {
        #[cfg(test)]
        super::effort::spend(path.list.len());
        let bad = self.rate.chance();
        let good = |n: usize| (1.0 - bad).powi(n as i32);
        let list = &path.list;
        let green = self.proven(terms, list).max(path.green);
        let found = self.marks_on(path, wanted);
        let red = (green + 1..=list.len()).find(|len| found[*len] == Mark::Red);
        let end = red.unwrap_or(list.len());
        let mut marks = vec![green];
        marks.extend((green + 1..=end).filter(|len| found[*len] != Mark::Nothing));
        let has_to_end = |len: &usize| self.has_to_end(terms, list, *len) && !marks.contains(len);
        if let Some(len) = (green + 1..=end).find(has_to_end) {
            return Some((path.chance * good(len - 1 - green), Want::Try(vec![len])));
        }
        if red.is_some() {
            let lengths = split(&marks, room);
            if !lengths.is_empty() {
                return Some((path.chance, Want::Try(lengths)));
            }
            if path.forked {
                return None;
            }
            // The first bad entry is one of these; all before it are good.
            let all = 1.0 - good(end - green);
            let culprits: Vec<(f64, usize)> =
                (green..end).map(|at| (good(at - green) * bad / all, at)).collect();
            return Some((path.chance * culprits[0].0, Want::Fork(culprits)));
        }
        let longest = *marks.last().expect("it begins with one");
        let to = self.urgent_end(list, longest, list.len().min(longest + self.rate.chunk(terms.slots)));
        let extend =
            (longest < list.len()).then(|| (path.chance * good(longest - green), Want::Try(vec![to])));
        // Looking inside a chunk is useful if it is the first with something bad in it.
        let inside = marks
            .windows(2)
            .filter(|w| w[1] - w[0] > 1)
            .map(|w| (path.chance * good(w[0] - green) * (1.0 - good(w[1] - w[0])), w[0], w[1]))
            .reduce(|a, b| if b.0 > a.0 { b } else { a })
            .map(|(usefulness, from, to)| (usefulness, Want::Try(vec![from + (to - from) / 2])));
        // A single entry under way may be bad: then the others continue without it.
        let fork = (!path.forked && marks.len() > 1 && marks[1] == green + 1)
            .then(|| (path.chance * bad, Want::Fork(vec![(bad, green)])));
        [extend, inside, fork].into_iter().flatten().reduce(|a, b| if b.0 > a.0 { b } else { a })
    }
}

/// Up to `room` points that divide the gaps between the marks as evenly as possible.
fn split(marks: &[usize], room: usize) -> Vec<usize> {
    let mut gaps: Vec<(usize, usize, usize)> = marks.windows(2).map(|w| (w[0], w[1], 0)).collect();
    for _ in 0..room {
        let widest = gaps
            .iter_mut()
            .filter(|(from, to, points)| to - from - 1 > *points)
            .max_by_key(|(from, to, points)| (to - from) * 1000 / (points + 1));
        let Some((_, _, points)) = widest else { break };
        *points += 1;
    }
    gaps.iter().flat_map(|&(from, to, k)| (1..=k).map(move |i| from + i * (to - from) / (k + 1))).collect()
}
