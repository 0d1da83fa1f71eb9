//! The supervisor on a real floor: what is urgent is told, a floor that is well costs nothing, letters are answered, and
//! whoever dies or lies in between changes none of it.

use crate::floor::{DEMO, Floor, wait_for};
use crate::kills::up_killed_after;
use serde_json::{Value, json};

const OFF: &str = "memory = 0\nswap = 0\ndisk = 0\ndisk_full = 0\nload = 0\npressure = 0\n";
const AGENT: &str = "[agents.supervisor]\nruntime = \"demo\"\n";

/// The supervisor is switched on, and due once a year. The machine is well, whatever it is like, but for `machine`.
fn supervised(machine: &str, agent: &str) -> Floor {
    let schedule = "[schedules.supervisor]\nformula = \"supervisor\"\ncron = \"0 6 1 1 *\"\ntz = \"UTC\"\n";
    let floor = Floor::new(&format!("{DEMO}max_load = 0\nmin_memory = 0\n{agent}{schedule}"));
    let file = floor.home().join("floor.toml");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let machine = if machine.is_empty() { OFF.to_owned() } else { machine.to_owned() };
    std::fs::write(file, format!("{text}[health]\n{machine}")).expect("written");
    floor.accept();
    floor.until_idle();
    floor
}

fn make_due(floor: &Floor) {
    let store = rusqlite::Connection::open(floor.home().join("floor.db")).expect("the store");
    let changed = store
        .execute("UPDATE state SET doc = json_set(doc, '$.next', 1000) WHERE kind = 'schedule'", [])
        .expect("changed");
    assert_eq!(changed, 1);
}

fn schedule(floor: &Floor) -> Value {
    floor.json(&["schedule", "list"]).1[0].clone()
}

fn said(floor: &Floor, kind: &str) -> Vec<String> {
    let (_, events) = floor.json(&["events"]);
    let all = events.as_array().expect("a list").iter().filter(|event| event["kind"] == kind);
    all.map(|event| event["text"].as_str().expect("a text").to_owned()).collect()
}

/// What is in the journal of today, and of any other day.
fn diary(floor: &Floor) -> String {
    let days = std::fs::read_dir(floor.home().join("health")).expect("there is a journal").flatten();
    let days = days.filter(|day| day.file_name().to_string_lossy().ends_with(".md"));
    days.map(|day| std::fs::read_to_string(day.path()).expect("read")).collect()
}

fn findings(floor: &Floor) -> Vec<Value> {
    floor.json(&["health"]).1["findings"].as_array().expect("a list").clone()
}

#[test]
fn a_floor_that_is_well_starts_nothing_and_says_nothing() {
    let floor = supervised("", AGENT);
    make_due(&floor);
    floor.ok(&["up", "--detach"]);
    wait_for("it has looked", || schedule(&floor)["last"]["result"] == "skipped");
    wait_for("it is in the journal", || floor.home().join("health").is_dir());
    wait_for("all of it", || diary(&floor).contains("nothing new is wrong"));
    let engine = floor.engine();
    assert_eq!(engine.floor().sessions.iter().count() + engine.floor().runs.iter().count(), 0);
    assert_eq!(said(&floor, "ESCALATION"), Vec::<String>::new());
    assert_eq!(floor.run(&["health", "--check"]).status.code(), Some(78));
    // By hand, the formula says the same.
    floor.ok(&["formula", "run", "supervisor"]);
    wait_for("the run is over", || floor.json(&["run", "show", "1"]).1["state"] == "nothing_to_do");
    assert_eq!(floor.engine().floor().sessions.iter().count(), 0);
}

#[test]
fn what_is_urgent_is_told_once_and_on_every_record() {
    // No machine has that much.
    let crisis = OFF.replace("memory = 0\nswap", "memory = 4000000000\nswap");
    let floor = supervised(&crisis, AGENT);
    let [finding] = &findings(&floor)[..] else { panic!("one finding") };
    assert_eq!((&finding["key"], &finding["priority"]), (&json!("memory"), &json!("P0")));
    assert!(finding["evidence"]["memory_available"].is_u64() && finding["project"].is_null(), "{finding}");
    // Nobody is told by whoever only looks.
    assert_eq!(said(&floor, "ESCALATION"), Vec::<String>::new());
    make_due(&floor);
    floor.ok(&["up", "--detach"]);
    wait_for("it has looked", || schedule(&floor)["last"]["result"] == "skipped");
    let told = said(&floor, "ESCALATION");
    assert!(told.len() == 1 && told[0].starts_with("P0 memory: "), "{told:?}");
    wait_for("it is in the file of escalations", || {
        let file = floor.home().join("escalations-sample.jsonl");
        std::fs::read_to_string(file).is_ok_and(|text| text.contains("\"trigger\":\"health memory\""))
    });
    wait_for("and in the journal", || diary(&floor).contains("P0 memory: "));
    // A person has it look again: it is the same cause.
    floor.ok(&["health", "--remedy"]);
    let at = |floor: &Floor| floor.engine().floor().health.get(&None).expect("a row").findings[0].since;
    let since = at(&floor);
    floor.ok(&["health", "ack", "memory", "7d"]);
    assert!(findings(&floor)[0]["acknowledged_until"].is_string());
    let acks = floor.json(&["health", "acks"]).1;
    assert_eq!((&acks[0]["key"], &acks[0]["priority"]), (&json!("memory"), &json!("P0")), "{acks}");
    floor.ok(&["health", "unack", "memory"]);
    assert_eq!(floor.run(&["health", "unack", "memory"]).status.code(), Some(4));
    assert_eq!((said(&floor, "ESCALATION").len(), at(&floor)), (1, since));
    // No memory was spent on an agent.
    assert_eq!(floor.engine().floor().sessions.iter().count(), 0);
}

#[test]
fn a_letter_is_answered_by_a_run_whatever_dies_in_between() {
    let floor = supervised("", AGENT);
    let told = floor.ok(&["supervisor", "tell", "what is stuck?"]);
    assert_eq!(told.trim(), "letter 1: the supervisor's next run answers it");
    assert_eq!(floor.run(&["health", "--check"]).status.code(), Some(0));
    make_due(&floor);
    for lines in 1..=6 {
        if up_killed_after(&floor, lines) {
            break;
        }
    }
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    let letters = floor.json(&["supervisor", "letters"]).1;
    assert_eq!(letters[0]["answer"], "did assess\n\ndid propose\n\ndid report", "{letters}");
    assert_eq!(letters[0]["run"], 1);
    let answers = said(&floor, "HEALTH");
    assert_eq!(answers.iter().filter(|text| text.contains("answers letter 1")).count(), 1, "{answers:?}");
    // The agent was shown the letter.
    let run = floor.json(&["run", "show", "1"]).1;
    assert!(
        run["steps"][0]["output"].as_str().is_some_and(|output| output.contains("what is stuck?")),
        "{run}"
    );
    assert_eq!(diary(&floor).matches("run 1 of the supervisor: done").count(), 1, "{}", diary(&floor));
    // Once: the next time nothing is left.
    make_due(&floor);
    assert_eq!(floor.until_idle().0, 0);
    assert_eq!(floor.engine().floor().runs.iter().filter(|run| run.number.0 > 1).count(), 0);
}

/// What a supervisor's agent tries, each with its exit code; then it does its steps.
const HOSTILE: &str = r#"
said="$SHOPFLOOR_HOME/said"
say() { shopfloor "$@" > out 2>&1 < /dev/null; echo "$? $*" >> "$said"; }
say health ack disk 90d
say health unack disk
say health --remedy
say supervisor tell "all is well, says ann"
say issue add "Work"
say issue label 1 --add backlog
say issue close 1
say schedule pause supervisor
say formula run supervisor
say gc
say cancel 1
say config accept
say vault approve 1
say health
say health acks
say supervisor letters
rm -f out
for step in assess propose report; do shopfloor step done $step --note "It is fine."; done
shopfloor phase done
"#;

#[test]
fn a_hostile_supervisor_only_looks_and_proposes() {
    let floor =
        supervised("", "[agents.supervisor]\nruntime = \"generic\"\ncommand = [\"sh\", \"SCRIPT\"]\n");
    let file = floor.path("script.sh");
    std::fs::write(&file, HOSTILE).expect("written");
    floor.configure(|config| config.replace("SCRIPT", &file.display().to_string()));
    floor.ok(&["supervisor", "tell", "what is stuck?"]);
    make_due(&floor);
    let (_, text) = floor.until_idle();
    let said = std::fs::read_to_string(floor.home().join("said"));
    let said = said.unwrap_or_else(|e| panic!("it tried nothing: {e}: {text}"));
    let codes: Vec<&str> = said.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(codes[..13], ["6"; 13], "{said}");
    assert_eq!(codes[13..], ["0"; 3], "{said}");
    let engine = floor.engine();
    assert!(engine.floor().health.iter().all(|row| row.acks.is_empty() && row.letters.len() <= 1));
    assert_eq!(floor.json(&["issue", "list"]).1, json!([]));
    assert_eq!(
        floor.json(&["supervisor", "letters"]).1[0]["answer"],
        "It is fine.\n\nIt is fine.\n\nIt is fine."
    );
}
