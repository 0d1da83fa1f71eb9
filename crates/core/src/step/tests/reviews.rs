//! Reviews count for the exact head, whoever wrote them and whenever they came.

use super::*;

/// A reviewer whose messages are typed has said that it is done.
fn typed_reviewer_done() -> Scene {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.start_session();
    scene.floor.sessions.edit(&REVIEWER).expect("a reviewer").typed = true;
    scene.signal(REVIEWER, Phase::Done);
    scene
}

fn unusable() -> Outcome {
    Outcome::ReviewUnusable { why: "its verdict \"ok\" is none".into() }
}

#[test]
fn a_result_that_is_of_no_use_may_be_repaired_once() {
    let mut scene = typed_reviewer_done();
    scene.answer("collect_review", unusable());
    assert_eq!((scene.state(), scene.unread()), ("reviewing", vec!["RESULT unusable"]));
    assert!(!scene.has("end_session"));
    // What it writes now is looked at when it says that it is done.
    scene.signal(REVIEWER, Phase::Done).answer("collect_review", reviewed(Verdict::Approve));
    assert!(scene.has("post_review"));

    let mut scene = typed_reviewer_done();
    scene.answer("collect_review", unusable());
    scene.signal(REVIEWER, Phase::Done).answer("collect_review", unusable());
    assert!(scene.has("end_session"), "another reviewer takes its place");
}

fn reviewing() -> Scene {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.start_session();
    scene
}

#[test]
fn an_approval_of_the_head_queues_it() {
    let mut scene = reviewing();
    scene.review(1, 1, Verdict::Approve);
    assert_eq!((scene.state(), scene.unread()), ("merging", vec!["Review: APPROVE"]));
    assert!(scene.has("end_session"), "the reviewer is not needed any more");
}

#[test]
fn a_request_for_changes_or_a_discussion_is_the_agents_turn() {
    for verdict in [Verdict::RequestChanges, Verdict::Discuss] {
        let mut scene = reviewing();
        scene.review(1, 1, verdict);
        assert_eq!((scene.state(), scene.unread()), ("working", vec!["Review: REQUEST_CHANGES"]));
    }
}

#[test]
fn rounds_are_bounded() {
    let mut scene = Scene::reviewing(Policy { review_agent: false, ..Policy::default() }, 1);
    for round in 1..=5 {
        scene.review(round.into(), round, Verdict::RequestChanges);
        assert_eq!(scene.state(), "working");
        scene.checking(Phase::AwaitingReview, round + 1).ci(CiVerdict::Green);
    }
    scene.review(6, 6, Verdict::RequestChanges);
    assert!(scene.reason().contains("5 rounds"), "{}", scene.reason());
}

#[test]
fn a_review_of_another_head_does_not_count() {
    let mut scene = reviewing();
    scene.review(1, 7, Verdict::Approve);
    assert_eq!(scene.state(), "reviewing");
}

#[test]
fn a_review_that_came_early_counts_when_it_is_waited_for() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1);
    scene.review(1, 1, Verdict::Approve).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "working");
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!(scene.state(), "merging");
    assert!(!scene.has("start_session"), "no reviewer for what is approved");
}

#[test]
fn an_older_review_seen_again_changes_nothing() {
    let mut scene = reviewing();
    scene.review(5, 1, Verdict::RequestChanges);
    scene.review(4, 1, Verdict::Approve).review(5, 1, Verdict::RequestChanges);
    assert_eq!(scene.state(), "working");
    assert_eq!(scene.unread().len(), 1);
}

#[test]
fn without_a_review_required_green_is_enough() {
    let mut scene = Scene::working(Policy { review_required: false, ..Policy::default() });
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn a_reviewers_result_is_collected_posted_and_observed() {
    let mut scene = reviewing();
    scene.event(Event::ResultWritten { epoch: REVIEWER });
    scene.answer("collect_review", reviewed(Verdict::Approve)).done("post_review");
    assert_eq!(scene.state(), "reviewing", "only what the forge shows counts");
    scene.end_session().review(1, 1, Verdict::Approve);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn what_a_reviewer_said_of_an_old_head_is_not_said_of_the_new_one() {
    let mut scene = reviewing();
    scene.checking(Phase::AwaitingReview, 2).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "reviewing");
    scene.event(Event::ResultWritten { epoch: REVIEWER });
    assert!(!scene.has("collect_review"));
    assert!(!scene.has("start_session"), "not before the old reviewer is gone");
    scene.end_session();
    let Action::StartSession(start) = scene.take("start_session") else { unreachable!() };
    assert_eq!(start.head, Some(sha(2)));
}

#[test]
fn a_result_that_came_while_nobody_waited_is_collected_later() {
    let mut scene = reviewing();
    scene.signal(DEV, Phase::AwaitingReview);
    scene.event(Event::ResultWritten { epoch: REVIEWER });
    assert!(!scene.has("collect_review"));
    scene.branch(1).answer("open_pr", Outcome::PrOpen { pr: PR });
    assert_eq!(scene.state(), "reviewing");
    assert!(scene.has("collect_review"));
}

#[test]
fn a_reviewer_that_fails_is_replaced_once_and_then_a_person_is_asked() {
    let mut scene = reviewing();
    scene.exited(REVIEWER, Some(1));
    scene.answer("collect_review", Outcome::ReviewUnusable { why: "nothing".into() });
    assert!(!scene.has("start_session"), "never two reviewers in one worktree");
    scene.end_session();
    scene.start_session().signal(Epoch(3), Phase::Failed);
    assert!(scene.has("comment"));
    assert_eq!(scene.noted(NoteKind::Escalation), 1);
    scene.end_session();
    assert!(!scene.has("start_session"));
    // Signalling again does not buy more reviewers.
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!((scene.state(), scene.has("start_session")), ("reviewing", false));
}

#[test]
fn no_second_reviewer_beside_one_that_cannot_be_ended() {
    let mut scene = reviewing();
    scene.signal(REVIEWER, Phase::Failed);
    assert!(!scene.has("start_session"));
    scene.impossible("end_session");
    assert!(!scene.has("start_session") && scene.has("comment"));
}

#[test]
fn a_live_reviewers_garbage_may_still_become_a_review() {
    let mut scene = reviewing();
    scene.event(Event::ResultWritten { epoch: REVIEWER });
    scene.answer("collect_review", Outcome::ReviewUnusable { why: "half".into() });
    assert_eq!((scene.state(), scene.has("end_session")), ("reviewing", false));
    scene.event(Event::ResultWritten { epoch: REVIEWER });
    assert!(scene.has("collect_review"));
}

#[test]
fn a_later_request_for_changes_takes_the_change_out_of_the_queue() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.review(2, 1, Verdict::RequestChanges);
    assert_eq!(scene.state(), "working");
    scene.chain(&[20]);
    assert!(!scene.has("run_ci") && !scene.has("publish"));
}

#[test]
fn a_request_for_changes_during_the_publication_is_heeded_if_it_does_not_land() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.review(2, 1, Verdict::RequestChanges);
    assert_eq!(scene.state(), "merging");
    scene.answer("publish", Outcome::PrimaryMoved { head: sha(11) });
    assert_eq!(scene.state(), "working");
    scene.primary(11);
    assert!(!scene.has("build_chain") && !scene.has("run_ci"));
}
