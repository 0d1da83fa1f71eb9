//! A bug in the state machine costs one event, not the floor.

use super::*;
use shopfloor_core::event::{NoteKind, Observation};
use shopfloor_core::ids::{PrNumber, ProjectName};
use shopfloor_core::policy::Policy;
use shopfloor_store::memory::MemoryStore;

fn project() -> ProjectName {
    "p".parse().expect("a good name")
}

/// What the program fails on here: the pull request 13, and the troubles of the project p.
fn is_cursed(event: &Event) -> bool {
    match event {
        Event::Observed { observation: Observation::Pr { number, .. }, .. } => *number == PrNumber(13),
        Event::TimerDue { due } => *due == Due::Trouble(project()),
        Event::Tick => true,
        _ => false,
    }
}

fn whole(floor: &mut Floor, now: Time, event: &Event) -> Step {
    let step = step(floor, now, event);
    assert!(!is_cursed(event), "cursed");
    step
}

fn alone(floor: &mut Floor, now: Time, event: &Event, why: &str) -> Step {
    let step = step_beginning_nothing(floor, now, event, why);
    assert!(!is_cursed(event), "cursed");
    step
}

fn engine(store: MemoryStore, steps: Steps) -> Engine<MemoryStore> {
    let mut engine = Engine::open_with(store, steps).expect("it opens");
    let (checkout, policy) = ("co".into(), Policy::default());
    engine.submit(Time(1), &Event::ProjectSet { project: project(), checkout, policy }).expect("committed");
    engine
}

fn shown(number: u64, cursor: u64) -> Event {
    let (branch, title, fixes) = ("b".into(), String::new(), vec![]);
    let number = PrNumber(number);
    let observation = Observation::Pr { number, open: true, branch, head: None, fixes, title, ours: false };
    Event::Observed { project: project(), observation, cursor, more: false }
}

fn escalations(applied: &Applied) -> Vec<&str> {
    let told = applied.notes.iter().filter(|n| n.kind == NoteKind::Escalation);
    told.map(|n| n.text.as_str()).collect()
}

#[test]
fn an_event_that_fails_is_left_out_told_and_not_read_again() {
    let mut engine = engine(MemoryStore::default(), Steps { whole, alone });
    let applied = engine.submit(Time(2), &shown(13, 7)).expect("committed");
    assert_eq!(applied.set_aside.as_deref(), Some("cursed"));
    let [told] = escalations(&applied)[..] else { panic!("{applied:?}") };
    assert!(told.contains("observed could not be taken in and is left out (cursed)"), "{told}");
    // Nothing of it is there, but how far the forge was read; and it is on record.
    let row = |engine: &Engine<MemoryStore>| engine.floor().projects.get(&project()).cloned();
    assert_eq!(row(&engine).map(|p| p.cursor), Some(7));
    assert!(engine.floor().pulls.is_empty());
    let journal = engine.store().journal(Seq(0), 100).expect("readable");
    assert!(journal.iter().any(|e| e.body.contains("\"set_aside\"") && e.body.contains("\"number\":13")));
    // The others go on, also in another process.
    assert!(engine.submit(Time(3), &shown(14, 8)).expect("committed").set_aside.is_none());
    let known = row(&engine);
    let other = Engine::open(engine.store).expect("it opens");
    assert_eq!((other.floor().pulls.len(), row(&other)), (1, known));
}

#[test]
fn of_the_timers_that_are_due_only_the_one_that_fails_is_put_off() {
    let mut engine = engine(MemoryStore::default(), Steps { whole, alone });
    let other: ProjectName = "q".parse().expect("a good name");
    let (checkout, policy) = ("co".into(), Policy::default());
    engine
        .submit(Time(1), &Event::ProjectSet { project: other.clone(), checkout, policy })
        .expect("committed");
    for project in [project(), other] {
        let (lane, what, why) = ("l".to_owned(), "w".to_owned(), "y".to_owned());
        let trouble = Event::TroubleSeen { project, lane, what, issue: None, why };
        engine.submit(Time(2), &trouble).expect("committed");
    }
    let now = engine.floor().timers().map(|t| t.at).max().expect("timers");
    let applied = engine.submit(now, &Event::Tick).expect("committed");
    // What fails for long is told, and so is what failed here.
    let told = escalations(&applied).join("\n");
    assert!(told.contains("w has failed for") && told.contains("the timer trouble of p"), "{told}");
    // It is not due again at once: the daemon sleeps.
    assert!(engine.floor().next_deadline().is_some_and(|at| at > now), "{:?}", engine.floor().mutes);
}

#[test]
fn where_the_search_for_work_fails_no_event_is_lost_and_nothing_is_begun() {
    fn never(_: &mut Floor, _: Time, _: &Event) -> Step {
        panic!("no work is found")
    }
    let mut engine = engine(MemoryStore::default(), Steps { whole: never, alone: step_beginning_nothing });
    let applied = engine.submit(Time(2), &shown(13, 7)).expect("committed");
    assert_eq!((applied.set_aside, engine.floor().pulls.len()), (None, 1));
    let paused = engine.floor().projects.get(&project()).and_then(|p| p.paused.clone());
    assert_eq!(paused.as_deref(), Some("a bug keeps issues from being begun: no work is found"));
}

#[test]
fn whoever_waits_for_an_effect_is_told_that_it_failed() {
    fn whole(floor: &mut Floor, now: Time, event: &Event) -> Step {
        assert!(!matches!(event, Event::Performed { outcome: Outcome::Done, .. }), "cursed");
        step(floor, now, event)
    }
    fn alone(_: &mut Floor, _: Time, _: &Event, _: &str) -> Step {
        panic!("cursed")
    }
    let mut engine = engine(MemoryStore::default(), Steps { whole, alone });
    let outbox = engine.outbox().expect("readable");
    let [effect] = &outbox[..] else { panic!("{outbox:?}") };
    engine.complete(Time(2), effect, Outcome::Done).expect("committed");
    assert!(engine.outbox().expect("readable").is_empty());
    let journal = engine.store().journal(Seq(0), 100).expect("readable");
    assert!(
        journal.iter().any(|e| e.body.contains("\"outcome\":\"impossible\"") && e.body.contains("cursed"))
    );
}
