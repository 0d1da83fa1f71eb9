//! Other branches than the primary one that work lands on: each has a queue of its own, issues choose by label,
//! people by `--to`, and what has landed is carried from one to another.

use crate::branches::{PEOPLE, floor, push, push_onto};
use crate::floor::{DEMO, Floor};

const TARGET: &str = "[merge.targets.release-1]\nbranch = \"release/1.x\"\n";

/// The hub has both branches, and they differ.
fn make_target(floor: &Floor) {
    floor.git(&["push", "--quiet", "shopfloor", "main:refs/heads/release/1.x"]);
    floor.git(&["fetch", "--quiet", "shopfloor"]);
    std::fs::write(floor.path("repo/only-main"), "1\n").expect("written");
    floor.git(&["add", "only-main"]);
    floor.git(&["commit", "--quiet", "-m", "main goes on"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
}

fn files(floor: &Floor, branch: &str) -> Vec<String> {
    let all = floor.hub(&["ls-tree", "--name-only", branch]);
    all.lines()
        .filter(|name| !["README", "check.sh", ".gitignore"].contains(name))
        .map(str::to_owned)
        .collect()
}

fn refused(floor: &Floor, args: &[&str]) -> String {
    let output = floor.run(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{args:?}: {said}");
    said
}

#[test]
fn an_issue_lands_where_its_label_says() {
    let floor = Floor::new(&format!("{DEMO}{TARGET}"));
    floor.until_idle();
    make_target(&floor);
    let body = "demo: write fixed.txt <<for the release";
    let add = ["issue", "add", "Fix it there", "--body", body, "--label", "backlog", "--label", "release-1"];
    floor.ok(&add);
    floor.ok(&[
        "issue",
        "add",
        "And go on here",
        "--body",
        "demo: write new.txt <<new",
        "--label",
        "backlog",
    ]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(files(&floor, "main"), ["new.txt", "only-main"], "{text}");
    // It was begun at the target, so nothing of the primary branch came with it.
    assert_eq!(files(&floor, "release/1.x"), ["fixed.txt"], "{text}");
    let (_, status) = floor.json(&["merge-queue", "status"]);
    let branches: Vec<&str> =
        status.as_array().expect("a list").iter().filter_map(|q| q["branch"].as_str()).collect();
    assert_eq!(branches, ["main", "release/1.x"]);
    let (_, all) = floor.json(&["merge-queue", "list", "--all"]);
    let landed =
        |target: &str| all.as_array().expect("a list").iter().filter(|e| e["target"] == target).count();
    assert_eq!((landed("main"), landed("release/1.x")), (1, 1), "{all}");
}

#[test]
fn people_choose_a_target_and_carry_what_has_landed() {
    let floor = floor(&format!("{PEOPLE}{TARGET}"));
    make_target(&floor);
    push_onto(&floor, "shopfloor/release/1.x", "hot", "f-hot", "1");
    assert!(
        refused(&floor, &["merge-queue", "add", "hot", "--to", "release-2"])
            .contains("its targets are release-1")
    );
    // What was approved for one branch is another change on another.
    floor.ok(&["merge-queue", "pause"]);
    floor.ok(&["merge-queue", "add", "hot", "--approve"]);
    let said = refused(&floor, &["merge-queue", "add", "hot", "--to", "release-1"]);
    assert!(said.contains("is not approved"), "{said}");
    floor.ok(&["merge-queue", "add", "hot", "--to", "release-1", "--approve"]);
    floor.ok(&["merge-queue", "resume"]);
    floor.until_idle();
    assert_eq!(files(&floor, "release/1.x"), ["f-hot"]);
    assert_eq!(files(&floor, "main"), ["only-main"]);

    // Forward, and what landed on the primary branch back.
    let said = floor.ok(&["merge-queue", "backport", "hot", "--to", "main", "--approve"]);
    assert!(said.contains("it brings hot") && said.contains("to main"), "{said}");
    push(&floor, "feat", "f-feat", "1");
    floor.ok(&["merge-queue", "add", "feat", "--approve"]);
    floor.until_idle();
    assert_eq!(files(&floor, "main"), ["f-feat", "f-hot", "only-main"]);
    floor.ok(&["merge-queue", "backport", "feat", "--to", "release-1", "--approve"]);
    floor.until_idle();
    assert_eq!(files(&floor, "release/1.x"), ["f-feat", "f-hot"]);
    let log = floor.hub(&["log", "--format=%B", "release/1.x"]);
    assert!(log.contains("(cherry picked from commit "), "{log}");
    assert!(
        refused(&floor, &["merge-queue", "backport", "feat", "--to", "release-1"])
            .contains("has all of it already")
    );
    assert!(
        refused(&floor, &["merge-queue", "backport", "feat", "--to", "main"])
            .contains("landed on main itself")
    );
    assert!(refused(&floor, &["merge-queue", "add", "release/1.x"]).contains("release/1.x is a target"));
    // Undone where it landed, and nowhere else.
    floor.ok(&["merge-queue", "revert", "hot", "--approve"]);
    floor.until_idle();
    assert_eq!(files(&floor, "release/1.x"), ["f-feat"]);
    assert_eq!(files(&floor, "main"), ["f-feat", "f-hot", "only-main"]);
}

#[test]
fn one_queue_stands_still_and_the_other_goes_on() {
    let floor = floor(&format!("{PEOPLE}{TARGET}"));
    make_target(&floor);
    push(&floor, "a", "f-a", "1");
    push_onto(&floor, "shopfloor/release/1.x", "b", "f-b", "1");
    floor.ok(&["merge-queue", "pause", "a release is being made", "--to", "release-1"]);
    floor.ok(&["merge-queue", "add", "b", "--to", "release-1", "--approve"]);
    floor.ok(&["merge-queue", "add", "a", "--approve"]);
    floor.until_idle();
    assert_eq!(files(&floor, "main"), ["f-a", "only-main"]);
    assert!(files(&floor, "release/1.x").is_empty());
    assert!(
        floor.ok(&["merge-queue", "list"]).contains("sample:release/1.x is paused: a release is being made")
    );

    // Tried again, it is for the branch that it was for.
    floor.ok(&["merge-queue", "remove", "b"]);
    floor.ok(&["merge-queue", "retry", "b"]);
    assert_eq!(floor.json(&["merge-queue", "list"]).1[0]["target"], "release/1.x");

    // One that is deleted, likewise.
    floor.ok(&["merge-queue", "resume"]);
    floor.hub(&["update-ref", "-d", "refs/heads/release/1.x"]);
    push(&floor, "c", "f-c", "1");
    floor.ok(&["merge-queue", "add", "c", "--approve"]);
    floor.until_idle();
    assert_eq!(files(&floor, "main"), ["f-a", "f-c", "only-main"]);
    let told = floor.ok(&["merge-queue", "list"]);
    assert!(told.contains("sample:release/1.x stands still: release/1.x was deleted"), "{told}");
    floor.git(&["push", "--quiet", "shopfloor", "shopfloor/release/1.x:refs/heads/release/1.x"]);
    floor.until_idle();
    assert_eq!(files(&floor, "release/1.x"), ["f-b"]);
}

/// A release branch has checks of its own: what the primary branch asks for today, it need not have.
#[test]
fn a_target_is_checked_as_its_own_configuration_says() {
    let floor = floor(&format!("{PEOPLE}{TARGET}"));
    floor.git_insists(&["add", "shopfloor.toml"]);
    floor.git_insists(&["commit", "--quiet", "-m", "the checks"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    make_target(&floor);
    floor.configure(|config| config.replace("run = \"./check.sh\"", "run = \"test -e only-main\""));
    floor.git_insists(&["commit", "--quiet", "-am", "other checks"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    push_onto(&floor, "shopfloor/release/1.x", "hot", "f-hot", "1");
    floor.ok(&["merge-queue", "add", "hot", "--to", "release-1", "--approve"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert!(floor.hub(&["ls-tree", "--name-only", "release/1.x"]).contains("f-hot"));
}
