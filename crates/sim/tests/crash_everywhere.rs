//! The daemon dies at every place of a run it can die at, one after another: before and after each
//! commit, before, inside and after each port call. No invariant breaks at any of them.

use shopfloor_sim::run_with_crash;

/// Runs tried at every place; long ones are left to the seeds.
const RUNS: usize = 5;
const PLACES_MAX: u64 = 500;

#[test]
fn a_crash_at_any_point_breaks_nothing() {
    let short = |seed: &(u64, u64)| (100..PLACES_MAX).contains(&seed.1);
    let runs = (1..).map(|seed| (seed, run_with_crash(seed, None).crash_points)).filter(short).take(RUNS);
    let (mut places, mut typed) = (0, 0);
    for (seed, points) in runs {
        for place in 1..=points {
            let report = run_with_crash(seed, Some(place));
            typed += report.coverage.get("crash between record and act").copied().unwrap_or(0);
            let from = report.trace.len().saturating_sub(60);
            assert!(
                report.violations.is_empty(),
                "seed {seed}, crash at {place}: {:?}\n{}",
                report.violations,
                report.trace[from..].join("\n")
            );
        }
        places += points;
    }
    println!("{places} crashes, {typed} of them before something was typed");
    assert!(typed > 0, "no session of these runs is typed to");
}
