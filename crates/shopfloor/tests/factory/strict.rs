//! Every first-parent commit of the primary branch is a tree that passed, also where several changes were
//! checked together.

use crate::branches::{PEOPLE, push};
use crate::floor::Floor;

/// Each file of a change is a number; together they may be ten at most.
const SUM: &str = "#!/bin/sh\nsum=0\nfor f in n-*; do [ -e \"$f\" ] && sum=$((sum + $(cat \"$f\"))); done\n[ $sum -le 10 ]\n";

fn floor(merge: &str) -> Floor {
    let floor = crate::branches::floor(&format!("{PEOPLE}[merge]\nslots = 4\n{merge}"));
    std::fs::write(floor.path("repo/check.sh"), SUM).expect("written");
    floor.git(&["commit", "--quiet", "-am", "numbers"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    floor
}

/// Queues them while the queue stands still, so that they are tried together.
fn queue(floor: &Floor, changes: &[(&str, &str)]) {
    floor.ok(&["merge-queue", "pause"]);
    for (name, number) in changes {
        push(floor, name, &format!("n-{name}"), number);
        floor.ok(&["merge-queue", "add", name, "--approve"]);
    }
    // Their heads pass first: whichever is through sooner, they are tried in the order in which they came.
    floor.until_idle();
    floor.ok(&["merge-queue", "resume"]);
    floor.until_idle();
}

/// The sums of the numbers, commit by commit along the first parents.
fn sums(floor: &Floor) -> Vec<i64> {
    let line = floor.hub(&["rev-list", "--reverse", "--first-parent", "main"]);
    let sum = |commit: &str| {
        let files = floor.hub(&["ls-tree", "--name-only", commit]);
        let numbers = files.lines().filter(|file| file.starts_with("n-"));
        numbers
            .map(|file| floor.hub(&["show", &format!("{commit}:{file}")]).parse::<i64>().expect("a number"))
            .sum()
    };
    line.lines().map(sum).collect()
}

/// `a` is too much on top of `x`, and `b` makes room for it again.
#[test]
fn what_is_red_does_not_land_because_what_follows_is_green() {
    let floor = floor("");
    queue(&floor, &[("x", "5"), ("a", "7"), ("b", "-5")]);
    let sums = sums(&floor);
    assert!(sums.iter().all(|sum| *sum <= 10), "{sums:?}");
    assert_eq!((floor.landed("n-x"), floor.landed("n-b")), ("5".into(), "-5".into()));
}

#[test]
fn changes_that_are_green_together_land_with_fewer_runs_than_changes() {
    let floor = floor("");
    let changes: Vec<(String, String)> = (0..12).map(|n| (format!("c{n}"), "0".to_owned())).collect();
    let changes: Vec<(&str, &str)> = changes.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    queue(&floor, &changes);
    for (name, _) in &changes {
        assert_eq!(floor.landed(&format!("n-{name}")), "0");
    }
    // Each has a commit of its own, and the line of first parents is shorter than that.
    let all = floor.hub(&["log", "--no-merges", "--format=%s", "main"]);
    for (name, _) in &changes {
        assert_eq!(all.lines().filter(|s| s.starts_with(&format!("{name}:"))).count(), 1, "{all}");
    }
    assert!(sums(&floor).len() < changes.len(), "{all}");
    let (_, stats) = floor.json(&["merge-queue", "stats"]);
    let number = |key: &str| stats[0][key].as_u64().unwrap_or_default();
    assert_eq!((number("landed"), number("failed")), (12, 0), "{stats}");
    assert!(number("runs") < 12 && number("runs_saved") == 12 - number("runs"), "{stats}");
    assert!(number("batch_max") > 1 && stats[0]["time_to_land"].is_object(), "{stats}");
    assert!(floor.ok(&["merge-queue", "stats"]).contains("12, "));
}
