//! What the planner costs, in virtual time, against one after another.

use crate::rng::Rng;
use crate::world::{Fate, Truth, World};
use shopfloor_core::time::Time;

const ENTRIES: u64 = 50;
/// One run of the checks.
const RUN: u64 = 60_000;

#[derive(Default)]
struct Cost {
    minutes: f64,
    runs: f64,
}

/// Everything is in the queue at the start. Building and publishing take no time.
fn play(seed: u64, slots: usize, truth: Truth, jitter: u64) -> (World, Cost) {
    let mut world = World::new(seed, slots, truth);
    let mut lengths = Rng::new(seed ^ 0x5eed);
    let mut ends: Vec<(u64, shopfloor_core::planner::TrialId)> = Vec::new();
    for entry in 1..=ENTRIES {
        // Nobody is taken up before all are there.
        world.terms.slots = if entry == ENTRIES { slots } else { 0 };
        world.enter(entry, 0);
    }
    while !world.waiting.is_empty() {
        if world.publishing.is_some() {
            world.publish();
        } else if let Some(at) = world.running.iter().position(|r| r.commit.is_none()) {
            world.build(at);
        } else {
            ends.retain(|(_, trial)| world.running.iter().any(|r| r.trial == *trial));
            for run in &world.running {
                if !ends.iter().any(|(_, trial)| *trial == run.trial) {
                    ends.push((run.since.0 + RUN - jitter + lengths.below(2 * jitter + 1), run.trial));
                }
            }
            ends.sort_unstable();
            let (end, trial) = ends.remove(0);
            world.now = Time(end.max(world.now.0));
            let at = world.running.iter().position(|r| r.trial == trial).expect("it runs");
            world.finish(at);
        }
    }
    let cost = Cost { minutes: world.now.0 as f64 / 60_000.0, runs: f64::from(world.counts.runs) };
    (world, cost)
}

fn mean(slots: usize, jitter: u64, truth: impl Fn(&mut Rng) -> Truth) -> Cost {
    const SEEDS: u64 = 200;
    let mut sum = Cost::default();
    for seed in 0..SEEDS {
        let truth = truth(&mut Rng::new(seed * 77 + 5));
        let (_, cost) = play(seed, slots, truth, jitter);
        sum.minutes += cost.minutes / SEEDS as f64;
        sum.runs += cost.runs / SEEDS as f64;
    }
    sum
}

fn failing(permille: u32) -> impl Fn(&mut Rng) -> Truth {
    move |rng| Truth { bad: (1..=ENTRIES).filter(|_| rng.permille(permille)).collect(), ..Truth::default() }
}

#[test]
fn report() {
    for jitter in [0, 15_000] {
        println!("{ENTRIES} entries, minutes / runs, checks of 60 s +- {} s", jitter / 1000);
        println!("|  p   | c=1 | c=2 | c=4 | c=8 |");
        for p in [0, 50, 100, 200, 400] {
            print!("| {:3} % |", p / 10);
            for slots in [1, 2, 4, 8] {
                let cost = mean(slots, jitter, failing(p));
                print!(" {:.1} / {:.0} |", cost.minutes, cost.runs);
            }
            println!();
        }
    }
    let flaky = |rng: &mut Rng| Truth { flakes: 30, ..failing(50)(rng) };
    let conflicting = |rng: &mut Rng| Truth {
        conflict: (0..10).map(|_| (rng.range(1, 25), rng.range(26, 50))).collect(),
        ..failing(50)(rng)
    };
    for (what, cost) in [("3 % flakes", mean(4, 0, flaky)), ("10 conflicts", mean(4, 0, conflicting))] {
        println!("p = 5 %, c = 4, {what}: {:.1} min, {:.0} runs", cost.minutes, cost.runs);
    }
}

#[test]
fn fifty_green_branches_land_in_less_than_eight_minutes() {
    let (world, cost) = play(1, 4, Truth::default(), 0);
    assert!(world.fates.values().all(|f| *f == Fate::Landed));
    assert!(cost.minutes < 8.0, "{} minutes", cost.minutes);
}
