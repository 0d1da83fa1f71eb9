//! Schedules on a real floor: what was missed, what there is no room for, what people pause; and that they cost nothing.

use crate::floor::{DEMO, Floor, wait_for};
use serde_json::{Value, json};

const LOOK: &str = "[[steps]]\nid = \"look\"\nrun = [\"ls\"]\n";

/// A schedule that is due once a year.
fn scheduled(config: &str) -> Floor {
    let floor = Floor::new(&format!(
        "{DEMO}max_load = 0\n{config}\n[schedules.yearly]\nformula = \"look\"\ncron = \"0 6 1 1 *\"\ntz = \"UTC\"\n"
    ));
    let folder = floor.path("repo/.shopfloor/formulas");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("look.toml"), LOOK).expect("written");
    floor.accept();
    floor
}

fn schedule(floor: &Floor) -> Value {
    floor.json(&["schedule", "list"]).1[0].clone()
}

/// Its time comes, or came while nobody was there: the store has it so.
fn make_due(floor: &Floor) {
    let store = rusqlite::Connection::open(floor.home().join("floor.db")).expect("the store");
    let changed = store
        .execute("UPDATE state SET doc = json_set(doc, '$.next', 1000) WHERE kind = 'schedule'", [])
        .expect("changed");
    assert_eq!(changed, 1);
}

#[test]
fn what_a_floor_missed_while_it_was_down_is_run_once() {
    let floor = scheduled("");
    assert_eq!(floor.until_idle().0, 0);
    let before = schedule(&floor);
    assert_eq!((&before["state"], &before["last"]), (&json!("waiting"), &Value::Null), "{before}");
    assert!(before["next"].as_str().is_some_and(|next| next.contains("-01-01T")), "{before}");
    make_due(&floor);
    floor.ok(&["up", "--detach"]);
    wait_for("its run is over", || schedule(&floor)["last"]["result"] == "done");
    let after = schedule(&floor);
    assert_eq!((&after["last"]["run"], &after["last"]["result"]), (&json!(1), &json!("done")), "{after}");
    assert_eq!((&after["runs"], &after["next"]), (&json!(1), &before["next"]));
    assert_eq!(floor.json(&["run", "show", "1"]).1["by"], "schedule yearly");
    // No agent was needed, so none was started.
    assert!(floor.engine().floor().sessions.iter().next().is_none());
}

#[test]
fn what_there_is_no_memory_for_waits_and_people_may_run_it_all_the_same() {
    let floor = scheduled("min_memory = 4000000000");
    floor.until_idle();
    make_due(&floor);
    floor.ok(&["up", "--detach"]);
    wait_for("it is put off", || schedule(&floor)["state"] == "postponed");
    let why = schedule(&floor)["why"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("min_memory is 4000000000"), "{why}");
    assert_eq!(floor.ok(&["schedule", "run", "yearly"]).trim(), "run 1");
    wait_for("the run is over", || floor.json(&["run", "show", "1"]).1["state"] == "done");
    // There is room now.
    floor.configure(|text| text.replace("min_memory = 4000000000", "min_memory = 0"));
}

#[test]
fn a_schedule_is_paused_and_resumed_by_people_only() {
    let floor = scheduled("");
    floor.until_idle();
    let mut agent = floor.command(&["schedule", "pause", "yearly"]);
    assert_eq!(agent.env("SHOPFLOOR_SESSION", "1").output().expect("it runs").status.code(), Some(6));
    assert_eq!(floor.ok(&["schedule", "pause", "yearly"]).trim(), "yearly: paused");
    assert_eq!(schedule(&floor)["next"], Value::Null);
    floor.until_idle();
    assert_eq!(floor.ok(&["schedule", "resume", "yearly"]).trim(), "yearly: waiting");
    floor.until_idle();
    assert!(schedule(&floor)["next"].is_string());
    assert_eq!(floor.run(&["schedule", "pause", "nightly"]).status.code(), Some(4));
}

#[test]
fn a_schedule_that_nobody_accepted_is_not_in_force() {
    let floor = scheduled("");
    floor.until_idle();
    floor.edit(|text| text.replace("formula = \"look\"", "formula = \"task\""));
    floor.until_idle();
    assert_eq!(schedule(&floor)["formula"], "look");
    floor.edit(|text| text.replace("0 6 1 1 *", "0 6 1 13 *"));
    let wrong = || {
        let wrong = floor.run(&["config", "check"]);
        assert_eq!(wrong.status.code(), Some(2));
        String::from_utf8_lossy(&wrong.stderr).into_owned()
    };
    let said = wrong();
    assert!(said.contains("\"13\" cannot be the month") && said.contains("daily at six"), "{said}");
    // So is a formula that there is not.
    floor.edit(|text| {
        text.replace("0 6 1 13 *", "0 6 1 1 *").replace("formula = \"task\"", "formula = \"looc\"")
    });
    let said = wrong();
    assert!(said.contains("runs a formula that there is not") && said.contains("`look`?"), "{said}");
}
