//! Jobs, agents and the merge queue, from the outside. The daemon's part is played by the test.

use crate::floor::{HEAD, TestFloor, name, now};
use serde_json::{Value, json};
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{CiReport, CiVerdict, Outcome, ProcessId};
use shopfloor_core::event::{Event, Page};
use shopfloor_core::forge::Cursor;
use shopfloor_core::ids::{EffectId, Epoch, PrNumber};
use shopfloor_core::liveness::{Confidence, State};
use shopfloor_core::phase::{Phase, PhaseReport};
use shopfloor_core::state::SessionStatus;
use shopfloor_store::Store;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;

#[test]
fn a_job_at_work_is_shown_everywhere() {
    let floor = TestFloor::new();
    let process = floor.at_work();
    let status = floor.json(&["status"]);
    assert_eq!(status["floor"]["daemon"], json!({ "running": false }));
    assert_eq!(status["floor"]["home"], floor.home().to_str().unwrap());
    let job = &status["jobs"][0];
    assert_eq!(job["issue"], 1);
    assert_eq!(job["title"], "Say hello");
    assert_eq!(job["state"], "working");
    assert_eq!(job["phase"], Value::Null);
    assert_eq!(job["branch"], "fix/issue-1");
    assert_eq!(job["pr"], Value::Null);
    assert_eq!(job["session"], "dev-demo-1-e1");
    assert_eq!(job["project"], "demo");
    assert!(job["since"].as_str().unwrap() < job["deadline"].as_str().unwrap());
    assert_eq!(status["waiting"], json!([]));
    floor.run(&["status"]).fine().shows("working, ").shows("dev-demo-1-e1");
    floor.run(&["issue", "list"]).fine().shows("working for ");

    let agents = floor.json(&["agents"]);
    let agent = agents[0].as_object().unwrap();
    let names: Vec<&str> = [
        "role",
        "name",
        "session_id",
        "pid",
        "tmux_session",
        "node_id",
        "bead_id",
        "worktree_path",
        "hook_path",
        "created_at",
        "last_seen",
        "status",
        "predecessor_id",
        "liveness",
    ]
    .to_vec();
    for field in names {
        assert!(agent.contains_key(field), "no {field} in {agent:?}");
    }
    assert_eq!(agent["role"], "dev");
    assert_eq!(agent["name"], "demo-1");
    assert_eq!(agent["session_id"], "e1");
    assert_eq!(agent["pid"], process.pid);
    assert_eq!(agent["bead_id"], "1");
    assert_eq!(agent["status"], "active");
    assert_eq!(agent["liveness"], "green");
    assert!(agent["worktree_path"].as_str().unwrap().ends_with("worktrees/issue-1"));
    let human = floor.run(&["agents"]).fine();
    human.shows("dev-demo-1").shows("green (its process runs)");
    let columns: Vec<&str> = human.stdout.lines().next().unwrap().split("  ").map(str::trim).collect();
    let columns: Vec<&str> = columns.into_iter().filter(|c| !c.is_empty()).collect();
    assert_eq!(
        columns,
        ["AGENT", "ROLE", "ISSUE", "SESSION", "LAST SEEN", "PHASE", "STATUS", "CONTEXT", "COST", "LIVENESS"]
    );
    human.shows("#1").shows("investigation").shows("active ");
    assert!(!human.stdout.contains('\u{1b}'), "no colour without a terminal");
}

#[test]
fn a_dead_agent_is_red_and_its_successor_names_it() {
    let floor = TestFloor::new();
    let process = floor.at_work();
    floor.submit(&Event::SessionExited { epoch: Epoch(1), status: Some(137) });
    let agent = &floor.json(&["agents"])[0];
    assert_eq!((&agent["status"], &agent["liveness"]), (&json!("crashed"), &json!("red")));
    floor.run(&["agents"]).fine().shows("red (crashed)");
    // What it left is cleared away and the backoff is over: a successor is started.
    let ended =
        Outcome::SessionEnded(outcome::SessionEnded { rescue: None, last_output: String::new(), note: None });
    floor.perform("end_session", ended);
    let later = now() + std::time::Duration::from_secs(3600);
    floor.engine().submit(later, &Event::Tick).unwrap();
    let agents = floor.json(&["agents"]);
    assert_eq!(agents.as_array().unwrap().len(), 1, "the identity stays the same");
    let agent = &agents[0];
    assert_eq!((&agent["session_id"], &agent["predecessor_id"]), (&json!("e2"), &json!("e1")));
    assert_eq!((&agent["status"], &agent["liveness"]), (&json!("active"), &json!("yellow")));
    let process = ProcessId { pid: process.pid, start: process.start + 1 };
    let (tmux, phase_file) = ("dev-demo-1-e2".into(), "/nowhere/phase".into());
    let (runtime, prompt) = ("generic".into(), None);
    floor.perform(
        "start_session",
        Outcome::SessionStarted(outcome::SessionStarted {
            tmux,
            process,
            phase_file,
            runtime,
            prompt,
            notes: vec![],
        }),
    );
    // Somebody else has its pid by now.
    floor.run(&["agents"]).fine().shows("red (its process is gone)");
}

#[test]
fn an_agent_that_ends_by_itself_is_terminated() {
    let floor = TestFloor::new();
    floor.at_work();
    floor.submit(&Event::SessionExited { epoch: Epoch(1), status: Some(0) });
    let agent = &floor.json(&["agents", "--all"])[0];
    assert_eq!((&agent["status"], &agent["liveness"]), (&json!("terminated"), &json!("red")));
    floor.run(&["agents", "--all"]).fine().shows("terminated ").shows("red (ended)");
    floor.run(&["events"]).fine().shows("AGENT_TERMINATED").shows("dev session 1: exit 0");
}

#[test]
fn cancelling_ends_the_job_once() {
    let floor = TestFloor::new();
    floor.at_work();
    assert_eq!(floor.json(&["cancel", "1"]), json!({ "issue": 1, "state": "finishing" }));
    assert_eq!(floor.json(&["status"])["jobs"][0]["state"], "finishing");
    let ended = Outcome::SessionEnded(outcome::SessionEnded {
        rescue: Some("refs/rescue/x".into()),
        last_output: String::new(),
        note: None,
    });
    floor.perform("end_session", ended);
    floor.run(&["agents"]).fine();
    assert_eq!(floor.json(&["agents"]), json!([]));
    assert_eq!(floor.json(&["agents", "--all"])[0]["status"], "terminated");
}

#[test]
fn explain_shows_what_fails_and_what_happened() {
    let floor = TestFloor::new();
    floor.at_work();
    let outbox = floor.engine().outbox().unwrap();
    let labels = outbox.iter().find(|q| q.action.name() == "edit_labels").expect("labels are to be edited");
    let EffectId(id) = labels.id;
    floor.engine().store().defer(labels.id, 3, labels.not_before, "forge \u{1b}[31mdown").unwrap();
    let explained = floor.json(&["explain", "1"]);
    assert_eq!(explained["job"]["state"], "working");
    assert_eq!(explained["pending"][0]["effect"], id);
    assert_eq!(explained["pending"][0]["attempts"], 3);
    assert_eq!(explained["history"][0]["state"], "preparing");
    assert!(!explained["notes"].as_array().unwrap().is_empty());
    let human = floor.run(&["explain", "1"]).fine();
    human.shows("job 1: working since").shows("deadline: ").shows("session: dev-demo-1-e1");
    human.shows("edit_labels").shows("failed 3 times").shows("forge down").shows("JOB_STARTED");
    human.shows("the daemon does not run");
}

#[test]
fn explain_says_until_when_an_agent_is_parked() {
    let floor = TestFloor::new();
    floor.at_work();
    floor.run(&["explain", "1"]).fine().shows("the agent to signal a phase");
    let status = SessionStatus {
        state: State::LimitedUntil { until: now() + std::time::Duration::from_secs(3600) },
        since: now(),
        confidence: Confidence::High,
        context_percent: None,
        cost_micros: None,
        tokens: None,
        dialog: None,
        question: None,
    };
    floor.submit(&Event::StatusSeen { epoch: Epoch(1), status, conversation: None });
    floor.run(&["explain", "1"]).fine().shows("parked until ").shows(": rate limit");
}

/// Takes the job of `at_work` to the merge queue.
pub fn to_the_queue(floor: &TestFloor) {
    let head: shopfloor_core::ids::Sha = HEAD.parse().unwrap();
    let report = PhaseReport::new(Phase::AwaitingReview);
    floor.submit(&Event::PhaseWritten { epoch: Epoch(1), stamp: "s1".into(), report });
    let branch = Outcome::Branch(outcome::Branch {
        head: head.clone(),
        ahead: 1,
        dirty: 0,
        note: None,
        same_as: Vec::new(),
        protected: Vec::new(),
        base: None,
    });
    floor.perform("publish_branch", branch);
    let new = shopfloor_store::forge::NewPr {
        title: "Say hello".into(),
        body: String::new(),
        branch: "fix/issue-1".into(),
        head: head.clone(),
        issue: Some(shopfloor_core::ids::IssueNumber(1)),
        author: "shopfloor-dev".into(),
    };
    let pr = floor.forge().open_pr(&name("demo"), &new).unwrap();
    floor.perform("open_pr", Outcome::PrOpen(outcome::PrOpen { pr }));
    floor.perform(
        "run_ci",
        Outcome::CiFinished(CiReport {
            verdict: CiVerdict::Green,
            step: None,
            excerpt: String::new(),
            log: "/nowhere/log".into(),
            steps_run: 1,
            at: None,
            duration_ms: 5,
            checks: floor.checks(),
        }),
    );
    let job = &floor.json(&["status"])["jobs"][0];
    assert_eq!(
        (&job["state"], &job["phase"], &job["pr"]),
        (&json!("reviewing"), &json!("awaiting_review"), &json!(2))
    );
    floor.run(&["status"]).fine().shows("a review of pull request #2");
    floor.submit(&Event::Observed {
        project: name("demo"),
        page: Page {
            cursor: Cursor::new("1001"),
            ..Page::of(shopfloor_core::event::Observation::Review {
                pr: PrNumber(2),
                head,
                verdict: shopfloor_core::effect::Verdict::Approve,
                text: String::new(),
                author: "ada".into(),
                agent: false,
                dismissed: false,
                id: 1,
            })
        },
    });
    floor.perform(
        "find_primary",
        Outcome::Primary(outcome::Primary { head: HEAD.parse().unwrap(), continues: true, recorded: true }),
    );
}

#[test]
fn a_daemon_that_answers_runs() {
    let floor = TestFloor::new();
    let socket = UnixListener::bind(floor.layout().daemon_socket()).unwrap();
    // One connection a command: the daemon of this test answers three times.
    let daemon = std::thread::spawn(move || {
        for stream in socket.incoming().take(3) {
            let mut stream = stream.unwrap();
            let mut request = String::new();
            BufReader::new(&stream).read_line(&mut request).unwrap();
            assert_eq!(request, "ping\n");
            stream.write_all(b"pong 4242\n").unwrap();
        }
    });
    assert_eq!(floor.json(&["status"])["floor"]["daemon"], json!({ "running": true, "pid": 4242 }));
    floor.run(&["status"]).fine().shows("daemon  runs, pid 4242");
    floor.run(&["doctor"]).shows("ok    daemon: runs, pid 4242");
    daemon.join().unwrap();
}
