//! Each phase in each state.

use super::*;
use crate::ids::QuestionId;
use crate::phase::Ask;
use crate::policy::{OnAlreadyDone, OnFailed};

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
    let report = PhaseReport::new(Phase::Done);
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
    let answer =
        Event::Answered { project: project(), issue: Some(IssueNumber(1)), text: "B".into(), question: None };
    scene.event(answer.clone());
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["Answer: B"]));
    scene.event(answer);
    assert_eq!(scene.unread().len(), 1);
    assert_eq!(scene.noted(NoteKind::StaleSignal), 1);
}

/// The agent of issue 1 gives up for a reason; issue 2 is open, issue 3 closed.
fn gives_up(policy: Policy, why: &str) -> Scene {
    let mut scene = Scene::working(policy);
    scene.issue(2, &[], &[]).issue_is(3, &[], &[], false);
    let report = PhaseReport { detail: Some(why.into()), ..PhaseReport::new(Phase::Failed) };
    scene.event(Event::PhaseWritten { epoch: DEV, stamp: "failed".into(), report });
    scene
}

fn labels_of(scene: &Scene) -> Vec<&str> {
    let issue = scene.floor.issues.get(&(project(), IssueNumber(1))).expect("there is an issue");
    issue.labels.iter().map(String::as_str).collect()
}

#[test]
fn giving_up_is_escalated_once_and_leaves_the_label_the_policy_says() {
    let mut scene = gives_up(Policy::default(), "no compiler");
    assert_eq!(scene.names().iter().filter(|n| **n == "escalate").count(), 1);
    scene.settle();
    assert_eq!((scene.state(), labels_of(&scene)), ("failed", vec!["blocked"]));

    let again = Policy { on_failed: OnFailed::Backlog, ..Policy::default() };
    let mut scene = gives_up(again, "no compiler");
    assert_eq!(labels_of(&scene), ["backlog"]);
    // What is tried again is not tried for ever.
    for job in 2..=3 {
        scene.settle();
        let next = scene.floor.jobs.get(&JobId(job)).expect("another job");
        let epoch = next.session.expect("it has an agent");
        let report = PhaseReport { detail: Some("no".into()), ..PhaseReport::new(Phase::Failed) };
        scene.event(Event::PhaseWritten { epoch, stamp: job.to_string(), report });
    }
    scene.settle();
    assert_eq!((scene.floor.jobs.len(), labels_of(&scene)), (3, vec!["blocked"]));
}

#[test]
fn an_unmet_dependency_is_waited_for() {
    let mut scene = gives_up(Policy::default(), "blocked_by #2");
    scene.settle();
    assert_eq!((scene.state(), labels_of(&scene)), ("refused", vec!["backlog"]));
    assert!(!scene.has("escalate"));
    // Also after the issue was read again, whose text does not say so.
    scene.issue(1, &["backlog"], &[]);
    assert_eq!(scene.floor.jobs.len(), 1);
    scene.issue_is(2, &[], &[], false);
    assert_eq!(scene.floor.jobs.len(), 2, "what it waited for is closed");
    // What is closed, unknown or itself is nothing to wait for.
    for why in ["blocked_by #3", "blocked_by #1", "blocked_by #99"] {
        assert!(gives_up(Policy::default(), why).reason().contains("not open"), "{why}");
    }
}

#[test]
fn what_is_too_large_is_for_a_person_to_say_better() {
    let mut scene = gives_up(Policy::default(), "too_large: split it");
    scene.settle();
    assert_eq!((scene.state(), labels_of(&scene)), ("blocked", vec!["underspecified"]));
}

#[test]
fn already_done_is_believed_only_of_a_branch_without_changes() {
    let close = Policy { on_already_done: OnAlreadyDone::Close, ..Policy::default() };
    let mut scene = gives_up(close.clone(), "already_done");
    scene.branch(0);
    assert!(scene.has("close_issue"));
    scene.settle();
    assert_eq!(scene.state(), "refused");

    let mut scene = gives_up(Policy::default(), "already_done: since #7");
    scene.branch(0);
    assert!(!scene.has("close_issue"));
    assert_eq!(
        scene.reason(),
        "the agent found it done already (since #7), and changed nothing: close the issue if that is so"
    );

    // In the merge queue it is no reason: the entry must not outlive the job.
    let mut scene = in_state("merging");
    let report = PhaseReport { detail: Some("already_done".into()), ..PhaseReport::new(Phase::Failed) };
    scene.event(Event::PhaseWritten { epoch: DEV, stamp: "failed".into(), report });
    assert_eq!(scene.state(), "finishing");
    assert!(scene.floor.entries.iter().all(|e| !e.state.is_live()));

    let mut scene = gives_up(close, "already_done");
    scene.branch(1);
    assert_eq!(scene.state(), "finishing");
    assert!(scene.reason().contains("has 1 commit and 0 changed files of its own"), "{}", scene.reason());
}

/// Asks, with two options, a deadline of two hours and perhaps a default.
fn asking(default: Option<&str>) -> Scene {
    let mut scene = in_state("working");
    let ask = Ask {
        options: vec!["Postgres".into(), "SQLite".into()],
        default: default.map(str::to_owned),
        within: Some(Duration::from_secs(7200)),
    };
    let report = PhaseReport { detail: Some("Which?".into()), ask, ..PhaseReport::new(Phase::NeedsHuman) };
    scene.event(Event::PhaseWritten { epoch: DEV, stamp: "ask".into(), report });
    assert_eq!(scene.state(), "needs_human");
    scene
}

fn answer(text: &str, question: Option<u64>) -> Event {
    let question = question.map(QuestionId);
    Event::Answered { project: project(), issue: Some(IssueNumber(1)), text: text.into(), question }
}

#[test]
fn an_option_is_chosen_by_its_number_or_its_text_and_anything_else_is_said() {
    for (said, told) in [
        ("2", "Answer: SQLite"),
        ("postgres ", "Answer: Postgres"),
        ("neither", "Answer: neither"),
        ("3", "Answer: 3"),
        ("0", "Answer: 0"),
    ] {
        let mut scene = asking(None);
        scene.event(answer(said, Some(1)));
        assert_eq!((scene.state(), scene.unread()), ("working", vec![told]));
    }
}

#[test]
fn an_answer_to_an_earlier_question_is_not_the_next_ones() {
    let mut scene = asking(None);
    scene.event(answer("1", Some(1))).signal(DEV, Phase::NeedsHuman);
    scene.event(answer("2", Some(1)));
    assert_eq!((scene.state(), scene.noted(NoteKind::StaleSignal)), ("needs_human", 1));
    scene.event(answer("yes", Some(2)));
    assert_eq!(scene.unread(), ["Answer: Postgres", "Answer: yes"]);
}

#[test]
fn at_the_deadline_the_default_is_taken_and_a_late_answer_is_not() {
    let mut scene = asking(Some("SQLite"));
    scene.wait(Duration::from_secs(7199));
    assert_eq!(scene.state(), "needs_human");
    scene.wait(Duration::from_secs(1));
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["Answer: SQLite"]));
    let markers: Vec<&str> = scene
        .pending
        .iter()
        .filter_map(|a| if let Action::Comment { marker, .. } = a { Some(marker.as_str()) } else { None })
        .collect();
    assert_eq!(markers, ["question-1", "question-1-default"]);
    scene.event(answer("1", Some(1)));
    assert_eq!((scene.unread().len(), scene.noted(NoteKind::StaleSignal)), (1, 1));
}

#[test]
fn a_deadline_without_a_default_is_escalated_and_the_question_stays() {
    let mut scene = asking(None);
    scene.wait(Duration::from_secs(7200));
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("needs_human", 1));
    scene.event(answer("1", None));
    assert_eq!(scene.state(), "working");
}

#[test]
fn questions_without_end_end_the_job() {
    let mut scene = in_state("working");
    for n in 0..11 {
        let report = PhaseReport { detail: Some(n.to_string()), ..PhaseReport::new(Phase::NeedsHuman) };
        scene.event(Event::PhaseWritten { epoch: DEV, stamp: n.to_string(), report });
    }
    assert_eq!(scene.state(), "finishing");
}
