//! The vault: who decides about a request, what is fired and how often, and that every request ends.

use super::*;
use crate::effect::{Fire, Fired};
use crate::event::{VaultAsk, Word};
use crate::ids::{QuestionId, RequestNumber};
use crate::schema::Schema;
use crate::state::{Decision, Request, RequestEventKind};
use crate::step::{may_decide, may_request};
use crate::texts::{FirstLine, vault};
use crate::vault::{Risk, Spec};

const FIRST: RequestNumber = RequestNumber(1);
const HOUR: Duration = Duration::from_secs(3600);

fn deploy(risk: Risk, reversible: bool) -> Spec {
    let schema: Schema = serde_json::from_value(serde_json::json!({
        "type": "object", "required": ["version"], "properties": { "version": { "type": "string" } },
    }))
    .expect("a schema");
    Spec {
        run: labelled(&["deploy", "{payload.version}"]),
        risk,
        reversible,
        requires_human: false,
        idempotent: false,
        secrets: labelled(&["TOKEN"]),
        timeout: Duration::from_secs(60),
        cwd: None,
        schema: Some(schema),
    }
}

fn ask(spec: Option<Spec>, payload: &str, session: Option<Epoch>) -> Event {
    let ask = VaultAsk {
        r#type: "deploy".parse().expect("a name"),
        spec,
        payload: payload.into(),
        reason: "it is ready".into(),
        by: "agent 1".into(),
        from: "the command line".into(),
        session,
    };
    Event::VaultAsked { project: project(), ask }
}

const GOOD: &str = r#"{"version": "1.2"}"#;

fn word(decision: Decision, question: Option<u64>) -> Event {
    let question = question.map(QuestionId);
    let word = Word {
        decision,
        by: "ann".into(),
        from: "the command line".into(),
        question,
        why: "as planned".into(),
    };
    Event::VaultDecided { project: project(), request: FIRST, word }
}

impl Scene {
    fn asked(risk: Risk, reversible: bool) -> Scene {
        let mut scene = Scene::new(Policy::default());
        scene.event(ask(Some(deploy(risk, reversible)), GOOD, None));
        scene
    }

    fn request(&self) -> &Request {
        self.floor.requests.get(&FIRST).expect("it is at hand")
    }

    fn request_is(&self, state: &str) {
        assert_eq!(self.request().state_name(), state, "{:?}", self.request());
    }

    fn fired(&mut self, fired: Fired) -> &mut Self {
        self.answer("fire", Outcome::Fired(fired))
    }

    fn worked(&mut self) -> &mut Self {
        self.fired(Fired::Ended { code: Some(0), how: String::new(), output: "out".into() })
    }

    fn told_of(&self, kind: NoteKind) -> usize {
        self.notes.iter().filter(|note| note.kind == kind).count()
    }

    fn say(&mut self, decision: Decision) -> &mut Self {
        self.event(word(decision, None))
    }

    fn deeds(&self) -> Vec<RequestEventKind> {
        self.request().history.iter().map(|deed| deed.what).collect()
    }
}

#[test]
fn low_risk_is_fired_and_nobody_is_troubled() {
    let mut scene = Scene::asked(Risk::Low, false);
    scene.request_is("firing");
    let Action::Fire(fire) = scene.pending[0].clone() else { panic!("{:?}", scene.pending) };
    assert_eq!(fire.command, ["deploy", "1.2"]);
    assert_eq!((fire.attempt, fire.payload.as_str()), (1, "{\n  \"version\": \"1.2\"\n}"));
    assert_eq!(scene.told_of(NoteKind::NeedsHuman) + scene.told_of(NoteKind::Escalation), 0);
    scene.worked().request_is("done");
    assert_eq!(scene.request().output, "out");
    assert_eq!(scene.deeds(), [RequestEventKind::Asked, RequestEventKind::Fired, RequestEventKind::Ended]);
}

#[test]
fn what_can_be_undone_is_fired_and_people_are_told() {
    let scene = Scene::asked(Risk::Medium, true);
    scene.request_is("firing");
    assert_eq!(scene.told_of(NoteKind::Escalation), 1);
}

#[test]
fn what_needs_a_person_is_fired_after_their_word_and_their_name_is_kept() {
    for (risk, reversible) in [(Risk::Medium, false), (Risk::High, true)] {
        let mut scene = Scene::asked(risk, reversible);
        scene.request_is("held");
        assert!(!scene.has("fire") && scene.told_of(NoteKind::NeedsHuman) == 1);
        scene.say(Decision::Approve).request_is("firing");
        // The second word is too late.
        scene.say(Decision::Reject).request_is("firing");
        assert_eq!(scene.told_of(NoteKind::StaleSignal), 1);
        scene.worked().request_is("done");
        let approval = &scene.request().history[2];
        assert_eq!((approval.what, approval.by.as_str()), (RequestEventKind::Approved, "ann"));
        assert_eq!(approval.from, "the command line");
    }
    let mut always = Scene::new(Policy::default());
    always.event(ask(Some(Spec { requires_human: true, ..deploy(Risk::Low, true) }), GOOD, None));
    always.request_is("held");
}

#[test]
fn what_is_rejected_is_not_fired() {
    let mut scene = Scene::asked(Risk::High, false);
    scene.say(Decision::Reject).request_is("rejected");
    scene.say(Decision::Approve).say(Decision::Retry).request_is("rejected");
    assert!(!scene.has("fire"));
}

#[test]
fn what_nobody_declared_or_does_not_fit_is_on_record_and_rejected() {
    for (spec, payload, why) in [
        (None, GOOD, "the vault has no type `deploy`"),
        (Some(deploy(Risk::Low, true)), "{}", "payload lacks `version`"),
        (Some(deploy(Risk::Low, true)), "{", "the payload is not JSON"),
        (Some(deploy(Risk::Low, true)), r#"{"version": "-rf"}"#, "payload.version begins with `-`"),
    ] {
        let mut scene = Scene::new(Policy::default());
        scene.event(ask(spec, payload, None)).request_is("rejected");
        let said = format!("{:?}", scene.request().state);
        assert!(said.contains(why), "{said}");
        assert_eq!(scene.deeds(), [RequestEventKind::Asked, RequestEventKind::Ended]);
        assert!(!scene.has("fire"));
    }
}

#[test]
fn a_question_is_answered_where_questions_are() {
    for (text, state) in [("approve", "firing"), ("1", "firing"), ("Reject", "rejected"), ("2", "rejected")] {
        let mut scene = Scene::asked(Risk::High, false);
        let (question, _) = scene.request().question().expect("asked");
        let answer = |text: &str| Event::Answered {
            project: project(),
            issue: None,
            text: text.into(),
            question: Some(question),
        };
        scene.event(answer("perhaps")).request_is("held");
        scene.event(answer(text)).request_is(state);
    }
}

#[test]
fn nobody_answers_and_it_is_rejected_after_two_days() {
    let mut scene = Scene::asked(Risk::High, false);
    scene.wait(7 * HOUR);
    assert_eq!(scene.told_of(NoteKind::NeedsHuman), 2, "they are reminded");
    scene.wait(40 * HOUR).request_is("held");
    scene.wait(HOUR).request_is("rejected");
    assert!(scene.told_of(NoteKind::Escalation) == 1 && scene.floor.next_deadline().is_some());
}

#[test]
fn what_was_cut_short_is_fired_again_only_by_a_person() {
    let mut scene = Scene::asked(Risk::Low, false);
    scene.fired(Fired::CutShort { output: "half".into() }).request_is("unknown");
    assert!(!scene.has("fire"), "never a second shot by itself");
    scene.say(Decision::Approve).request_is("unknown");
    scene.say(Decision::Retry).request_is("firing");
    let Action::Fire(Fire { attempt, .. }) = scene.pending[0] else { panic!("{:?}", scene.pending) };
    assert_eq!(attempt, 2);
    scene.fired(Fired::CutShort { output: String::new() }).say(Decision::Reject).request_is("rejected");
}

#[test]
fn what_an_answer_is_missing_for_long_can_be_given_up() {
    let mut scene = Scene::asked(Risk::Low, false);
    scene.say(Decision::Reject).request_is("firing");
    scene.wait(2 * HOUR);
    assert_eq!(scene.told_of(NoteKind::Escalation), 1);
    scene.say(Decision::Reject).request_is("rejected");
    scene.worked().request_is("rejected");
    assert_eq!(scene.told_of(NoteKind::Escalation), 2, "it happened all the same");
}

#[test]
fn what_could_not_be_begun_or_failed_may_be_tried_again() {
    let mut scene = Scene::asked(Risk::High, false);
    scene.say(Decision::Approve).fired(Fired::NotBegun { why: "TOKEN is not set".into() });
    scene.request_is("not_begun");
    scene.say(Decision::Retry);
    scene.fired(Fired::Ended { code: Some(3), how: "exit code 3".into(), output: String::new() });
    scene.request_is("failed");
    scene.say(Decision::Approve).request_is("failed");
    scene.say(Decision::Retry).worked().request_is("done");
    assert_eq!(scene.request().fires, 3);
    scene.say(Decision::Retry).request_is("done");
}

#[test]
fn what_is_declared_otherwise_by_now_is_asked_about_again() {
    let mut scene = Scene::asked(Risk::High, false);
    scene.say(Decision::Approve);
    let other = Spec { run: labelled(&["deploy", "--all", "{payload.version}"]), ..deploy(Risk::Low, true) };
    scene.fired(Fired::Changed { spec: Some(Box::new(other)) }).request_is("held");
    assert_eq!(scene.request().command, ["deploy", "--all", "1.2"]);
    // Somebody who has seen the first question approves what it was.
    scene.say(Decision::Approve).event(word(Decision::Approve, Some(1))).request_is("held");
    scene.event(word(Decision::Approve, Some(2))).request_is("firing");
    scene.fired(Fired::Changed { spec: None }).request_is("rejected");

    let mut scene = Scene::asked(Risk::Low, true);
    let narrower = Spec { run: labelled(&["deploy", "{payload.stage}"]), ..deploy(Risk::Low, true) };
    scene.fired(Fired::Changed { spec: Some(Box::new(narrower)) }).request_is("rejected");
}

#[test]
fn the_agent_that_asked_is_told_how_it_ended() {
    let mut scene = Scene::working(Policy::default());
    scene.event(ask(Some(deploy(Risk::High, true)), GOOD, Some(DEV)));
    let asked = vault::question(scene.request());
    assert!(asked.starts_with("agent 1 (dev, on #1) asks for deploy"), "{asked}");
    scene.say(Decision::Approve).worked();
    let message = scene.floor.messages.iter().next_back().expect("a message");
    assert_eq!(FirstLine::of(&message.text).map(|line| line.to_string()).as_deref(), Some("Vault: done"));
    // What is refused at once is the command's to say.
    let before = scene.floor.messages.len();
    scene.event(ask(None, GOOD, Some(DEV)));
    assert_eq!(scene.floor.messages.len(), before);
}

#[test]
fn requests_are_bounded_and_those_that_are_over_go_to_the_shelf() {
    let mut scene = Scene::new(Policy { jobs_at_hand: 2, ..Policy::default() });
    for _ in 0..25 {
        scene.event(ask(Some(deploy(Risk::High, true)), GOOD, None));
    }
    assert_eq!(scene.floor.requests.len(), 20);
    assert_eq!(may_request(&scene.floor, &project()), Err(20));
    for number in 1..=4 {
        let Event::VaultDecided { project, word, .. } = word(Decision::Reject, None) else { return };
        scene.event(Event::VaultDecided { project, request: RequestNumber(number), word });
    }
    assert_eq!(scene.floor.requests.len(), 18);
    let shelved: Vec<RequestNumber> = scene.floor.requests.take_shelved().iter().map(|r| r.number).collect();
    assert_eq!(shelved, [FIRST, RequestNumber(2)]);
    assert!(may_decide(&scene.floor, &project(), FIRST, Decision::Retry, None).is_err());
}
