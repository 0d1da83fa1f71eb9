//! What a session's status leads to, and how a prompt that is typed goes its way.

use super::*;
use crate::delivery::{Stage, Transition};
use crate::effect::outcome;
use crate::liveness::{Activity, Confidence, State};
use crate::runtime::{DialogKind, ErrorKind};
use crate::state::{SessionState, SessionStatus, WorkPhase};

const HOUR: Duration = Duration::from_secs(3600);

impl Scene {
    pub(super) fn status(&mut self, epoch: Epoch, state: State) -> &mut Self {
        let status = SessionStatus {
            state,
            since: self.now,
            confidence: Confidence::High,
            context_percent: Some(10),
            cost_micros: None,
            tokens: None,
            dialog: None,
            question: None,
        };
        self.event(Event::StatusSeen { epoch, status, conversation: Some("c".into()) })
    }

    fn works(&mut self, epoch: Epoch) -> &mut Self {
        self.status(epoch, State::Working { activity: Activity::Thinking })
    }

    pub(super) fn moved(&mut self, message: u64, epoch: Epoch, to: Stage) -> &mut Self {
        let to = Transition { to, at: self.now, evidence: "seen".into() };
        self.event(Event::MessageMoved { message: MessageId(message), epoch, to })
    }

    fn start_typed(&mut self) -> &mut Self {
        self.answer(
            "start_session",
            Outcome::SessionStarted(outcome::SessionStarted {
                tmux: "t".into(),
                process: ProcessId { pid: 1, start: 1 },
                phase_file: "f".into(),
                runtime: "claude".into(),
                prompt: Some("do it".into()),
                notes: vec![],
            }),
        )
    }

    /// As [`Scene::working`], with a client that has to be typed to.
    pub(super) fn typed() -> Scene {
        let mut scene = Scene::new(Policy::default());
        scene.issue(1, &["backlog"], &[]).done("edit_labels");
        scene.answer(
            "prepare_worktree",
            Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
        );
        scene.start_typed();
        scene
    }

    fn session(&self, epoch: Epoch) -> &crate::state::Session {
        self.floor.sessions.get(&epoch).expect("it is on record")
    }
}

#[test]
fn a_first_prompt_is_a_message_with_receipts() {
    let mut scene = Scene::typed();
    assert_eq!(scene.floor.next_message(DEV).expect("a prompt").text, "do it");
    scene.moved(1, Epoch(7), Stage::Typed);
    scene.moved(1, DEV, Stage::Typed).moved(1, DEV, Stage::Submitted).moved(1, DEV, Stage::TurnStarted);
    let message = scene.floor.messages.get(&MessageId(1)).expect("it is kept");
    let stages: Vec<Stage> = message.receipts.iter().map(|r| r.to).collect();
    assert_eq!(stages, [Stage::Queued, Stage::Typed, Stage::Submitted, Stage::TurnStarted]);
    assert_eq!(message.state, MessageState::Taken);
    // What comes late changes nothing.
    scene.moved(1, DEV, Stage::Undelivered);
    assert_eq!((scene.state(), scene.noted(NoteKind::MessageUndelivered)), ("working", 0));
}

#[test]
fn a_prompt_dies_with_its_session_and_what_is_in_the_prompt_counts_when_it_is_taken() {
    let mut scene = Scene::typed();
    scene.moved(1, DEV, Stage::TurnStarted).checking(Phase::AwaitingCi, 1).red();
    scene.exited(DEV, None).end_session().wait(Duration::from_secs(1)).start_typed();
    let waiting = scene.unread();
    assert_eq!(waiting, ["CI failed", "do it"]);
    assert_eq!(scene.floor.next_message(Epoch(2)).expect("a prompt").text, "do it");
    scene.exited(Epoch(2), None).end_session().wait(Duration::from_secs(2));
    assert_eq!(scene.unread(), ["CI failed"], "no successor gets its predecessor's prompt");
    scene.start_typed();
    let prompt = scene.floor.next_message(Epoch(3)).expect("a prompt").id;
    scene.moved(prompt.0, Epoch(3), Stage::TurnStarted);
    assert!(scene.unread().is_empty());
}

#[test]
fn a_prompt_that_cannot_be_typed_is_tried_with_a_successor() {
    let mut scene = Scene::typed();
    scene.moved(1, DEV, Stage::Undelivered);
    assert_eq!((scene.state(), scene.noted(NoteKind::MessageUndelivered)), ("respawning", 1));
    scene.end_session().wait(Duration::from_secs(1));
    assert!(scene.has("start_session"));
}

#[test]
fn who_never_got_its_first_prompt_is_told_nothing_else() {
    let mut scene = Scene::typed();
    scene.status(DEV, State::Failed { error: ErrorKind::InvalidRequest }).wait(HOUR / 2);
    assert_eq!((scene.state(), scene.noted(NoteKind::MessageUndelivered)), ("needs_human", 1));
    scene.end_session();
    scene.event(Event::Answered {
        project: project(),
        issue: Some(IssueNumber(1)),
        text: "done".into(),
        question: None,
    });
    assert!(scene.has("start_session"), "a successor has the answer in its prompt");
    assert_eq!((scene.job().rounds.respawns, scene.unread()), (0, vec!["Answer: done"]));
}

#[test]
fn what_is_in_the_way_is_said_when_time_is_up() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).red();
    let why = Some("the composer holds a draft".to_owned());
    scene.event(Event::MessageHeld { message: MessageId(1), epoch: DEV, why, for_good: false });
    scene.wait(HOUR / 2);
    assert!(scene.reason().contains("the composer holds a draft"), "{}", scene.reason());
}

#[test]
fn a_dialog_is_told_once_and_waited_for() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).red();
    let dialog = || State::Dialog { kind: DialogKind::Permission };
    scene.status(DEV, dialog()).status(DEV, dialog());
    assert_eq!(scene.noted(NoteKind::NeedsHuman), 1);
    // Neither the message's deadline nor the job's ends what waits for a person.
    scene.wait(HOUR / 2).wait(2 * HOUR).wait(20 * HOUR);
    assert_eq!(scene.state(), "working");
    scene.wait(3 * HOUR);
    assert_eq!(scene.state(), "finishing", "every wait ends");
}

#[test]
fn a_dialog_has_its_time_however_long_the_agent_has_worked() {
    let mut scene = Scene::working(Policy::default());
    for _ in 0..13 {
        scene.works(DEV).wait(2 * HOUR);
    }
    scene.status(DEV, State::Dialog { kind: DialogKind::Question }).wait(23 * HOUR);
    assert_eq!(scene.state(), "working");
    scene.wait(HOUR);
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn a_dialog_that_is_out_of_sight_for_a_while_is_told_of_once() {
    let mut scene = Scene::working(Policy::default());
    let since = scene.now;
    let told = |scene: &mut Scene, since| {
        let status = SessionStatus {
            state: State::Dialog { kind: DialogKind::Permission },
            since,
            confidence: Confidence::High,
            context_percent: None,
            cost_micros: None,
            tokens: None,
            dialog: None,
            question: None,
        };
        scene.event(Event::StatusSeen { epoch: DEV, status, conversation: None });
        scene.noted(NoteKind::NeedsHuman)
    };
    assert_eq!(told(&mut scene, since), 1);
    scene.works(DEV);
    assert_eq!(told(&mut scene, since), 1);
    scene.works(DEV).wait(HOUR);
    let later = scene.now;
    assert_eq!(told(&mut scene, later), 2);
}

#[test]
fn a_limit_is_a_pause_until_its_reset() {
    let mut scene = Scene::working(Policy::default());
    let until = scene.now + 5 * HOUR;
    scene.status(DEV, State::LimitedUntil { until });
    scene.wait(3 * HOUR);
    assert_eq!((scene.state(), scene.unread().len()), ("working", 0));
    scene.wait(2 * HOUR);
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["Continue"]));
    assert_eq!((scene.job().rounds.respawns, scene.job().rounds.reminders), (0, 0));
}

#[test]
fn a_limit_that_was_first_taken_for_a_failure_is_not_counted() {
    let mut scene = Scene::working(Policy::default());
    let (since, until) = (scene.now, scene.now + HOUR);
    let seen = |scene: &mut Scene, state| {
        let status = SessionStatus {
            state,
            since,
            confidence: Confidence::High,
            context_percent: None,
            cost_micros: None,
            tokens: None,
            dialog: None,
            question: None,
        };
        scene.event(Event::StatusSeen { epoch: DEV, status, conversation: None });
    };
    seen(&mut scene, State::Failed { error: ErrorKind::RateLimit });
    seen(&mut scene, State::LimitedUntil { until });
    assert_eq!((scene.session(DEV).stops.nudges, scene.session(DEV).stops.resume_at), (0, Some(until)));
    scene.wait(HOUR - Duration::from_millis(1));
    // The notice is still there when its time is over.
    seen(&mut scene, State::Failed { error: ErrorKind::RateLimit });
    assert_eq!((scene.session(DEV).stops.nudges, scene.session(DEV).stops.resume_at), (0, Some(until)));
    scene.wait(Duration::from_millis(1));
    assert_eq!(scene.unread(), ["Continue"]);
}

#[test]
fn a_client_that_goes_on_by_itself_is_not_told_to() {
    let mut scene = Scene::working(Policy::default());
    let until = scene.now + HOUR;
    scene.status(DEV, State::LimitedUntil { until }).works(DEV).wait(HOUR);
    assert!(scene.unread().is_empty());
}

#[test]
fn failed_requests_are_tried_again_with_growing_pauses_then_a_person_is_asked() {
    let mut scene = Scene::working(Policy::default());
    let failed = || State::Failed { error: ErrorKind::Overloaded };
    for attempt in 0..8u32 {
        let pause = Duration::from_secs(60 << attempt.min(5)).min(HOUR / 2);
        scene.works(DEV).status(DEV, failed());
        scene.wait(pause - Duration::from_millis(1));
        assert!(scene.unread().is_empty(), "{attempt}");
        scene.wait(Duration::from_millis(1));
        assert_eq!(scene.unread(), ["Continue"], "{attempt}");
        let message = scene.floor.next_message(DEV).expect("it is told").id;
        scene.moved(message.0, DEV, Stage::TurnStarted);
    }
    scene.works(DEV).status(DEV, failed());
    assert_eq!(scene.state(), "needs_human");
    assert_eq!((scene.job().rounds.respawns, scene.session(DEV).stops.nudges), (0, 0));
}

#[test]
fn a_turn_that_fails_at_once_is_tried_again_though_nobody_saw_it_work() {
    let mut scene = Scene::working(Policy::default());
    let failed = || State::Failed { error: ErrorKind::Overloaded };
    scene.status(DEV, failed()).wait(Duration::from_secs(60));
    let message = scene.floor.next_message(DEV).expect("it is told").id;
    scene.status(DEV, failed()).moved(message.0, DEV, Stage::TurnStarted);
    assert!(scene.unread().is_empty());
    // The same failure told again is no other.
    let status = scene.session(DEV).status.clone().expect("it was seen");
    scene.wait(Duration::from_secs(60));
    scene.event(Event::StatusSeen { epoch: DEV, status, conversation: None });
    assert_eq!(scene.session(DEV).stops.nudges, 2);
    scene.wait(Duration::from_secs(60));
    assert_eq!(scene.unread(), ["Continue"]);
}

#[test]
fn a_refused_request_is_a_persons_to_mend_and_nothing_burns() {
    let mut scene = Scene::working(Policy::default());
    scene.status(DEV, State::Failed { error: ErrorKind::InvalidRequest });
    assert_eq!(scene.state(), "needs_human");
    scene.event(Event::Answered {
        project: project(),
        issue: Some(IssueNumber(1)),
        text: "done".into(),
        question: None,
    });
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["Answer: done"]));
    assert_eq!((scene.job().rounds.respawns, scene.job().rounds.ci_fixes), (0, 0));
}

#[test]
fn a_full_context_is_cycled() {
    let mut scene = Scene::working(Policy::default());
    scene.status(DEV, State::Failed { error: ErrorKind::ContextFull });
    assert_eq!(scene.state(), "respawning");
    scene.end_session();
    assert!(scene.has("start_session"), "at once, and it is no crash");
    assert_eq!((scene.job().rounds.respawns, scene.job().rounds.cycles), (0, 1));
}

#[test]
fn idle_without_a_phase_is_reminded_twice_then_judged() {
    let mut scene = Scene::working(Policy::default());
    for _ in 0..2 {
        scene.status(DEV, State::IdlePrompt).status(DEV, State::IdlePrompt);
        assert_eq!(scene.unread(), ["PHASE missing"]);
        let message = scene.floor.next_message(DEV).expect("a reminder").id;
        scene.read(message.0, DEV).works(DEV);
    }
    scene.status(DEV, State::IdlePrompt);
    assert!(scene.reason().contains("stopped without a phase"), "{}", scene.reason());
}

#[test]
fn only_a_client_found_frozen_three_times_is_replaced() {
    let mut scene = Scene::working(Policy::default());
    scene.status(DEV, State::Stuck).status(DEV, State::Stuck).works(DEV);
    scene.status(DEV, State::Stuck).status(DEV, State::Stuck);
    assert!(!scene.has("end_session"));
    scene.status(DEV, State::Stuck);
    assert_eq!((scene.state(), scene.has("end_session")), ("respawning", true));
}

#[test]
fn one_that_lives_is_given_time_and_somebody_is_told() {
    let mut scene = Scene::working(Policy::default());
    scene.works(DEV).wait(2 * HOUR);
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("working", 0));
    scene.status(DEV, State::NoProgress);
    for n in 1..=5 {
        scene.wait(2 * HOUR);
        assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("working", n));
    }
    scene.wait(2 * HOUR);
    assert_eq!((scene.state(), scene.has("end_session")), ("respawning", true));
}

#[test]
fn a_reviewers_trouble_is_not_the_developers() {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.start_session();
    scene.status(REVIEWER, State::Failed { error: ErrorKind::RateLimit }).wait(Duration::from_secs(60));
    assert_eq!(scene.floor.next_message(REVIEWER).expect("it is told").text.lines().next(), Some("Continue"));
    assert_eq!(scene.state(), "reviewing");
    scene.status(REVIEWER, State::Failed { error: ErrorKind::InvalidRequest });
    assert!(scene.has("end_session"));
    scene.end_session();
    assert!(scene.has("start_session"), "another reviewer is tried");
    assert!(scene.floor.messages.iter().all(|m| m.to != Some(REVIEWER)));
}

#[test]
fn a_reviewer_that_stops_without_a_review_is_reminded_then_replaced() {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.start_session();
    for _ in 0..2 {
        scene.works(REVIEWER).status(REVIEWER, State::IdlePrompt);
        let message = scene.floor.next_message(REVIEWER).expect("a reminder");
        assert!(message.text.starts_with("RESULT missing"));
        let id = message.id;
        scene.moved(id.0, REVIEWER, Stage::TurnStarted);
    }
    scene.works(REVIEWER).status(REVIEWER, State::IdlePrompt).end_session();
    assert!(scene.has("start_session"), "another is tried");
    assert_eq!(scene.state(), "reviewing");
}

#[test]
fn the_work_record_follows_tools_phases_and_checks() {
    let mut scene = Scene::working(Policy::default());
    let phase = |scene: &Scene| scene.floor.records.iter().next().expect("a record").work_phase;
    let uses = |scene: &mut Scene, tool: &str| {
        if let Some(phase) = WorkPhase::of_tool(tool) {
            scene.event(Event::WorkSeen { epoch: DEV, phase });
        }
    };
    assert_eq!(phase(&scene), WorkPhase::Investigation);
    for (tool, expect) in [
        ("Bash", WorkPhase::Investigation),
        ("TodoWrite", WorkPhase::Planning),
        ("Edit", WorkPhase::Implementation),
        ("Read", WorkPhase::Implementation),
    ] {
        uses(&mut scene, tool);
        assert_eq!(phase(&scene), expect, "{tool}");
    }
    scene.checking(Phase::AwaitingCi, 1);
    assert_eq!(phase(&scene), WorkPhase::Testing);
    scene.red();
    assert_eq!(phase(&scene), WorkPhase::Implementation);
    let record = scene.floor.records.iter().next().expect("a record");
    assert!(
        record.resumption_instructions.starts_with("Resume from phase: implementation, last working on: ")
    );
    // A successor goes on with it.
    scene.exited(DEV, None).end_session().wait(Duration::from_secs(1));
    assert_eq!(phase(&scene), WorkPhase::Implementation);
    assert_eq!(scene.floor.records.iter().next().expect("a record").sessions, [DEV, Epoch(2)]);
}

fn background() -> State {
    State::Background { what: "1 task: shell".into() }
}

#[test]
fn work_in_the_background_is_waited_for_and_told_of_when_its_time_is_over() {
    let mut scene = Scene::typed();
    scene.moved(1, DEV, Stage::TurnStarted).works(DEV).status(DEV, background());
    // Longer than an agent may be silent; nothing is asked, told or ended.
    let before = scene.floor.messages.len();
    scene.wait(3 * HOUR);
    assert_eq!((scene.state(), scene.floor.messages.len()), ("working", before));
    assert_eq!(scene.session(DEV).state, SessionState::Live);
    assert_eq!(scene.noted(NoteKind::Escalation), 0);
    scene.wait(HOUR);
    assert_eq!(scene.noted(NoteKind::Escalation), 1, "somebody is told");
    assert_eq!(scene.floor.messages.len(), before + 1, "and it counts as one that has stopped");
    assert_eq!(scene.session(DEV).state, SessionState::Live);
    // Its work ends and it goes on by itself: as if nothing had been.
    let mut scene = Scene::typed();
    scene.moved(1, DEV, Stage::TurnStarted).works(DEV).status(DEV, background()).wait(HOUR);
    scene.works(DEV).wait(HOUR);
    assert_eq!(scene.noted(NoteKind::Escalation), 0);
    assert_eq!(scene.session(DEV).state, SessionState::Live);
}

#[test]
fn only_a_reminder_that_was_taken_counts() {
    let mut scene = Scene::typed();
    scene.moved(1, DEV, Stage::TurnStarted).works(DEV).status(DEV, State::IdlePrompt);
    let reminders = |scene: &Scene| scene.floor.jobs.iter().next().expect("a job").rounds.reminders;
    assert_eq!(reminders(&scene), 0, "planned");
    // It goes on and stops again before it was typed: no second one beside it.
    scene.works(DEV).status(DEV, State::IdlePrompt);
    assert_eq!((reminders(&scene), scene.floor.messages.len()), (0, 2));
    scene.moved(2, DEV, Stage::TurnStarted);
    assert_eq!(reminders(&scene), 1, "sent");
}

#[test]
fn what_is_printed_is_a_sign_of_life() {
    let mut scene = Scene::working(Policy::default());
    for _ in 0..20 {
        scene.wait(HOUR).event(Event::OutputSeen { epoch: DEV });
    }
    assert_eq!(scene.session(DEV).state, SessionState::Live);
    assert_eq!(scene.noted(NoteKind::Escalation), 0);
    scene.wait(3 * HOUR);
    assert_ne!(scene.session(DEV).state, SessionState::Live, "and silence is none");
}
