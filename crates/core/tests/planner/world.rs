//! A world in which it is known what is true: which entries are bad, alone or with another, which
//! conflict, and which flake. It carries out orders, and checks each of them against the truth.

use crate::rng::Rng;
pub use crate::truth::Truth;
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::planner::{
    Link, Order, Plan, PlanEvent, Priority, Purpose, Step, Terms, TreeId, TrialId, TrialResult,
};
use shopfloor_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a commit is made of, in order. Somebody else's commits are numbers from [`FOREIGN`] on.
pub type Content = Vec<u64>;
pub const FOREIGN: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub struct Running {
    pub trial: TrialId,
    pub purpose: Purpose,
    pub base: Sha,
    pub list: Vec<u64>,
    /// Built: it is being tested on this commit since then.
    pub commit: Option<Sha>,
    pub since: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Landed,
    Failed,
    Conflicted,
    Unrunnable,
    Removed,
}

#[derive(Default)]
pub struct Counts {
    /// Runs of the checks, finished or cancelled.
    pub runs: u32,
    pub publications: u32,
    pub cancelled: u32,
    pub flakes: u32,
    pub alarms: u32,
}

pub struct World {
    pub rng: Rng,
    pub truth: Truth,
    pub plan: Plan,
    pub terms: Terms,
    pub now: Time,
    commits: BTreeMap<Sha, Content>,
    /// Where the primary branch really is.
    pub primary: Sha,
    /// Where the planner is right to believe it is.
    believed: Option<Sha>,
    green: BTreeSet<Sha>,
    /// Red runs, and whether each was spoiled only.
    red: BTreeMap<TrialId, bool>,
    /// What was run, and whether it was red the last time.
    was_red: BTreeMap<Content, bool>,
    pub running: Vec<Running>,
    /// Built just now; whether it is tested is the planner's to say.
    built: Option<Running>,
    pub publishing: Option<(Sha, Sha, Vec<Step>)>,
    pub waiting: BTreeSet<u64>,
    pub priorities: BTreeMap<u64, Priority>,
    /// Those that are never with others.
    pub alone: BTreeSet<u64>,
    pub fates: BTreeMap<u64, Fate>,
    /// For each entry: how many younger ones landed before it.
    pub overtaken: BTreeMap<u64, u32>,
    pub counts: Counts,
}

/// The same content gives the same commit; the same set of changes gives the same tree. A foreign
/// commit with an odd number changes no file.
fn name(content: &[u64], kind: u64) -> Sha {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325 ^ kind;
    for n in content {
        hash = (hash ^ (n + 1)).wrapping_mul(0x0100_0000_01b3);
        hash ^= hash >> 29;
    }
    format!("{hash:040x}").parse().expect("forty digits")
}

/// Something of a commit's name, to name another by.
fn name_number(sha: &Sha) -> Option<u64> {
    u64::from_str_radix(&sha.as_str()[24..], 16).ok()
}

fn tree_of(content: &[u64]) -> TreeId {
    let mut set: Vec<u64> = content.iter().copied().filter(|n| *n < FOREIGN || n % 2 == 0).collect();
    set.sort_unstable();
    TreeId(name(&set, 1))
}

impl World {
    pub fn new(seed: u64, slots: usize, truth: Truth) -> World {
        let primary = name(&[], 0);
        let mut world = World {
            rng: Rng::new(seed),
            truth,
            plan: Plan::default(),
            terms: Terms {
                slots,
                alarm_after: Duration::from_secs(3600),
                paused: false,
                strict: true,
                each: false,
                least: Priority(0),
            },
            now: Time(0),
            commits: BTreeMap::from([(primary.clone(), Vec::new())]),
            primary: primary.clone(),
            believed: None,
            green: BTreeSet::new(),
            red: BTreeMap::new(),
            was_red: BTreeMap::new(),
            running: Vec::new(),
            built: None,
            publishing: None,
            waiting: BTreeSet::new(),
            priorities: BTreeMap::new(),
            alone: BTreeSet::new(),
            fates: BTreeMap::new(),
            overtaken: BTreeMap::new(),
            counts: Counts::default(),
        };
        world.see_primary();
        world
    }

    pub fn enter(&mut self, entry: u64, priority: u8) {
        self.enter_as(entry, priority, false);
    }

    pub fn enter_as(&mut self, entry: u64, priority: u8, alone: bool) {
        self.waiting.insert(entry);
        self.priorities.insert(entry, Priority(priority));
        if alone {
            self.alone.insert(entry);
        }
        let (entry, priority) = (EntryId(entry), Priority(priority));
        self.tell(PlanEvent::Entered { entry, priority, at: self.now, alone });
    }

    pub fn prioritise(&mut self, entry: u64, priority: u8) {
        self.priorities.insert(entry, Priority(priority));
        self.tell(PlanEvent::Prioritised { entry: EntryId(entry), priority: Priority(priority) });
    }

    pub fn make_alone(&mut self, entry: u64) {
        self.alone.insert(entry);
        self.tell(PlanEvent::Alone { entry: EntryId(entry) });
    }

    /// Whether it may be tried and land now.
    pub fn is_admitted(&self, entry: u64) -> bool {
        self.terms.least <= self.priorities[&entry]
    }

    fn is_landing(&self, entry: u64) -> bool {
        let steps = self.publishing.iter().flat_map(|(_, _, steps)| steps);
        steps.flat_map(|step| &step.entries).any(|(e, _)| e.0 == entry)
    }

    pub fn remove(&mut self, entry: u64) {
        if !self.plan.is_landing(EntryId(entry)) {
            self.decide(entry, Fate::Removed);
        }
        self.tell(PlanEvent::Removed { entry: EntryId(entry) });
    }

    /// Nothing of a publication was done yet, and a person does not want one of its entries any more.
    pub fn call_back(&mut self, entry: u64) {
        if !self.is_landing(entry) {
            return;
        }
        let (_, _, steps) = self.publishing.take().expect("it lands");
        self.decide(entry, Fate::Removed);
        // What was known of lists without what lands was given up.
        self.was_red.clear();
        let tip = steps.last().expect("steps").last().commit.clone();
        self.tell(PlanEvent::CalledBack { tip, entry: EntryId(entry) });
    }

    /// A check outside of the queue finds what the entry would be by itself.
    pub fn check_head(&mut self, entry: u64) {
        let mut content = self.commits[&self.primary].clone();
        content.push(entry);
        if self.truth.is_red(&content) || self.truth.unrunnable.contains(&entry) {
            return;
        }
        let tree = tree_of(&content);
        self.was_red.insert(content.clone(), false);
        let commit = self.commit(content);
        self.green.insert(commit.clone());
        self.tell(PlanEvent::Green { tree, commit });
    }

    /// Other checks from now on, which the entry does not pass.
    pub fn change_checks(&mut self, entry: u64) {
        // What is on its way is refused by whoever carries it out.
        if self.publishing.is_some() {
            return;
        }
        self.truth.bad.insert(entry);
        self.truth.cure.remove(&entry);
        self.green.clear();
        self.was_red.clear();
        self.tell(PlanEvent::ChecksChanged);
    }

    pub fn see_primary(&mut self) {
        if self.publishing.is_none() {
            self.believed = Some(self.primary.clone());
        }
        self.tell(PlanEvent::Primary { head: self.primary.clone() });
    }

    /// Somebody else's commit lands.
    pub fn push_foreign(&mut self, number: u64) {
        let mut content = self.commits[&self.primary].clone();
        content.push(FOREIGN + number);
        // Somebody who breaks the primary branch is not the planner's to find.
        if self.truth.is_red(&content) {
            return;
        }
        self.primary = self.commit(content);
    }

    fn commit(&mut self, content: Content) -> Sha {
        let sha = name(&content, 0);
        self.commits.insert(sha.clone(), content);
        sha
    }

    /// Carries out the building that was ordered.
    pub fn build(&mut self, at: usize) {
        let Running { trial, base, list, .. } = self.running[at].clone();
        let below = self.commits[&base].clone();
        let mut content = below.clone();
        let mut chain = Vec::new();
        for entry in list.iter().copied() {
            if self.truth.conflicts(entry, &content) {
                let with_base = self.truth.conflicts(entry, &below);
                self.running.remove(at);
                self.tell(PlanEvent::Conflicted { trial, at: EntryId(entry), with_base });
                return;
            }
            content.push(entry);
            chain.push(Link { commit: self.commit(content.clone()), tree: tree_of(&content) });
        }
        let several = list.iter().filter(|e| self.truth.several.contains(e));
        let entries: Vec<EntryId> = several.map(|e| EntryId(*e)).collect();
        if !entries.is_empty() {
            self.tell(PlanEvent::Unproven { trial, entries });
        }
        let Some(at) = self.running.iter().position(|r| r.trial == trial) else { return };
        self.built = Some(self.running.remove(at));
        self.tell(PlanEvent::Built { trial, chain });
    }

    /// Ends the run that was ordered.
    pub fn finish(&mut self, at: usize) {
        let Running { trial, commit, list, .. } = self.running.remove(at);
        let commit = commit.expect("it is being tested");
        let inside = list.iter().any(|e| self.truth.inner.contains(e));
        let red = self.truth.is_red(&self.commits[&commit]) || inside;
        let spoils = |e: &u64| self.truth.flaky.get(e).copied().unwrap_or(0);
        let chances: Vec<u32> = list.iter().map(spoils).chain([self.truth.flakes]).collect();
        let spoiled = chances.into_iter().filter(|chance| self.rng.permille(*chance)).count() > 0;
        let unrunnable = self.commits[&commit].iter().any(|e| self.truth.unrunnable.contains(e));
        let verdict = if unrunnable || self.rng.permille(self.truth.infra) {
            TrialResult::Infra
        } else if red || spoiled {
            self.red.insert(trial, !red);
            self.was_red.insert(self.commits[&commit].clone(), true);
            TrialResult::Red
        } else {
            self.was_red.insert(self.commits[&commit].clone(), false);
            self.green.insert(commit);
            TrialResult::Green
        };
        self.tell(PlanEvent::Finished { trial, verdict });
    }

    /// Carries out the publication that was ordered.
    pub fn publish(&mut self) {
        let Some((old, on, steps)) = self.publishing.take() else { return };
        let tip = steps.last().expect("steps").last().commit.clone();
        if self.primary == old {
            let batched = steps.iter().any(|step| !step.is_single(&old) && step.entries.len() > 1);
            // What was only checked together gets a commit of its own, and so has another name.
            self.primary = match self.terms.strict && (batched || on != old) {
                true => {
                    let content = self.commits[&tip].clone();
                    let named: Content = content.iter().copied().chain(name_number(&old)).collect();
                    let landed = name(&named, 2);
                    self.commits.insert(landed.clone(), content);
                    landed
                }
                false => tip.clone(),
            };
            self.believed = Some(self.primary.clone());
            self.counts.publications += 1;
            for (entry, _) in steps.into_iter().flat_map(|step| step.entries) {
                let entry = entry.0;
                let later: Vec<u64> = self.waiting.iter().copied().filter(|w| *w < entry).collect();
                for passed in later {
                    *self.overtaken.entry(passed).or_default() += 1;
                }
                self.decide(entry, Fate::Landed);
            }
            self.tell(PlanEvent::Published { tip, head: self.primary.clone() });
        } else {
            self.believed = Some(self.primary.clone());
            self.tell(PlanEvent::Refused { tip, head: self.primary.clone() });
        }
    }

    fn decide(&mut self, entry: u64, fate: Fate) {
        assert!(self.waiting.remove(&entry), "{entry} is decided twice: {fate:?}");
        self.fates.insert(entry, fate);
    }

    pub fn tell(&mut self, input: PlanEvent) {
        let orders = self.plan.step(self.now, &self.terms, &input);
        for order in orders {
            self.obey(order);
        }
        self.check();
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Build { trial, base, list, purpose } => {
                let list: Vec<u64> = list.into_iter().map(|e| e.0).collect();
                assert!(!self.terms.paused, "{list:?} is begun in a pause");
                assert!(self.running.len() < self.terms.slots, "more trials than slots");
                assert_eq!(Some(&base), self.believed.as_ref(), "built on an old base");
                assert!(!list.is_empty() && list.iter().all(|e| self.waiting.contains(e)), "{list:?}");
                // What lands is not tried any more, it is what is tried on.
                let undecided = list.iter().skip_while(|e| self.is_landing(**e));
                let undecided: Vec<u64> = undecided.copied().collect();
                assert!(undecided.iter().all(|e| self.is_admitted(*e)), "{list:?} is below the threshold");
                let behind = undecided.iter().skip(1).find(|e| self.alone.contains(e));
                assert_eq!(behind, None, "{list:?}: one that is alone is tried behind others");
                self.running.push(Running { trial, purpose, base, list, commit: None, since: self.now });
            }
            Order::Test { trial, commit } => {
                self.counts.runs += 1;
                let now = self.now;
                let mut run = self.built.take().filter(|r| r.trial == trial).expect("a trial that was built");
                let mut content = self.commits[&run.base].clone();
                content.extend(&run.list);
                assert_eq!(self.commits[&commit], content);
                (run.commit, run.since) = (Some(commit), now);
                self.running.push(run);
            }
            Order::Cancel { trial } => {
                let at = self.running.iter().position(|r| r.trial == trial).expect("a trial under way");
                self.running.remove(at);
                self.counts.cancelled += 1;
            }
            Order::Publish { old, on, steps } => {
                assert!(self.publishing.is_none(), "two publications at once");
                assert!(!self.terms.paused, "published in a pause");
                assert_eq!(Some(&old), self.believed.as_ref());
                assert_eq!(self.commits[&old], self.commits[&on]);
                let mut content = self.commits[&old].clone();
                let landing: Vec<u64> =
                    steps.iter().flat_map(|step| step.entries.iter().map(|(e, _)| e.0)).collect();
                assert!(landing.iter().all(|e| self.is_admitted(*e)), "{landing:?} is below the threshold");
                let alone = landing.iter().any(|e| self.alone.contains(e));
                assert!(!alone || landing.len() == 1, "{landing:?}: one that is alone lands with others");
                for step in &steps {
                    // One that brings nothing new has no commit of its own.
                    let shared = self.terms.each && !step.is_single(&old) && step.entries.len() > 1;
                    assert!(!shared, "{landing:?}: two share a commit");
                    for (entry, link) in &step.entries {
                        content.push(entry.0);
                        assert_eq!(self.commits[&link.commit], content);
                        assert!(self.waiting.contains(&entry.0));
                        let settled = !self.terms.strict || self.was_red.get(&content) != Some(&true);
                        assert!(settled, "{content:?} was red, and lands with what follows it");
                    }
                    let tested = &step.tested;
                    assert!(self.green.contains(tested) || *tested == old, "{tested} was never green");
                    assert_eq!(tree_of(&self.commits[tested]), tree_of(&content));
                    assert!(!self.truth.is_red(&content), "a red commit lands");
                }
                self.publishing = Some((old, on, steps));
            }
            Order::Fail { entry, on, red, confirmed, .. } => {
                let spoiled = (self.red[&red], self.red[&confirmed]);
                let good = self.truth.is_good(entry.0);
                assert!(!good || spoiled == (true, true), "{entry} is good and failed: {spoiled:?}");
                assert!(!self.truth.is_red(&self.commits[&on]), "{entry} failed on top of a red base");
                self.decide(entry.0, Fate::Failed);
            }
            Order::Unrunnable { entry, .. } => {
                let good = !self.truth.unrunnable.contains(&entry.0);
                assert!(!good || self.truth.infra > 0, "{entry} can be run and was charged");
                self.decide(entry.0, Fate::Unrunnable);
            }
            Order::Conflict { entry, with } => {
                assert!(self.truth.conflicts(entry.0, &self.commits[&with]));
                assert_eq!(Some(&with), self.believed.as_ref());
                self.decide(entry.0, Fate::Conflicted);
            }
            Order::Flake { .. } => self.counts.flakes += 1,
            Order::Alarm(_) => self.counts.alarms += 1,
        }
    }

    /// What holds after every step.
    fn check(&mut self) {
        let landing = self.publishing.as_ref().and_then(|p| Some(p.2.last()?.last().commit.clone()));
        let base = landing.or(self.believed.clone());
        let Some(base) = base else { return };
        let below = &self.commits[&base];
        for run in &self.running {
            match run.purpose {
                // It has to go on from what is published, with entries that can still land.
                Purpose::Land => {
                    let mut content = self.commits[&run.base].clone();
                    content.extend(&run.list);
                    assert!(content.starts_with(below), "{run:?} goes on from an old base");
                    let rest = &content[below.len()..];
                    assert!(!rest.is_empty() && rest.iter().all(|e| self.waiting.contains(e)), "{run:?}");
                    let behind = rest.iter().skip(1).find(|e| self.alone.contains(e));
                    assert_eq!(behind, None, "{run:?}: one that is alone is tried behind others");
                }
                Purpose::Confirm { entry } => {
                    assert!(self.waiting.contains(&entry.0), "{run:?} is about somebody who is gone");
                    assert!(!self.plan.is_landing(entry), "{run:?} is about somebody who lands");
                }
            }
        }
        let held = self.plan.held_until().is_some_and(|until| self.now < until);
        let idle = self.running.is_empty() && self.publishing.is_none();
        assert!(
            !idle
                || held
                || self.plan.aside_until().is_some()
                || !self.waiting.iter().any(|e| self.is_admitted(*e))
                || self.terms.paused
                || self.terms.slots == 0,
            "work, but nothing is wanted: {:?}",
            self.plan
        );
        let mut order: Vec<u64> = self.plan.order().into_iter().map(|e| e.0).collect();
        order.sort_unstable();
        assert_eq!(order, self.waiting.iter().copied().collect::<Vec<_>>(), "an entry is lost");
    }
}
