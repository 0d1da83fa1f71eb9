//! A message is taken, handed to a successor, superseded or reported; never forgotten.

use super::*;

/// The agent works and has a message it has not read.
fn told() -> Scene {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).red();
    assert_eq!(scene.unread(), ["CI failed"]);
    scene
}

#[test]
fn a_message_is_taken_once_by_the_session_it_is_for() {
    let mut scene = told();
    scene.read(1, Epoch(7));
    assert_eq!(scene.unread().len(), 1);
    scene.read(1, DEV).read(1, DEV);
    assert_eq!((scene.unread().len(), scene.noted(NoteKind::MessageTaken)), (0, 1));
}

#[test]
fn a_successor_gets_what_was_unread_in_its_prompt() {
    let mut scene = told();
    scene.exited(DEV, None).end_session().wait(Duration::from_secs(1));
    let Some(Action::StartSession(start)) = scene.pending.iter().rfind(|a| a.name() == "start_session")
    else {
        panic!("a successor is started");
    };
    let resume = start.resume.as_ref().expect("it is a successor");
    assert_eq!((resume.predecessor, resume.unread.len()), (DEV, 1));
    assert_eq!(resume.phase, "awaiting_ci");
    // To be spawned is not to have read: one that dies before its first sign leaves it unread.
    scene.start_session();
    assert_eq!(scene.unread().len(), 1);
    assert!(scene.floor.next_message(Epoch(2)).is_none(), "it is in the prompt, not in the inbox");
    scene.exited(Epoch(2), None).end_session().wait(Duration::from_secs(2));
    scene.start_session();
    assert_eq!(scene.unread().len(), 1);
    scene.signal(Epoch(3), Phase::AwaitingCi);
    assert_eq!(scene.unread().len(), 0);
}

#[test]
fn what_was_taken_and_not_answered_is_the_successors_however_often() {
    let mut scene = told();
    let first = scene.unread()[0].to_owned();
    let id = scene.floor.messages.iter().next().expect("a message").id.0;
    scene.read(id, DEV);
    for epoch in 1..=2 {
        assert_eq!(scene.unread(), Vec::<&str>::new());
        scene.exited(Epoch(epoch), None).end_session().wait(Duration::from_secs(8));
        let Action::StartSession(start) =
            &scene.pending[scene.names().iter().position(|n| *n == "start_session").expect("a successor")]
        else {
            panic!()
        };
        let unread = &start.resume.as_ref().expect("a successor").unread;
        assert_eq!(
            unread.iter().map(|u| u.text.lines().next().unwrap_or("")).collect::<Vec<_>>(),
            [first.as_str()]
        );
        scene.start_session();
        // A sign of it: it has read its prompt.
        scene.event(Event::MessageTaken { message: MessageId(id), epoch: Epoch(epoch + 1) });
    }
    // Answered by a signal: whoever comes next is not told again.
    scene.checking(Phase::AwaitingCi, 2).red();
    let unread = scene.unread();
    assert_eq!(unread, ["CI failed"], "only what is new");
}

#[test]
fn also_when_the_successor_signals_before_its_start_is_on_record() {
    let mut scene = told();
    scene.exited(DEV, None).end_session().wait(Duration::from_secs(1));
    scene.signal(Epoch(2), Phase::AwaitingCi).start_session();
    assert_eq!((scene.state(), scene.unread().len()), ("publishing", 0));
}

#[test]
fn an_unread_message_at_its_deadline_blocks_if_it_is_the_agents_turn() {
    let mut scene = told();
    scene.wait(Duration::from_secs(30 * 60));
    assert_eq!((scene.state(), scene.noted(NoteKind::MessageUndelivered)), ("finishing", 1));

    let mut scene = Scene::merging(Policy::default(), 1);
    scene.wait(Duration::from_secs(30 * 60));
    assert_eq!((scene.state(), scene.noted(NoteKind::MessageUndelivered)), ("merging", 1));
}

#[test]
fn what_nobody_needs_to_read_any_more_is_noted_as_superseded() {
    let mut scene = Scene::merging(Policy::default(), 1);
    assert_eq!(scene.unread(), ["Review: APPROVE"]);
    scene.exited(DEV, Some(0));
    assert_eq!((scene.unread().len(), scene.noted(NoteKind::MessageSuperseded)), (0, 1));

    let mut scene = told();
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) }).settle();
    assert_eq!((scene.floor.messages.len(), scene.noted(NoteKind::MessageSuperseded)), (0, 1));
}

#[test]
fn a_bell_that_cannot_be_rung_is_left_to_the_deadline() {
    let mut scene = told();
    scene.impossible("ring_inbox");
    assert_eq!((scene.state(), scene.unread().len()), ("working", 1));
}
