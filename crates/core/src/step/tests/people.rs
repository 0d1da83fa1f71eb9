//! What people change by hand while a job lives is noticed and respected.

use super::*;
use crate::effect::JobHead;
use crate::effect::Taken;
use crate::effect::outcome;
use crate::state::{End, Job};

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
    scene.answer("edit_labels", Outcome::Labelled(outcome::Labelled { version: Version::numbered(9) }));
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
    scene.answer("edit_labels", Outcome::Labelled(outcome::Labelled { version: Version::numbered(2) }));
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
    scene.observe(closed_pull(PR));
    assert_eq!(scene.job().reason.as_deref(), Some("the pull request was closed"));
}

/// Somebody pushes to the branch of issue 1 in a state; which state follows.
#[track_caller]
fn pushed(mut scene: Scene, head: Option<u32>, state: &str) {
    let from = scene.state();
    let branch = scene.job().branch.clone();
    scene.event(Event::BranchTouched { project: project(), branch, head: head.map(sha) });
    assert_eq!(scene.state(), state, "in {from}");
}

#[test]
fn a_branch_that_somebody_pushed_to_is_looked_at_again() {
    let checking = || {
        let mut scene = Scene::working(Policy::default());
        scene.checking(Phase::AwaitingCi, 1);
        scene
    };
    pushed(checking(), Some(2), "publishing");
    pushed(checking(), None, "publishing");
    pushed(checking(), Some(1), "checking");
    pushed(Scene::reviewing(Policy::default(), 1), Some(2), "publishing");
    pushed(Scene::merging(Policy::default(), 1), Some(2), "publishing");
    // An agent at work pushes as it likes.
    pushed(Scene::working(Policy::default()), Some(2), "working");
    // Verdicts of what was there before are of no use.
    let mut scene = checking();
    let branch = scene.job().branch.clone();
    scene.event(Event::BranchTouched { project: project(), branch, head: Some(sha(2)) });
    scene.branch(2).answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR }));
    assert_eq!((scene.state(), scene.job().head.clone()), ("checking", Some(sha(2))));
}

#[test]
fn what_somebody_merged_by_hand_is_merged() {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.event(Event::PrimaryTouched { project: project(), target: None });
    let Action::FindMerged { heads, .. } = scene.take("find_merged") else { unreachable!() };
    let found = |scene: &mut Scene, heads: &[JobHead]| {
        let action = Action::FindMerged { project: project(), heads: heads.to_vec() };
        let outcome = Outcome::FoundMerged(outcome::FoundMerged { heads: heads.to_vec() });
        scene.event(Event::Performed { action, outcome });
    };
    found(&mut scene, &[]);
    assert_eq!(scene.state(), "reviewing");
    // Of a head that is not the job's any more it says nothing.
    found(&mut scene, &[JobHead { job: JOB, head: sha(9), target: None }]);
    assert_eq!(scene.state(), "reviewing");
    found(&mut scene, &heads);
    assert_eq!((scene.state(), scene.job().merged.clone()), ("finishing", Some(sha(1))));
    scene.settle();
    assert_eq!(scene.floor.jobs.get(&JOB).and_then(Job::end), Some(End::Merged));
}

#[test]
fn what_was_never_fit_to_be_merged_is_not_looked_for() {
    let mut scene = Scene::working(Policy::default());
    scene.event(Event::PrimaryTouched { project: project(), target: None });
    assert!(!scene.names().contains(&"find_merged"));
    // A branch that was emptied is at the primary branch; that is no merge.
    scene.checking(Phase::AwaitingCi, 1).signal(DEV, Phase::AwaitingCi).branch(0);
    scene.event(Event::PrimaryTouched { project: project(), target: None });
    assert!(!scene.names().contains(&"find_merged"), "{:?}", scene.names());
}

#[test]
fn what_comes_while_a_session_is_started_is_told_after_its_first_prompt() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]).done("edit_labels");
    let ready =
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] });
    scene.answer("prepare_worktree", ready);
    scene.revision = 1;
    scene.issue(1, &["in-progress"], &[]);
    let started = Outcome::SessionStarted(outcome::SessionStarted {
        tmux: "t".into(),
        process: ProcessId { pid: 1, start: 1 },
        phase_file: "f".into(),
        runtime: "claude".into(),
        prompt: Some("begin".into()),
        notes: vec![],
    });
    scene.answer("start_session", started);
    let next =
        |scene: &Scene| scene.floor.next_message(DEV).map(|m| (m.id, m.text.clone())).expect("a message");
    let (prompt, text) = next(&scene);
    assert_eq!(text, "begin");
    scene.read(prompt.0, DEV);
    assert!(next(&scene).1.starts_with("ISSUE edited"));
}

fn parted(scene: &mut Scene, head: u32) {
    let taken = Taken::Parted {
        branch: "checkout/main".into(),
        head: sha(head),
        tree: TreeId(sha(head + 1_000)),
        title: "own".into(),
        by: "uma".into(),
    };
    scene.event(Event::CheckoutTouched { project: project() });
    scene.answer("take_checkout", Outcome::CheckoutTaken(outcome::CheckoutTaken { taken }));
}

#[test]
fn a_checkouts_own_commits_are_queued_once_and_it_follows_when_they_landed() {
    let mut scene = Scene::new(Policy::default());
    parted(&mut scene, 5);
    parted(&mut scene, 5);
    assert_eq!(scene.names().iter().filter(|n| **n == "run_ci").count(), 1);
    scene.ci(CiVerdict::Green).primary(10).chain(&[20]).ci(CiVerdict::Green);
    scene.done("post_status").done("post_status").done("post_status");
    scene.answer("publish", Outcome::Published);
    assert!(!scene.has("sync_checkout"), "its head is not kept yet");
    scene.done("retire_branch");
    assert!(scene.has("sync_checkout"));
}

#[test]
fn what_failed_in_the_queue_is_not_queued_again_but_told() {
    let mut scene = Scene::new(Policy::default());
    parted(&mut scene, 5);
    scene.ci(CiVerdict::Red).ci(CiVerdict::Red);
    let told = scene.noted(NoteKind::Checkout);
    parted(&mut scene, 5);
    assert!(!scene.has("run_ci"));
    assert_eq!(scene.noted(NoteKind::Checkout), told + 1);
    assert!(scene.notes.iter().any(|n| n.text.contains("git pull --rebase shopfloor main")));
    parted(&mut scene, 6);
    assert!(scene.has("run_ci"), "another head is another try");
}
