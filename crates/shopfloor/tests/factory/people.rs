//! What people do by hand in the middle of a job, on real parts. A job that asks a question stands
//! still where a person can act.

use crate::floor::{DEMO, Floor};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::End;
use std::path::Path;

fn asking() -> (Floor, IssueNumber) {
    let floor = Floor::new(DEMO);
    let issue = floor.issue("Which?", "demo: ask <<A or B?\ndemo: write choice.txt <<{answer}");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "it waits for a person: {text}");
    (floor, issue)
}

#[test]
fn a_label_set_by_hand_ends_the_job_and_nothing_is_lost() {
    let (floor, issue) = asking();
    floor.ok(&["issue", "label", &issue.to_string(), "--add", "blocked"]);
    let (_, text) = floor.until_idle();
    let job = floor.job(issue);
    assert_eq!(job.end(), Some(End::Cancelled), "{text}");
    assert_eq!(job.reason.as_deref(), Some("a person set the label `blocked`"));
    assert_eq!(floor.forge().issue(&floor.project, issue).expect("the issue").labels, ["blocked"]);
    assert!(job.worktree.as_deref().is_some_and(|w| Path::new(w).exists()), "its work is there");
    assert!(!floor.tmux(&["list-sessions", "-F", "#S"]).contains("dev-sample"), "its agent is not");
}

#[test]
fn an_issue_edited_by_hand_is_told_to_its_agent() {
    let (floor, issue) = asking();
    let number = issue.to_string();
    floor.ok(&["issue", "edit", &number, "--title", "Which one?"]);
    assert_eq!(floor.until_idle().0, 3, "the question stands");
    let told = |floor: &Floor| {
        let engine = floor.engine();
        engine.floor().messages.iter().filter(|m| m.text.starts_with("ISSUE edited")).count()
    };
    assert_eq!(told(&floor), 1);
    floor.ok(&["answer", &number, "B"]);
    let (code, text) = floor.until_idle();
    assert_eq!((code, floor.landed("choice.txt").as_str()), (0, "B"), "{text}");
    assert_eq!(
        floor
            .json(&["events", "--since", "0"])
            .1
            .as_array()
            .map_or(0, |all| { all.iter().filter(|e| e["kind"] == "ISSUE_EDITED").count() }),
        1
    );
}

#[test]
fn a_closed_issue_ends_its_job() {
    let (floor, issue) = asking();
    floor.ok(&["issue", "close", &issue.to_string()]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.job(issue).reason.as_deref(), Some("the issue was closed"));
}

/// A job whose head waits for a person's review.
fn reviewing() -> (Floor, IssueNumber) {
    // Its reviewers fail, so that a person is asked.
    let review = "[agents.review]\nruntime = \"generic\"\ncommand = [\"false\"]\n";
    let floor = Floor::new(&format!("[agents.dev]\nruntime = \"demo\"\n{review}"));
    let issue = floor.issue("Wait", "demo: write mine.txt <<mine");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert_eq!(floor.job(issue).state.name(), "reviewing", "{text}");
    (floor, issue)
}

/// As a person has it who works on an agent's branch.
fn check_out(floor: &Floor, branch: &str) {
    floor.git(&["fetch", "--quiet", "shopfloor"]);
    floor.git(&["checkout", "--quiet", "-B", "theirs", &format!("shopfloor/{branch}")]);
}

#[test]
fn what_a_person_merged_and_pushed_is_merged() {
    let (floor, issue) = reviewing();
    let job = floor.job(issue);
    floor.git(&["checkout", "--quiet", "main"]);
    floor.git(&["fetch", "--quiet", "shopfloor"]);
    floor.git(&["merge", "--quiet", "--no-ff", "-m", "by hand", &format!("shopfloor/{}", job.branch)]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.job(issue).end(), Some(End::Merged), "{text}");
    assert_eq!(floor.landed("mine.txt"), "mine");
    floor.assert_cleaned_up(issue);
}

#[test]
fn what_a_person_pushed_to_an_agents_branch_is_not_lost_and_not_passed_over() {
    let (floor, issue) = reviewing();
    let job = floor.job(issue);
    check_out(&floor, &job.branch);
    std::fs::write(floor.path("repo").join("theirs.txt"), "theirs\n").expect("written");
    floor.git(&["add", "theirs.txt"]);
    floor.git(&["commit", "--quiet", "-m", "from a person"]);
    floor.git(&["push", "--quiet", "shopfloor", &format!("HEAD:{}", job.branch)]);
    let theirs = floor.git(&["rev-parse", "HEAD"]);
    floor.git(&["checkout", "--quiet", "main"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "it waits for a review again: {text}");
    let told = |text: &str| floor.engine().floor().messages.iter().any(|m| m.text.contains(text));
    assert!(told("BRANCH moved"), "the agent is told: {text}");
    let head = floor.hub(&["rev-parse", &job.branch]);
    floor.hub(&["merge-base", "--is-ancestor", &theirs, &head]);
    assert_eq!(floor.job(issue).head.map(|h| h.to_string()), Some(head), "all of it was checked");
    floor.ok(&["pr", "review", &job.pr.expect("there is one").to_string(), "--approve"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!((floor.landed("mine.txt"), floor.landed("theirs.txt")), ("mine".into(), "theirs".into()));
}

#[test]
fn a_queue_that_is_held_is_said_and_not_waited_for() {
    let floor = Floor::new(DEMO);
    let issue = floor.issue("Held", "demo: write held.txt <<held");
    assert_eq!(floor.run(&["up", "--until-idle"]).status.code(), Some(0));
    let issue_2 = floor.issue("Held, too", "demo: write more.txt <<more");
    floor.ok(&["merge-queue", "pause", "a release"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert!(floor.ok(&["explain", &issue_2.to_string()]).contains("it is paused: a release"));
    assert!(floor.ok(&["status"]).contains("it is paused: a release"));
    floor.ok(&["merge-queue", "resume"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("more.txt"), "more");
    let again = floor.run(&["merge-queue", "add", &issue.to_string()]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("is merged already"));
    let agent = floor.ok(&["explain", &format!("dev-sample-{issue}")]);
    assert!(agent.contains("status: ended\n"), "{agent}");
}
