//! A floor with a past: identities, and the sessions, jobs and issues they come from. The core
//! itself makes them, told by made-up events of a world in which everything works.

use crate::floor::BenchFloor;
use anyhow::Result;
use serde::Serialize;
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{Action, Outcome, ProcessId, Tidy};
use shopfloor_core::event::{Event, Observation, Page};
use shopfloor_core::ids::{IssueNumber, ProjectName, Sha};
use shopfloor_core::policy::Policy;
use shopfloor_core::state::{Floor, Job, Kept};
use shopfloor_core::step::{step, tidy_order};
use shopfloor_core::table::{Record, Table};
use shopfloor_core::time::Time;
use shopfloor_engine::Engine;
use shopfloor_store::{Commit, NewJournalEntry, Row, Store};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Long enough for all of it to be over by now.
const LONG_AGO: Time = Time(1_000_000_000_000);
/// Longer than a worktree is kept.
const LONG: Duration = Duration::from_secs(30 * 24 * 3600);

/// Commits `count` ended jobs, each with its issue, its session and its identity, at once.
/// All of them have ended: the daemon has nothing to do, and what is measured is their number.
pub fn identities(bench: &BenchFloor, count: u64) -> Result<()> {
    let mut store = bench.store()?;
    let (_, expected) = store.rows_since(Default::default())?;
    let rows = past(&bench.project(), count);
    let entry = NewJournalEntry {
        kind: "event".into(),
        project: None,
        issue: None,
        text: String::new(),
        body: "{}".into(),
    };
    store.commit(&Commit { expected, at: Time(1), entries: vec![entry], rows, ..Commit::default() })?;
    // A daemon that starts puts on the shelf what nothing needs.
    Engine::open(store)?.submit(Time(1), &Event::Resumed)?;
    Ok(())
}

/// Lived through at a time: what has ended slows the core down, and is not what is measured here.
const BATCH: u64 = 100;

/// The rows of a floor on which `count` issues were worked on and closed, but for the project: `init` has made that.
fn past(project: &ProjectName, count: u64) -> Vec<Row> {
    let mut world = World { floor: Floor::default(), now: LONG_AGO };
    world.tell(&Event::ProjectSet {
        project: project.clone(),
        checkout: String::new(),
        policy: Policy::default(),
    });
    let mut all = Vec::new();
    for first in (1..=count).step_by(BATCH as usize) {
        world.live_through(project, first..=count.min(first + BATCH - 1));
        all.extend(rows(&mut world.floor));
        let Floor { counters, projects, .. } = std::mem::take(&mut world.floor);
        world.floor = Floor { counters, projects, ..Floor::default() };
    }
    all
}

struct World {
    floor: Floor,
    now: Time,
}

impl World {
    /// Each issue is worked on and closed, and nothing is left to do.
    fn live_through(&mut self, project: &ProjectName, issues: RangeInclusive<u64>) {
        let count = issues.clone().count();
        for n in issues {
            for open in [true, false] {
                let observation = Observation::Issue {
                    number: IssueNumber(n),
                    title: format!("Issue number {n} of the bench"),
                    labels: vec!["backlog".into()],
                    open,
                    deps: Vec::new(),
                    created_at: self.now,
                    by: None,
                    revision: 0,
                    version: Default::default(),
                    hints: Default::default(),
                };
                self.tell(&Event::Observed { project: project.clone(), page: Page::of(observation) });
            }
        }
        // Worktrees of jobs that did not land are kept for a while; these are gone.
        self.now = self.now + LONG;
        self.tell(&Event::Tick);
        let gone = |job: &Job| !job.is_live() && job.kept() == Kept::default();
        assert!(self.floor.jobs.iter().all(gone), "every job has ended, and no worktree is left");
        assert_eq!(self.floor.agents.len(), count, "every issue had an agent");
    }

    /// Takes in an event, then the outcomes of all it led to.
    fn tell(&mut self, event: &Event) {
        self.now = self.now + Duration::from_secs(1);
        for action in step(&mut self.floor, self.now, event).effects {
            let outcome = outcome(&self.floor, &action);
            self.tell(&Event::Performed { action, outcome });
        }
    }
}

fn outcome(floor: &Floor, action: &Action) -> Outcome {
    match action {
        Action::PrepareWorktree { branch, .. } => Outcome::WorktreeReady(outcome::WorktreeReady {
            path: format!("/nowhere/{branch}"),
            head: sha(),
            notes: Vec::new(),
        }),
        Action::StartSession(start) => Outcome::SessionStarted(outcome::SessionStarted {
            tmux: format!("bench-{}", start.epoch),
            process: ProcessId { pid: 0, start: 0 },
            phase_file: format!("/nowhere/{}.phase", start.assignment.tag()),
            runtime: "generic".into(),
            prompt: None,
            notes: Vec::new(),
        }),
        action => floor.uneventful(action),
    }
}

fn sha() -> Sha {
    "0".repeat(40).parse().expect("forty digits")
}

fn rows(floor: &mut Floor) -> Vec<Row> {
    let mut rows = Vec::new();
    collect(&mut floor.counters, &mut rows);
    collect(&mut floor.issues, &mut rows);
    collect(&mut floor.jobs, &mut rows);
    collect(&mut floor.sessions, &mut rows);
    collect(&mut floor.agents, &mut rows);
    rows
}

fn collect<R: Record + Serialize>(table: &mut Table<R>, rows: &mut Vec<Row>) {
    for (key, record) in table.take_touched() {
        let doc = record.map(|r| serde_json::to_string(r).expect("records have string keys only"));
        rows.push(Row { kind: R::KIND.into(), key, doc });
    }
}

/// The order to pack what has grown while nobody works.
pub fn when_idle(project: &ProjectName) -> Tidy {
    Tidy { idle: true, ..tidy_order(&Floor::default(), project, Time(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_past_has_an_identity_for_each_issue_and_nothing_to_do() {
        let count = BATCH + 3;
        let rows = past(&"bench".parse().unwrap(), count);
        for kind in ["issue", "job", "session", "agent"] {
            let keys: BTreeSet<&str> = rows.iter().filter(|r| r.kind == kind).map(|r| &*r.key).collect();
            assert_eq!(keys.len() as u64, count, "{kind}");
        }
    }
}
