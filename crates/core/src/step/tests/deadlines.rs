//! Every wait has a deadline, and at the deadline somebody is told.

use super::*;
use crate::state::Due;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_silent_agent_is_replaced_and_at_last_its_job_blocked() {
    let mut scene = Scene::working(Policy::default());
    for n in 1..=3 {
        scene.wait(2 * HOUR - Duration::from_millis(1));
        assert_eq!(scene.state(), "working");
        scene.wait(Duration::from_millis(1));
        assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("respawning", n));
        scene.end_session().wait(Duration::from_secs(8)).start_session();
    }
    scene.wait(2 * HOUR);
    assert_eq!(scene.state(), "finishing");
    assert!(scene.reason().contains("no sign"), "{}", scene.reason());
}

#[test]
fn a_question_is_repeated_and_then_escalated_for_ever() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::NeedsHuman);
    assert_eq!(scene.noted(NoteKind::NeedsHuman), 1);
    scene.wait(6 * HOUR);
    assert_eq!(scene.noted(NoteKind::NeedsHuman), 2);
    assert_eq!(recorded(&scene), [] as [&str; 0]);
    scene.wait(18 * HOUR).wait(24 * HOUR);
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("needs_human", 2));
    assert_eq!(recorded(&scene), ["no_answer q1"]);
}

/// What is put on record, and what each is about.
fn recorded(scene: &Scene) -> Vec<String> {
    let entry = |a: &Action| match a {
        Action::Escalate { trigger, about, .. } => Some(format!("{trigger} {about}")),
        _ => None,
    };
    scene.pending.iter().filter_map(entry).collect()
}

#[test]
fn configured_times_are_taken_as_they_are() {
    let seconds = Duration::from_secs;
    let policy = Policy { renotify_after: seconds(4), escalate_after: seconds(12), ..Policy::default() };
    let mut scene = Scene::working(policy);
    scene.signal(DEV, Phase::NeedsHuman).wait(seconds(4));
    assert_eq!((scene.noted(NoteKind::NeedsHuman), scene.noted(NoteKind::Escalation)), (2, 0));
    scene.wait(seconds(7));
    assert_eq!(scene.noted(NoteKind::Escalation), 0);
    scene.wait(seconds(1));
    assert_eq!(scene.noted(NoteKind::Escalation), 1);
    scene.wait(seconds(12));
    assert_eq!(scene.noted(NoteKind::Escalation), 2);
}

#[test]
fn checks_that_time_out_are_told_to_the_agent_and_put_on_record() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::TimedOut).ci(CiVerdict::TimedOut);
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["CI timeout"]));
    assert_eq!(scene.noted(NoteKind::Escalation), 1);
    assert_eq!(recorded(&scene), [format!("ci_timeout {}", sha(1).short())]);
    // Its record is not taken for that of the job's end.
    let escalate = scene.take("escalate");
    scene.signal(DEV, Phase::Failed);
    scene.event(Event::Performed { action: escalate, outcome: Outcome::Done });
    scene.settle();
    assert_eq!(scene.state(), "failed");
}

#[test]
fn a_missing_review_is_escalated_with_one_comment() {
    let mut scene = Scene::reviewing(Policy { review_agent: false, ..Policy::default() }, 1);
    scene.wait(3 * HOUR);
    assert_eq!(scene.unread(), ["no review, escalating"]);
    let queued = scene.noted(NoteKind::MessageQueued);
    scene.wait(3 * HOUR);
    assert_eq!(scene.noted(NoteKind::MessageQueued), queued, "once for each head");
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("reviewing", 2));
    let markers: Vec<&str> = scene
        .pending
        .iter()
        .filter_map(|a| if let Action::Comment { marker, .. } = a { Some(marker.as_str()) } else { None })
        .collect();
    assert_eq!(markers.len(), 1);
    assert_eq!(recorded(&scene), [format!("review_timeout {}", sha(1).short())]);
}

#[test]
fn effects_that_take_long_are_reported_and_waited_for() {
    let mut publishing = Scene::working(Policy::default());
    publishing.signal(DEV, Phase::AwaitingCi);
    let mut checking = Scene::working(Policy::default());
    checking.checking(Phase::AwaitingCi, 1);
    let mut preparing = Scene::new(Policy::default());
    preparing.issue(1, &["backlog"], &[]);
    // The queue's own alarm is another matter.
    let policy = Policy { merge_alarm: 100 * HOUR, ..Policy::default() };
    for mut scene in [preparing, publishing, checking, Scene::publishing(policy, 1)] {
        let state = scene.state();
        let told = scene.noted(NoteKind::Escalation);
        scene.wait(7 * HOUR).wait(HOUR);
        assert_eq!(scene.state(), state);
        assert_eq!(scene.noted(NoteKind::Escalation) - told, 2, "{state}");
    }
}

#[test]
fn nothing_due_nothing_done() {
    let mut scene = Scene::working(Policy::default());
    let effects = scene.pending.len();
    scene.wait(Duration::from_secs(1));
    assert_eq!(scene.pending.len(), effects);
}

#[test]
fn time_that_passed_while_nobody_was_there_counts_against_no_agent() {
    let day = Duration::from_secs(24 * 3600);
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).red();
    assert_eq!(scene.unread().len(), 1);
    scene.now = scene.now + day;
    scene.event(Event::Resumed).event(Event::Tick);
    assert_eq!((scene.state(), scene.noted(NoteKind::MessageUndelivered)), ("working", 0));
    scene.wait(day);
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn a_wait_is_a_timer_of_its_state_and_goes_with_it() {
    let kinds = |scene: &Scene| -> Vec<&'static str> {
        let mut timers: Vec<Due> = scene.floor.timers().map(|timer| timer.due).collect();
        timers.sort();
        timers.iter().map(Due::name).collect()
    };
    let mut scene = Scene::working(Policy::default());
    assert_eq!(kinds(&scene), ["checkpoint", "job"]);
    let first = scene.floor.next_deadline().expect("a timer");
    assert_eq!(scene.floor.timers().map(|timer| timer.at).min(), Some(first));
    scene.event(Event::PersonTyped { epoch: DEV, at: scene.now });
    assert_eq!(kinds(&scene), ["handback", "checkpoint", "job"]);
    scene.event(Event::PersonLeft { epoch: DEV });
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) }).settle();
    // What is left of it is looked at once more, and removed later.
    assert_eq!(kinds(&scene), ["release", "tidy"]);
    // Each is seen to when it is due, and is not due then.
    for _ in 0..10 {
        scene.now = scene.floor.next_deadline().expect("there is always one");
        scene.event(Event::Tick);
        assert!(scene.floor.timers().all(|timer| timer.at > scene.now), "{:?}", kinds(&scene));
        scene.settle();
    }
}
