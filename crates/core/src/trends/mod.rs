//! Trends: what a project's records say of where things are going, with the numbers. Pure: whoever has the records hands
//! them in, bounded, and gets lines, counts, and what of it is worth a person's or a predictor's time.
//!
//! Invariants:
//! - The same records come to the same trends.
//! - Nothing is notable without a number that says why, and without enough of them: a few days say nothing.

mod line;
mod series;

pub use line::{Line, Point, fit};
pub use series::{CheckRun, Incident, MachineSample, OpenIssue, Records};

use crate::ids::{IssueNumber, Sha};
use crate::text::one_line;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

pub const DAYS_DEFAULT: u32 = 14;
pub const DAYS_MAX: u32 = 90;
/// An issue that nobody touched for so long is stale.
pub const STALE_DAYS: u64 = 14;

/// So many points, at least, make a line; and it has to explain that much of them.
const POINTS_MIN: usize = 4;
const R2_MIN: f64 = 0.5;
/// Checks: how many per cent of a week's runs fail, by how many more a week, and of how many runs that is said.
const FAILING_PERCENT: f64 = 30.0;
const FAILING_MORE: f64 = 10.0;
const RUNS_MIN: usize = 5;
/// By how much more of the mean checks take a week, if they take so long at all.
const SLOWER: f64 = 0.25;
const SLOW_SECONDS: f64 = 10.0;
const FLAKES_MIN: usize = 2;
/// In a week, or more of them each week.
const INCIDENTS_MIN: f64 = 5.0;
const INCIDENTS_MORE: f64 = 2.0;
/// What runs out within so many days is worth a word.
const RUNS_OUT_DAYS: f64 = 14.0;
const STALE_MIN: usize = 3;
const STALE_SHARE: f64 = 0.2;
/// Of flaky steps and stale issues so many are named.
const NAMED_MAX: usize = 10;
const NAME_CHARS_MAX: usize = 60;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trends {
    pub trends: Vec<Trend>,
    /// Steps that failed on a commit on which they also passed, those that did most often first.
    pub flaky_steps: Vec<FlakyStep>,
    pub stale_issues: Stale,
    pub notable: Vec<Notable>,
}

/// One series, a point a day, and the line through it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    pub name: &'static str,
    pub unit: &'static str,
    #[serde(flatten)]
    pub line: Line,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlakyStep {
    pub step: String,
    pub flakes: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stale {
    pub open: usize,
    pub stale: usize,
    /// The oldest of them, and for how many days nobody has touched each.
    pub issues: Vec<(IssueNumber, u64)>,
}

/// Something worth a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notable {
    /// A prediction that has this name in its title is about it.
    pub name: String,
    pub why: String,
    /// The open issue that is about it already.
    pub predicted: Option<IssueNumber>,
    /// A predictor was shown it within a week: if it was worth an issue, there is one.
    pub looked_at: bool,
}

const NOTABLE: &str = "notable   ";

impl Notable {
    /// A line of what `shopfloor trends` prints.
    pub fn line(&self) -> String {
        let known = match (self.predicted, self.looked_at) {
            (Some(issue), _) => format!(" (#{issue} is about it)"),
            (None, true) => " (a predictor looked at it within a week)".to_owned(),
            (None, false) => String::new(),
        };
        format!("{NOTABLE}{}: {}{known}", one_line(&self.name, 2 * NAME_CHARS_MAX), self.why)
    }

    /// The names in what it printed.
    pub fn names(printed: &str) -> impl Iterator<Item = &str> {
        printed.lines().filter_map(|line| Some(line.strip_prefix(NOTABLE)?.split_once(": ")?.0))
    }
}

impl Trends {
    pub fn of(records: &Records) -> Trends {
        let mut trends = Trends {
            trends: series::lines(records),
            flaky_steps: flaky(&records.checks),
            stale_issues: stale(records),
            notable: vec![],
        };
        let found =
            trends.trends.iter().filter_map(|trend| Some((trend.name.to_owned(), judge(trend, records)?)));
        let mut notable: Vec<(String, String)> = found.collect();
        for flaky in trends.flaky_steps.iter().filter(|flaky| flaky.flakes >= FLAKES_MIN) {
            let why = format!("it failed {} times on a commit on which it also passed", flaky.flakes);
            notable.push((format!("flaky_step:{}", flaky.step), why));
        }
        let Stale { open, stale, .. } = trends.stale_issues;
        if stale >= STALE_MIN && stale as f64 >= STALE_SHARE * open as f64 {
            let why = format!("nobody has touched {stale} of {open} open issues for {STALE_DAYS} days");
            notable.push(("stale_issues".to_owned(), why));
        }
        trends.notable = notable
            .into_iter()
            .map(|(name, why)| Notable {
                predicted: about(records, &name),
                looked_at: records.looked_at.contains(&name),
                name,
                why,
            })
            .collect();
        trends
    }

    /// Whether there is anything that no open issue is about, and that no predictor has looked at.
    pub fn is_news(&self) -> bool {
        self.notable.iter().any(|notable| notable.predicted.is_none() && !notable.looked_at)
    }
}

/// The open issue that has the name in its title.
fn about(records: &Records, name: &str) -> Option<IssueNumber> {
    let name = name.to_lowercase();
    let has = |title: &str| {
        let title = title.to_lowercase();
        // `flaky_step:unit` is not `flaky_step:unit_tests`.
        let ends =
            |at: usize| !title[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        title.match_indices(&name).any(|(at, _)| ends(at))
    };
    let mut vouched = records.issues.iter().filter(|issue| issue.vouched);
    vouched.find(|issue| has(&issue.title)).map(|issue| issue.number)
}

/// Why a series is worth a look.
fn judge(trend: &Trend, records: &Records) -> Option<String> {
    let line = &trend.line;
    let week = line.slope_per_day * 7.0;
    let is_line = line.n >= POINTS_MIN && line.r2 >= R2_MIN;
    match trend.name {
        "ci_failures" => {
            let (failed, all) = series::last_week(&records.checks, records.now);
            let share = 100.0 * failed as f64 / all.max(1) as f64;
            if all >= RUNS_MIN && share >= FAILING_PERCENT {
                return Some(format!("{failed} of the last week's {all} runs failed"));
            }
            (is_line && week >= FAILING_MORE)
                .then(|| format!("{week:.0} per cent more of the runs fail each week"))
        }
        "ci_duration" => {
            let slower = is_line && line.mean >= SLOW_SECONDS && week >= SLOWER * line.mean;
            slower.then(|| {
                format!("checks take {week:.0} s longer each week, and {:.0} s on average", line.mean)
            })
        }
        "agent_crashes" | "agent_respawns" => {
            let last = series::incidents_last_week(records, trend.name);
            if last as f64 >= INCIDENTS_MIN {
                return Some(format!("{last} in the last week"));
            }
            (is_line && week >= INCIDENTS_MORE).then(|| format!("{week:.1} more a day each week"))
        }
        _ => {
            let left = -line.last / line.slope_per_day;
            let runs_out = is_line && line.slope_per_day < 0.0 && left <= RUNS_OUT_DAYS;
            runs_out.then(|| {
                format!(
                    "{:.0} {} less each day: nothing is left in {left:.0} days",
                    -line.slope_per_day, trend.unit
                )
            })
        }
    }
}

fn flaky(checks: &[CheckRun]) -> Vec<FlakyStep> {
    let green: BTreeSet<&Sha> = checks.iter().filter(|run| !run.red).map(|run| &run.commit).collect();
    let mut steps: BTreeMap<String, usize> = BTreeMap::new();
    for run in checks.iter().filter(|run| run.red && green.contains(&run.commit)) {
        *steps.entry(one_line(&run.step, NAME_CHARS_MAX)).or_default() += 1;
    }
    let mut all: Vec<FlakyStep> =
        steps.into_iter().map(|(step, flakes)| FlakyStep { step, flakes }).collect();
    all.sort_by(|a, b| b.flakes.cmp(&a.flakes).then(a.step.cmp(&b.step)));
    all.truncate(NAMED_MAX);
    all
}

fn stale(records: &Records) -> Stale {
    let days = |issue: &OpenIssue| records.now.since(issue.touched).as_secs() / (24 * 3600);
    let mut old: Vec<(IssueNumber, u64)> = records
        .issues
        .iter()
        .map(|issue| (issue.number, days(issue)))
        .filter(|(_, days)| *days >= STALE_DAYS)
        .collect();
    let stale = old.len();
    old.sort_by_key(|(number, days)| (std::cmp::Reverse(*days), *number));
    old.truncate(NAMED_MAX);
    Stale { open: records.issues.len(), stale, issues: old }
}

#[cfg(test)]
mod tests;
