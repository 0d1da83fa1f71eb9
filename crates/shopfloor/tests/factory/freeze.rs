//! `merge-queue pause --below`, `add --alone` and `batch = "each"`, on real git.

use crate::branches::{Gate, PEOPLE, floor, push};
use crate::floor::{Floor, wait_for};
use serde_json::Value;

fn row(floor: &Floor, branch: &str) -> Value {
    let (_, all) = floor.json(&["merge-queue", "list", "--all"]);
    let rows = all.as_array().expect("a list");
    rows.iter().find(|e| e["branch"] == branch).cloned().unwrap_or_default()
}

fn has_landed(floor: &Floor, branch: &str) -> bool {
    row(floor, branch)["status"] == "merged"
}

#[test]
fn below_the_threshold_nothing_lands_and_it_is_said_why() {
    let floor = floor(PEOPLE);
    let mut gate = Gate::new(&floor);
    push(&floor, "alice/fix", "a.txt", "one");
    push(&floor, "bob/hot", "b.txt", "two");
    floor.ok(&["up", "--detach"]);
    floor.ok(&["merge-queue", "add", "alice/fix", "--approve"]);
    wait_for("it is being checked", || gate.began() == 1);
    let said = floor.ok(&["merge-queue", "pause", "--below", "urgent", "a release"]);
    assert!(said.contains("is paused: a release (only urgent changes land)"), "{said}");
    // What is being checked comes to its end, and does not land.
    gate.let_through(1);
    wait_for("its checks are over", || row(&floor, "alice/fix")["status"] == "queued");
    let waits = "the paused queue (a release): it is not urgent; then its turn";
    assert_eq!(row(&floor, "alice/fix")["waits_for"], waits);
    assert!(floor.ok(&["explain", "alice/fix"]).contains("it is not urgent"));
    let (_, status) = floor.json(&["merge-queue", "status"]);
    assert_eq!((&status[0]["paused"], &status[0]["paused_below"]), (&"a release".into(), &"urgent".into()));
    for command in [&["status"][..], &["merge-queue", "status"], &["merge-queue", "list"]] {
        let said = floor.ok(command);
        assert!(said.contains("a release (only urgent changes land)"), "{command:?}: {said}");
    }
    // The urgent one does, and stays the only one after a restart.
    floor.ok(&["merge-queue", "add", "bob/hot", "--urgent", "--approve"]);
    wait_for("it is being checked", || gate.began() == 2);
    gate.let_through(1);
    wait_for("the urgent one landed", || has_landed(&floor, "bob/hot"));
    floor.ok(&["down"]);
    floor.ok(&["up", "--detach"]);
    assert_eq!(row(&floor, "alice/fix")["waits_for"], waits);
    assert_eq!(floor.run(&["merge-queue", "process"]).status.code(), Some(1));
    assert_eq!(gate.began(), 2);
    // Once it is urgent itself, it lands as well: as it would now, on top of the other.
    floor.ok(&["merge-queue", "add", "alice/fix", "--urgent"]);
    wait_for("it is being checked as it would land", || gate.began() == 3);
    gate.let_through(1);
    wait_for("it landed", || has_landed(&floor, "alice/fix"));
    assert!(floor.ok(&["merge-queue", "resume"]).contains("continues"));
    floor.ok(&["down"]);
    floor.assert_history_green();
}

/// What each move of the primary branch brought.
fn moves(floor: &Floor) -> Vec<Vec<String>> {
    let tips = floor.hub(&["reflog", "show", "--format=%H", "main"]);
    let tips: Vec<&str> = tips.lines().collect();
    let brought = |pair: &[&str]| {
        let files = floor.hub(&["diff-tree", "-r", "--name-only", pair[1], pair[0]]);
        files.lines().map(str::to_owned).collect()
    };
    tips.windows(2).rev().map(brought).collect()
}

/// What each commit of the first-parent line brought.
fn commits(floor: &Floor) -> Vec<Vec<String>> {
    let line = floor.hub(&["rev-list", "--reverse", "--first-parent", "main"]);
    let brought = |commit: &str| {
        let files = floor.hub(&["diff-tree", "-r", "--name-only", &format!("{commit}^1"), commit]);
        files.lines().map(str::to_owned).collect()
    };
    line.lines().skip(1).map(brought).collect()
}

/// Queued while the queue stands still, so that they could be tried together.
fn queue(floor: &Floor, adds: &[&[&str]]) {
    floor.ok(&["merge-queue", "pause"]);
    for args in adds {
        push(floor, args[0], &format!("{}.txt", args[0]), args[0]);
        floor.ok(&[&["merge-queue", "add"], *args, &["--approve"]].concat());
    }
    floor.until_idle();
    floor.ok(&["merge-queue", "resume"]);
    floor.until_idle();
    for args in adds {
        assert!(has_landed(floor, args[0]), "{}", row(floor, args[0]));
    }
}

#[test]
fn one_that_is_alone_lands_by_itself() {
    let floor = floor(&format!("{PEOPLE}[merge]\nslots = 1\n"));
    queue(&floor, &[&["a"], &["b"], &["c", "--alone"], &["d"], &["e"]]);
    let moves = moves(&floor);
    assert!(moves.contains(&vec!["c.txt".to_owned()]), "{moves:?}");
    assert!(moves.iter().any(|files| files.len() > 1), "the others are batched: {moves:?}");
    assert_eq!(row(&floor, "c")["alone"], true);
    floor.assert_history_green();
}

#[test]
fn with_each_every_change_has_a_run_and_a_commit_of_its_own() {
    let floor = floor(&format!("{PEOPLE}[merge]\nslots = 3\nbatch = \"each\"\n"));
    queue(&floor, &[&["a"], &["b"], &["c"], &["d"]]);
    let commits = commits(&floor);
    for name in ["a", "b", "c", "d"] {
        assert!(commits.contains(&vec![format!("{name}.txt")]), "{commits:?}");
    }
    floor.assert_history_green();
}
