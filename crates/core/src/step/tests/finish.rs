//! The end of a job: all its effects are on record, and it has ended when none is left.

use super::*;
use crate::effect::outcome;

fn cancel() -> Event {
    Event::Cancelled { project: project(), issue: IssueNumber(1) }
}

#[test]
fn a_blocked_job_says_so_with_the_end_of_its_output() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::Failed);
    assert!(!scene.has("comment"), "not before its last words are known");
    scene.end_session();
    let Some(Action::Comment { body, .. }) = scene.pending.iter().find(|a| a.name() == "comment") else {
        panic!("a comment");
    };
    assert!(body.contains("bye") && body.contains("gave up"), "{body}");
    scene.done("comment");
    assert_eq!(scene.state(), "finishing");
    scene.done("edit_labels");
    assert_eq!(scene.state(), "finishing");
    scene.done("escalate");
    assert_eq!(scene.state(), "failed");
}

#[test]
fn a_session_that_cannot_be_ended_does_not_silence_the_comment() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::Failed).impossible("end_session");
    assert!(scene.has("comment"));
    scene.settle();
    assert_eq!(scene.state(), "failed");
}

#[test]
fn another_effect_of_the_same_name_does_not_count_as_the_jobs_last() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]);
    scene.event(cancel());
    // The claim's own labels arrive first.
    scene.done("edit_labels");
    assert_eq!(scene.state(), "finishing");
    scene.done("edit_labels");
    assert_eq!(scene.state(), "cancelled");
}

#[test]
fn effects_that_come_back_after_the_end_change_nothing() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1);
    let late = scene.take("run_ci");
    scene.event(cancel()).settle();
    assert_eq!(scene.state(), "cancelled");
    scene.pending.push(late);
    scene.ci(CiVerdict::Green);
    assert_eq!((scene.state(), scene.unread().len()), ("cancelled", 0));

    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]);
    let late = scene.take("prepare_worktree");
    scene.event(cancel()).settle();
    scene.pending.push(late);
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    assert_eq!((scene.state(), scene.has("start_session")), ("cancelled", false));
}

#[test]
fn a_merged_jobs_worktree_goes_after_its_session() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::Published);
    let dev = |a: &Action| matches!(a, Action::ReleaseWorktree { role: crate::ids::Role::DEV, .. });
    assert!(!scene.pending.iter().any(dev));
    scene.end_session();
    assert!(scene.pending.iter().any(dev));
    scene.settle();
    assert_eq!(scene.state(), "merged");
}

#[test]
fn what_is_impossible_at_the_end_is_told_and_not_waited_for() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::Published).end_session();
    let told = scene.noted(NoteKind::Escalation);
    for name in ["release_worktree", "release_worktree", "close_pr", "edit_labels", "close_issue"] {
        assert_eq!(scene.state(), "finishing");
        scene.impossible(name);
    }
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation) - told), ("merged", 5));
}

#[test]
fn a_cancelled_job_keeps_its_branch_and_is_not_commented_on() {
    let mut scene = Scene::working(Policy::default());
    scene.event(cancel());
    assert!(!scene.has("comment") && !scene.has("release_worktree"));
    scene.settle();
    assert_eq!(scene.state(), "cancelled");
}
