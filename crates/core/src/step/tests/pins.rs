//! What executes or grants is in force as people accepted it.

use super::*;
use crate::event::Accepter;

fn accepted(scene: &mut Scene, text: &str, ahead: Option<&str>, by: Accepter) {
    let (text, ahead) = (text.to_owned(), ahead.map(str::to_owned));
    scene.event(Event::ConfigAccepted { project: project(), text, ahead, by });
}

fn seen(scene: &mut Scene, text: &str) {
    let (text, diff) = (text.to_owned(), format!("+{text}\u{1b}[31m"));
    scene.event(Event::ConfigSeen { project: project(), text, diff });
}

fn in_force(scene: &Scene) -> &str {
    &scene.floor.accepted(&project()).expect("accepted").text
}

fn asked(scene: &Scene) -> Option<u64> {
    scene.floor.pins.get(&project())?.differs.as_ref().map(|differs| differs.question.0)
}

fn ann() -> Accepter {
    Accepter::Person("ann".into())
}

#[test]
fn what_files_say_changes_nothing_until_a_person_accepts_it() {
    let mut scene = Scene::new(Policy::default());
    seen(&mut scene, "new");
    assert!(scene.floor.accepted(&project()).is_none(), "nothing was accepted, so nothing differs");
    accepted(&mut scene, "old", None, ann());
    seen(&mut scene, "new");
    assert_eq!((in_force(&scene), asked(&scene)), ("old", Some(1)));
    let told = scene.noted(NoteKind::NeedsHuman);
    seen(&mut scene, "new");
    assert_eq!((asked(&scene), scene.noted(NoteKind::NeedsHuman)), (Some(1), told), "one question");
    let diff = &scene.floor.pins.get(&project()).expect("a pin").differs.as_ref().expect("asked").diff;
    assert_eq!(diff, "+new");
    seen(&mut scene, "newer");
    assert_eq!((in_force(&scene), asked(&scene)), ("old", Some(2)), "another difference");
    seen(&mut scene, "old");
    assert_eq!((in_force(&scene), asked(&scene)), ("old", None), "undone");
    seen(&mut scene, "newer");
    accepted(&mut scene, "newer", None, ann());
    assert_eq!((in_force(&scene), asked(&scene)), ("newer", None));
    // A floor that has a word takes nobody else's.
    accepted(&mut scene, "found", None, Accepter::First);
    assert_eq!(in_force(&scene), "newer");
}

#[test]
fn what_was_accepted_ahead_counts_once_the_files_say_it() {
    let mut scene = Scene::new(Policy::default());
    accepted(&mut scene, "now", Some("later"), ann());
    assert_eq!(in_force(&scene), "now");
    seen(&mut scene, "elsewhere");
    seen(&mut scene, "later");
    assert_eq!((in_force(&scene), asked(&scene)), ("later", None));
    // Once: what was in force before is a change like any other.
    seen(&mut scene, "now");
    assert_eq!(in_force(&scene), "later");
    assert!(asked(&scene).is_some());
}

#[test]
fn people_are_reminded() {
    let mut scene = Scene::new(Policy::default());
    accepted(&mut scene, "old", None, Accepter::First);
    seen(&mut scene, "new");
    for kind in [NoteKind::NeedsHuman, NoteKind::Escalation] {
        let before = scene.noted(kind);
        let due = scene.floor.timers().find(|timer| matches!(timer.due, crate::state::Due::Config(_)));
        scene.now = due.expect("a reminder").at;
        scene.event(Event::Tick);
        assert_eq!(scene.noted(kind), before + 1, "{kind:?}");
    }
}
