//! Records, as they are handed in, and what they come to day by day.

use super::Trend;
use super::line::{Point, fit};
use crate::ids::{IssueNumber, Sha};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
const MEGABYTE: f64 = 1_000_000.0;

/// What is known of a project since some time. Nobody hands in more than they have to: what is older says nothing.
#[derive(Clone, Debug, Default)]
pub struct Records {
    pub since: Time,
    pub now: Time,
    /// Runs of the checks that said red or green.
    pub checks: Vec<CheckRun>,
    pub incidents: Vec<(Time, Incident)>,
    pub issues: Vec<OpenIssue>,
    pub machine: Vec<MachineSample>,
    /// The names of what a predictor was shown within a week.
    pub looked_at: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub struct CheckRun {
    pub at: Time,
    pub took: Duration,
    pub commit: Sha,
    pub red: bool,
    /// The step that decided it, if it is red.
    pub step: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    Crash,
    /// A successor had to be started.
    Respawn,
    /// Nothing is wrong. It says that the floor was there.
    None,
}

#[derive(Clone, Debug)]
pub struct OpenIssue {
    pub number: IssueNumber,
    pub title: String,
    /// When anybody last did anything to it.
    pub touched: Time,
    /// A person made it, or a predictor: what its title names is known. What other agents call theirs hides nothing.
    pub vouched: bool,
}

/// The machine at one time; bytes, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineSample {
    pub at: Time,
    #[serde(default)]
    pub memory_available: Option<u64>,
    #[serde(default)]
    pub disk_free: Option<u64>,
}

/// All series that have points.
pub(super) fn lines(records: &Records) -> Vec<Trend> {
    let day = |at: Time| at.0 / DAY.as_millis() as u64;
    let checks = || records.checks.iter();
    let share = by_day(checks().map(|run| (day(run.at), if run.red { 100.0 } else { 0.0 })), mean);
    let took =
        by_day(checks().filter(|run| !run.red).map(|run| (day(run.at), run.took.as_secs_f64())), median);
    let bytes = |of: fn(&MachineSample) -> Option<u64>| {
        let known = records.machine.iter().filter(|sample| sample.at >= records.since);
        let points = known.filter_map(|sample| Some((day(sample.at), of(sample)? as f64 / MEGABYTE)));
        by_day(points, least)
    };
    let all = [
        ("ci_failures", "%", share),
        ("ci_duration", "s", took),
        ("agent_crashes", "a day", incidents(records, Incident::Crash)),
        ("agent_respawns", "a day", incidents(records, Incident::Respawn)),
        ("memory_available", "MB", bytes(|sample| sample.memory_available)),
        ("disk_free", "MB", bytes(|sample| sample.disk_free)),
    ];
    let trend = |(name, unit, points): (&'static str, &'static str, Vec<Point>)| {
        Some(Trend { name, unit, line: fit(&points)? })
    };
    all.into_iter().filter_map(trend).collect()
}

/// How many there were each day, since the first sign of the floor: a day without any is a point, too.
fn incidents(records: &Records, which: Incident) -> Vec<Point> {
    let day = |at: Time| at.0 / DAY.as_millis() as u64;
    let signs = records.incidents.iter().map(|(at, _)| *at).chain(records.checks.iter().map(|run| run.at));
    let Some(first) = signs.filter(|at| *at >= records.since).min() else { return vec![] };
    let mine = records.incidents.iter().filter(|(at, what)| *what == which && *at >= records.since);
    let days = (day(first)..=day(records.now)).map(|day| (day, 0.0));
    by_day(days.chain(mine.map(|(at, _)| (day(*at), 1.0))), |values| values.iter().sum())
}

/// One point for each day that has any.
fn by_day(values: impl Iterator<Item = (u64, f64)>, of: impl Fn(&[f64]) -> f64) -> Vec<Point> {
    let mut days: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    values.for_each(|(day, value)| days.entry(day).or_default().push(value));
    let first = days.keys().next().copied().unwrap_or(0);
    days.iter().map(|(day, values)| Point { x: (day - first) as f64, y: of(values) }).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// What was left at the worst moment of a day.
fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// How many of a week's runs failed, and how many there were.
pub(super) fn last_week(checks: &[CheckRun], now: Time) -> (usize, usize) {
    let recent = || checks.iter().filter(|run| now.since(run.at) <= WEEK);
    (recent().filter(|run| run.red).count(), recent().count())
}

pub(super) fn incidents_last_week(records: &Records, name: &str) -> usize {
    let which = if name == "agent_crashes" { Incident::Crash } else { Incident::Respawn };
    let recent = |(at, what): &&(Time, Incident)| *what == which && records.now.since(*at) <= WEEK;
    records.incidents.iter().filter(recent).count()
}
