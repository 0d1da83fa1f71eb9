//! How long changes take to land, on a virtual clock: what the planner orders, against one after another. Building and
//! publishing take no time. And what the planner itself takes, on the real one.

use crate::report::Report;
use crate::stats;
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::planner::{Link, Order, Plan, PlanEvent, Priority, Terms, TreeId, TrialId, TrialResult};
use shopfloor_core::time::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

const RUN_MS: u64 = 60_000;
/// What is measured over chance is the mean of so many worlds.
const SEEDS: u64 = 200;

pub fn measure(report: &mut Report) {
    fifty(report);
    sixty_four(report);
    urgent(report);
    planning(report);
}

fn fifty(report: &mut Report) {
    const ENTRIES: u64 = 50;
    for failing in [0, 5] {
        let bad: BTreeSet<u64> =
            (1..=ENTRIES).filter(|n| failing > 0 && n % (ENTRIES / failing) == 7).collect();
        for slots in [1, 2, 4] {
            let minutes = World::new(ENTRIES, slots, &bad).land().at as f64 / RUN_MS as f64;
            // One after another, each that is red once more.
            let before = ENTRIES + failing;
            let share = failing * 100 / ENTRIES;
            let note =
                format!("{ENTRIES} changes, {share} % failing, checks of 60 s; in sequence {before} min");
            report.add(format!("landing, {slots} slots, {share} % bad"), minutes, "min", note);
        }
    }
}

fn sixty_four(report: &mut Report) {
    let mut walls = Vec::new();
    let mut runs = Vec::new();
    for seed in 0..SEEDS {
        let bad = some_of(64, 50, seed);
        let landed = World::new(64, 4, &bad).land();
        walls.push(landed.at as f64 / RUN_MS as f64);
        runs.push(f64::from(landed.runs) / (64 - bad.len()) as f64);
    }
    let note = |p90: f64| format!("64 changes, 5 % failing, 4 slots; mean of {SEEDS}, p90 {p90:.2}");
    let (wall, p90) = mean_and_p90(walls);
    report.add("landing 64, check-times", wall, "", note(p90));
    let (each, p90) = mean_and_p90(runs);
    report.add("landing 64, runs a landed change", each, "", note(p90));
}

fn urgent(report: &mut Report) {
    let mut times = Vec::new();
    for seed in 0..SEEDS {
        let bad = some_of(100, 50, seed);
        let mut world = World::new(100, 4, &bad);
        let comes = seed * 7_919 % (4 * RUN_MS);
        times.push((world.land_with_urgent(comes) - comes) as f64 / RUN_MS as f64);
    }
    let worst = times.iter().copied().fold(0.0, f64::max);
    let (mean, p90) = mean_and_p90(times);
    let note = format!(
        "check-times until one landed that came to 100, its own run included; mean of {SEEDS}, p90 {p90:.2}, longest {worst:.2}"
    );
    report.add("an urgent change", mean, "", note);
}

/// The steps are the same each time. What else runs on the machine makes one of them longer now and then, and never
/// shorter: of each, the shortest counts.
fn planning(report: &mut Report) {
    const TIMES: usize = 9;
    let bad = some_of(200, 50, 1);
    let measure = || {
        let mut world = World::new(200, 4, &bad);
        world.land();
        world.steps
    };
    let shorter = |a: Vec<Duration>, b: Vec<Duration>| a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect();
    let times: Vec<Duration> = (0..TIMES).map(|_| measure()).reduce(shorter).unwrap_or_default();
    let longest = times.iter().max().copied().unwrap_or_default();
    let note = format!(
        "{} steps with up to 200 entries, 5 % failing: the longest, each the shortest of {TIMES}; median {:.3} ms",
        times.len(),
        stats::ms(stats::percentile(&times, 50))
    );
    report.add("planning 200", stats::ms(longest), "ms", note);
}

/// About so many of a thousand.
fn some_of(entries: u64, permille: u64, seed: u64) -> BTreeSet<u64> {
    let roll = |n: u64| {
        let mut x = (seed * 1_000 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33
    };
    (1..=entries).filter(|n| roll(*n) % 1_000 < permille).collect()
}

fn mean_and_p90(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values.iter().sum::<f64>() / values.len() as f64, values[values.len() * 9 / 10])
}

struct Landed {
    /// When all were decided.
    at: u64,
    runs: u32,
}

struct World<'a> {
    plan: Plan,
    slots: usize,
    bad: &'a BTreeSet<u64>,
    now: u64,
    runs: u32,
    inputs: VecDeque<PlanEvent>,
    lists: BTreeMap<TrialId, Vec<EntryId>>,
    ends: BTreeMap<(u64, TrialId), TrialResult>,
    landed: BTreeSet<EntryId>,
    /// How long each step of the planner took.
    steps: Vec<Duration>,
}

impl World<'_> {
    /// Nothing is begun before all are there.
    fn new(entries: u64, slots: usize, bad: &BTreeSet<u64>) -> World<'_> {
        let mut world = World {
            plan: Plan::default(),
            slots,
            bad,
            now: 0,
            runs: 0,
            inputs: VecDeque::new(),
            lists: BTreeMap::new(),
            ends: BTreeMap::new(),
            landed: BTreeSet::new(),
            steps: Vec::new(),
        };
        for n in 1..=entries {
            world.plan.step(Time(0), &terms(0), &entered(n, Priority::default(), n));
        }
        world.inputs.push_back(PlanEvent::Primary { head: sha(0, 0) });
        world
    }

    fn land(&mut self) -> Landed {
        while self.step(u64::MAX) {}
        Landed { at: self.now, runs: self.runs }
    }

    /// When one landed that is urgent and came at that time.
    fn land_with_urgent(&mut self, comes: u64) -> u64 {
        const URGENT: u64 = 1_000;
        while self.step(comes) {}
        self.now = comes;
        self.inputs.push_back(entered(URGENT, Priority::URGENT, comes));
        while !self.landed.contains(&EntryId(URGENT)) && self.step(u64::MAX) {}
        self.now
    }

    /// What happens next, unless that is later.
    fn step(&mut self, until: u64) -> bool {
        let Some(input) = self.inputs.pop_front() else {
            let Some(next) = self.ends.first_entry().filter(|e| e.key().0 <= until) else { return false };
            let ((at, trial), verdict) = next.remove_entry();
            self.now = at;
            self.inputs.push_back(PlanEvent::Finished { trial, verdict });
            return true;
        };
        let begin = Instant::now();
        let orders = self.plan.step(Time(self.now), &terms(self.slots), &input);
        self.steps.push(begin.elapsed());
        orders.into_iter().for_each(|order| self.obey(order));
        true
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Build { trial, base, list, .. } => {
                let mut commit = base;
                let chain = list.iter().map(|entry| {
                    commit = sha(entry.0, number(&commit));
                    Link { commit: commit.clone(), tree: TreeId(commit.clone()) }
                });
                self.inputs.push_back(PlanEvent::Built { trial, chain: chain.collect() });
                self.lists.insert(trial, list);
            }
            Order::Test { trial, .. } => {
                self.runs += 1;
                let red = self.lists[&trial].iter().any(|e| self.bad.contains(&e.0));
                let verdict = if red { TrialResult::Red } else { TrialResult::Green };
                self.ends.insert((self.now + RUN_MS, trial), verdict);
            }
            Order::Cancel { trial } => self.ends.retain(|(_, t), _| *t != trial),
            Order::Publish { steps, .. } => {
                let tip = steps.last().expect("a publication has steps").last().commit.clone();
                self.landed
                    .extend(steps.iter().flat_map(|step| step.entries.iter().map(|(entry, _)| *entry)));
                self.inputs.push_back(PlanEvent::Published { head: tip.clone(), tip });
            }
            _ => {}
        }
    }
}

fn terms(slots: usize) -> Terms {
    Terms {
        slots,
        alarm_after: Duration::from_secs(86_400),
        paused: slots == 0,
        strict: true,
        each: false,
        least: Priority::default(),
    }
}

fn entered(entry: u64, priority: Priority, at: u64) -> PlanEvent {
    PlanEvent::Entered { entry: EntryId(entry), priority, at: Time(at), alone: false }
}

/// A commit's name says what it is made of.
fn sha(entry: u64, before: u64) -> Sha {
    let mixed =
        (before ^ entry.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(17).wrapping_mul(0x2545_f491);
    format!("{entry:016x}{mixed:024x}").try_into().expect("forty digits")
}

fn number(sha: &Sha) -> u64 {
    u64::from_str_radix(&sha.as_str()[24..], 16).expect("made by sha()")
}
