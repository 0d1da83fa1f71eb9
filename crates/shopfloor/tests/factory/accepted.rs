//! The checks that count are the primary branch's: neither what a checkout holds just now, nor what a change says of
//! itself, gets around them; and a change of them passes the old and the new.

use crate::branches::{PEOPLE, floor, push};
use crate::floor::Floor;

/// Commits the project's configuration on the primary branch.
fn commit(floor: &Floor) {
    floor.git_insists(&["add", "shopfloor.toml"]);
    floor.git_insists(&["commit", "--quiet", "-m", "the checks"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
}

/// A branch that changes the checks, and perhaps breaks something.
fn push_checks(floor: &Floor, branch: &str, run: &str, text: &str) {
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
    floor.edit(|config| config.replace("run = \"./check.sh\"", &format!("run = \"{run}\"")));
    std::fs::write(floor.path("repo/text.txt"), format!("{text}\n")).expect("written");
    floor.git_insists(&["add", "shopfloor.toml", "text.txt"]);
    floor.git_insists(&["commit", "--quiet", "-m", branch]);
    floor.git(&["push", "--quiet", "shopfloor", &format!("HEAD:refs/heads/{branch}")]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
}

#[test]
fn checks_are_those_of_the_primary_branch() {
    let floor = floor(PEOPLE);
    commit(&floor);
    floor.until_idle();
    // What is in the checkout, and not committed, is nobody's word.
    floor.edit(|config| config.replace("run = \"./check.sh\"", "run = \"true\""));
    let told = floor.run(&["doctor"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("those of main; your checkout has others"), "{told}");
    push(&floor, "bad", "bad.txt", "BROKEN");
    floor.ok(&["merge-queue", "add", "bad", "--approve"]);
    floor.until_idle();
    let (_, all) = floor.json(&["merge-queue", "list", "--all"]);
    assert_eq!(all[0]["status"], "failed", "{all}");
    floor.git_insists(&["checkout", "--quiet", "shopfloor.toml"]);

    // A change that drops a check has to pass it still; one that adds a check, has to pass that too.
    push_checks(&floor, "drops", "true", "BROKEN");
    push_checks(&floor, "adds", "test -e nowhere", "fine");
    push_checks(&floor, "changes", "./check.sh && test -e text.txt", "fine");
    for (branch, status) in [("drops", "failed"), ("adds", "failed"), ("changes", "merged")] {
        floor.ok(&["merge-queue", "add", branch, "--approve"]);
        floor.until_idle();
        let (_, shown) = floor.json(&["explain", branch]);
        assert_eq!(shown["entry"]["status"], status, "{branch}: {shown}");
    }
    // From now on it counts for everybody, if a person says so.
    floor.git_insists(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
    floor.accept();
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
    floor.git_insists(&["rm", "--quiet", "text.txt"]);
    floor.git_insists(&["commit", "--quiet", "-m", "without it"]);
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/without"]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    floor.ok(&["merge-queue", "add", "without", "--approve"]);
    floor.until_idle();
    let (_, shown) = floor.json(&["explain", "without"]);
    assert_eq!(shown["entry"]["status"], "failed", "{shown}");
    floor.assert_history_green();
}

/// A file on the primary branch that nobody can use is no leave to use another.
#[test]
fn a_configuration_that_cannot_be_used_holds_the_project() {
    let floor = floor(PEOPLE);
    commit(&floor);
    floor.until_idle();
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
    std::fs::write(floor.path("repo/shopfloor.toml"), "nonsense = [").expect("written");
    floor.git_insists(&["commit", "--quiet", "-am", "broken"]);
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/main"]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    let output = floor.run(&["up", "--until-idle"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("main:shopfloor.toml"), "{said}");
}
