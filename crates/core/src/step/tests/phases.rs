//! Each phase in each state.

use super::*;

/// The job's state after the phase was signalled in a state, and the first line of what is told.
#[track_caller]
fn check(mut scene: Scene, phase: Phase, state: &str, told: Option<&str>) {
    let before = scene.unread().len();
    let from = scene.state();
    scene.signal(DEV, phase);
    assert_eq!(scene.state(), state, "{phase} in {from}");
    assert_eq!(scene.unread().get(before).copied(), told, "{phase} in {from}");
    assert!(scene.job().deadline.is_some());
}

fn in_state(name: &str) -> Scene {
    let policy = Policy::default();
    let mut scene = Scene::working(policy.clone());
    match name {
        "working" => {}
        "publishing" => {
            scene.signal(DEV, Phase::AwaitingCi);
        }
        "checking" => {
            scene.checking(Phase::AwaitingCi, 1);
        }
        "reviewing" => scene = Scene::reviewing(policy, 1),
        "merging" => scene = Scene::merging(policy, 1),
        "needs_human" => {
            scene.signal(DEV, Phase::NeedsHuman);
        }
        "finishing" => {
            scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
        }
        other => panic!("no way to {other}"),
    }
    assert_eq!(scene.state(), name);
    scene
}

#[test]
fn awaiting_ci_and_awaiting_review_have_the_branch_looked_at() {
    for phase in [Phase::AwaitingCi, Phase::AwaitingReview] {
        for state in ["working", "publishing", "checking", "reviewing", "needs_human"] {
            check(in_state(state), phase, "publishing", None);
        }
        check(in_state("merging"), phase, "merging", None);
        check(in_state("finishing"), phase, "finishing", None);
    }
}

#[test]
fn needs_human_waits_for_a_person() {
    for state in ["working", "publishing", "checking", "reviewing", "needs_human"] {
        check(in_state(state), Phase::NeedsHuman, "needs_human", None);
    }
    check(in_state("merging"), Phase::NeedsHuman, "merging", None);
    check(in_state("finishing"), Phase::NeedsHuman, "finishing", None);
}

#[test]
fn done_is_not_believed() {
    for state in ["working", "publishing", "checking", "reviewing", "needs_human"] {
        check(in_state(state), Phase::Done, "working", Some("PR not merged yet"));
    }
    check(in_state("merging"), Phase::Done, "merging", Some("PR not merged yet"));
    check(in_state("finishing"), Phase::Done, "finishing", None);
}

#[test]
fn failed_ends_the_job() {
    for state in ["working", "publishing", "checking", "reviewing", "needs_human", "merging", "finishing"] {
        check(in_state(state), Phase::Failed, "finishing", None);
    }
}

#[test]
fn an_agent_that_keeps_saying_done_is_reminded_twice_and_then_blocked() {
    let mut scene = in_state("working");
    scene.signal(DEV, Phase::Done).signal(DEV, Phase::Done);
    assert_eq!(scene.unread(), ["PR not merged yet", "PR not merged yet"]);
    scene.signal(DEV, Phase::Done);
    assert_eq!(scene.state(), "finishing");
    assert!(scene.reason().contains("after 2 reminders"), "{}", scene.reason());
}

#[test]
fn an_agent_in_the_queue_that_keeps_saying_done_is_told_twice() {
    let mut scene = in_state("merging");
    let before = scene.unread().len();
    for _ in 0..5 {
        scene.signal(DEV, Phase::Done);
    }
    assert_eq!(scene.unread().len() - before, 2);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn the_same_writing_seen_twice_is_one_signal() {
    let mut scene = in_state("working");
    let report = PhaseReport { phase: Phase::Done, detail: None, session: None };
    for _ in 0..3 {
        let report = report.clone();
        scene.event(Event::PhaseWritten { epoch: DEV, stamp: "s".into(), report });
    }
    assert_eq!(scene.unread().len(), 1);
}

#[test]
fn a_phase_that_is_none_is_a_reminder() {
    let mut scene = in_state("working");
    for stamp in ["a", "a", "b", "c"] {
        let first_line = "PHASE:finished".into();
        scene.event(Event::PhaseUnreadable { epoch: DEV, stamp: stamp.into(), first_line });
    }
    assert_eq!(scene.noted(NoteKind::MessageQueued), 2);
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn a_question_is_asked_once_and_answered_once() {
    let mut scene = in_state("needs_human");
    scene.signal(DEV, Phase::NeedsHuman);
    assert_eq!(scene.pending.iter().filter(|a| a.name() == "comment").count(), 1);
    let answer = Event::Answered { project: project(), issue: IssueNumber(1), text: "B".into() };
    scene.event(answer.clone());
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["Answer: B"]));
    scene.event(answer);
    assert_eq!(scene.unread().len(), 1);
    assert_eq!(scene.noted(NoteKind::StaleSignal), 1);
}

#[test]
fn questions_without_end_end_the_job() {
    let mut scene = in_state("working");
    for n in 0..11 {
        let report = PhaseReport { phase: Phase::NeedsHuman, detail: Some(n.to_string()), session: None };
        scene.event(Event::PhaseWritten { epoch: DEV, stamp: n.to_string(), report });
    }
    assert_eq!(scene.state(), "finishing");
}
