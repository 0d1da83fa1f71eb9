//! Sessions are fenced by their epoch and replaced when they die.

use super::*;
use crate::effect::outcome;
use crate::state::SessionState;

fn working() -> Scene {
    Scene::working(Policy::default())
}

#[test]
fn a_session_that_dies_at_work_is_replaced_after_a_growing_pause() {
    let mut scene = working();
    for (n, pause) in [1, 2, 4].into_iter().enumerate() {
        scene.exited(Epoch(n as u64 + 1), None).end_session();
        assert_eq!(scene.state(), "respawning");
        scene.wait(Duration::from_secs(pause) - Duration::from_millis(1));
        assert!(!scene.has("start_session"));
        scene.wait(Duration::from_millis(1)).start_session();
        assert_eq!(scene.state(), "working");
    }
    scene.exited(Epoch(4), Some(1));
    assert!(scene.reason().contains("3 successors were tried"), "{}", scene.reason());
}

#[test]
fn where_a_session_dies_matters() {
    let check = |mut scene: Scene, state: &str| {
        let from = scene.state();
        scene.exited(DEV, None);
        assert_eq!(scene.state(), state, "died in {from}");
        assert_eq!(scene.job().session, None);
    };
    let mut publishing = working();
    publishing.signal(DEV, Phase::AwaitingCi);
    let mut checking = working();
    checking.checking(Phase::AwaitingCi, 1);
    let mut asking = working();
    asking.signal(DEV, Phase::NeedsHuman);
    check(working(), "respawning");
    check(asking, "needs_human");
    check(publishing, "publishing");
    check(checking, "checking");
    check(Scene::reviewing(Policy::default(), 1), "reviewing");
    check(Scene::merging(Policy::default(), 1), "merging");
}

#[test]
fn a_question_outlives_the_session_that_asked_it() {
    let mut scene = working();
    scene.signal(DEV, Phase::NeedsHuman).exited(DEV, None).end_session().wait(Duration::from_secs(3600));
    assert_eq!((scene.state(), scene.noted(NoteKind::NeedsHuman)), ("needs_human", 1));
    assert!(!scene.has("start_session"), "nobody has anything to do before the answer");
    scene.event(Event::Answered {
        project: project(),
        issue: Some(IssueNumber(1)),
        text: "B".into(),
        question: None,
    });
    let Action::StartSession(start) = scene.take("start_session") else { panic!("a start") };
    let unread: Vec<String> = start.resume.expect("a successor").unread.into_iter().map(|u| u.text).collect();
    assert_eq!(unread, ["Answer: B"]);
    assert_eq!(scene.job().rounds.respawns, 0);
}

#[test]
fn signals_of_a_replaced_session_change_nothing() {
    let mut scene = working();
    scene.exited(DEV, None).end_session().wait(Duration::from_secs(1)).start_session();
    let before = scene.job().clone();
    for phase in Phase::ALL {
        scene.signal(DEV, phase);
    }
    scene.exited(DEV, Some(0));
    assert_eq!(scene.job(), &before);
    assert_eq!(scene.noted(NoteKind::StaleSignal), Phase::ALL.len());
}

#[test]
fn a_file_that_names_another_session_is_a_predecessors() {
    let mut scene = working();
    let report = PhaseReport { session: Some(Epoch(9)), ..PhaseReport::new(Phase::Done) };
    scene.event(Event::PhaseWritten { epoch: DEV, stamp: "x".into(), report });
    assert_eq!((scene.state(), scene.unread().len()), ("working", 0));
}

#[test]
fn a_worktree_or_session_that_cannot_be_had_blocks() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]).impossible("prepare_worktree");
    assert_eq!(scene.state(), "finishing");

    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]);
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    scene.impossible("start_session");
    assert_eq!(scene.state(), "finishing");
    // An attempt may have started it all the same.
    assert!(scene.has("end_session"));
}

#[test]
fn a_start_that_comes_back_after_the_end_was_ordered_revives_nothing() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]);
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
    scene.start_session();
    assert_eq!(scene.floor.sessions.get(&DEV).map(|s| s.state), Some(SessionState::Ending));
    scene.settle();
    assert_eq!(scene.state(), "cancelled");
}

#[test]
fn a_session_that_cannot_be_ended_keeps_its_worktree_and_its_issue() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::Published).impossible("end_session");
    let release = |a: &Action| matches!(a, Action::ReleaseWorktree { role: crate::ids::Role::DEV, .. });
    assert!(!scene.pending.iter().any(release));
    scene.settle();
    assert_eq!(scene.state(), "merged");
    // The next start tries again; what still cannot be ended stays as it is.
    scene.event(Event::Resumed).impossible("end_session");
    assert_eq!(scene.floor.sessions.get(&DEV).map(|s| s.state), Some(SessionState::Unended));
    // Asked for again, the issue waits until the old session is gone.
    scene.issue(1, &["backlog"], &[]);
    assert_eq!(scene.floor.jobs.len(), 1);
    scene.exited(DEV, None);
    assert_eq!(scene.floor.jobs.len(), 2);
}

#[test]
fn a_successor_waits_until_nothing_is_left_of_its_predecessor() {
    let mut scene = working();
    scene.exited(DEV, None).wait(Duration::from_secs(5));
    assert_eq!((scene.state(), scene.has("start_session")), ("respawning", false));
    scene.end_session();
    assert!(scene.has("start_session"));

    let mut scene = working();
    scene.exited(DEV, None).wait(Duration::from_secs(5)).impossible("end_session");
    assert!(!scene.has("start_session"));
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn what_could_not_be_ended_does_not_hold_its_issue_for_ever() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]).done("edit_labels");
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    // No terminal to be had: neither a start nor an end.
    scene.impossible("start_session").impossible("end_session").settle();
    assert_eq!(scene.state(), "blocked");
    scene.issue(1, &["backlog"], &[]);
    assert_eq!(scene.floor.jobs.len(), 1);
    scene.event(Event::Resumed).end_session();
    assert_eq!(scene.floor.jobs.len(), 2);
}

#[test]
fn a_setup_that_fails_is_tried_once_more_and_then_a_person_reads_its_output() {
    let failed = || {
        Outcome::SetupFailed(outcome::SetupFailed {
            path: "w".into(),
            why: "`npm ci`: exit code 1".into(),
            excerpt: "no network".into(),
        })
    };
    let mut scene = Scene::new(Policy { setup_timeout: Duration::from_secs(600), ..Policy::default() });
    scene.issue(1, &["backlog"], &[]).done("edit_labels").answer("prepare_worktree", failed());
    assert_eq!(scene.state(), "preparing");
    assert_eq!(scene.job().deadline, Some(scene.now + Duration::from_secs(900)));
    scene.answer("prepare_worktree", failed());
    assert!(scene.reason().contains("failed 2 times: `npm ci`"), "{}", scene.reason());
    let Action::Comment { body, .. } = scene.take("comment") else { panic!("a comment") };
    assert!(body.contains("The setup's last output") && body.contains("no network"), "{body}");
    assert!(!scene.has("prepare_worktree"));
    // One accident is none.
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[]).done("edit_labels").answer("prepare_worktree", failed());
    scene.settle();
    assert_eq!(scene.state(), "working");
}
