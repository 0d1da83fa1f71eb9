//! Changes that are checked together, asked for twice, or asked for again.

use crate::branches::{Gate, PEOPLE, push, push_primary};
use crate::floor::{Floor, wait_for};
use crate::races::landed_once;

fn with_status(floor: &Floor, status: &str) -> Vec<String> {
    let (_, all) = floor.json(&["merge-queue", "list", "--all"]);
    let rows = all.as_array().expect("a list").iter().filter(|e| e["status"] == status);
    let mut names: Vec<String> = rows.filter_map(|e| e["branch"].as_str().map(str::to_owned)).collect();
    names.sort();
    names
}

/// One run is for three of them when one is taken out: that run ends, and the others get one without it. What was taken out
/// is as it was, and lands when it is wanted again.
#[test]
fn one_that_is_taken_out_of_a_batch_leaves_the_others_in_it() {
    let floor = Floor::new(&format!("{PEOPLE}[merge]\nslots = 1\n"));
    let mut gate = Gate::new(&floor);
    assert_eq!(floor.until_idle().0, 0);
    let names = ["a", "b", "c"];
    for name in names {
        push(&floor, name, &format!("{name}.txt"), "one");
    }
    // On top of something else, so that they have to be checked as they would land.
    push_primary(&floor, "before.txt");
    floor.ok(&["merge-queue", "pause"]);
    floor.ok(&["up", "--detach"]);
    for name in names {
        floor.ok(&["merge-queue", "add", name, "--approve"]);
    }
    gate.let_through(3);
    wait_for("their heads passed", || with_status(&floor, "queued") == names);
    floor.ok(&["merge-queue", "resume"]);
    wait_for("they are checked together", || with_status(&floor, "testing") == names);
    wait_for("in one run", || gate.began() == 4);
    floor.ok(&["merge-queue", "remove", "b"]);
    wait_for("the others are checked without it", || gate.began() == 5);
    assert_eq!(
        (with_status(&floor, "testing"), with_status(&floor, "cancelled")),
        (vec!["a".to_owned(), "c".to_owned()], vec!["b".to_owned()])
    );
    gate.let_through(1);
    wait_for("they landed", || with_status(&floor, "merged") == ["a", "c"]);
    assert!(!floor.hub(&["ls-tree", "--name-only", "main"]).contains("b.txt"));
    floor.ok(&["merge-queue", "add", "b", "--approve"]);
    gate.let_through(1);
    wait_for("it landed, too", || with_status(&floor, "merged").contains(&"b".to_owned()));
    floor.ok(&["down"]);
    for name in names {
        assert_eq!(floor.landed(&format!("{name}.txt")), "one");
    }
    floor.assert_history_green();
}

/// What failed for a reason outside of it is tried again as it is when somebody asks.
#[test]
fn the_same_head_is_queued_again_after_it_failed() {
    let floor = Floor::new(PEOPLE);
    let weather = floor.path("weather");
    let script = format!("#!/bin/sh\ntest ! -e a.txt || test -e '{}'\n", weather.display());
    std::fs::write(floor.path("repo/check.sh"), script).expect("written");
    floor.git(&["commit", "--quiet", "-am", "weather"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    assert_eq!(floor.until_idle().0, 0);
    let head = push(&floor, "a", "a.txt", "one");
    floor.ok(&["merge-queue", "add", "a", "--approve"]);
    floor.until_idle();
    assert_eq!(with_status(&floor, "failed"), ["a"]);
    std::fs::write(&weather, "").expect("written");
    let said = floor.ok(&["merge-queue", "add", "a", "--approve"]);
    assert!(said.contains(head.as_str()), "{said}");
    assert_eq!(floor.until_idle().0, 0);
    landed_once(&floor, "a");
}

/// However many ask for it at once, it is one entry.
#[test]
fn a_branch_that_several_ask_for_at_once_is_queued_once() {
    let floor = Floor::new(PEOPLE);
    assert_eq!(floor.until_idle().0, 0);
    push(&floor, "a", "a.txt", "one");
    floor.ok(&["merge-queue", "pause"]);
    let asked: Vec<_> = (0..6)
        .map(|_| floor.command(&["merge-queue", "add", "a", "--approve"]).spawn().expect("the binary runs"))
        .collect();
    for mut one in asked {
        assert!(one.wait().expect("waited").success());
    }
    let (_, all) = floor.json(&["merge-queue", "list", "--all"]);
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all}");
    floor.ok(&["merge-queue", "resume"]);
    assert_eq!(floor.until_idle().0, 0);
    landed_once(&floor, "a");
}
