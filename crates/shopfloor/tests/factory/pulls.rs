//! People's own pull requests: opened for a branch they pushed, reviewed, followed, landed, withdrawn.

use crate::branches::{Gate, PEOPLE, floor, push};
use crate::floor::{Floor, person, wait_for};
use serde_json::{Value, json};
use std::process::Output;

/// As somebody else at the same machine.
fn by(floor: &Floor, who: &str, args: &[&str]) -> Output {
    floor.command(args).env("USER", who).output().expect("it runs")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn done(output: Output) -> String {
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

fn shown(floor: &Floor, pr: u64) -> Value {
    floor.json(&["pr", "show", &pr.to_string()]).1
}

fn status(floor: &Floor, branch: &str) -> Value {
    floor.json(&["explain", branch]).1["entry"]["status"].clone()
}

#[test]
fn a_persons_pull_request_is_approved_and_lands_in_its_own_words() {
    let floor = floor(&format!("{PEOPLE}[merge]\npeople = \"squash\"\n"));
    let head = push(&floor, "alice/fix", "a.txt", "one");
    let create = ["pr", "create", "alice/fix", "--title", "Say one", "--body", "Because two is too many."];
    // Not by an agent, not of what is not there.
    let agent = floor.command(&create).env("SHOPFLOOR_SESSION", "dev-demo-1").output().expect("it runs");
    assert_eq!(agent.status.code(), Some(6), "{}", said(&agent));
    assert_eq!(floor.run(&["pr", "create", "nobody/there"]).status.code(), Some(4));
    assert!(done(by(&floor, "alice", &create)).contains("#1 opened: alice/fix at"));
    let again = by(&floor, "alice", &create);
    assert!(
        !again.status.success() && said(&again).contains("a pull request already: #1"),
        "{}",
        said(&again)
    );
    let pr = shown(&floor, 1);
    assert_eq!(
        (&pr["author"], &pr["issue"], &pr["head"]),
        (&json!(person("alice")), &Value::Null, &json!(head))
    );
    assert_eq!(floor.hub(&["rev-parse", "refs/pull/1/head"]), head.to_string());

    let agent = floor.command(&["pr", "close", "1"]).env("SHOPFLOOR_SESSION", "dev-demo-1").output();
    assert_eq!(agent.expect("it runs").status.code(), Some(6));
    // Nobody approves their own; another's approval of the head is what the queue needs.
    let own = by(&floor, "alice", &["pr", "review", "1", "--approve"]);
    assert!(said(&own).contains("who cannot approve it"), "{}", said(&own));
    assert!(!by(&floor, "alice", &["merge-queue", "add", "alice/fix"]).status.success());
    done(by(&floor, "bob", &["pr", "review", "1", "--approve"]));
    // Only said, nothing decided.
    done(by(&floor, "carol", &["pr", "review", "1", "--comment", "--body", "Nice."]));
    done(by(&floor, "alice", &["merge-queue", "add", "alice/fix"]));
    floor.ok(&["merge-queue", "process"]);
    let message = floor.hub(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(message, "Say one (#1)\n\nBecause two is too many.");
    let pr = shown(&floor, 1);
    assert_eq!(pr["state"], "merged");
    let told = pr["comments"][0]["body"].as_str().expect("a comment");
    assert!(
        told.starts_with("Landed on main as") && told.contains(&format!("Queued by {}", person("alice"))),
        "{told}"
    );
    assert_eq!(pr["comments"].as_array().map(Vec::len), Some(1));
    floor.assert_history_green();
}

#[test]
fn an_approval_is_of_the_commit_that_it_was_given_for() {
    let floor = floor(PEOPLE);
    push(&floor, "alice/fix", "a.txt", "one");
    done(by(&floor, "alice", &["pr", "create", "alice/fix"]));
    done(by(&floor, "bob", &["pr", "review", "1", "--approve"]));
    // The branch moves: so does its pull request, and the approval does not.
    let head = push(&floor, "alice/fix", "a.txt", "two");
    assert_eq!(shown(&floor, 1)["head"], json!(head));
    assert_eq!(floor.hub(&["rev-parse", "refs/pull/1/head"]), head.to_string());
    let add = ["merge-queue", "add", "alice/fix"];
    assert!(said(&by(&floor, "alice", &add)).contains("is not approved"));
    // One who asked for changes has the last word, until a person has another.
    done(by(&floor, "bob", &["pr", "review", "1", "--approve"]));
    done(by(&floor, "carol", &["pr", "review", "1", "--request-changes", "--body", "No."]));
    assert!(said(&by(&floor, "alice", &add)).contains(&format!("{} asked for changes", person("carol"))));
    done(by(&floor, "carol", &["pr", "review", "1", "--approve"]));
    done(by(&floor, "alice", &add));
    floor.ok(&["merge-queue", "process"]);
    assert_eq!(floor.landed("a.txt"), "two");
    // Whoever opened it may queue it in their own name, as without a pull request.
    push(&floor, "alice/more", "b.txt", "one");
    done(by(&floor, "alice", &["pr", "create", "alice/more"]));
    done(by(&floor, "alice", &["merge-queue", "add", "alice/more", "--approve"]));
}

#[test]
fn closing_it_or_asking_for_changes_cancels_what_is_under_way() {
    let floor = Floor::new(PEOPLE);
    let mut gate = Gate::new(&floor);
    assert_eq!(floor.until_idle().0, 0);
    floor.ok(&["up", "--detach"]);
    for (number, (branch, withdraw)) in [
        ("one", &["pr", "close", "1"][..]),
        ("two", &["pr", "review", "2", "--request-changes", "--body", "Not like this."]),
    ]
    .into_iter()
    .enumerate()
    {
        push(&floor, branch, &format!("{branch}.txt"), "x");
        done(by(&floor, "alice", &["pr", "create", branch]));
        done(by(&floor, "bob", &["merge-queue", "add", branch, "--approve"]));
        wait_for("it is being checked", || gate.began() == number + 1);
        done(by(&floor, "bob", withdraw));
        wait_for("it is out", || status(&floor, branch) == "cancelled");
    }
    // Both runs are ended, without being let through.
    wait_for("they are ended", || {
        let runs = floor.json(&["ci", "list"]).1;
        runs.as_array().is_some_and(|runs| runs.iter().all(|run| run["verdict"] == "cancelled"))
    });
    gate.let_through(1);
    floor.ok(&["down"]);
    assert!(floor.hub(&["log", "--format=%s", "main"]).lines().all(|line| !line.starts_with("one: ")));
}

#[test]
fn with_a_daemon_the_pull_request_follows_its_branch() {
    let floor = floor(PEOPLE);
    floor.ok(&["up", "--detach"]);
    push(&floor, "alice/fix", "a.txt", "one");
    done(by(&floor, "alice", &["pr", "create", "alice/fix"]));
    let head = push(&floor, "alice/fix", "a.txt", "two");
    // The list is only read.
    wait_for("it follows", || floor.json(&["pr", "list"]).1[0]["head"] == json!(head));
    assert_eq!(floor.hub(&["rev-parse", "refs/pull/1/head"]), head.to_string());
    floor.ok(&["down"]);
}
