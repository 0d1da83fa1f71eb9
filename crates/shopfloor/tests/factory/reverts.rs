//! What has landed is undone by another change, through the queue.

use crate::branches::{PEOPLE, floor, push};
use crate::floor::Floor;

/// Queues them while the queue stands still, so that they land at once.
fn land(floor: &Floor, branches: &[&str]) {
    floor.ok(&["merge-queue", "pause"]);
    for branch in branches {
        floor.ok(&["merge-queue", "add", branch, "--approve"]);
    }
    floor.until_idle();
    floor.ok(&["merge-queue", "resume"]);
    floor.until_idle();
    floor.git_insists(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
}

fn fails(floor: &Floor, args: &[&str]) -> String {
    let output = floor.run(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{args:?}: {said}");
    said
}

fn files(floor: &Floor) -> Vec<String> {
    let all = floor.hub(&["ls-tree", "--name-only", "main"]);
    all.lines().filter(|name| name.starts_with("f-")).map(str::to_owned).collect()
}

#[test]
fn one_of_several_that_landed_at_once_is_undone_and_nothing_else() {
    // Two commits in one branch land as two: both are undone.
    let floor = floor(&format!("{PEOPLE}[merge]\nslots = 4\npeople = \"rebase\"\n"));
    push(&floor, "a", "f-a", "1");
    push(&floor, "b", "f-b", "1");
    floor.git_insists(&["checkout", "--quiet", "work"]);
    std::fs::write(floor.path("repo/f-b2"), "2\n").expect("written");
    floor.git_insists(&["add", "f-b2"]);
    floor.git_insists(&["commit", "--quiet", "-m", "b again"]);
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/b"]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    push(&floor, "c", "f-c", "1");
    land(&floor, &["a", "b", "c"]);
    assert_eq!(files(&floor), ["f-a", "f-b", "f-b2", "f-c"]);

    for (branch, left) in [("b", &["f-a", "f-c"][..]), ("c", &["f-a"]), ("a", &[])] {
        let said = floor.ok(&["merge-queue", "revert", branch, "--approve"]);
        assert!(said.contains("revert-entry-") && said.contains("approved"), "{said}");
        floor.until_idle();
        assert_eq!(files(&floor), left, "{branch}");
    }
    let log = floor.hub(&["log", "--format=%B", "main"]);
    assert!(log.contains("This undoes merge queue entry") && log.contains("Revert \"b again\""), "{log}");
    // Once more there is nothing left of it.
    let said = fails(&floor, &["merge-queue", "revert", "b", "--approve"]);
    assert!(said.contains("there is nothing to undo"), "{said}");
    assert_eq!(floor.hub(&["for-each-ref", "refs/heads/revert-*"]), "");
    floor.assert_history_green();
}

#[test]
fn what_later_changes_touch_is_left_to_people() {
    let floor = floor(PEOPLE);
    push(&floor, "one", "f-x", "1");
    land(&floor, &["one"]);
    push(&floor, "two", "f-x", "2");
    land(&floor, &["two"]);
    let said = fails(&floor, &["merge-queue", "revert", "one", "--approve"]);
    assert!(said.contains("later changes touch the same places: f-x") && said.contains("git diff"), "{said}");
    assert_eq!(floor.hub(&["for-each-ref", "refs/heads/revert-*"]), "");
    let said = fails(&floor, &["merge-queue", "revert", "nine"]);
    assert!(said.contains("nothing of that has landed"), "{said}");
    // It is prepared, and another approves: that very commit, for nobody knows what was done to it since.
    let said = fails(&floor, &["merge-queue", "revert", "two"]);
    assert!(
        said.contains("is not approved") && said.contains("merge-queue add revert-entry-2 --approve"),
        "{said}"
    );
    let said = fails(&floor, &["merge-queue", "revert", "two", "--approve"]);
    assert!(said.contains("look at it before you approve it"), "{said}");
    let head = floor.hub(&["rev-parse", "revert-entry-2"]);
    floor.ok(&["merge-queue", "revert", "two", "--approve", &head]);
    floor.until_idle();
    assert_eq!(floor.landed("f-x"), "1");
}

/// A union keeps every line: to undo one is not to be had from it.
#[test]
fn a_line_of_a_union_is_not_said_to_be_undone() {
    let floor = floor(PEOPLE);
    push(&floor, "rule", ".gitattributes", "f-log merge=union");
    land(&floor, &["rule"]);
    push(&floor, "one", "f-log", "1");
    land(&floor, &["one"]);
    push(&floor, "two", "f-log", "1\n2");
    land(&floor, &["two"]);
    let said = fails(&floor, &["merge-queue", "revert", "one", "--approve"]);
    assert!(said.contains("later changes touch the same places: f-log"), "{said}");
}
