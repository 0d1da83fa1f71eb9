//! The daemon dies at every place of a run it can die at, one after another: before and after each
//! commit, before, inside and after each port call, around each key that is typed. No invariant breaks
//! at any of them.

use shopfloor_sim::{Report, run_with_crash};

/// Runs tried at every place, and how many of them are of sessions that are typed to; long ones are
/// left to the seeds.
const RUNS: usize = 5;
const TYPED: usize = 3;
const PLACES_MAX: u64 = 500;

fn typed(report: &Report) -> u64 {
    report.coverage.get("message typed").copied().unwrap_or(0)
}

#[test]
fn a_crash_at_any_point_breaks_nothing() {
    let short = |report: &Report| (100..PLACES_MAX).contains(&report.crash_points);
    let runs = || (1..).map(|seed| run_with_crash(seed, None)).filter(short);
    let of_typed = runs().filter(|report| typed(report) >= 4).take(TYPED);
    let others = runs().filter(|report| typed(report) < 4).take(RUNS - TYPED);
    let (mut places, mut keys) = (0, 0);
    for run in of_typed.chain(others) {
        for place in 1..=run.crash_points {
            let report = run_with_crash(run.seed, Some(place));
            let from = report.trace.len().saturating_sub(60);
            assert!(
                report.violations.is_empty(),
                "seed {}, crash at {place}: {:?}\n{}",
                run.seed,
                report.violations,
                report.trace[from..].join("\n")
            );
            keys += report.coverage.get("crash between record and act").copied().unwrap_or(0);
        }
        places += run.crash_points;
    }
    println!("{places} crashes, {keys} of them just before a key was typed");
    assert!(keys > 0, "no daemon died before it typed");
}
