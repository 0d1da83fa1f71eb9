//! What people change by hand while a job lives is noticed and respected.

use super::*;
use crate::state::End;

/// The labels of issue 1, seen by a job at work, and how the job ends; `None`: it goes on.
#[track_caller]
fn check(labels: &[&str], reason: Option<&str>, kept: &[&str]) {
    let mut scene = Scene::working(Policy::default());
    scene.issue(1, labels, &[]);
    let Some(reason) = reason else {
        assert_eq!(scene.state(), "working", "{labels:?}");
        return;
    };
    assert_eq!(scene.job().reason.as_deref(), Some(reason), "{labels:?}");
    let edit = scene.take("edit_labels");
    let Action::EditLabels { add, remove, .. } = &edit else { unreachable!() };
    assert_eq!(*add, kept, "what the person wants stays");
    assert!(kept.iter().all(|label| !remove.contains(&(*label).to_owned())));
    scene.pending.push(edit);
    scene.settle();
    let job = scene.floor.jobs.get(&JOB).expect("it is kept");
    assert_eq!(job.end(), Some(End::Cancelled));
    assert!(job.worktree.is_some(), "nothing of the work is lost");
    let again = scene.floor.jobs.len() == 2;
    assert_eq!(again, kept == ["backlog"], "asked for again: taken up again");
}

#[test]
fn labels_set_by_hand_are_heeded() {
    check(&["in-progress"], None, &[]);
    check(&["in-progress", "priority", "vision"], None, &[]);
    check(&["in-progress", "backlog"], None, &[]);
    check(&["in-progress", "blocked"], Some("a person set the label `blocked`"), &["blocked"]);
    check(
        &["in-progress", "underspecified"],
        Some("a person set the label `underspecified`"),
        &["underspecified"],
    );
    check(&["blocked", "backlog"], Some("a person set the label `blocked`"), &["backlog", "blocked"]);
    check(&["backlog"], Some("a person removed the label `in-progress`"), &["backlog"]);
    check(&[], Some("a person removed the label `in-progress`"), &[]);
}

#[test]
fn what_is_older_than_a_change_of_ours_says_nothing() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]);
    // The claim's own change is on its way: what is seen meanwhile is not a person's.
    scene.issue(1, &["backlog"], &[]);
    assert_eq!(scene.state(), "preparing");
    scene.answer("edit_labels", Outcome::Labelled { version: 9 });
    scene.issue(1, &["backlog"], &[]);
    assert_eq!(scene.state(), "preparing", "version 3 is older");
    scene.version = 9;
    scene.issue(1, &["blocked"], &[]);
    assert_eq!(scene.job().reason.as_deref(), Some("a person set the label `blocked`"));
}

#[test]
fn a_change_seen_before_our_own_was_reported_is_heeded_then() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]);
    // Our change is version 2 and not reported yet; a person blocks in version 3.
    scene.version = 2;
    scene.issue(1, &["in-progress", "blocked"], &[]);
    assert_eq!(scene.state(), "preparing");
    scene.answer("edit_labels", Outcome::Labelled { version: 2 });
    assert_eq!(scene.job().reason.as_deref(), Some("a person set the label `blocked`"));
}

#[test]
fn labels_that_could_not_be_changed_are_nobodys_wish() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]).impossible("edit_labels").issue(1, &["backlog"], &[]);
    assert_eq!(scene.state(), "preparing");
}

#[test]
fn an_edited_issue_is_told_to_its_agent() {
    let told =
        |scene: &Scene| scene.floor.messages.iter().filter(|m| m.text.starts_with("ISSUE edited")).count();
    let mut scene = Scene::working(Policy::default());
    scene.issue(1, &["in-progress"], &[]);
    assert_eq!(told(&scene), 0, "nothing of its text has changed");
    scene.revision = 1;
    scene.issue(1, &["in-progress"], &[]).issue(1, &["in-progress"], &[]);
    assert_eq!((told(&scene), scene.noted(NoteKind::IssueEdited), scene.state()), (1, 1, "working"));
}

#[test]
fn a_closed_issue_or_pull_request_ends_the_job() {
    let mut scene = Scene::working(Policy::default());
    scene.issue_is(1, &["in-progress"], &[], false);
    assert_eq!(scene.job().reason.as_deref(), Some("the issue was closed"));
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1);
    scene.observe(Observation::Pr { number: PR, open: false, branch: String::new(), fixes: vec![] });
    assert_eq!(scene.job().reason.as_deref(), Some("the pull request was closed"));
}
