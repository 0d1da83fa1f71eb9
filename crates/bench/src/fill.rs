//! A floor with a past: identities, and the sessions, jobs and issues they come from. The core
//! itself makes them, told by made-up events of a world in which everything works.

use crate::floor::BenchFloor;
use anyhow::Result;
use serde::Serialize;
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{Action, Outcome, ProcessId};
use shopfloor_core::event::{Event, Observation, Page};
use shopfloor_core::ids::{IssueNumber, ProjectName, Sha};
use shopfloor_core::policy::Policy;
use shopfloor_core::state::{Floor, Kept};
use shopfloor_core::step::step;
use shopfloor_core::table::{Record, Table};
use shopfloor_core::time::Time;
use shopfloor_store::{Commit, NewJournalEntry, Row, Store};
use std::time::Duration;

/// Longer than anything is kept.
const LONG: Duration = Duration::from_secs(365 * 24 * 3600);

/// Commits `count` ended jobs, each with its issue, its session and its identity, at once.
/// All of them have ended: the daemon has nothing to do, and what is measured is their number.
pub fn identities(bench: &BenchFloor, count: u64) -> Result<()> {
    let mut store = bench.store()?;
    let (_, expected) = store.rows_since(Default::default())?;
    let rows = rows(past(&bench.project(), count));
    let entry = NewJournalEntry {
        kind: "event".into(),
        project: None,
        issue: None,
        text: String::new(),
        body: "{}".into(),
    };
    store.commit(&Commit { expected, at: Time(1), entries: vec![entry], rows, ..Commit::default() })?;
    Ok(())
}

/// A floor on which `count` issues were worked on and closed.
fn past(project: &ProjectName, count: u64) -> Floor {
    let mut world = World { floor: Floor::default(), now: Time(1_700_000_000_000) };
    world.tell(&Event::ProjectSet {
        project: project.clone(),
        checkout: String::new(),
        policy: Policy::default(),
    });
    for n in 1..=count {
        for open in [true, false] {
            let observation = Observation::Issue {
                number: IssueNumber(n),
                title: format!("Issue number {n} of the bench"),
                labels: vec!["backlog".into()],
                open,
                deps: Vec::new(),
                created_at: world.now,
                revision: 0,
                version: Default::default(),
                hints: Default::default(),
            };
            // The real forge has none of these.
            world.tell(&Event::Observed { project: project.clone(), page: Page::of(observation) });
        }
    }
    assert!(world.floor.jobs.iter().all(|job| !job.is_live()), "every job has ended");
    assert_eq!(world.floor.agents.len() as u64, count, "every issue had an agent");
    // Worktrees of jobs that did not land are kept for a while; these are gone.
    world.now = world.now + LONG;
    world.tell(&Event::Tick);
    assert!(world.floor.jobs.iter().all(|job| job.kept() == Kept::default()), "no worktree is left");
    world.floor
}

struct World {
    floor: Floor,
    now: Time,
}

impl World {
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
            phase_file: format!("/nowhere/{}.phase", start.assignment.number()),
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

/// What there is, but for the project: `init` has made that.
fn rows(mut floor: Floor) -> Vec<Row> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_has_an_identity_for_each_issue_and_nothing_to_do() {
        let floor = past(&"bench".parse().unwrap(), 3);
        assert_eq!((floor.jobs.len(), floor.sessions.len(), floor.agents.len()), (3, 3, 3));
        assert!(
            floor.jobs.iter().all(|job| !job.is_live()),
            "what is old goes some day; nothing else is to do"
        );
    }
}
