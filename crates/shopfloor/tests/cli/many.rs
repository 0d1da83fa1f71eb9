//! A floor with a thousand identities.

use crate::floor::{TestFloor, name, now};
use shopfloor_core::ids::{Assignment, Epoch, IssueNumber, JobId, Role, Seq, agent_name, tmux_name};
use shopfloor_core::state::{
    Agent, AgentStatus, ReviewDuty, Session, SessionAsks, SessionClient, SessionState, Stops,
};
use shopfloor_store::sqlite::SqliteStore;
use shopfloor_store::{Commit, NewJournalEntry, Row, Store};
use std::time::Instant;

const COUNT: u64 = 1_000;

/// Straight into the store: a thousand jobs played through would take longer than the test is worth.
fn fill(floor: &TestFloor) {
    let process = shopfloor_adapters::host::process::identify(std::process::id());
    let mut rows = Vec::new();
    for n in 1..=COUNT {
        let (project, assignment) = (name("demo"), Assignment::Issue(IssueNumber(n)));
        let agent = Agent {
            role: Role::DEV,
            name: format!("demo-{n}"),
            project: project.clone(),
            assignment,
            session: Epoch(n),
            predecessor: None,
            status: AgentStatus::Active,
            created_at: now(),
            last_seen: now(),
        };
        let session = Session {
            epoch: Epoch(n),
            job: JobId(n),
            role: Role::DEV,
            project: project.clone(),
            assignment,
            state: SessionState::Live,
            tmux: tmux_name(Role::DEV, &project, assignment, Epoch(n)),
            process,
            phase_file: None,
            phase: None,
            phase_stamp: None,
            created_at: now(),
            last_seen: now(),
            exit_status: None,
            crashed: false,
            predecessor: None,
            client: SessionClient { runtime: "generic".into(), ..SessionClient::default() },
            status: None,
            stops: Stops::default(),
            asks: SessionAsks::default(),
            hold: None,
            handed_back: None,
            end_put_off: false,
            review: ReviewDuty::default(),
        };
        let doc = |json: serde_json::Result<String>| Some(json.unwrap());
        rows.push(Row {
            kind: "agent".into(),
            key: agent_name(Role::DEV, &project, assignment),
            doc: doc(serde_json::to_string(&agent)),
        });
        rows.push(Row {
            kind: "session".into(),
            key: n.to_string(),
            doc: doc(serde_json::to_string(&session)),
        });
    }
    let mut store = SqliteStore::open(&floor.database()).unwrap();
    let (_, expected) = store.rows_since(Seq(0)).unwrap();
    let entry = NewJournalEntry {
        kind: "event".into(),
        project: None,
        issue: None,
        text: String::new(),
        body: "{}".into(),
    };
    store.commit(&Commit { expected, at: now(), entries: vec![entry], rows, ..Commit::default() }).unwrap();
}

/// The aim is 50 ms in a release build; here it is only measured, as machines differ.
#[test]
fn a_thousand_agents_are_listed() {
    let floor = TestFloor::new();
    fill(&floor);
    let agents = floor.json(&["agents"]);
    let agents = agents.as_array().unwrap();
    assert_eq!(agents.len() as u64, COUNT);
    assert!(agents.iter().all(|a| a["liveness"] == "green"));
    // By number, not by name: 2 before 10.
    assert_eq!(agents[1]["bead_id"], "2");
    for args in [&["agents", "--json"][..], &["agents"], &["status"]] {
        let began = Instant::now();
        floor.run(args).fine();
        println!("{args:?} with {COUNT} identities: {:?}", began.elapsed());
    }
}
