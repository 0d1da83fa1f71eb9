//! What a client asks a person is a question with a number, open as long as its terminal shows it.

use super::*;
use crate::delivery::Stage;
use crate::ids::QuestionId;
use crate::liveness::{Activity, Confidence, State};
use crate::runtime::{DialogKind, DialogOption, DialogView};
use crate::state::{AnswerEnd, SessionAsk, SessionStatus};

const HOUR: Duration = Duration::from_secs(3600);

fn dialog(text: &str) -> DialogView {
    let option = |number, label: &str| DialogOption {
        number,
        label: label.into(),
        description: String::new(),
        selected: number == 1,
    };
    DialogView {
        title: text.into(),
        text: text.into(),
        options: vec![option(1, "Yes"), option(2, "No")],
        numbered: true,
        fingerprint: format!("print of {text}"),
    }
}

impl Scene {
    fn seen(&mut self, state: State, view: Option<DialogView>) -> &mut Self {
        self.seen_asking(state, view, None)
    }

    fn seen_asking(&mut self, state: State, view: Option<DialogView>, chat: Option<&str>) -> &mut Self {
        let status = SessionStatus {
            state,
            since: self.now,
            confidence: Confidence::High,
            context_percent: None,
            cost_micros: None,
            tokens: None,
            dialog: view,
            question: chat.map(str::to_owned),
        };
        self.event(Event::StatusSeen { epoch: DEV, status, conversation: None })
    }

    pub(super) fn asks_to(&mut self, text: &str) -> &mut Self {
        self.seen(State::Dialog { kind: DialogKind::Permission }, Some(dialog(text)))
    }

    pub(super) fn ask(&self) -> Option<&SessionAsk> {
        self.floor.sessions.get(&DEV)?.asks.open.as_ref()
    }

    fn answer_question(&mut self, question: u64, text: &str) -> &mut Self {
        let (project, question) = (project(), Some(QuestionId(question)));
        self.event(Event::Answered { project, issue: Some(IssueNumber(1)), text: text.into(), question })
    }
}

#[test]
fn a_dialog_is_a_question_until_it_is_gone() {
    let mut scene = Scene::working(Policy::default());
    // The hook comes before the screen.
    scene.seen(State::Dialog { kind: DialogKind::Permission }, None);
    assert!(scene.ask().expect("it asks").options().is_empty());
    scene.asks_to("May I?");
    let ask = scene.ask().expect("it asks");
    assert_eq!(
        (ask.id, ask.summary().as_str(), ask.options()),
        (QuestionId(1), "May I?", vec!["Yes".to_owned(), "No".into()])
    );
    assert_eq!(scene.noted(NoteKind::NeedsHuman), 1);
    // Answered at the terminal; the next one is another question.
    scene.seen(State::Working { activity: Activity::Thinking }, None);
    assert_eq!(scene.ask(), None);
    scene.wait(HOUR).asks_to("And now?");
    assert_eq!(scene.ask().expect("it asks").id, QuestionId(2));
    scene.asks_to("Or this?");
    assert_eq!(scene.ask().expect("it asks").id, QuestionId(3));
    scene.exited(DEV, None);
    assert_eq!(scene.ask(), None);
}

#[test]
fn an_answer_is_recorded_typed_and_reported() {
    let mut scene = Scene::working(Policy::default());
    scene.asks_to("May I?").answer_question(7, "1");
    assert_eq!(scene.noted(NoteKind::StaleSignal), 1, "that is another question");
    scene.answer_question(1, "1");
    assert_eq!(scene.ask().expect("it stands").answer.as_deref(), Some("1"));
    // First answer wins.
    scene.answer_question(1, "2");
    assert_eq!(scene.noted(NoteKind::StaleSignal), 2);
    let since = scene.ask().expect("it stands").since;
    scene.event(Event::DialogAnswered { epoch: DEV, question: QuestionId(1), end: AnswerEnd::Typed });
    assert_eq!(scene.ask(), None);
    // What was seen a moment before is not asked again.
    let status = SessionStatus {
        state: State::Dialog { kind: DialogKind::Permission },
        since,
        confidence: Confidence::High,
        context_percent: None,
        cost_micros: None,
        tokens: None,
        dialog: Some(dialog("May I?")),
        question: None,
    };
    scene.event(Event::StatusSeen { epoch: DEV, status, conversation: None });
    assert_eq!(scene.ask(), None);
    // The same words later are another question.
    scene.wait(HOUR).asks_to("May I?");
    assert_eq!(scene.ask().expect("it asks").id, QuestionId(2));
}

#[test]
fn an_answer_that_was_refused_leaves_a_question_with_another_number() {
    let mut scene = Scene::working(Policy::default());
    scene.asks_to("May I?").answer_question(1, "1");
    let end = AnswerEnd::Refused { why: "another dialog is up now".into() };
    scene.event(Event::DialogAnswered { epoch: DEV, question: QuestionId(1), end });
    let ask = scene.ask().expect("it is asked anew");
    assert_eq!((ask.id, ask.answer.as_deref()), (QuestionId(2), None));
    // What was told late is of a question that is gone.
    scene.event(Event::DialogAnswered { epoch: DEV, question: QuestionId(1), end: AnswerEnd::Typed });
    assert!(scene.ask().is_some());
}

#[test]
fn a_message_that_cannot_be_typed_is_told_of_after_a_moment() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).red();
    let held = |why: Option<&str>| Event::MessageHeld {
        message: MessageId(1),
        epoch: DEV,
        why: why.map(str::to_owned),
        for_good: false,
    };
    scene.event(held(Some("the client is not ready"))).wait(Duration::from_secs(10));
    assert_eq!(scene.ask(), None);
    scene.event(held(None)).event(held(Some("a draft"))).wait(Duration::from_secs(15));
    assert_eq!(scene.ask(), None);
    scene.wait(Duration::from_secs(5));
    let ask = scene.ask().expect("it asks");
    assert_eq!(ask.text(), "\"CI failed\" cannot be typed: a draft");
    scene.event(held(None));
    assert_eq!(scene.ask(), None, "it is typed");
    scene.event(held(Some("no hook came"))).wait(Duration::from_secs(20));
    let id = scene.ask().expect("it asks").id.0;
    scene.answer_question(id, "1").end_session();
    assert!(scene.has("start_session"), "it is started anew");
    assert_eq!(scene.job().rounds.respawns, 0);
}

#[test]
fn a_message_that_is_held_for_good_is_a_question_at_once() {
    let mut scene = Scene::working(Policy::default());
    scene.status(DEV, State::IdlePrompt);
    let message = scene.floor.next_message(DEV).expect("a reminder").id;
    let why = Some("its hooks are off".to_owned());
    let held = Event::MessageHeld { message, epoch: DEV, why, for_good: true };
    scene.event(held.clone()).event(held);
    let ask = scene.ask().expect("it asks");
    assert!(ask.text().contains("its hooks are off"), "{}", ask.text());
    assert_eq!(scene.noted(NoteKind::NeedsHuman), 1);
}

impl Scene {
    fn asks_in_chat(&mut self, state: State, question: &str) -> &mut Self {
        self.seen_asking(state, None, Some(question))
    }

    fn works_again(&mut self) -> &mut Self {
        let message = self.floor.next_message(DEV).expect("it is told").id;
        self.read(message.0, DEV);
        self.seen(State::Working { activity: Activity::Thinking }, None)
    }
}

#[test]
fn a_question_in_the_chat_is_shown_at_once_and_its_agent_told_how_to_ask() {
    let mut scene = Scene::working(Policy::default());
    scene.asks_in_chat(State::Idle, "A or B?");
    let ask = scene.ask().expect("it asks");
    assert_eq!((ask.text().as_str(), ask.stops_it()), ("A or B?", false));
    assert_eq!((scene.unread().len(), scene.noted(NoteKind::NeedsHuman)), (0, 0));
    scene.asks_in_chat(State::IdlePrompt, "A or B?");
    assert_eq!((scene.ask().expect("it asks").id, scene.unread()), (QuestionId(1), vec!["PHASE missing"]));
    let reminder = &scene.floor.next_message(DEV).expect("it is told").text;
    assert!(reminder.contains("nobody reads this chat"), "{reminder}");
    // It goes on: what it asked is moot.
    scene.works_again();
    assert_eq!(scene.ask(), None);
    // It insists: people are asked what it asks.
    scene.asks_in_chat(State::IdlePrompt, "A or B?").works_again();
    scene.asks_in_chat(State::IdlePrompt, "A or B, really?");
    assert_eq!((scene.state(), scene.ask()), ("needs_human", None));
    assert_eq!(scene.noted(NoteKind::NeedsHuman), 1);
}

#[test]
fn a_question_in_the_chat_is_answered_instead_of_reminded() {
    let mut scene = Scene::typed();
    let prompt = scene.floor.next_message(DEV).expect("its prompt").id.0;
    scene.moved(prompt, DEV, Stage::TurnStarted);
    scene.asks_in_chat(State::Idle, "A or B?").asks_in_chat(State::IdlePrompt, "A or B?");
    assert_eq!(scene.unread(), ["PHASE missing"]);
    scene.answer_question(1, "B");
    assert_eq!((scene.ask(), scene.unread()), (None, vec!["Answer: B"]));
    let answer = scene.floor.next_message(DEV).expect("the answer").id.0;
    scene.moved(answer, DEV, Stage::TurnStarted);
    scene.seen(State::Working { activity: Activity::Thinking }, None);
    assert_eq!((scene.state(), scene.job().rounds.reminders), ("working", 0));
    // One who said where it stands asks nobody.
    scene.signal(DEV, Phase::AwaitingCi).asks_in_chat(State::Idle, "Is that all?");
    assert_eq!(scene.ask(), None);
}
