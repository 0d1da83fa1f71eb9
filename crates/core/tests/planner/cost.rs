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

fn mean(seeds: u64, slots: usize, jitter: u64, truth: impl Fn(&mut Rng) -> Truth) -> Cost {
    let mut sum = Cost::default();
    for seed in 0..seeds {
        let truth = truth(&mut Rng::new(seed * 77 + 5));
        let (_, cost) = play(seed, slots, truth, jitter);
        sum.minutes += cost.minutes / seeds as f64;
        sum.runs += cost.runs / seeds as f64;
    }
    sum
}

fn failing(permille: u32) -> impl Fn(&mut Rng) -> Truth {
    move |rng| Truth { bad: (1..=ENTRIES).filter(|_| rng.permille(permille)).collect(), ..Truth::default() }
}

fn flaky(rng: &mut Rng) -> Truth {
    Truth { flakes: 30, ..failing(50)(rng) }
}

fn conflicting(rng: &mut Rng) -> Truth {
    let conflict = (0..10).map(|_| (rng.range(1, 25), rng.range(26, ENTRIES))).collect();
    Truth { conflict, ..failing(50)(rng) }
}

/// The numbers in the planner's documentation:
/// `cargo test -p shopfloor-core --test planner report -- --ignored --nocapture`.
#[test]
#[ignore = "it prints numbers, and takes a minute"]
fn report() {
    for jitter in [0, 15_000] {
        println!("{ENTRIES} entries, minutes / runs, checks of 60 s +- {} s", jitter / 1000);
        println!("| bad | c = 1 | c = 2 | c = 4 | c = 8 |");
        for p in [0, 50, 100, 200, 400] {
            print!("| {} % |", p / 10);
            for slots in [1, 2, 4, 8] {
                let cost = mean(200, slots, jitter, failing(p));
                print!(" {:.1} / {:.0} |", cost.minutes, cost.runs);
            }
            println!();
        }
    }
    for (what, cost) in
        [("3 % flakes", mean(200, 4, 0, flaky)), ("10 conflicts", mean(200, 4, 0, conflicting))]
    {
        println!("5 % bad, c = 4, {what}: {:.1} min, {:.0} runs", cost.minutes, cost.runs);
    }
}

#[test]
fn fifty_green_branches_land_in_less_than_eight_minutes() {
    let (world, cost) = play(1, 4, Truth::default(), 0);
    assert!(world.fates.values().all(|f| *f == Fate::Landed));
    assert!(cost.minutes < 8.0, "{} minutes", cost.minutes);
    assert!(cost.runs < 15.0, "{} runs", cost.runs);
}

/// Minutes of virtual time. One after another, with each red confirmed, they take 50 and one more for
/// each that is bad.
#[test]
fn it_stays_ahead_of_one_after_another_when_things_go_wrong() {
    let worlds: [(&str, f64, Cost); 6] = [
        ("5 % bad", 10.0, mean(20, 4, 0, failing(50))),
        ("20 % bad", 25.0, mean(20, 4, 0, failing(200))),
        ("40 % bad", 35.0, mean(20, 4, 0, failing(400))),
        ("5 % bad, one slot", 25.0, mean(20, 1, 0, failing(50))),
        ("5 % bad and flakes", 12.0, mean(20, 4, 0, flaky)),
        ("5 % bad and conflicts", 10.0, mean(20, 4, 15_000, conflicting)),
    ];
    for (what, most, cost) in worlds {
        assert!(cost.minutes < most, "{what}: {:.1} minutes", cost.minutes);
    }
}
