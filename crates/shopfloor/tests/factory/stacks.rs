//! Stacks: branches that go on from others. They land in order, each on top of what the one below it landed as.

use crate::branches::{PEOPLE, floor};
use crate::floor::Floor;

/// Branches on top of one another that change the same line; each says what it depends on.
fn push_stack(floor: &Floor, names: &[&str]) {
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
    let mut below = None;
    for (at, name) in names.iter().enumerate() {
        for part in ["begun", "done"] {
            std::fs::write(floor.path("repo/stack"), format!("{name} {part}\n")).expect("written");
            floor.git_insists(&["add", "stack"]);
            let depends =
                below.map(|below: &&str| format!("\n\nDepends on branch `{below}`.")).unwrap_or_default();
            floor.git_insists(&["commit", "--quiet", "-m", &format!("part {at} {part}{depends}")]);
        }
        floor.git(&["push", "--quiet", "shopfloor", &format!("HEAD:refs/heads/{name}")]);
        below = Some(name);
    }
    floor.git_insists(&["checkout", "--quiet", "main"]);
}

#[test]
fn a_stack_lands_in_order_with_every_method() {
    for method in ["squash", "rebase", "merge"] {
        let floor = floor(&format!("{PEOPLE}[merge]\nslots = 4\npeople = \"{method}\"\n"));
        push_stack(&floor, &["one", "two", "three"]);
        // The last first: it waits for the others.
        floor.ok(&["merge-queue", "add", "three", "--approve"]);
        let (code, text) = floor.until_idle();
        assert_eq!(code, 3, "a person has to queue what it waits for: {text}");
        assert!(floor.ok(&["merge-queue", "list"]).contains("two to land first (not queued)"));
        floor.ok(&["merge-queue", "add", "two", "--approve"]);
        floor.ok(&["merge-queue", "add", "one", "--approve"]);
        let (code, text) = floor.until_idle();
        assert_eq!(code, 0, "{method}: {text}");
        assert_eq!(floor.landed("stack"), "three done", "{method}");
        let line = floor.hub(&["log", "--first-parent", "--reverse", "--format=%s", "main"]);
        let parts: Vec<&str> = line.lines().filter(|subject| subject.starts_with("part")).collect();
        let expected = match method {
            "squash" | "merge" => vec!["part 0 done", "part 1 done", "part 2 done"],
            _ => vec![
                "part 0 begun",
                "part 0 done",
                "part 1 begun",
                "part 1 done",
                "part 2 begun",
                "part 2 done",
            ],
        };
        assert_eq!(parts, expected, "{method}: {line}");
        floor.assert_history_green();
    }
}

/// Without a word about it: the one below landed as one commit, and has gone on after the other was begun.
#[test]
fn what_was_begun_on_an_earlier_head_is_put_on_top_of_what_that_landed_as() {
    let floor = floor(&format!("{PEOPLE}[merge]\npeople = \"squash\"\n"));
    let commit = |file: &str, text: &str| {
        std::fs::write(floor.path("repo").join(file), format!("{text}\n")).expect("written");
        floor.git_insists(&["add", file]);
        floor.git_insists(&["commit", "--quiet", "-m", &format!("{file} {text}")]);
    };
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
    commit("stack", "below");
    floor.git_insists(&["checkout", "--quiet", "-B", "above"]);
    commit("stack", "above");
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/above"]);
    floor.git_insists(&["checkout", "--quiet", "work"]);
    commit("other", "below");
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/below"]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    for branch in ["below", "above"] {
        floor.ok(&["merge-queue", "add", branch, "--approve"]);
        let (code, text) = floor.until_idle();
        assert_eq!(code, 0, "{branch}: {text}");
    }
    assert_eq!((floor.landed("stack").as_str(), floor.landed("other").as_str()), ("above", "below"));
}

/// The one above has taken the primary branch in since. What was undone there stays undone.
#[test]
fn what_was_reverted_does_not_come_back_with_the_rest_of_a_stack() {
    let floor = floor(&format!("{PEOPLE}[merge]\npeople = \"squash\"\n"));
    let commit = |file: &str, text: &str| {
        std::fs::write(floor.path("repo").join(file), format!("{text}\n")).expect("written");
        floor.git_insists(&["add", file]);
        floor.git_insists(&["commit", "--quiet", "-m", &format!("{file} {text}")]);
    };
    let land = |branch: &str| {
        floor.ok(&["merge-queue", "add", branch, "--approve"]);
        let (code, text) = floor.until_idle();
        assert_eq!(code, 0, "{branch}: {text}");
        floor.git_insists(&["fetch", "--quiet", "shopfloor"]);
    };
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
    commit("setting", "old");
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/first"]);
    land("first");
    floor.git_insists(&["checkout", "--quiet", "-B", "below", "shopfloor/main"]);
    commit("stack", "below");
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/below"]);
    floor.git_insists(&["checkout", "--quiet", "-B", "change", "shopfloor/main"]);
    commit("setting", "new");
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/change"]);
    land("change");
    land("below");
    floor.git_insists(&["checkout", "--quiet", "-B", "above", "below"]);
    commit("stack", "above");
    floor.git_insists(&["merge", "--quiet", "-m", "main", "-X", "ours", "shopfloor/main"]);
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/above"]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    floor.ok(&["merge-queue", "revert", "change", "--approve"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("setting"), "old");
    land("above");
    assert_eq!((floor.landed("setting").as_str(), floor.landed("stack").as_str()), ("old", "above"));
}

/// A circle, or a branch that nobody has, is nothing to wait for without end.
#[test]
fn what_lands_after_itself_waits_for_a_person() {
    let floor = floor(PEOPLE);
    for (name, other) in [("one", "two"), ("two", "one")] {
        floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
        std::fs::write(floor.path("repo").join(format!("f-{name}")), "1\n").expect("written");
        floor.git_insists(&["add", &format!("f-{name}")]);
        floor.git_insists(&[
            "commit",
            "--quiet",
            "-m",
            &format!("{name}\n\nDepends on branch {other}\nDepends on branch gone"),
        ]);
        floor.git(&["push", "--quiet", "shopfloor", &format!("HEAD:refs/heads/{name}")]);
    }
    floor.git_insists(&["checkout", "--quiet", "main"]);
    floor.ok(&["merge-queue", "add", "one", "--approve"]);
    floor.ok(&["merge-queue", "add", "two", "--approve"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    // One of them is merged by hand: the other need not wait any more.
    floor.hub(&["update-ref", "-d", "refs/heads/two"]);
    floor.ok(&["merge-queue", "retry", "one"]);
    floor.until_idle();
    assert_eq!(floor.landed("f-one"), "1");
}
