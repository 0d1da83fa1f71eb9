//! What is read when, and how much of it is one commit.

use super::*;
use crate::commit::Engine;
use crate::perform::Attempt;
use shopfloor_core::event::Observation;
use shopfloor_core::ids::PrNumber;
use shopfloor_core::policy::Policy;
use shopfloor_store::memory::MemoryStore;
use std::time::Duration;

const CAPACITY: Capacity = Capacity { checks: Some(1), tasks: 50 };
const FAR: Resync = Resync { soonest: Duration::from_secs(60), latest: Duration::from_secs(600) };

fn project() -> ProjectName {
    "p".parse().unwrap()
}

fn conductor(store: MemoryStore) -> Conductor<MemoryStore> {
    let mut engine = Engine::open(store).unwrap();
    let (checkout, policy) = ("co".into(), Policy::default());
    engine.submit(Time(1), &Event::ProjectSet { project: project(), checkout, policy }).unwrap();
    Conductor::new(engine, CAPACITY)
}

fn pull(number: u64) -> Observation {
    Observation::Pr {
        number: PrNumber(number),
        open: true,
        branch: format!("b{number}"),
        head: None,
        fixes: vec![],
        title: String::new(),
        ours: false,
        author: String::new(),
        labels: vec![],
        merged: None,
    }
}

/// Cursors at which reading begins now.
fn reads(conductor: &mut Conductor<MemoryStore>, now: Time) -> Vec<String> {
    let tasks = conductor.tasks(now).unwrap();
    let cursor = |task| match task {
        Task::ReadForge { cursor, .. } => Some(cursor.as_str().to_owned()),
        Task::Perform(_) => None,
    };
    tasks.into_iter().filter_map(cursor).collect()
}

fn page(after: &str, pulls: std::ops::Range<u64>, cursor: &str, more: bool) -> Page {
    let (after, cursor) = (Some(Cursor::new(after)), Cursor::new(cursor));
    Page { seen: Seen(pulls.map(pull).collect()), after, cursor, more }
}

fn read(conductor: &mut Conductor<MemoryStore>, now: Time, page: Page, resync: Option<Resync>) {
    conductor.report(now, Report::Read { project: project(), page: Ok(page), resync }).unwrap();
}

#[test]
fn a_crash_within_a_page_skips_nothing() {
    let store = MemoryStore::default();
    let mut conductor = conductor(store.clone());
    assert_eq!(reads(&mut conductor, Time(2)), [""]);
    let events = |conductor: &mut Conductor<MemoryStore>| {
        let journal = conductor.engine().store().journal(Default::default(), 1000).unwrap();
        journal.iter().filter(|e| e.body.contains("observed")).count()
    };
    read(&mut conductor, Time(3), page("", 1..101, "a", true), None);
    assert_eq!(events(&mut conductor), 1);
    assert_eq!(conductor.floor().pulls.len(), 100);
    assert!(conductor.floor().projects.get(&project()).unwrap().reading);
    assert_eq!(reads(&mut conductor, Time(4)), ["a"]);
    // The daemon dies before that page was taken in: the next begins with it.
    let mut conductor = super::tests::conductor(store);
    assert_eq!(reads(&mut conductor, Time(5)), ["a"]);
    read(&mut conductor, Time(6), page("a", 90..151, "b", false), None);
    assert_eq!((events(&mut conductor), conductor.floor().pulls.len()), (2, 150));
    let row = conductor.floor().projects.get(&project()).unwrap();
    assert_eq!((row.cursor.as_str(), row.reading), ("b", false));
    // Nothing is new: nothing is written.
    conductor.hinted(project());
    assert_eq!(reads(&mut conductor, Time(7)), ["b"]);
    read(&mut conductor, Time(8), page("b", 0..0, "b", false), None);
    assert_eq!(events(&mut conductor), 2);
    assert!(reads(&mut conductor, Time(9)).is_empty());
}

#[test]
fn a_page_that_went_on_from_elsewhere_does_not_move_the_cursor() {
    let mut conductor = conductor(MemoryStore::default());
    read(&mut conductor, Time(2), page("", 1..2, "a", false), None);
    read(&mut conductor, Time(3), page("", 2..3, "x", true), None);
    let row = conductor.floor().projects.get(&project()).unwrap();
    assert_eq!((row.cursor.as_str(), row.reading), ("a", false));
    assert_eq!(conductor.floor().pulls.len(), 2, "what it shows is true all the same");
}

#[test]
fn a_forge_elsewhere_is_read_on_a_hint_and_every_so_often_and_not_when_the_store_changes() {
    let mut conductor = conductor(MemoryStore::default());
    assert_eq!(reads(&mut conductor, Time(2)), [""]);
    read(&mut conductor, Time(3), page("", 1..2, "a", false), Some(FAR));
    conductor.poked().unwrap();
    assert!(reads(&mut conductor, Time(4)).is_empty());
    conductor.hinted(project());
    // A hint that comes while it is being read is not lost.
    assert_eq!(reads(&mut conductor, Time(5)), ["a"]);
    conductor.hinted(project());
    assert!(reads(&mut conductor, Time(6)).is_empty());
    read(&mut conductor, Time(7), page("a", 0..0, "a", false), Some(FAR));
    assert_eq!(reads(&mut conductor, Time(8)), ["a"]);
    read(&mut conductor, Time(9), page("a", 0..0, "a", false), Some(FAR));
    let due = conductor.wake().unwrap();
    assert!(reads(&mut conductor, Time(due.0 - 1)).is_empty());
    assert_eq!(reads(&mut conductor, due), ["a"]);
}

fn close(conductor: &mut Conductor<MemoryStore>, issues: std::ops::Range<u64>) {
    use shopfloor_store::{Commit, Host, NewJournalEntry};
    let effects = issues.map(|n| Action::CloseIssue { project: project(), issue: IssueNumber(n) }).collect();
    let entry =
        NewJournalEntry { kind: "t".into(), project: None, issue: None, text: "".into(), body: "{}".into() };
    let expected = conductor.engine().position();
    let (entries, host) = (vec![entry], Host::default());
    let commit = Commit { expected, at: Time(1), entries, effects, host, ..Commit::default() };
    conductor.engine().store().commit(&commit).unwrap();
    conductor.engine().refresh().unwrap();
}

fn performs(conductor: &mut Conductor<MemoryStore>, now: Time) -> Vec<OutboxEffect> {
    let tasks = conductor.tasks(now).unwrap();
    let effect = |task| match task {
        Task::Perform(effect) if effect.action.forge().is_some() => Some(*effect),
        _ => None,
    };
    tasks.into_iter().filter_map(effect).collect()
}

#[test]
fn a_call_that_fails_holds_up_its_own_issue_only() {
    let mut conductor = conductor(MemoryStore::default());
    close(&mut conductor, 1..3);
    close(&mut conductor, 1..2);
    let begun = performs(&mut conductor, Time(2));
    let numbers =
        |begun: &[OutboxEffect]| begun.iter().map(|q| q.action.number().unwrap().0).collect::<Vec<_>>();
    assert_eq!(numbers(&begun), [1, 2]);
    for effect in begun {
        let one = effect.action.number() == Some(IssueNumber(1));
        let attempt = if one { Attempt::Failed("no".into()) } else { Attempt::Done(Outcome::Done) };
        conductor.report(Time(3), Report::Attempted { effect, attempt }).unwrap();
    }
    close(&mut conductor, 2..4);
    assert_eq!(numbers(&performs(&mut conductor, Time(4))), [2, 3], "the second of #1 waits for the first");
}

#[test]
fn calls_that_hang_leave_workers_for_others() {
    let mut conductor = conductor(MemoryStore::default());
    close(&mut conductor, 1..20);
    let mut begun = performs(&mut conductor, Time(2));
    assert_eq!(begun.len(), FORGE_CALLS_MAX);
    assert!(performs(&mut conductor, Time(3)).is_empty());
    let (effect, attempt) = (begun.remove(0), Attempt::Failed("no answer".into()));
    conductor.report(Time(4), Report::Attempted { effect, attempt }).unwrap();
    assert_eq!(
        performs(&mut conductor, Time(5))[0].action.number(),
        Some(IssueNumber(5)),
        "its turn is over"
    );
}

#[test]
fn the_room_for_checks_follows_the_projects_unless_it_is_set() {
    let mut conductor = conductor(MemoryStore::default());
    let engine = Engine::open(MemoryStore::default()).unwrap();
    let mut open = Conductor::new(engine, Capacity { checks: None, tasks: 50 });
    assert_eq!(open.check_slots(), 2, "no project");
    for (name, slots) in [("a", 1), ("b", 4), ("c", 2)] {
        let policy = Policy { merge_slots: slots, ..Policy::default() };
        let set = Event::ProjectSet { project: name.parse().unwrap(), checkout: "co".into(), policy };
        open.submit(Time(1), &set).unwrap();
        conductor.submit(Time(1), &set).unwrap();
    }
    assert_eq!((open.check_slots(), conductor.check_slots()), (5, 1));
}
