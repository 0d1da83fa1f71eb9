use super::*;
use crate::time::Time;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);
const NOW: Time = Time(1_800_000_000_000);

fn ago(days: u32) -> Time {
    NOW - DAY * days
}

fn run(days: u32, commit: char, red: bool, seconds: u64) -> CheckRun {
    let commit = commit.to_string().repeat(40).parse().expect("a commit");
    let step = if red { "unit".to_owned() } else { String::new() };
    CheckRun { at: ago(days), took: Duration::from_secs(seconds), commit, red, step }
}

fn issue(number: u64, title: &str, days: u32) -> OpenIssue {
    OpenIssue { number: IssueNumber(number), title: title.into(), touched: ago(days), vouched: true }
}

fn records() -> Records {
    Records { since: ago(14), now: NOW, ..Records::default() }
}

fn notable(records: &Records) -> Vec<String> {
    Trends::of(records).notable.into_iter().map(|notable| notable.name).collect()
}

fn trend(records: &Records, name: &str) -> Line {
    let all = Trends::of(records).trends;
    all.iter().find(|trend| trend.name == name).unwrap_or_else(|| panic!("{all:?}")).line
}

#[test]
fn nothing_is_notable_where_there_is_nothing_or_little() {
    assert_eq!(notable(&records()), [""; 0]);
    assert_eq!(Trends::of(&records()).trends, []);
    // Three days of anything are no trend.
    let checks = (0..3).map(|day| run(day, 'a', false, 100 - 30 * u64::from(day))).collect();
    let machine = (0..3).map(|day| sample(day, 10 * (u64::from(day) + 1))).collect();
    assert_eq!(notable(&Records { checks, machine, ..records() }), [""; 0]);
}

#[test]
fn checks_that_fail_more_often_or_take_longer_are_told_with_their_numbers() {
    // On each day more of ten runs fail, and the others take longer.
    let day = |day: u32| {
        let red = 10 - day;
        (0..20).map(move |n| run(day + 7, 'a', n < red / 2, 60 + 10 * u64::from(10 - day)))
    };
    let checks: Vec<CheckRun> = (0..7).flat_map(day).collect();
    let found = Records { checks, ..records() };
    assert_eq!(trend(&found, "ci_duration").slope_per_day, 10.0);
    let failures = trend(&found, "ci_failures");
    assert!(failures.slope_per_day > 2.0 && failures.r2 > 0.9 && failures.n == 7, "{failures:?}");
    let names = notable(&found);
    assert!(names.contains(&"ci_failures".into()) && names.contains(&"ci_duration".into()), "{names:?}");
    // Many that fail are worth a word, whatever the line.
    let checks = (0..6).map(|n| run(1, 'b', n % 2 == 0, 60)).collect();
    let found = Trends::of(&Records { checks, ..records() });
    assert_eq!(found.notable[0].why, "3 of the last week's 6 runs failed");
    // Few of many are not.
    let checks = (0..20).map(|n| run(n % 10, 'c', n == 0, 60)).collect();
    assert_eq!(notable(&Records { checks, ..records() }), [""; 0]);
}

#[test]
fn a_step_is_flaky_if_it_is_red_and_green_on_one_commit_more_than_once() {
    let mut checks = vec![run(1, 'a', true, 1), run(1, 'a', false, 1), run(2, 'b', true, 1)];
    let once = Trends::of(&Records { checks: checks.clone(), ..records() });
    assert_eq!(once.flaky_steps, [FlakyStep { step: "unit".into(), flakes: 1 }]);
    assert!(once.notable.is_empty(), "{:?}", once.notable);
    checks.push(run(2, 'b', false, 1));
    let issues = vec![issue(7, "flaky_step:unit_tests is flaky", 0)];
    let twice = Records { checks, issues, ..records() };
    assert!(notable(&twice).contains(&"flaky_step:unit".to_owned()), "{:?}", notable(&twice));
    assert!(Trends::of(&twice).is_news(), "another step's prediction is another matter");
}

fn sample(days: u32, megabytes: u64) -> MachineSample {
    let bytes = Some(megabytes * 1_000_000);
    MachineSample { at: ago(days), memory_available: Some(8_000_000_000), disk_free: bytes }
}

#[test]
fn what_runs_out_soon_is_told_and_what_runs_out_some_day_is_not() {
    let falling = |per_day: u64| {
        let machine = (0..10).map(|day| sample(day, 1000 + per_day * u64::from(day))).collect();
        Records { machine, ..records() }
    };
    let soon = falling(200);
    assert_eq!(trend(&soon, "disk_free").slope_per_day, -200.0);
    let found = Trends::of(&soon);
    assert_eq!(found.notable.len(), 1, "memory does not move: {:?}", found.notable);
    assert_eq!(found.notable[0].why, "200 MB less each day: nothing is left in 5 days");
    assert_eq!(notable(&falling(20)), [""; 0]);
    // Growing is no harm.
    let machine = (0..10).map(|day| sample(day, 5000 - 200 * u64::from(day))).collect();
    assert_eq!(notable(&Records { machine, ..records() }), [""; 0]);
}

#[test]
fn crashes_are_counted_by_day_and_days_without_any_count() {
    let mut incidents = vec![(ago(13), Incident::None)];
    incidents.extend((0..5).map(|day| (ago(day), Incident::Crash)));
    let found = Records { incidents, ..records() };
    let crashes = trend(&found, "agent_crashes");
    assert_eq!((crashes.n, crashes.first, crashes.last), (14, 0.0, 1.0));
    assert_eq!(trend(&found, "agent_respawns").mean, 0.0);
    assert_eq!(notable(&found), ["agent_crashes"]);
}

#[test]
fn issues_that_nobody_touches_are_stale() {
    let mut issues: Vec<OpenIssue> = (1..=3).map(|n| issue(n, "Old", 14 + n as u32)).collect();
    issues.push(issue(4, "New", 13));
    let found = Trends::of(&Records { issues: issues.clone(), ..records() });
    let oldest = (IssueNumber(3), 17);
    assert_eq!(
        (found.stale_issues.open, found.stale_issues.stale, found.stale_issues.issues[0]),
        (4, 3, oldest)
    );
    assert!(found.is_news());
    // Somebody has said so already.
    issues.push(issue(5, "Prediction: Stale_Issues pile up", 1));
    let known = Trends::of(&Records { issues: issues.clone(), ..records() });
    assert_eq!((known.notable[0].predicted, known.is_news()), (Some(IssueNumber(5)), false));
    // Nor is it news a day after a predictor was shown it, whatever came of that.
    let printed = format!(
        "TREND  UNIT\n{}\n",
        Trends::of(&Records { issues: issues[..4].to_vec(), ..records() }).notable[0].line()
    );
    let looked_at: BTreeSet<String> = Notable::names(&printed).map(str::to_owned).collect();
    let seen = Trends::of(&Records { issues: issues[..4].to_vec(), looked_at, ..records() });
    assert_eq!((seen.notable[0].looked_at, seen.is_news()), (true, false), "{printed}");
    // And no agent that is up to something else can.
    let mut hidden = issues.clone();
    hidden[4].vouched = false;
    assert!(Trends::of(&Records { issues: hidden, ..records() }).is_news());
    issues.extend((10..40).map(|n| issue(n, "New", 0)));
    assert_eq!(notable(&Records { issues, ..records() }), [""; 0], "few of many");
}
