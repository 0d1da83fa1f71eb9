//! The merge queue from the outside. The daemon's part is played by the test.

use crate::floor::{HEAD, TestFloor};
use crate::jobs::to_the_queue;
use serde_json::{Value, json};
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{ChainLink, CiReport, CiVerdict, Outcome};
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::planner::{Link, TreeId};

fn queued() -> TestFloor {
    let floor = TestFloor::new();
    floor.at_work();
    to_the_queue(&floor);
    floor
}

fn sha(digit: &str) -> Sha {
    digit.repeat(40).parse().unwrap()
}

/// The candidate is built and being checked.
fn testing(floor: &TestFloor) {
    let link = Link { commit: sha("c"), tree: TreeId(sha("d")) };
    let link = ChainLink { link, head_tree: TreeId(sha("e")), left_out: 0, inner: vec![] };
    let (primary, moved) = (HEAD.parse().unwrap(), Vec::new());
    floor.perform("build_chain", Outcome::Chain(outcome::Chain { primary, moved, links: vec![link] }));
}

fn checked(floor: &TestFloor, verdict: CiVerdict) {
    let report = CiReport {
        verdict,
        step: Some("test".into()),
        excerpt: "it broke".into(),
        log: "/nowhere/log".into(),
        steps_run: 1,
        at: None,
        duration_ms: 60_000,
        checks: floor.checks(),
    };
    floor.perform("run_ci", Outcome::CiFinished(report));
}

/// It is refused, with that exit code and in these words.
fn refused(floor: &TestFloor, args: &[&str], code: i32, words: &str) {
    let ran = floor.run(args);
    assert_eq!(ran.code, code, "{args:?}: {}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
}

#[test]
fn it_is_listed_in_order() {
    let floor = TestFloor::new();
    assert_eq!(floor.json(&["merge-queue", "list"]), json!([]));
    floor.at_work();
    to_the_queue(&floor);
    for command in ["merge-queue", "queue"] {
        let entry = &floor.json(&[command, "list"])[0];
        assert_eq!(entry["position"], 1);
        assert_eq!(entry["identity_name"], "dev-demo-1");
        assert_eq!(entry["branch"], "fix/issue-1");
        assert_eq!(entry["pr_number"], 2);
        assert_eq!(entry["bead_id"], "1");
        assert_eq!(entry["node_id"], "demo");
        assert_eq!(entry["status"], "preparing");
        assert_eq!(entry["waits_for"], "its candidate to be built");
        assert_eq!(entry["estimate_seconds"], Value::Null);
        assert!(entry["requested_at"].is_string());
        assert!(entry["worktree_path"].is_string());
    }
    assert_eq!(floor.json(&["status"])["queue"][0]["position"], 1);
    floor.run(&["merge-queue", "list"]).fine().shows("fix/issue-1").shows("preparing");
    floor.run(&["explain", "1"]).fine().shows("the merge queue: position 1, preparing");
    testing(&floor);
    assert_eq!(floor.json(&["merge-queue", "list"])[0]["waits_for"], "CI run 2");
    floor.run(&["cancel", "1"]).fine();
    assert_eq!(floor.json(&["merge-queue", "list"]), json!([]));
    assert_eq!(floor.json(&["merge-queue", "list", "--all"])[0]["position"], Value::Null);
}

#[test]
fn that_it_is_held_shows_in_status_also_when_nothing_waits() {
    let floor = TestFloor::new();
    assert_eq!(floor.json(&["status"])["floor"]["projects"][0]["queue_paused"], Value::Null);
    floor.run(&["merge-queue", "pause", "we release"]).fine();
    assert_eq!(floor.json(&["status"])["floor"]["projects"][0]["queue_paused"], "we release");
    floor.run(&["status"]).fine().shows("the merge queue is paused: we release");
    floor.run(&["merge-queue", "resume"]).fine();
    assert!(!floor.run(&["status"]).fine().stdout.contains("is paused"));
}

#[test]
fn its_state_is_shown() {
    let floor = TestFloor::new();
    let status = &floor.json(&["merge-queue", "status"])[0];
    assert_eq!((&status["waiting"], &status["trials"]), (&json!(0), &json!([])));
    floor.at_work();
    to_the_queue(&floor);
    testing(&floor);
    let status = &floor.json(&["merge-queue", "status"])[0];
    assert_eq!(
        (&status["waiting"], &status["slots"], &status["paused"]),
        (&json!(1), &json!(1), &Value::Null)
    );
    let trial = &status["trials"][0];
    assert_eq!(
        (&trial["issues"], &trial["run"], &trial["confirms"]),
        (&json!([1]), &json!(2), &json!(false))
    );
    floor.run(&["merge-queue", "status"]).fine().shows("1 of 1 in use").shows("#1: CI run 2");
    checked(&floor, CiVerdict::Green);
    assert_eq!(floor.json(&["merge-queue", "status"])[0]["publishing"], json!([1]));
    assert_eq!(floor.json(&["merge-queue", "status"])[0]["checks_seconds"], 60);
    assert_eq!(floor.json(&["merge-queue", "list"])[0]["status"], "merging");
}

#[test]
fn a_pause_is_kept_and_shown() {
    let floor = queued();
    floor.run(&["merge-queue", "pause", "a release"]).fine().shows("is paused: a release");
    floor.run(&["merge-queue", "list"]).fine().shows("demo is paused: a release");
    assert_eq!(floor.json(&["merge-queue", "status"])[0]["paused"], "a release");
    refused(&floor, &["merge-queue", "process"], 1, "the merge queue is paused");
    testing(&floor);
    checked(&floor, CiVerdict::Green);
    assert_eq!(floor.json(&["merge-queue", "status"])[0]["publishing"], Value::Null);
    floor.run(&["merge-queue", "resume"]).fine();
    assert_eq!(floor.json(&["merge-queue", "status"])[0]["publishing"], json!([1]));
}

#[test]
fn out_of_it_and_into_it() {
    let floor = queued();
    floor.run(&["merge-queue", "remove", "1"]).fine().shows("#1: needs_human");
    refused(&floor, &["merge-queue", "remove", "fix/issue-1"], 4, "is not in the merge queue");
    assert_eq!(floor.json(&["merge-queue", "history"])[0]["status"], "cancelled");
    floor.run(&["merge-queue", "add", "fix/issue-1", "--priority"]).fine().shows("#1: merging, position 1");
    assert_eq!(floor.json(&["merge-queue", "list"])[0]["priority"], 2);
    refused(&floor, &["merge-queue", "add", "9"], 4, "no job of project demo carries issue #9");
    // What is being published can not be called back.
    floor.run(&["merge-queue", "add", "1"]).fine();
    testing(&floor);
    testing(&floor);
    checked(&floor, CiVerdict::Green);
    refused(&floor, &["merge-queue", "remove", "1"], 5, "is being published right now");
    floor.perform("publish", Outcome::Published);
    let entry = &floor.json(&["merge-queue", "history"])[0];
    assert_eq!((&entry["status"], &entry["commit"]), (&json!("merged"), &json!(sha("c"))));
    floor.run(&["merge-queue", "history"]).fine().shows("landed as ccccccc");
}

#[test]
fn only_what_is_green_and_approved_can_be_added() {
    let floor = TestFloor::new();
    floor.at_work();
    let words = "issue #1 cannot be queued: it has no pull request yet";
    refused(&floor, &["merge-queue", "add", "1"], 1, words);
}

#[test]
fn what_conflicted_can_be_queued_again() {
    let floor = queued();
    let conflict = shopfloor_core::effect::Conflict { files: vec!["readme".into()], hunks: String::new() };
    let (primary, moved, entry) = (HEAD.parse().unwrap(), Vec::new(), EntryId(1));
    floor.perform(
        "build_chain",
        Outcome::ChainConflict(outcome::ChainConflict { primary, moved, entry, with_base: true, conflict }),
    );
    let entry = &floor.json(&["merge-queue", "history"])[0];
    assert_eq!(
        (&entry["status"], &entry["waits_for"]),
        (&json!("conflicted"), &json!("conflicts in readme (on top of 0123456789ab)"))
    );
    floor.run(&["merge-queue", "retry", "1"]).fine().shows("#1: merging, position 1");
}

#[test]
fn an_empty_queue_needs_no_processing() {
    let floor = TestFloor::new();
    floor.run(&["merge-queue", "process"]).fine().shows("the merge queue is empty");
}
