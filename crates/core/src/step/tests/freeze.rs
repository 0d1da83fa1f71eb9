//! A queue that is held for some and not for others, and entries that are never with others.

use super::queue::{entry, lists, published, queue, queued};
use super::*;
use crate::effect::outcome;
use crate::ids::EntryId;
use crate::planner::Priority;
use crate::policy::MergeBatch;

fn pause(below: Option<Priority>) -> Event {
    Event::QueuePaused { project: project(), target: None, why: Some("a release".into()), below }
}

fn resume() -> Event {
    Event::QueuePaused { project: project(), target: None, why: None, below: None }
}

fn ask(issue: u64, urgent: bool, alone: bool) -> Event {
    Event::MergeAsked { project: project(), issue: IssueNumber(issue), urgent, alone }
}

#[test]
fn below_the_threshold_nothing_is_begun_and_nothing_lands() {
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 1);
    // It is being tried when the freeze comes: it comes to its end, and that is known.
    scene.chain(&[20]).event(pause(Some(Priority::URGENT))).ci(CiVerdict::Green);
    assert!(!scene.has("publish") && !scene.has("cancel_ci"));
    let queue_row = queue(&scene);
    assert_eq!(queue_row.holds(entry(&scene, 1).priority), Some("a release"));
    assert_eq!(queue_row.holds(Priority::URGENT), None);
    assert_eq!(queue_row.pause().as_deref(), Some("a release (only urgent changes land)"));
    // A person says that it is urgent: it lands with the verdict that it has.
    scene.event(ask(1, true, false));
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
}

#[test]
fn what_was_held_lands_with_its_verdict_when_the_queue_goes_on() {
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 1);
    scene.chain(&[20]).event(pause(Some(Priority::LABELLED))).ci(CiVerdict::Green);
    assert!(!scene.has("publish"));
    // What is kept is kept through a restart; also what an older program wrote is read.
    let row = serde_json::to_string(queue(&scene)).expect("written");
    let read: crate::state::Queue = serde_json::from_str(&row).expect("read back");
    assert_eq!((&read, read.below), (queue(&scene), Some(Priority::LABELLED)));
    let mut old: serde_json::Value = serde_json::from_str(&row).expect("read");
    old.as_object_mut().expect("a row").remove("below");
    for waiting in old["plan"]["entries"].as_object_mut().expect("entries").values_mut() {
        waiting.as_object_mut().expect("an entry").remove("alone");
    }
    let old: crate::state::Queue = serde_json::from_value(old).expect("an older program's row");
    assert_eq!((old.below, old.holds(Priority::URGENT)), (None, Some("a release")));
    scene.event(Event::Resumed);
    assert!(!scene.has("publish"));
    scene.event(resume());
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
}

#[test]
fn an_issue_with_the_label_goes_on_where_labelled_ones_may() {
    let mut scene = queued(Policy { merge_slots: 4, ..Policy::default() }, 3);
    scene.event(pause(Some(Priority::LABELLED)));
    let before = lists(&scene).len();
    scene.issue(3, &["in-progress", "priority"], &[]);
    // What was begun before comes to its end; the labelled one is tried beside it, on top of nothing else.
    assert_eq!(lists(&scene).len(), before + 1);
    assert_eq!(lists(&scene).last(), Some(&vec![3]));
}

#[test]
fn the_threshold_may_be_changed_and_is_noted_once() {
    let mut scene = queued(Policy::default(), 1);
    scene.event(pause(Some(Priority::URGENT))).event(pause(Some(Priority::URGENT)));
    assert_eq!(scene.noted(NoteKind::QueueState), 1);
    scene.event(pause(None));
    assert_eq!(scene.noted(NoteKind::QueueState), 2);
    assert_eq!(queue(&scene).holds(Priority::URGENT), Some("a release"));
    // Below what everything is: nothing else than a pause of all.
    scene.event(pause(Some(Priority::default())));
    assert_eq!(queue(&scene).below, None);
}

#[test]
fn one_that_is_alone_is_tried_and_landed_by_itself() {
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 1);
    // While the first is tried, two more come; the second of them alone.
    scene.event(Event::QueuePaused { project: project(), target: None, why: Some("w".into()), below: None });
    alter(&mut scene.floor.projects, &project(), |project| project.policy.max_jobs = 3);
    for number in 2..=3 {
        scene.issue(number, &["backlog"], &[]).done("edit_labels");
        scene.answer(
            "prepare_worktree",
            Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
        );
        scene.start_session();
        scene.signal(Epoch(number), Phase::AwaitingReview).branch(number as u32);
        scene
            .answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PrNumber(100 + number) }))
            .ci(CiVerdict::Green);
        scene.now = scene.now + Duration::from_secs(1);
    }
    scene.event(ask(2, false, true)).event(resume());
    assert!(entry(&scene, 2).alone);
    scene.chain(&[20]).ci(CiVerdict::Green).answer("publish", Outcome::Published);
    assert_eq!(lists(&scene), [[1, 2]], "on top of what lands, and the third is not tried with it");
    scene.chain_seen(20, &[20, 21]).ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(20), sha(21))));
}

#[test]
fn with_each_every_entry_has_a_run_and_a_commit() {
    let policy = Policy { merge_slots: 3, merge_batch: MergeBatch::Each, ..Policy::default() };
    let scene = queued(policy, 3);
    assert_eq!(lists(&scene), [vec![1], vec![1, 2], vec![1, 2, 3]]);
    let order: Vec<EntryId> = queue(&scene).plan.order();
    assert_eq!(order, [1, 2, 3].map(EntryId));
}
