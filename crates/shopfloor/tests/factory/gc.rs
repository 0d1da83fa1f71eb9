//! `gc`: what is old goes, whoever does it, and what is needed stays.

use crate::branches::{PEOPLE, floor};
use crate::floor::Floor;
use serde_json::{Value, json};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{RunId, Seq};
use shopfloor_core::time::Time;
use shopfloor_store::Store;
use shopfloor_store::ci::{CiDb, CiRuns, NewRun};
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const LONG_AGO: Time = Time(1_000_000_000_000);

/// Entries, a session's folder, and a run with its log: all from long ago. Returns the folders.
fn leave_behind(floor: &Floor, run: u64) -> Vec<PathBuf> {
    let mut engine = floor.engine();
    for n in 0..20 {
        let event = Event::Escalated { project: floor.project.clone(), text: format!("long ago {run} {n}") };
        engine.submit(LONG_AGO, &event).expect("committed");
    }
    // A number that was given out, so that the session is an earlier one.
    let numbers = Event::NumbersSeen { epoch: shopfloor_core::ids::Epoch(run + 1), run: RunId(run + 1) };
    engine.submit(shopfloor_desk::now(), &numbers).expect("committed");
    let mut runs = CiDb::open(&floor.home().join("floor.db")).expect("opens");
    let commit = "a".repeat(40).parse().expect("a commit");
    let source = shopfloor_core::effect::CommitSource::Hub;
    let new = NewRun { run: RunId(run), project: floor.project.clone(), issue: None, commit, source };
    runs.started(&new, LONG_AGO).expect("recorded");
    let logs = floor.home().join("projects").join(floor.project.as_str()).join("ci");
    let folders = vec![floor.home().join(format!("sessions/e{run}")), logs.join(format!("run-{run}"))];
    for folder in &folders {
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(folder.join("log"), "1234567890").expect("a file");
        let opened = File::open(folder).expect("opened");
        opened.set_modified(SystemTime::now() - Duration::from_secs(90 * 86_400)).expect("aged");
    }
    folders
}

fn entries(floor: &Floor) -> usize {
    let journal = floor.engine().store().journal(Seq(0), 10_000).expect("the journal");
    journal.iter().filter(|entry| entry.at == LONG_AGO).count()
}

fn counts(answer: &Value) -> (Value, Value, Value, Value) {
    let project = &answer["projects"][0];
    let of = |key: &str| project[key].clone();
    (project["journal_entries"]["count"].clone(), of("ci_runs"), of("ci_logs"), of("session_folders"))
}

#[test]
fn what_is_old_is_counted_then_removed_here_or_by_the_daemon() {
    let floor = floor(PEOPLE);
    let one = json!({ "count": 1, "bytes": 10 });
    let all = (json!(40), json!(1), one.clone(), one.clone());
    let folders = leave_behind(&floor, 1);
    let (code, answer) = floor.json(&["gc", "--dry-run"]);
    assert_eq!((code, counts(&answer)), (0, all.clone()), "{answer}");
    assert_eq!((entries(&floor), folders.iter().all(|folder| folder.exists())), (40, true));

    let (code, answer) = floor.json(&["gc"]);
    assert_eq!((code, counts(&answer), &answer["by_daemon"]), (0, all.clone(), &json!(false)), "{answer}");
    assert_eq!((entries(&floor), folders.iter().any(|folder| folder.exists())), (0, false));
    let mut runs = CiDb::open(&floor.home().join("floor.db")).expect("opens");
    assert_eq!(runs.list(&floor.project, 10).expect("read"), []);

    floor.ok(&["up", "--detach"]);
    let folders = leave_behind(&floor, 2);
    let said = floor.ok(&["gc"]);
    assert!(said.contains("the daemon tidies up") && said.contains("journal entries"), "{said}");
    assert_eq!((entries(&floor), folders.iter().any(|folder| folder.exists())), (0, false));
    let (code, answer) = floor.json(&["gc"]);
    assert_eq!((code, &answer["by_daemon"]), (0, &json!(true)), "{answer}");
    floor.ok(&["down"]);
    assert!(floor.ok(&["doctor"]).contains("store"));
}

#[test]
fn it_is_for_people() {
    let floor = floor(PEOPLE);
    let refused = floor.command(&["gc"]).env("SHOPFLOOR_SESSION", "1").output().expect("it runs");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("needs a person"));
}
