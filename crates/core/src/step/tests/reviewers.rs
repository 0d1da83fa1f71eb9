//! One reviewer for a pull request: it rests after its verdict and is told of the next head. One that
//! does not do its part is replaced, and then a person is asked.

use super::*;
use crate::effect::outcome;
use crate::liveness::{Confidence, State};
use crate::state::{SessionState, SessionStatus};

/// The first reviewer, one that is typed to, waits for its prompt.
fn typed() -> Scene {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    start_typed(&mut scene);
    scene
}

fn start_typed(scene: &mut Scene) {
    let prompt = Some("You review".into());
    let process = ProcessId { pid: 1, start: 1 };
    let (tmux, phase_file, runtime) = ("t".into(), "f".into(), "claude".into());
    scene.answer(
        "start_session",
        Outcome::SessionStarted(outcome::SessionStarted {
            tmux,
            process,
            phase_file,
            runtime,
            prompt,
            notes: vec![],
        }),
    );
    let epoch = scene.job().reviewer.session.expect("a reviewer");
    take_all(scene, epoch);
}

fn take_all(scene: &mut Scene, epoch: Epoch) {
    while let Some(message) = scene.floor.next_message(epoch).map(|m| m.id) {
        scene.event(Event::MessageTaken { message, epoch });
    }
}

/// The reviewer writes its verdict; it is posted and observed.
fn verdict(scene: &mut Scene, id: u64, head: u32, verdict: Verdict) {
    let epoch = scene.job().reviewer.session.expect("a reviewer");
    scene.signal(epoch, Phase::Done).answer("collect_review", reviewed(verdict)).done("post_review");
    scene.review_by("agent", id, head, verdict);
}

/// The developer comes with the next head, and it is green.
fn next_head(scene: &mut Scene, head: u32) {
    take_all(scene, DEV);
    scene.checking(Phase::AwaitingReview, head).ci(CiVerdict::Green);
}

fn moved(scene: &mut Scene) {
    scene.answer(
        "move_review",
        Outcome::ReviewMoved(outcome::ReviewMoved { diff: "+new".into(), notes: vec![] }),
    );
}

/// The first reviewer has asked for changes, and the next head is there.
fn second_head() -> Scene {
    let mut scene = typed();
    verdict(&mut scene, 1, 1, Verdict::RequestChanges);
    next_head(&mut scene, 2);
    scene
}

fn status(scene: &mut Scene, epoch: Epoch, state: State) {
    let status = SessionStatus {
        state,
        since: scene.now,
        confidence: Confidence::High,
        context_percent: None,
        cost_micros: None,
        tokens: None,
        dialog: None,
        question: None,
    };
    scene.event(Event::StatusSeen { epoch, status, conversation: None });
}

fn reviewers(scene: &Scene) -> usize {
    scene.floor.sessions.iter().filter(|s| s.role == crate::ids::Role::REVIEW).count()
}

#[test]
fn the_same_session_reviews_the_next_head() {
    let mut scene = second_head();
    assert!(!scene.has("end_session") && !scene.has("start_session"), "{:?}", scene.names());
    let Action::MoveReview { reviewed: before, head, .. } = scene.pending.last().expect("an action").clone()
    else {
        panic!("{:?}", scene.names())
    };
    assert_eq!((before, head), (sha(1), sha(2)));
    moved(&mut scene);
    let message = scene.floor.next_message(REVIEWER).expect("a message").text.clone();
    assert!(message.starts_with("Review again\n") && message.contains("+new"), "{message}");
    assert!(message.contains(&format!("\"commit\": \"{}\"", sha(2))), "{message}");
    take_all(&mut scene, REVIEWER);
    scene.signal(REVIEWER, Phase::Done);
    let Action::CollectReview { head, moved, .. } = scene.take("collect_review") else { unreachable!() };
    assert_eq!((head, moved), (sha(2), true));
    scene.signal(REVIEWER, Phase::Done).answer("collect_review", reviewed(Verdict::Approve));
    scene.done("post_review").review_by("agent", 2, 2, Verdict::Approve);
    assert_eq!((scene.state(), reviewers(&scene)), ("merging", 1));
    assert!(!scene.has("end_session"), "it rests as long as the job lives");
}

#[test]
fn a_resting_reviewer_ends_with_its_job_and_takes_no_slot() {
    let mut scene = typed();
    scene.issue(2, &["backlog"], &[]);
    verdict(&mut scene, 1, 1, Verdict::RequestChanges);
    // Not the reviewer's turn: that it stops is nothing.
    status(&mut scene, REVIEWER, State::IdlePrompt);
    assert!(scene.floor.next_message(REVIEWER).is_none());
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
    let ends = scene.names().iter().filter(|n| **n == "end_session").count();
    assert_eq!(ends, 2, "the developer and the reviewer");
    scene.settle();
    assert_eq!(scene.state(), "cancelled");
    assert!(scene.floor.live_jobs(&project()).any(|j| j.issue() == Some(IssueNumber(2))), "the slot is free");
}

#[test]
fn one_that_died_at_rest_or_is_full_is_replaced_by_one_that_is_told_what_was_said() {
    let mut scene = typed();
    verdict(&mut scene, 1, 1, Verdict::RequestChanges);
    scene.exited(REVIEWER, Some(1)).end_session();
    next_head(&mut scene, 2);
    let Action::StartSession(start) = scene.take("start_session") else { unreachable!() };
    assert_eq!((start.head, start.reviewed), (Some(sha(2)), Some(sha(1))));

    let mut scene = typed();
    verdict(&mut scene, 1, 1, Verdict::RequestChanges);
    status(&mut scene, REVIEWER, State::ContextLow { percent: Some(90) });
    next_head(&mut scene, 2);
    assert!(!scene.has("move_review"));
    scene.end_session();
    assert!(scene.has("start_session"));
}

#[test]
fn one_that_dies_on_its_way_to_the_next_head_is_replaced_once_and_then_a_person_is_asked() {
    let mut scene = second_head();
    scene.exited(REVIEWER, None);
    assert!(!scene.has("start_session"), "never two in one worktree");
    scene.end_session();
    moved(&mut scene);
    start_typed(&mut scene);
    assert_eq!(scene.unread(), [""; 0], "the move was the other's");
    scene.signal(Epoch(3), Phase::Failed).end_session();
    assert!(scene.has("comment") && !scene.has("start_session"));
}

#[test]
fn what_it_said_of_the_old_head_is_not_taken_for_the_new_one() {
    let mut scene = second_head();
    // While it is being moved.
    scene.event(Event::ResultWritten { epoch: REVIEWER });
    assert!(!scene.has("collect_review"));
    moved(&mut scene);
    // Before it has read what it is to do: its result is looked at, but nothing is held against it.
    scene.signal(REVIEWER, Phase::Done);
    scene.answer(
        "collect_review",
        Outcome::ReviewUnusable(outcome::ReviewUnusable { why: "it is of another commit".into() }),
    );
    assert_eq!(scene.unread(), ["Review again"]);
    take_all(&mut scene, REVIEWER);
    verdict(&mut scene, 2, 2, Verdict::Approve);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn a_head_that_comes_while_it_is_moved_is_the_one_it_is_told_of() {
    let mut scene = second_head();
    next_head(&mut scene, 3);
    moved(&mut scene);
    assert!(scene.floor.next_message(REVIEWER).is_none(), "nobody waits for that one");
    moved(&mut scene);
    let message = scene.floor.next_message(REVIEWER).expect("a message").text.clone();
    assert!(message.contains(sha(3).as_str()), "{message}");
    assert_eq!(reviewers(&scene), 1);
}

#[test]
fn a_worktree_that_cannot_be_moved_costs_the_reviewer_its_place() {
    let mut scene = second_head();
    scene.impossible("move_review").end_session();
    let Action::StartSession(start) = scene.take("start_session") else { unreachable!() };
    assert_eq!(start.head, Some(sha(2)));
}

#[test]
fn one_that_takes_its_message_and_does_nothing_is_reminded_replaced_and_then_a_person_is_asked() {
    let mut scene = second_head();
    moved(&mut scene);
    take_all(&mut scene, REVIEWER);
    let idle = |scene: &mut Scene| {
        scene.now = scene.now + Duration::from_secs(60);
        status(scene, REVIEWER, State::Working { activity: crate::liveness::Activity::Thinking });
        scene.now = scene.now + Duration::from_secs(60);
        status(scene, REVIEWER, State::IdlePrompt);
    };
    for _ in 0..2 {
        idle(&mut scene);
        assert_eq!(scene.unread(), ["RESULT missing"]);
        take_all(&mut scene, REVIEWER);
    }
    idle(&mut scene);
    assert!(scene.has("end_session"));
    scene.end_session();
    start_typed(&mut scene);
    // One that says nothing at all has half an hour.
    let (second, timeout) = (Epoch(3), Policy::default().reviewer_timeout);
    scene.wait(timeout / 2);
    assert_eq!(scene.floor.sessions.get(&second).expect("it").state, SessionState::Live);
    scene.wait(timeout);
    assert!(!scene.has("collect_review"), "what it may have written is a draft");
    assert!(scene.has("end_session") && scene.has("comment"));
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("reviewing", 1));
}

#[test]
fn one_that_works_has_the_time_it_needs() {
    let mut scene = typed();
    status(&mut scene, REVIEWER, State::Working { activity: crate::liveness::Activity::Thinking });
    for _ in 0..4 {
        scene.wait(Policy::default().reviewer_timeout);
    }
    assert!(!scene.has("end_session"));
    status(&mut scene, REVIEWER, State::Idle);
    // Writing is work.
    scene.wait(Policy::default().reviewer_timeout / 2).event(Event::ResultWritten { epoch: REVIEWER });
    scene.wait(Policy::default().reviewer_timeout / 2);
    assert!(!scene.has("end_session"));
    scene.wait(Policy::default().reviewer_timeout / 2);
    assert!(scene.has("end_session") && !scene.has("collect_review"));
}

#[test]
fn one_that_is_not_through_when_a_person_has_decided_is_not_needed() {
    let mut scene = second_head();
    moved(&mut scene);
    scene.review(9, 2, Verdict::RequestChanges);
    assert_eq!(scene.state(), "working");
    assert!(scene.has("end_session"));
}

#[test]
fn what_one_that_died_and_could_not_be_ended_says_later_counts_for_nothing() {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.start_session();
    scene.event(Event::ResultWritten { epoch: REVIEWER }).exited(REVIEWER, Some(1));
    scene.impossible("end_session").signal(REVIEWER, Phase::Done);
    assert!(!scene.has("collect_review"));
}
