//! Issues that ask for an action, on a real floor: carried by a job of their own, with a result on the issue or a change
//! that lands, and switched on and off by a person.

use crate::floor::{DEMO, Floor};
use crate::kills::up_killed_after;
use serde_json::json;

/// Says what it found, and changes no file.
const REPORT: &str = r#"
role = "action"
[vars.area]
required = true
[[steps]]
id = "count"
run = ["git", "ls-files", "--", "{{ area }}"]
[[steps]]
id = "tell"
needs = ["count"]
description = "Say what came of it."
"#;

fn floor() -> Floor {
    let floor = Floor::new(DEMO);
    let folder = floor.path("repo/.shopfloor/formulas");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("report.toml"), REPORT).expect("written");
    floor.accept();
    floor.ok(&["agents", "enable", "action"]);
    floor
}

fn comments(floor: &Floor, issue: &str) -> String {
    let shown = floor.json(&["issue", "show", issue]).1;
    let all = shown["comments"].as_array().expect("a list").iter();
    all.filter_map(|comment| comment["body"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_an_issue_asks_for_is_done_and_said_on_it() {
    let floor = floor();
    let body = "Which scripts are there?\n\nformula: report\n\n```toml\narea = \"*.sh\"\n```\n";
    floor.ok(&["issue", "add", "Count the scripts", "--body", body, "--label", "action"]);
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    let issue = floor.json(&["issue", "show", "1"]).1;
    assert_eq!((&issue["state"], &issue["labels"]), (&json!("closed"), &json!([])), "{issue}");
    let run = floor.json(&["run", "show", "1"]).1;
    assert_eq!((&run["state"], &run["steps"][0]["output"]), (&json!("done"), &json!("check.sh")), "{run}");
    assert!(comments(&floor, "1").contains("did tell"), "{}", comments(&floor, "1"));
    assert!(!floor.home().join("projects/sample/worktrees/action-1").exists(), "it is torn down");
}

#[test]
fn a_text_that_names_no_formula_is_the_task_and_what_it_leaves_lands() {
    let floor = floor();
    let body = "demo: write keys.txt <<rotated\n";
    floor.ok(&["issue", "add", "Rotate the keys", "--body", body, "--label", "action"]);
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    assert_eq!(floor.landed("keys.txt"), "rotated");
    assert_eq!(floor.json(&["issue", "show", "1"]).1["state"], "closed");
    floor.assert_history_green();
}

#[test]
fn what_cannot_be_meant_waits_for_a_person() {
    let floor = floor();
    floor.ok(&["issue", "add", "Do it", "--body", "formula: reprot\n", "--label", "action"]);
    floor.ok(&["issue", "add", "Do that", "--body", "formula: report\n", "--label", "action"]);
    assert_eq!(floor.until_idle().0, 3);
    assert!(comments(&floor, "1").contains("did you mean `report`"), "{}", comments(&floor, "1"));
    assert!(comments(&floor, "2").contains("area"), "{}", comments(&floor, "2"));
    assert_eq!(floor.json(&["issue", "show", "1"]).1["labels"], json!(["blocked"]));
    assert!(floor.engine().floor().sessions.iter().next().is_none(), "no token was spent");
    // As the comment says.
    floor.ok(&["issue", "edit", "1", "--body", "formula: report\n~~~toml\narea = \"*.md\"\n~~~\n"]);
    floor.ok(&["issue", "label", "1", "--remove", "blocked", "--add", "action"]);
    floor.until_idle();
    assert_eq!(floor.json(&["issue", "show", "1"]).1["state"], "closed");
}

#[test]
fn an_action_survives_whatever_dies_in_between() {
    let floor = floor();
    let body = "formula: report\n```toml\narea = \"*.sh\"\n```\n";
    floor.ok(&["issue", "add", "Count the scripts", "--body", body, "--label", "action"]);
    for lines in 1..=6 {
        if up_killed_after(&floor, lines) {
            break;
        }
        floor.tmux(&["kill-server"]);
    }
    let (code, said) = floor.until_idle();
    assert_eq!(code, 0, "{said}");
    let said = comments(&floor, "1");
    assert_eq!(said.matches("is through").count(), 1, "{said}");
    assert_eq!(floor.json(&["runs"]).1.as_array().map(Vec::len), Some(1), "it was begun once");
}

#[test]
fn nobody_acts_before_a_person_switched_it_on() {
    let floor = Floor::new(DEMO);
    floor.ok(&["issue", "add", "Do it", "--label", "action"]);
    assert_eq!(floor.until_idle().0, 0);
    assert!(floor.ok(&["issue", "list"]).contains("agents enable action"));
    assert!(floor.engine().floor().jobs.iter().next().is_none());
    floor.ok(&["agents", "enable", "action"]);
    floor.ok(&["agents", "disable", "action"]);
    assert_eq!(floor.until_idle().0, 0);
    assert!(floor.engine().floor().jobs.iter().next().is_none());
    let said = floor.run(&["agents", "enable", "gardner"]);
    let error = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(2) && error.contains("gardener"), "{error}");
}
