//! What fails and is tried again: shown, asked about once after hours, and nobody's end.

use super::*;
use crate::effect::outcome;
use crate::step::is_wanted;

fn fails(scene: &mut Scene, why: &str) {
    let action = scene.pending.first().expect("something is under way").clone();
    scene.event(Event::TroubleSeen {
        project: project(),
        lane: action.lane(),
        what: action.name().to_owned(),
        issue: action.number(),
        why: why.to_owned(),
    });
}

fn publishing() -> Scene {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::AwaitingCi);
    let at = scene.pending.iter().position(|a| a.name() == "publish_branch").expect("it is to be published");
    scene.pending.swap(0, at);
    scene
}

#[test]
fn what_fails_for_hours_is_asked_about_once_and_its_job_goes_on_when_it_works() {
    let mut scene = publishing();
    fails(&mut scene, "fatal: bad object worktrees/review-2/HEAD");
    let trouble = scene.floor.trouble_of(scene.job()).expect("it is known");
    assert_eq!((trouble.what.as_str(), trouble.issue), ("publish_branch", Some(IssueNumber(1))));
    let before = scene.noted(NoteKind::Escalation);
    for _ in 0..3 {
        scene.wait(Duration::from_secs(3600));
    }
    assert_eq!(scene.noted(NoteKind::Escalation), before, "not before hours have passed");
    for _ in 0..20 {
        scene.wait(Duration::from_secs(3600));
    }
    assert_eq!(scene.noted(NoteKind::Escalation), before + 1);
    assert_eq!((scene.state(), scene.has("escalate")), ("publishing", true));
    // That it was asked about is no step of a job's end.
    scene.done("escalate");
    scene.branch(1).answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR }));
    assert_eq!(scene.state(), "checking");
    assert_eq!(scene.floor.trouble_of(scene.job()), None);
    let last = scene.notes.iter().rfind(|n| n.kind == NoteKind::Trouble).expect("that it is over is told");
    assert!(last.text.contains("over after 23 h"), "{}", last.text);
}

#[test]
fn the_same_cause_is_told_once_and_another_not_often() {
    let mut scene = publishing();
    fails(&mut scene, "cannot lock ref 'a': at 1234abcd but expected 99");
    let trouble = scene.floor.trouble_of(scene.job()).expect("it is known").clone();
    let (soon, later) = (scene.now, scene.now + Duration::from_secs(3600));
    assert!(!trouble.is_news("cannot lock ref 'a': at 77 but expected beef0000", later));
    assert!(!trouble.is_news("No space left on device", soon));
    assert!(trouble.is_news("No space left on device", later));
    // Trouble survives that the project is set up anew.
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy: Policy::default() });
    assert!(scene.floor.trouble_of(scene.job()).is_some());
}

#[test]
fn what_fails_and_is_not_wanted_any_more_is_told_from_what_is() {
    let mut scene = publishing();
    let publish = scene.pending[0].clone();
    let checkpoint = scene.pending.iter().find(|a| a.name() == "checkpoint").cloned();
    assert!(is_wanted(&scene.floor, &publish));
    assert!(checkpoint.is_none_or(|c| !is_wanted(&scene.floor, &c)), "nothing waits for a snapshot");
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
    assert!(!is_wanted(&scene.floor, &publish));
    scene.event(Event::Performed {
        action: publish,
        outcome: Outcome::Impossible(outcome::Impossible { why: "x".into() }),
    });
    scene.settle();
    assert_eq!(scene.state(), "cancelled");
}

#[test]
fn a_message_whose_bell_cannot_be_rung_is_not_given_up() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).red();
    assert_eq!(scene.unread(), ["CI failed"]);
    let ring = scene.take("ring_inbox");
    scene.event(Event::TroubleSeen {
        project: project(),
        lane: ring.lane(),
        what: "ring_inbox".into(),
        issue: None,
        why: "No space left on device".into(),
    });
    for _ in 0..10 {
        scene.wait(Duration::from_secs(1800));
    }
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["CI failed"]));
}

#[test]
fn an_answer_that_cannot_be_is_told_at_once_and_nobody_waits_for_another() {
    let mut scene = publishing();
    scene.answer("publish_branch", Outcome::Published);
    assert_eq!(scene.state(), "finishing");
    assert!(scene.reason().contains("a bug in shopfloor: the answer does not fit"), "{}", scene.reason());
}
