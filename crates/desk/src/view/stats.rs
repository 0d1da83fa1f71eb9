//! How a merge queue is doing, from the records of its entries and runs.

use crate::time::moment;
use crate::{Desk, Result, now};
use serde::Serialize;
use shopfloor_core::effect::{CiVerdict, CommitSource};
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::state::{Entry, EntryState, Floor};
use shopfloor_core::time::Time;
use shopfloor_store::ci::CiRun;
use std::collections::BTreeMap;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How many runs are looked at: more than a month of a busy queue.
const RUNS_MAX: usize = 20_000;

/// The median, and what nine out of ten stay below.
#[derive(Serialize, Debug, PartialEq)]
pub struct Spread {
    pub median_seconds: u64,
    pub p90_seconds: u64,
}

#[derive(Serialize, Debug, PartialEq)]
pub struct QueueStats {
    pub project: ProjectName,
    /// The beginning of the period: when the oldest record was made, if that is later than what was asked
    /// for.
    pub since: String,
    pub landed: usize,
    pub failed: usize,
    pub conflicted: usize,
    pub cancelled: usize,
    pub landed_per_day: f64,
    /// From the request to the primary branch.
    pub time_to_land: Option<Spread>,
    /// How many landed at once: the mean, and the most.
    pub batch_mean: Option<f64>,
    pub batch_max: usize,
    /// Runs of candidates, and of the primary branch itself.
    pub runs: usize,
    pub runs_per_landed: Option<f64>,
    /// How many fewer there were than with one for each change that landed.
    pub runs_saved: usize,
    pub checks: Option<Spread>,
    /// Steps that failed on a commit on which they also passed, and how often.
    pub flakes: BTreeMap<String, usize>,
}

/// For one project's queues or for all, that many days back.
pub fn all(desk: &Desk, floor: &Floor, only: Option<&ProjectName>, days: u32) -> Result<Vec<QueueStats>> {
    let from = now() - DAY * days;
    let mut all = Vec::new();
    for project in floor.projects.iter().filter(|p| only.is_none_or(|only| p.name == *only)) {
        let entries = floor.entries.iter().filter(|e| e.project == project.name);
        let runs = desk.ci()?.list(&project.name, RUNS_MAX)?;
        all.push(of(&project.name, entries, &runs, from, now()));
    }
    Ok(all)
}

fn of<'e>(
    project: &ProjectName,
    entries: impl Iterator<Item = &'e Entry>,
    runs: &[CiRun],
    from: Time,
    now: Time,
) -> QueueStats {
    let entries: Vec<&Entry> = entries.collect();
    let since = entries.iter().map(|e| e.requested_at).min().unwrap_or(now).max(from);
    let decided: Vec<(&Entry, Time)> =
        entries.iter().filter_map(|e| Some((*e, e.decided_at.filter(|at| *at >= from)?))).collect();
    let count = |is: fn(&EntryState) -> bool| decided.iter().filter(|(e, _)| is(&e.state)).count();
    let landed: Vec<(&Entry, Time)> =
        decided.iter().filter(|(e, _)| matches!(e.state, EntryState::Merged { .. })).copied().collect();
    let runs: Vec<&CiRun> = runs.iter().filter(|r| r.started_at >= since).collect();
    let queued: Vec<&&CiRun> = runs.iter().filter(|r| r.source == CommitSource::Queue).collect();

    // What lands in one step lands at the same time.
    let mut batches: BTreeMap<Time, usize> = BTreeMap::new();
    landed.iter().for_each(|(_, at)| *batches.entry(*at).or_default() += 1);
    let took = |run: &&&CiRun| {
        let told = matches!(run.verdict, Some(CiVerdict::Green | CiVerdict::Red));
        told.then(|| Some(run.finished_at?.since(run.started_at)))?
    };
    let days = now.since(since).as_secs_f64() / DAY.as_secs_f64();
    QueueStats {
        project: project.clone(),
        since: moment(since),
        landed: landed.len(),
        failed: count(|s| matches!(s, EntryState::Failed { .. })),
        conflicted: count(|s| matches!(s, EntryState::Conflicted { .. })),
        cancelled: count(|s| matches!(s, EntryState::Cancelled { .. })),
        // Less than an hour says nothing about a day.
        landed_per_day: tenths(landed.len() as f64 / days.max(1.0 / 24.0)),
        time_to_land: spread(landed.iter().map(|(e, at)| at.since(e.requested_at)).collect()),
        batch_mean: mean(landed.len(), batches.len()),
        batch_max: batches.values().copied().max().unwrap_or(0),
        runs: queued.len(),
        runs_per_landed: mean(queued.len(), landed.len()),
        runs_saved: landed.len().saturating_sub(queued.len()),
        checks: spread(queued.iter().filter_map(took).collect()),
        flakes: flakes(&runs),
    }
}

fn flakes(runs: &[&CiRun]) -> BTreeMap<String, usize> {
    let is = |run: &&&CiRun, verdict| run.verdict == Some(verdict);
    let green: Vec<&Sha> = runs.iter().filter(|r| is(r, CiVerdict::Green)).map(|r| &r.commit).collect();
    let red = runs.iter().filter(|r| is(r, CiVerdict::Red) && green.contains(&&r.commit));
    let mut steps = BTreeMap::new();
    red.for_each(|run| *steps.entry(run.step.clone().unwrap_or_default()).or_default() += 1);
    steps
}

fn mean(sum: usize, count: usize) -> Option<f64> {
    (count > 0).then(|| tenths(sum as f64 / count as f64))
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn spread(mut all: Vec<Duration>) -> Option<Spread> {
    all.sort();
    let at = |share: f64| all[((all.len() - 1) as f64 * share).round() as usize].as_secs();
    (!all.is_empty()).then(|| Spread { median_seconds: at(0.5), p90_seconds: at(0.9) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::ids::RunId;

    fn run(run: u64, commit: char, verdict: CiVerdict, seconds: u64) -> CiRun {
        let started_at = Time(1_000_000);
        CiRun {
            run: RunId(run),
            project: "p".parse().expect("a name"),
            issue: None,
            commit: commit.to_string().repeat(40).parse().expect("a commit"),
            source: CommitSource::Queue,
            verdict: Some(verdict),
            step: (verdict == CiVerdict::Red).then(|| "unit".to_owned()),
            log: None,
            started_at,
            finished_at: Some(started_at + Duration::from_secs(seconds)),
            steps: vec![],
        }
    }

    #[test]
    fn a_step_is_flaky_if_it_passed_on_the_same_commit() {
        let runs = [
            run(1, 'a', CiVerdict::Red, 10),
            run(2, 'a', CiVerdict::Green, 20),
            run(3, 'b', CiVerdict::Red, 30),
            run(4, 'c', CiVerdict::Cancelled, 40),
        ];
        let stats = of(&"p".parse().expect("a name"), [].iter(), &runs, Time(0), Time(1_000_000));
        assert_eq!(stats.flakes, BTreeMap::from([("unit".to_owned(), 1)]));
        assert_eq!(stats.checks, Some(Spread { median_seconds: 20, p90_seconds: 30 }));
        assert_eq!((stats.landed, stats.runs_per_landed, stats.batch_mean), (0, None, None));
    }
}
