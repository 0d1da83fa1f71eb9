//! The daemon dies at every place of a run it can die at, one after another: before and after each
//! commit, before, inside and after each port call, around each key that is typed. No invariant breaks
//! at any of them.

use shopfloor_sim::{Report, run_with_crash};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Runs tried at every place, and how many of them are of sessions that are typed to; long ones are
/// left to the seeds.
const RUNS: usize = 5;
const TYPED: usize = 3;
const PLACES_MAX: u64 = 700;

fn typed(report: &Report) -> u64 {
    report.coverage.get("message typed").copied().unwrap_or(0)
}

#[test]
fn a_crash_at_any_point_breaks_nothing() {
    let short = |report: &Report| (100..PLACES_MAX).contains(&report.crash_points);
    let runs = || (1..).map(|seed| run_with_crash(seed, None)).filter(short);
    let of_typed = runs().filter(|report| typed(report) >= 4).take(TYPED);
    let others = runs().filter(|report| typed(report) < 4).take(RUNS - TYPED);
    let runs = of_typed.chain(others);
    let places: Vec<(u64, u64)> =
        runs.flat_map(|run| (1..=run.crash_points).map(move |place| (run.seed, place))).collect();
    let (next, keys) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || {
        while let Some((seed, place)) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
            keys.fetch_add(crash(*seed, *place), Ordering::Relaxed);
        }
    };
    // What panics in one of them is the test's panic.
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |cores| cores.get()) {
            scope.spawn(work);
        }
    });
    let keys = keys.into_inner();
    println!("{} crashes, {keys} of them just before a key was typed", places.len());
    assert!(keys > 0, "no daemon died before it typed");
}

/// The daemon dies there. How many keys were just about to be typed.
fn crash(seed: u64, place: u64) -> u64 {
    let report = run_with_crash(seed, Some(place));
    let from = report.trace.len().saturating_sub(60);
    assert!(
        report.violations.is_empty(),
        "seed {seed}, crash at {place}: {:?}\n{}",
        report.violations,
        report.trace[from..].join("\n")
    );
    report.coverage.get("crash between record and act").copied().unwrap_or(0)
}
