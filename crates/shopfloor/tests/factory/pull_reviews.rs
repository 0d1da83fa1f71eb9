//! Agents review people's pull requests: when they are asked, or always; once for each head, whatever dies.

use crate::branches::{PEOPLE, floor, push};
use crate::floor::{Floor, wait_for};
use serde_json::{Value, json};
use std::path::PathBuf;

const REVIEWER: &str = "[agents.review]\nruntime = \"demo\"\n";
/// It waits before it looks, until it is let go.
const HOLD: &str = "Says it.\n\ndemo: hold review";

fn reviewed(people: &str) -> Floor {
    floor(&format!("{PEOPLE}{REVIEWER}[review]\npeople = \"{people}\"\n"))
}

fn reviews(floor: &Floor) -> Vec<Value> {
    floor.json(&["pr", "show", "1"]).1["reviews"].as_array().expect("a list").clone()
}

fn verdicts(floor: &Floor) -> Vec<(String, String)> {
    let word = |review: &Value, key: &str| review[key].as_str().expect("a word").to_owned();
    reviews(floor).iter().map(|review| (word(review, "verdict"), word(review, "head"))).collect()
}

/// The reviews of it that were begun, oldest first.
fn jobs(floor: &Floor) -> Vec<String> {
    let engine = floor.engine();
    engine.floor().jobs.iter().filter(|j| j.is_review()).map(|j| j.state.name().to_owned()).collect()
}

fn refused(floor: &Floor, words: &[&str]) {
    let output = floor.run(&["pr", "review", "1", "--ask"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && words.iter().all(|words| said.contains(words)), "{said}");
}

/// Where a reviewer that is held says so, and is let go. One that follows it in the same worktree is not held.
fn git_folder(floor: &Floor) -> PathBuf {
    floor.home().join("projects/sample/repos/review-1.git")
}

fn is_held(floor: &Floor) -> bool {
    git_folder(floor).join("demo-hold-review").exists()
}

fn let_go(floor: &Floor) {
    std::fs::write(git_folder(floor).join("demo-go-review"), "").expect("written");
}

#[test]
fn whoever_asks_gets_a_review_that_counts_and_nothing_else_is_touched() {
    let floor = reviewed("ask");
    let head = push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["pr", "create", "alice/fix", "--title", "Say one", "--body", "Because."]);
    // Nobody asked.
    assert_eq!(floor.until_idle().0, 0);
    assert!(reviews(&floor).is_empty());
    let agent = floor.command(&["pr", "review", "1", "--ask"]).env("SHOPFLOOR_SESSION", "1").output();
    assert_eq!(agent.expect("it runs").status.code(), Some(6));
    let said = floor.ok(&["pr", "review", "1", "--ask"]);
    assert!(said.contains("an agent reviews it"), "{said}");
    assert_eq!(floor.until_idle().0, 0);
    assert_eq!(verdicts(&floor), [("APPROVE".to_owned(), head.to_string())]);
    assert_eq!(reviews(&floor)[0]["author"], "shopfloor-review");
    let job = floor.json(&["status", "--all"]).1["jobs"][0].clone();
    assert_eq!((&job["kind"], &job["state"], &job["pr"]), (&json!("review"), &json!("reviewed"), &json!(1)));
    // It was told what the change says of itself.
    let prompt = floor.home().join("sessions/e1/prompt.md");
    let prompt = std::fs::read_to_string(prompt).expect("its prompt");
    assert!(prompt.contains("which a person made:") && prompt.contains("Because."), "{prompt}");
    assert!(!floor.home().join("projects/sample/worktrees/review-1").exists());
    assert_eq!(floor.hub(&["rev-parse", "alice/fix"]), head.to_string());
    // Its approval is of that head, as for anybody's change.
    floor.ok(&["merge-queue", "add", "alice/fix"]);
    floor.ok(&["merge-queue", "process"]);
    assert_eq!(floor.landed("a.txt"), "one");
}

#[test]
fn who_may_not_ask_is_told_why() {
    let never = reviewed("never");
    push(&never, "alice/fix", "a.txt", "one");
    never.ok(&["pr", "create", "alice/fix"]);
    refused(&never, &["wants no agents' reviews", "people = \"ask\""]);
    never.ok(&["pr", "close", "1"]);
    refused(&never, &["#1 is closed"]);
    let generic = "[agents.dev]\nruntime = \"generic\"\ncommand = [\"true\"]\n[review]\nrequired = false\n";
    let nobody = floor(generic);
    push(&nobody, "alice/fix", "a.txt", "one");
    nobody.ok(&["pr", "create", "alice/fix"]);
    refused(&nobody, &["no reviewing agent", "[agents.review]"]);
}

#[test]
fn always_every_head_once_and_the_review_follows_the_branch() {
    let floor = reviewed("always");
    floor.ok(&["up", "--detach"]);
    let rough = push(&floor, "alice/fix", "a.txt", "FIXME one");
    floor.ok(&["pr", "create", "alice/fix", "--body", HOLD]);
    wait_for("a reviewer looks", || is_held(&floor));
    let status = floor.ok(&["status"]);
    assert!(status.contains("review: alice/fix: FIXME one"), "{status}");
    // Pushed meanwhile: that is what is reviewed. The one that looked at the first is ended.
    let better = push(&floor, "alice/fix", "a.txt", "FIXME two");
    assert_ne!(rough, better);
    let changes = ("REQUEST_CHANGES".to_owned(), better.to_string());
    wait_for("it is reviewed", || verdicts(&floor) == [changes.clone()]);
    wait_for("nothing is left of it", || jobs(&floor) == ["reviewed"]);
    let good = push(&floor, "alice/fix", "a.txt", "two");
    wait_for("the next one looks", || is_held(&floor));
    let_go(&floor);
    let approval = ("APPROVE".to_owned(), good.to_string());
    wait_for("it is reviewed again", || verdicts(&floor) == [changes.clone(), approval.clone()]);
    wait_for("nothing is left of that", || jobs(&floor) == ["reviewed", "reviewed"]);
    floor.ok(&["down"]);
    assert_eq!(floor.until_idle().0, 0);
    assert_eq!(reviews(&floor).len(), 2);
}

#[test]
fn a_killed_daemon_neither_forgets_nor_repeats_it_and_a_person_may_end_it() {
    let floor = reviewed("always");
    floor.ok(&["up", "--detach"]);
    push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["pr", "create", "alice/fix", "--body", HOLD]);
    wait_for("a reviewer looks", || is_held(&floor));
    floor.kill_daemon();
    // What it says meanwhile is there when somebody looks.
    let_go(&floor);
    assert_eq!(floor.until_idle().0, 0);
    assert_eq!((verdicts(&floor).len(), jobs(&floor)), (1, vec!["reviewed".to_owned()]));
    floor.ok(&["up", "--detach"]);
    push(&floor, "alice/fix", "a.txt", "two");
    wait_for("the next one looks", || is_held(&floor));
    let said = floor.ok(&["explain", "1"]);
    assert!(said.contains("a review of pull request #1"), "{said}");
    floor.ok(&["cancel", "1"]);
    wait_for("it has ended", || jobs(&floor) == ["reviewed", "cancelled"]);
    floor.ok(&["down"]);
    assert_eq!(reviews(&floor).len(), 1);
}
