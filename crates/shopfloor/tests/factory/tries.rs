//! `merge-queue try`: a branch is checked as it would land, and does not.

use crate::branches::{Gate, PEOPLE, floor, push, push_primary};
use crate::floor::{Floor, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;

fn tried(floor: &Floor, branch: &str) -> Value {
    floor.json(&["explain", branch]).1["tries"][0].clone()
}

#[test]
fn a_branch_is_checked_on_top_of_the_primary_branch_and_nothing_lands() {
    let floor = floor(PEOPLE);
    push(&floor, "good", "good.txt", "one");
    push(&floor, "bad", "bad.txt", "BROKEN");
    push(&floor, "late", "both.txt", "mine");
    let base = push_primary(&floor, "both.txt");
    // It needs nobody's approval. Without a daemon it is checked here.
    let (code, good) = floor.json(&["merge-queue", "try", "good"]);
    assert_eq!((code, &good["state"], &good["base"]), (0, &json!("green"), &json!(base)), "{good}");
    let commit = good["commit"].as_str().expect("what was checked");
    let queue = floor.home().join("projects").join(floor.project.as_str()).join("queue.git");
    let checked = crate::floor::git_in(&queue, &floor.path("home"), &["show", &format!("{commit}:both.txt")]);
    assert_eq!(checked, "by hand", "on top of the primary branch");
    assert!(Path::new(good["log"].as_str().expect("a log")).is_file(), "{good}");

    let output = floor.run(&["merge-queue", "try", "bad"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("red: ") && said.contains("the log: ") && said.contains("BROKEN"), "{said}");
    let (code, late) = floor.json(&["merge-queue", "try", "late"]);
    assert_eq!(
        (code, &late["state"], &late["files"]),
        (6, &json!("conflicted"), &json!(["both.txt"])),
        "{late}"
    );
    assert_eq!(floor.run(&["merge-queue", "try", "nobody"]).status.code(), Some(4));

    // Nothing has landed, nothing is queued, and every branch is where it was.
    assert_eq!(floor.hub(&["rev-parse", "main"]), base);
    assert_eq!(floor.json(&["merge-queue", "list", "--all"]).1, json!([]));
    assert_eq!(
        floor.hub(&["for-each-ref", "--format=%(refname:short)", "refs/heads/bad", "refs/heads/good"]),
        "bad\ngood"
    );
    assert!(floor.ok(&["merge-queue", "list", "--all"]).contains("tried: bad at"));
    // And it is asked for an approval as before.
    assert!(!floor.run(&["merge-queue", "add", "good"]).status.success());
}

#[test]
fn it_is_put_on_top_of_another_branch() {
    let floor = floor(PEOPLE);
    push(&floor, "next", "next.txt", "BROKEN");
    push(&floor, "mine", "mine.txt", "one");
    assert_eq!(floor.json(&["merge-queue", "try", "mine"]).0, 0);
    let (code, on_next) = floor.json(&["merge-queue", "try", "mine", "--on", "next"]);
    assert_eq!((code, &on_next["on"], &on_next["state"]), (3, &json!("next"), &json!("red")), "{on_next}");
    assert_eq!(floor.run(&["merge-queue", "try", "mine", "--on", "no-such"]).status.code(), Some(1));
    // The branch that it was put on has no queue of its own by that.
    assert_eq!(floor.json(&["merge-queue", "status"]).1.as_array().map(Vec::len), Some(1));
}

#[test]
fn a_daemon_that_dies_in_the_middle_loses_no_try_and_a_landing_does_not_wait_for_one() {
    let floor = Floor::new(PEOPLE);
    let mut gate = Gate::new(&floor);
    assert_eq!(floor.until_idle().0, 0);
    floor.ok(&["up", "--detach"]);
    push(&floor, "mine", "mine.txt", "one");
    let (code, asked) = floor.json(&["merge-queue", "try", "mine", "--no-wait"]);
    assert_eq!((code, &asked["branch"]), (0, &json!("mine")), "{asked}");
    wait_for("it is being checked", || gate.began() == 1);
    assert!(floor.ok(&["merge-queue", "list"]).contains("tried: mine at"));
    let (_, status) = floor.json(&["merge-queue", "status"]);
    assert_eq!((&status[0]["tries"][0]["state"], &status[0]["trials"]), (&json!("testing"), &json!([])));

    let holder = std::fs::read_to_string(floor.home().join("daemon.lock")).expect("the lock file");
    let pid = holder.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a pid");
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("killed");
    wait_for("another daemon", || floor.run(&["up", "--detach"]).status.success());
    wait_for("it is checked anew", || gate.began() == 2);
    // Somebody asks again: it is the same, and is waited for. And one lands beside it.
    let mut waits = floor.command(&["merge-queue", "try", "mine"]).spawn().expect("it runs");
    push(&floor, "lands", "lands.txt", "one");
    floor.ok(&["merge-queue", "add", "lands", "--approve"]);
    wait_for("the other is checked", || gate.began() == 3);
    gate.let_through(2);
    wait_for("it landed", || floor.json(&["explain", "lands"]).1["entry"]["status"] == "merged");
    assert_eq!(waits.wait().expect("it ends").code(), Some(0));
    assert_eq!(tried(&floor, "mine")["state"], "green");

    // One that nobody wants to know of any more is ended.
    push(&floor, "other", "other.txt", "one");
    floor.ok(&["merge-queue", "try", "other", "--no-wait"]);
    wait_for("it is being checked", || gate.began() == 4);
    floor.ok(&["merge-queue", "try", "other", "--cancel"]);
    assert_eq!(tried(&floor, "other")["state"], "unknown");
    floor.ok(&["down"]);
    assert!(floor.hub(&["log", "--format=%s", "main"]).lines().all(|line| !line.starts_with("mine: ")));
}
