//! Questions, from the phase file to the answer, by the commands people and agents use.

use crate::floor::{Ran, TestFloor, ran};
use serde_json::json;
use shopfloor_core::event::Event;
use shopfloor_core::ids::Epoch;
use shopfloor_core::phase::PhaseReport;

/// The agent of `at_work` runs `shopfloor phase`, and the daemon takes in what it wrote.
fn ask(floor: &TestFloor, arguments: &[&str]) {
    let file = floor.home().join("asked.phase");
    let arguments = [&["phase", "needs_human"], arguments].concat();
    ran(floor.command(&arguments).env("PHASE_FILE", &file).env("SHOPFLOOR_SESSION", "1")).fine();
    let content = std::fs::read_to_string(&file).unwrap();
    let report = PhaseReport::parse(&content).unwrap().unwrap();
    floor.submit(&Event::PhaseWritten { epoch: Epoch(1), stamp: content, report });
}

#[track_caller]
fn fails(ran: &Ran, code: i32, why: &str) {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

#[test]
fn a_question_is_shown_and_answered_by_its_number() {
    let floor = TestFloor::new();
    assert_eq!(floor.json(&["questions"]), json!([]));
    floor.run(&["questions"]).fine().shows("no questions");
    floor.at_work();
    let full = ["--option", "A", "--option", "B", "--deadline", "2h", "--default", "A"];
    ask(&floor, &[&["--detail", "A or\nB?"], &full[..]].concat());
    let shown = &floor.json(&["questions"])[0];
    assert_eq!((&shown["id"], &shown["issue"]), (&json!("q1"), &json!(1)));
    assert_eq!((&shown["question"], &shown["default"]), (&json!("A or\nB?"), &json!("A")));
    assert_eq!(shown["options"], json!(["A", "B"]));
    assert!(shown["asked_at"].as_str().unwrap() < shown["deadline"].as_str().unwrap());
    let human = floor.run(&["questions"]).fine();
    human
        .shows("q1  #1 Say hello, asked ")
        .shows("    A or\n    B?\n    1. A\n    2. B\n")
        .shows("it continues with: A");
    floor.run(&["explain", "1"]).fine().shows("an answer: ");

    fails(&floor.run(&["answer", "q2", "B"]), 4, "there is no open question q2");
    fails(&floor.run(&["answer", "seven", "B"]), 2, "a question such as q3");
    assert_eq!(floor.json(&["answer", "q1", "2"]), json!({ "issue": 1, "answered": true, "typed": null }));
    fails(&floor.run(&["answer", "q1", "1"]), 4, "there is no open question q1");
    let taken = floor.engine();
    assert!(taken.floor().messages.iter().any(|m| m.text == "Answer: B"));
}

#[test]
fn an_issues_number_will_do_as_well() {
    let floor = TestFloor::new();
    floor.at_work();
    fails(&floor.run(&["answer", "1", "x"]), 4, "issue #1 has no open question");
    ask(&floor, &["--detail", "Which?"]);
    floor.run(&["answer", "#1", "this one"]).fine();
    assert_eq!(floor.json(&["status"])["jobs"][0]["state"], "working");
}

#[test]
fn what_makes_no_question_is_refused() {
    let floor = TestFloor::new();
    let refused = |arguments: &[&str], why: &str| {
        let arguments = [&["phase"], arguments].concat();
        fails(&ran(floor.command(&arguments).env("PHASE_FILE", "/nowhere/x.phase")), 2, why);
    };
    refused(&["done", "--option", "A"], "belong to a question, not to done");
    refused(&["needs_human", "--default", "A"], "--deadline");
    refused(&["needs_human", "--deadline", "soon"], "is not a duration");
    let other = ["needs_human", "--option", "A", "--deadline", "1h", "--default", "B"];
    refused(&other, "is none of the options");
}
