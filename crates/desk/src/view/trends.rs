//! Trends of a project, from the records of its checks, its notes, its issues and the machine.
//!
//! Invariant: what this costs follows the days that are asked for, and never how old the floor is. Each reader is bounded
//! besides.

use crate::time::moment;
use crate::{Desk, Result, answer, now};
use serde::Serialize;
use shopfloor_adapters::host::samples;
use shopfloor_core::effect::CiVerdict;
use shopfloor_core::event::NoteKind;
use shopfloor_core::forge::{IssueFilter, IssueState};
use shopfloor_core::ids::{IssueNumber, ProjectName, Role, Seq};
use shopfloor_core::state::{Floor, Run, RunResult, RunState};
use shopfloor_core::time::Time;
use shopfloor_core::trends::{CheckRun, Incident, Notable, OpenIssue, Records, Trends};
use shopfloor_store::ci::CiRun;
use shopfloor_store::{JournalEntry, NoteFilter, Store};
use std::collections::BTreeSet;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Enough for three months of most projects; of a busier one, what is newest.
const RUNS_MAX: usize = 2_000;
const NOTES_MAX: usize = 20_000;

#[derive(Serialize)]
pub struct TrendsView {
    pub project: ProjectName,
    pub since: String,
    pub days: u32,
    #[serde(flatten)]
    pub found: Trends,
}

impl TrendsView {
    pub fn new(desk: &Desk, project: &ProjectName, days: u32) -> Result<TrendsView> {
        let since = now() - DAY * days;
        let found = Trends::of(&records(desk, project, since)?);
        Ok(TrendsView { project: project.clone(), since: moment(since), days, found })
    }
}

fn records(desk: &Desk, project: &ProjectName, since: Time) -> Result<Records> {
    let runs = desk.ci()?.list(project, RUNS_MAX)?;
    let filter = IssueFilter { state: Some(IssueState::Open), ..IssueFilter::default() };
    let issues = answer(desk.forge(project)?.issues(&filter))?;
    let floor = desk.floor()?;
    let vouched = |number: IssueNumber| {
        let known = floor.issues.get(&(project.clone(), number));
        known.is_none_or(|issue| issue.by.is_none_or(|role| role == Role::PREDICTOR))
    };
    Ok(Records {
        since,
        now: now(),
        checks: runs.into_iter().filter(|run| run.started_at >= since).filter_map(check).collect(),
        incidents: incidents(&notes(desk, project, since)?),
        issues: issues
            .into_iter()
            .map(|issue| OpenIssue {
                number: issue.number,
                title: issue.title,
                touched: issue.updated_at,
                vouched: vouched(issue.number),
            })
            .collect(),
        machine: samples::read(&desk.layout.samples()),
        looked_at: looked_at(&floor, project),
    })
}

/// What the commands of predictors' runs told their agents.
fn looked_at(floor: &Floor, project: &ProjectName) -> BTreeSet<String> {
    let lately = |run: &&Run| {
        let done = matches!(run.state, RunState::Ended { result: RunResult::Done, at, .. } if now().since(at) < DAY * 7);
        run.project == *project && run.recipe.role == Role::PREDICTOR && done
    };
    let printed =
        floor.runs.iter().filter(lately).flat_map(|run| &run.steps).map(|step| step.output.as_str());
    printed.flat_map(Notable::names).map(str::to_owned).collect()
}

/// Only what says something of the commit.
fn check(run: CiRun) -> Option<CheckRun> {
    let red = match run.verdict? {
        CiVerdict::Green => false,
        CiVerdict::Red | CiVerdict::TimedOut => true,
        _ => return None,
    };
    let took = run.finished_at?.since(run.started_at);
    Some(CheckRun { at: run.started_at, took, commit: run.commit, red, step: run.step.unwrap_or_default() })
}

/// The notes since then, oldest first.
pub(super) fn notes(desk: &Desk, project: &ProjectName, since: Time) -> Result<Vec<JournalEntry>> {
    let mut store = desk.reader()?;
    let after = position_before(&mut *store, since)?;
    let filter = NoteFilter { after, since, project: Some(project.to_string()), ..NoteFilter::default() };
    Ok(store.last_notes(&filter, NOTES_MAX)?)
}

/// Where in the journal that time begins, found by halves: what is older is not read.
fn position_before(store: &mut dyn Store, since: Time) -> Result<Seq> {
    let (mut low, mut high) = (0, store.position()?.0);
    while low < high {
        let middle = low + (high - low) / 2;
        match store.journal(Seq(middle), 1)?.pop() {
            Some(entry) if entry.at < since => low = entry.seq.0,
            _ => high = middle,
        }
    }
    Ok(Seq(low))
}

fn incidents(notes: &[JournalEntry]) -> Vec<(Time, Incident)> {
    let mut known = BTreeSet::new();
    let first = notes.first().map(|note| (note.at, Incident::None));
    let of_note = |note: &JournalEntry| {
        let is = |kind: NoteKind| note.kind == kind.as_str();
        // The same agent registers again: it is its own successor.
        let agent = note.text.split_once(',').map_or(note.text.as_str(), |(agent, _)| agent);
        let incident = if is(NoteKind::AgentCrashed) {
            Incident::Crash
        } else if is(NoteKind::AgentRegistered) && !known.insert(agent.to_owned()) {
            Incident::Respawn
        } else {
            return None;
        };
        Some((note.at, incident))
    };
    let found: Vec<(Time, Incident)> = notes.iter().filter_map(of_note).collect();
    first.into_iter().chain(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_store::memory::MemoryStore;
    use shopfloor_store::{Commit, NewJournalEntry};

    fn note(kind: NoteKind, text: &str) -> NewJournalEntry {
        NewJournalEntry {
            kind: kind.as_str().into(),
            project: Some("p".into()),
            issue: None,
            text: text.into(),
            body: "{}".into(),
        }
    }

    #[test]
    fn the_journal_is_read_from_the_time_that_is_asked_for() {
        let mut store = MemoryStore::default();
        for at in 1..=100 {
            let expected = store.position().expect("a position");
            let entries = vec![note(NoteKind::AgentCrashed, "x"), note(NoteKind::AgentCrashed, "y")];
            let commit = Commit { expected, at: Time(at * 10), entries, ..Commit::default() };
            store.commit(&commit).expect("committed");
        }
        for (since, after) in [(0, 0), (10, 0), (11, 2), (500, 98), (505, 100), (1000, 198), (1001, 200)] {
            assert_eq!(position_before(&mut store, Time(since)).expect("found"), Seq(after), "{since}");
        }
    }

    #[test]
    fn an_agent_that_registers_again_was_respawned() {
        let entry = |at: u64, kind: NoteKind, text: &str| JournalEntry {
            seq: Seq(at),
            at: Time(at),
            kind: kind.as_str().into(),
            project: None,
            issue: None,
            text: text.into(),
            body: String::new(),
        };
        let notes = [
            entry(1, NoteKind::JobStarted, "it begins"),
            entry(2, NoteKind::AgentRegistered, "dev-p-1, session 1"),
            entry(3, NoteKind::AgentCrashed, "session 1 stopped"),
            entry(4, NoteKind::AgentRegistered, "dev-p-1, session 2"),
            entry(5, NoteKind::AgentRegistered, "dev-p-2, session 3"),
        ];
        let found = [(Time(1), Incident::None), (Time(3), Incident::Crash), (Time(4), Incident::Respawn)];
        assert_eq!(incidents(&notes), found);
    }
}
