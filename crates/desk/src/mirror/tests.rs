//! `kill -9` of a writer of work records, at any point, thousands of times: the store and the file are whole
//! whenever they are read, and never older than what the writer was told is written.
//!
//! The child is this test binary, run again. It commits a record and mirrors it as the daemon does.

use super::*;
use serde_json::Value;
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{Action, Outcome};
use shopfloor_core::event::{Event, Observation, Page};
use shopfloor_core::ids::{Assignment, IssueNumber, JobId, ProjectName, Role, Sha};
use shopfloor_core::policy::Policy;
use shopfloor_core::state::WorkRecord;
use shopfloor_engine::Engine;
use shopfloor_store::sqlite::SqliteStore;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const HOME: &str = "SHOPFLOOR_TEST_RECORDS_HOME";
const RECORD: &str = "dev-p-1";

/// Once a minute: who lives was seen now. Who does not was not.
#[test]
fn only_those_who_live_are_seen() {
    use crate::view::agent::tests::{floor, processes};
    let home = tempfile::tempdir().expect("a folder");
    let layout = Layout::new(home.path());
    drop(Mirror::start(layout.clone()).expect("folders"));
    let (own, gone) = processes();
    for (process, written) in [(own, true), (gone, false)] {
        let floor = floor(AgentStatus::Active, SessionState::Live, Some(process), Time(1));
        let agent = floor.agents.iter().next().expect("an agent");
        let identity =
            Identity { last_seen: "never".into(), ..Identity::new(&layout, &floor, agent, Time(1)) };
        let live = BTreeMap::from([("dev-p-1".to_owned(), (Box::new(identity), process))]);
        Writer { layout: layout.clone(), live }.touch();
        let file = layout.identity("dev-p-1");
        assert_eq!(file.exists(), written);
        if written {
            let seen: Value = serde_json::from_slice(&std::fs::read(&file).expect("read")).expect("whole");
            assert!(seen["last_seen"].as_str().is_some_and(|at| at != "never"), "{seen}");
            std::fs::remove_file(file).expect("removed");
        }
    }
}

/// What is on the shelf is not part of a floor: the daemon remembers as much as is at hand.
#[test]
fn what_left_the_floor_is_forgotten() {
    use crate::view::agent::tests::floor;
    let home = tempfile::tempdir().expect("a folder");
    let mut mirror = Mirror::start(Layout::new(home.path())).expect("folders");
    let floor = floor(AgentStatus::Active, SessionState::Ended, None, Time(1));
    for _ in 0..2 {
        mirror.records.insert(RECORD.into(), Time(1));
        mirror.reconcile(&floor);
        assert_eq!((mirror.agents.len(), mirror.records.len()), (1, 0));
        mirror.reconcile(&Floor::default());
        assert_eq!(mirror.agents.len(), 0);
    }
}

fn project() -> ProjectName {
    "p".parse().expect("a name")
}

fn open(home: &Path) -> Engine<SqliteStore> {
    Engine::open(SqliteStore::open(&home.join("floor.db")).expect("the store")).expect("the floor")
}

/// The number of the newest checkpoint that a record tells of.
fn number(record: &WorkRecord) -> u64 {
    record.rescue.as_deref().and_then(|r| r.rsplit('/').next()?.parse().ok()).unwrap_or(0)
}

/// A job whose agent is about to start: it has a record.
fn set_up(engine: &mut Engine<SqliteStore>) {
    let project = project();
    let head: Sha = "0".repeat(40).try_into().expect("forty digits");
    let issue = Observation::Issue {
        number: IssueNumber(1),
        title: "issue 1".into(),
        labels: vec!["backlog".into()],
        open: true,
        deps: vec![],
        created_at: Time(1),
        by: None,
        revision: 0,
        version: Default::default(),
        hints: Default::default(),
    };
    let prepare = Action::PrepareWorktree {
        target: None,
        job: JobId(1),
        project: project.clone(),
        assignment: Assignment::Issue(IssueNumber(1)),
        role: Role::DEV,
        branch: "fix/issue-1".into(),
    };
    let ready = Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head, notes: vec![] });
    let check = Action::CheckAgents { project: project.clone(), others: Vec::new() };
    let fit = Outcome::AgentsChecked(outcome::AgentsChecked { troubles: vec![], unset: vec![] });
    for event in [
        Event::ProjectSet { project: project.clone(), checkout: "c".into(), policy: Policy::default() },
        Event::Performed { action: check, outcome: fit },
        Event::Observed { project, page: Page::of(issue) },
        Event::Performed { action: prepare, outcome: ready },
    ] {
        engine.submit(Time(1), &event).expect("committed");
    }
}

/// Writes for ever, saying so after each.
#[test]
#[ignore = "the child of a_killed_writer_leaves_whole_records"]
fn child() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else { return };
    let mut engine = open(&home);
    if engine.floor().records.iter().next().is_none() {
        set_up(&mut engine);
    }
    let layout = Layout::new(&home);
    drop(Mirror::start(layout.clone()).expect("folders"));
    let mut writer = Writer { layout, live: BTreeMap::new() };
    let first = number(engine.floor().records.iter().next().expect("a record"));
    // Ends by itself should the parent die.
    for n in first + 1..first + 100_000 {
        let action = Action::Checkpoint {
            target: None,
            job: JobId(1),
            project: project(),
            assignment: Assignment::Issue(IssueNumber(1)),
            role: Role::DEV,
            branch: "fix/issue-1".into(),
        };
        // Longer and shorter ones, so that a part of one is no whole of another.
        let files = (0..n % 50).map(|file| format!("src/file-{file}-of-{n}.rs")).collect();
        let outcome = Outcome::Checkpoint(outcome::Checkpoint {
            rescue: Some(format!("refs/rescue/{RECORD}/{n}")),
            head: None,
            ahead: None,
            files,
            note: None,
        });
        engine.submit(Time(1), &Event::Performed { action, outcome }).expect("committed");
        println!("committed {n}");
        let record = engine.floor().records.iter().next().expect("a record");
        writer.take(News::Record { name: RECORD.into(), record: Box::new(record.into()) });
        println!("mirrored {n}");
    }
}

/// What a child said before it was killed: the newest number that was committed, and mirrored.
#[derive(Clone, Copy, Default)]
struct Said {
    committed: u64,
    mirrored: u64,
}

impl Said {
    fn take(&mut self, line: &str) {
        if let Some(n) = line.strip_prefix("committed ").and_then(|n| n.parse().ok()) {
            self.committed = n;
        }
        if let Some(n) = line.strip_prefix("mirrored ").and_then(|n| n.parse().ok()) {
            self.mirrored = n;
        }
    }
}

fn run_and_kill(home: &Path, round: u64, said: &mut Said) {
    let mut child = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "mirror::tests::child", "--ignored", "--nocapture", "--quiet"])
        .env(HOME, home)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let scramble = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    // The first that come in; then anywhere within what follows.
    let mut seen = 0;
    while seen < 1 + scramble % 4 {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("read") > 0, "the child ended by itself");
        said.take(line.trim_end());
        seen += u64::from(line.contains("ed "));
    }
    // Spun, not slept: the point of the kill is to be anywhere within a write.
    let until = Instant::now() + Duration::from_micros(scramble % 3_000);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    child.kill().expect("killed");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("read");
    // A line the kill cut short says nothing.
    rest[..rest.rfind('\n').unwrap_or(0)].lines().for_each(|line| said.take(line));
    child.wait().expect("waited for");
}

fn check(home: &Path, said: Said) {
    let engine = open(home);
    let stored = engine.floor().records.iter().next().expect("a record");
    assert!(number(stored) >= said.committed, "{} was committed: {stored:?}", said.committed);
    let file = Layout::new(home).work_record(RECORD);
    let text = match std::fs::read(&file) {
        Err(e) if said.mirrored == 0 => {
            assert_eq!(e.kind(), io::ErrorKind::NotFound);
            return;
        }
        read => read.expect("the file is there"),
    };
    let seen: Value = serde_json::from_slice(&text).expect("whole");
    let n: u64 =
        seen["rescue_ref"].as_str().and_then(|r| r.rsplit('/').next()?.parse().ok()).expect("a number");
    assert!(n >= said.mirrored, "{} was mirrored, {n} is there", said.mirrored);
    assert!(n <= number(stored), "the file is ahead of the store");
    let files: Vec<String> = (0..n % 50).map(|file| format!("src/file-{file}-of-{n}.rs")).collect();
    assert_eq!(seen["files_modified"], serde_json::to_value(files).expect("JSON"));
    assert_eq!((&seen["identity_name"], &seen["current_bead"]), (&RECORD.into(), &"1".into()));
}

/// Several writers side by side, each with a floor of its own.
fn kill_writers(writers: u64, rounds: u64) {
    std::thread::scope(|scope| {
        for writer in 0..writers {
            scope.spawn(move || {
                let home = tempfile::tempdir().expect("a folder");
                let mut said = Said::default();
                for round in 0..rounds {
                    run_and_kill(home.path(), writer * rounds + round, &mut said);
                    check(home.path(), said);
                }
                assert!(said.mirrored >= rounds, "they hardly got to write, so nothing was tested");
                // What they left in the middle goes when the next one begins.
                let folder = Layout::new(home.path()).work_records();
                assert!(std::fs::read_dir(folder).expect("the records").count() <= 2);
            });
        }
    });
}

#[test]
fn a_killed_writer_leaves_whole_records() {
    kill_writers(2, 200);
}

#[test]
#[ignore = "takes minutes"]
fn a_writer_is_killed_thousands_of_times() {
    kill_writers(4, 1_000);
}
