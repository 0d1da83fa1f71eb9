//! The predictor and the planner on a real floor: from what the records say to what lands. Nothing is begun where there is
//! nothing to do; what dies in between is made good; and what either does beyond its role is refused.

use crate::client::FAST;
use crate::floor::{DEMO, Floor};
use crate::kills::up_killed_after;
use serde_json::{Value, json};
use shopfloor_core::effect::{CiVerdict, CommitSource};
use shopfloor_core::ids::RunId;
use shopfloor_store::ci::{CiDb, CiRuns, NewRun};

const AGENTS: &str = "[agents.predictor]\nruntime = \"demo\"\n[agents.planner]\nruntime = \"demo\"\n";
const NOTES: &str = ".shopfloor/planner";

/// A floor on whose checks one step failed twice where it also passed.
fn flaky(config: &str) -> Floor {
    let floor = Floor::new(&format!("{DEMO}{config}"));
    let mut runs = CiDb::open(&floor.home().join("floor.db")).expect("the records");
    for (number, commit, verdict) in [
        (9001, 'a', CiVerdict::Red),
        (9002, 'a', CiVerdict::Green),
        (9003, 'b', CiVerdict::Red),
        (9004, 'b', CiVerdict::Green),
    ] {
        let at = shopfloor_desk::now();
        let new = NewRun {
            run: RunId(number),
            project: floor.project.clone(),
            issue: None,
            commit: commit.to_string().repeat(40).parse().expect("a commit"),
            source: CommitSource::Hub,
        };
        let step = (verdict == CiVerdict::Red).then_some("unit");
        runs.started(&new, at).expect("written");
        runs.finished(RunId(number), verdict, step, "", at).expect("written");
    }
    floor
}

fn run(floor: &Floor, number: u64) -> Value {
    floor.json(&["run", "show", &number.to_string()]).1
}

fn issue(floor: &Floor, number: u64) -> Value {
    floor.json(&["issue", "show", &number.to_string()]).1
}

/// What a person or an earlier predictor left.
pub fn predicted(floor: &Floor, title: &str) {
    let new = shopfloor_store::forge::NewIssue {
        title: title.to_owned(),
        body: "As seen.".into(),
        author: "shopfloor-predictor".into(),
        labels: vec!["prediction/unreviewed".into()],
        deps: vec![],
    };
    let mut forge = floor.forge();
    forge.create_label(&floor.project, "prediction/unreviewed").expect("a label");
    forge.create_issue(&floor.project, &new).expect("an issue");
}

#[test]
fn a_trend_becomes_one_prediction_and_then_nothing_is_begun() {
    let floor = flaky(AGENTS);
    let shown = floor.json(&["trends"]).1;
    let flaky = json!([{ "step": "unit", "flakes": 2 }]);
    assert_eq!(shown["flaky_steps"], flaky, "{shown:#}");
    assert_eq!(shown["notable"][0]["name"], "flaky_step:unit", "{shown:#}");
    floor.ok(&["formula", "run", "predictor"]);
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    assert_eq!(run(&floor, 1)["state"], "done");
    let made = issue(&floor, 1);
    assert_eq!(made["title"], "flaky_step:unit: it will be in the way");
    assert_eq!((&made["labels"], &made["job"]), (&json!(["prediction/unreviewed"]), &Value::Null));
    assert_eq!(made["author"], "shopfloor-predictor");
    // It is known now: no session is begun, and no token is spent.
    let sessions = || floor.engine().floor().sessions.iter().count();
    let before = sessions();
    floor.ok(&["formula", "run", "predictor"]);
    assert_eq!(floor.until_idle().0, 0);
    let again = run(&floor, 2);
    assert_eq!((&again["state"], &again["session"]), (&json!("nothing_to_do"), &Value::Null), "{again:#}");
    assert!(sessions() <= before, "nobody was started");
    assert_eq!(floor.run(&["trends", "--check"]).status.code(), Some(78));
    let known = floor.json(&["trends"]).1;
    assert_eq!(known["notable"][0]["predicted"], 1);
    assert_eq!(floor.run(&["trends", "--days", "91"]).status.code(), Some(2));
    // The machine was looked at as checks ended or schedules were planned, if at all: never by itself.
    assert!(floor.ok(&["trends"]).contains("flaky_step:unit"), "people see the same");
}

#[test]
fn a_planner_decides_about_predictions_and_its_notes_land_without_a_person() {
    let floor = flaky(AGENTS);
    std::fs::write(floor.path("repo/VISION.md"), "# Vision\n\n- [ ] Greet people\n").expect("written");
    floor.git(&["add", "VISION.md"]);
    floor.git(&["commit", "-qm", "Vision"]);
    assert_eq!(floor.until_idle().0, 0);
    for title in ["disk_free: it is full by Friday", "agent_crashes: they pile up", "ci_duration: too long"] {
        predicted(&floor, title);
    }
    floor.ok(&["formula", "run", "planner"]);
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    let planned = run(&floor, 1);
    assert_eq!(planned["state"], "done", "{planned:#}");
    // One was worked on, one dismissed with a reason, one is watched; and VISION.md asked for something.
    let labels = |number: u64| issue(&floor, number)["labels"].clone();
    assert_eq!(issue(&floor, 1)["job"]["state"], "merged", "{:#}", issue(&floor, 1));
    assert!(labels(1).to_string().contains("prediction/actioned"));
    let dismissed = issue(&floor, 2);
    assert_eq!(dismissed["state"], "closed");
    assert!(dismissed["comments"][0]["body"].as_str().is_some_and(|text| text.starts_with("Dismissed: ")));
    assert_eq!(labels(3), json!(["prediction/backlog"]));
    let wanted = floor.json(&["issue", "list", "--state", "all"]).1;
    let wanted = wanted.as_array().expect("a list").iter().find(|issue| issue["title"] == "Greet people");
    assert_eq!(wanted.expect("it was asked for")["state"], "closed", "and done");
    // The notes are one commit, and no person had to approve them.
    assert!(floor.landed(&format!("{NOTES}/MEMORY.md")).starts_with("# Memory"));
    let subjects = floor.hub(&["log", "--format=%s", "main", "--", NOTES]);
    assert_eq!(subjects.lines().count(), 1, "{subjects}");
    assert!(floor.hub(&["ls-tree", "-r", "--name-only", "main"]).contains(&format!("{NOTES}/journal/20")));
    floor.assert_history_green();
}

#[test]
fn what_dies_in_between_is_done_once() {
    let floor = flaky(AGENTS);
    predicted(&floor, "disk_free: it is full by Friday");
    floor.ok(&["formula", "run", "predictor"]);
    floor.ok(&["formula", "run", "planner"]);
    for lines in 1..=7 {
        if up_killed_after(&floor, lines) {
            break;
        }
        floor.tmux(&["kill-server"]);
    }
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    for number in [1, 2] {
        assert_eq!(run(&floor, number)["state"], "done", "{:#}", run(&floor, number));
    }
    let all = floor.json(&["issue", "list", "--state", "all"]).1;
    let titled = |start: &str| {
        let all = all.as_array().expect("a list").iter();
        all.filter(|issue| issue["title"].as_str().is_some_and(|title| title.starts_with(start))).count()
    };
    assert_eq!((titled("flaky_step:unit"), titled("disk_free")), (1, 1), "{all:#}");
    let entries = floor.hub(&["log", "--format=%s", "main", "--", NOTES]);
    assert_eq!(entries.lines().count(), 1, "{entries}");
}

/// Whether there is anything to plan is known without a session.
#[test]
fn a_planner_with_nothing_to_plan_is_not_begun() {
    let floor = flaky(AGENTS);
    let folder = floor.path(&format!("repo/{NOTES}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let long: String = (1..=300).map(|n| format!("- note {n}\n")).collect();
    std::fs::write(folder.join("MEMORY.md"), long).expect("written");
    floor.git(&["add", "."]);
    floor.git(&["commit", "-qm", "Notes"]);
    floor.issue("Later", "demo: ask <<When?");
    // Somebody has something to do, nobody predicts anything, nothing landed.
    floor.ok(&["pause", "--reason", "later"]);
    let shown = floor.json(&["predictions", "--check"]);
    assert_eq!(
        (shown.0, &shown.1["backlog"], &shown.1["unreviewed"]),
        (78, &json!(1), &json!([])),
        "{}",
        shown.1
    );
    predicted(&floor, "disk_free: it is full by Friday");
    assert_eq!(floor.run(&["predictions", "--check"]).status.code(), Some(0));
}

#[test]
fn a_memory_that_is_too_long_goes_to_the_archive() {
    let floor = flaky(AGENTS);
    let folder = floor.path(&format!("repo/{NOTES}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let long: String = (1..=300).map(|n| format!("- note {n}\n")).collect();
    std::fs::write(folder.join("MEMORY.md"), long).expect("written");
    floor.git(&["add", "."]);
    floor.git(&["commit", "-qm", "Notes"]);
    // They are taken in before anybody plans.
    assert_eq!(floor.until_idle().0, 0);
    predicted(&floor, "disk_free: it is full by Friday");
    floor.ok(&["formula", "run", "planner"]);
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    assert_eq!(run(&floor, 1)["state"], "done", "{:#}", run(&floor, 1));
    let memory = floor.landed(&format!("{NOTES}/MEMORY.md"));
    assert_eq!((memory.lines().count(), memory.lines().next()), (201, Some("- note 101")));
    let archive = floor.hub(&["ls-tree", "-r", "--name-only", "main", "--", &format!("{NOTES}/archive/")]);
    let archived = floor.landed(archive.trim());
    assert_eq!((archived.lines().count(), archived.lines().last()), (100, Some("- note 100")));
}

#[test]
fn what_a_run_has_cost_is_kept_and_shown() {
    let floor = Floor::with_clients(FAST);
    let schedule = "[schedules.yearly]\nformula = \"task\"\ncron = \"0 6 1 1 *\"\nvars = { task = \"demo: write hello.txt <<hello\" }\n";
    floor.configure(|config| format!("{config}\n{schedule}"));
    assert_eq!(floor.until_idle().0, 0);
    floor.ok(&["schedule", "run", "yearly"]);
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    let ran = run(&floor, 1);
    assert_eq!((&ran["state"], &ran["tokens"]), (&json!("done"), &Value::Null), "{ran:#}");
    let dollars = ran["cost_usd"].as_f64().unwrap_or_default();
    assert!(dollars >= 0.01, "{ran:#}");
    let listed = floor.json(&["schedule", "list"]).1;
    assert_eq!((&listed[0]["average_dollars"], &listed[0]["dollars"]), (&json!(dollars), &json!(dollars)));
    assert!(floor.ok(&["run", "show", "1"]).contains(&format!("cost ${dollars:.2}")));
    assert!(floor.ok(&["runs"]).contains(&format!("${dollars:.2}")));
}
