//! Which issue is started, when, and which is not.

use super::super::{Standings, Waiting};
use super::*;

#[track_caller]
fn check(issues: &[(u64, &[&str], &[u64])], number: u64, expect: &Waiting) {
    // A policy without a free slot would hide why; an issue at work takes the only one.
    let mut scene = Scene::new(Policy { max_jobs: 9, ..Policy::default() });
    for (number, labels, deps) in issues {
        scene.issue(*number, labels, deps);
    }
    let issue = scene.floor.issues.get(&(project(), IssueNumber(number))).expect("it was observed");
    assert_eq!(&Standings::of(&scene.floor).why(issue), expect);
}

fn numbers(list: &[u64]) -> Vec<IssueNumber> {
    list.iter().map(|n| IssueNumber(*n)).collect()
}

#[test]
fn labels_and_dependencies_decide() {
    check(&[(1, &["backlog"], &[])], 1, &Waiting::AtWork);
    check(&[(1, &["in-progress"], &[])], 1, &Waiting::AtWork);
    check(&[(1, &[], &[])], 1, &Waiting::NotAsked);
    check(&[(1, &["backlog", "blocked"], &[])], 1, &Waiting::Blocked);
    check(&[(1, &["backlog", "underspecified"], &[])], 1, &Waiting::Underspecified);
    check(&[(1, &[], &[]), (2, &["backlog"], &[1])], 2, &Waiting::On(numbers(&[1])));
    check(&[(2, &["backlog"], &[7])], 2, &Waiting::OnUnknown(numbers(&[7])));
    check(&[(1, &["backlog"], &[1])], 1, &Waiting::Cycle(numbers(&[1])));
    let cycle: &[(u64, &[&str], &[u64])] =
        &[(1, &["backlog"], &[3]), (2, &["backlog"], &[1]), (3, &["backlog"], &[2])];
    check(cycle, 1, &Waiting::Cycle(numbers(&[1, 3, 2])));
}

#[test]
fn a_closed_dependency_frees_what_waited_for_it() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &[], &[]).issue(2, &["backlog"], &[1]);
    assert_eq!(scene.floor.jobs.len(), 0);
    scene.issue_is(1, &[], &[], false);
    assert_eq!(scene.job().issue(), Some(IssueNumber(2)));
}

#[test]
fn slots_are_respected() {
    let mut scene = Scene::new(Policy { max_jobs: 2, ..Policy::default() });
    for number in 1..=4 {
        scene.issue(number, &["backlog"], &[]);
    }
    assert_eq!(scene.floor.jobs.len(), 2);
}

/// Issue 1 is blocked; the labels of its end are on their way to the forge.
fn blocked() -> Scene {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]).done("edit_labels").impossible("prepare_worktree");
    scene.done("comment").done("escalate");
    scene
}

#[test]
fn labels_seen_before_our_own_edit_arrived_start_nothing() {
    let mut scene = blocked();
    scene.issue(1, &["in-progress"], &[]).done("edit_labels");
    assert_eq!((scene.state(), scene.floor.jobs.len()), ("blocked", 1));
    // And if such an observation comes later still.
    scene.issue(1, &["in-progress"], &[]);
    assert_eq!(scene.floor.jobs.len(), 1);
    scene.issue(1, &["backlog"], &[]);
    assert_eq!(scene.floor.jobs.len(), 2);
}

#[test]
fn an_edit_that_arrived_outweighs_what_was_seen_before_it() {
    let mut scene = blocked();
    scene.issue(1, &["backlog"], &[]).done("edit_labels");
    assert_eq!((scene.state(), scene.floor.jobs.len()), ("blocked", 1));
}

#[test]
fn a_forge_that_refuses_our_labels_gets_no_second_job_by_itself() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]).impossible("edit_labels").impossible("prepare_worktree");
    scene.done("comment").done("escalate").impossible("edit_labels");
    assert_eq!(scene.state(), "blocked");
    scene.issue(1, &["backlog"], &[]);
    assert_eq!(scene.floor.jobs.len(), 1);
    scene.issue(1, &["backlog", "priority"], &[]);
    assert_eq!(scene.floor.jobs.len(), 2, "somebody changed the labels");
}

#[test]
fn a_person_who_closes_the_issue_ends_its_job() {
    let mut scene = Scene::working(Policy::default());
    scene.issue_is(1, &["in-progress"], &[], false).settle();
    assert_eq!(scene.state(), "cancelled");
}
