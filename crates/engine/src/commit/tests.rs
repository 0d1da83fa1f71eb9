//! A bug in the state machine costs one event, not the floor.

use super::*;
use shopfloor_core::event::{NoteKind, Observation};
use shopfloor_core::forge::Cursor;
use shopfloor_core::ids::{Epoch, MessageId, PrNumber, ProjectName};
use shopfloor_core::policy::Policy;
use shopfloor_store::memory::MemoryStore;
use shopfloor_store::retention::{Batch, Expired, Stage};

fn project() -> ProjectName {
    "p".parse().expect("a good name")
}

/// What the program fails on here: the pull request 13, and the troubles of the project p.
fn is_cursed(event: &Event) -> bool {
    match event {
        Event::Observed { page, .. } => page
            .seen
            .0
            .iter()
            .any(|seen| matches!(seen, Observation::Pr { number, .. } if *number == PrNumber(13))),
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
    Event::Observed { project: project(), page: Page { cursor: at(cursor), ..Page::of(pull(number)) } }
}

fn at(cursor: u64) -> Cursor {
    Cursor::new(cursor.to_string())
}

fn pull(number: u64) -> Observation {
    let (branch, title, fixes) = ("b".into(), String::new(), vec![]);
    let number = PrNumber(number);
    let (author, labels) = (String::new(), vec![]);
    Observation::Pr {
        number,
        open: true,
        branch,
        head: None,
        fixes,
        title,
        ours: false,
        author,
        labels,
        merged: None,
    }
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
    assert!(told.contains("observed could not be handled and is left out (cursed)"), "{told}");
    // Nothing of it is there, but how far the forge was read; and it is on record.
    let row = |engine: &Engine<MemoryStore>| engine.floor().projects.get(&project()).cloned();
    assert_eq!(row(&engine).map(|p| p.cursor), Some(at(7)));
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
fn of_a_page_only_the_observation_that_fails_is_left_out() {
    let mut engine = engine(MemoryStore::default(), Steps { whole, alone });
    let seen = Seen([12, 13, 14].map(pull).to_vec());
    let page = Page { seen, after: Some(Cursor::default()), cursor: at(9), more: false };
    engine.submit(Time(2), &Event::Observed { project: project(), page }).expect("committed");
    let pulls: Vec<u64> = engine.floor().pulls.iter().map(|p| p.number.0).collect();
    assert_eq!(pulls, [12, 14]);
    let row = engine.floor().projects.get(&project()).expect("a project");
    assert_eq!((&row.cursor, row.reading), (&at(9), false));
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
    assert_eq!(paused.as_deref(), Some("a bug keeps issues from being started: no work is found"));
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

#[test]
fn what_another_host_has_to_do_is_not_done_here() {
    let mut engine = engine(MemoryStore::default(), Steps::default());
    let ring = |n| shopfloor_core::effect::Action::RingInbox { epoch: Epoch(1), message: MessageId(n) };
    let expected = engine.position();
    let entries = vec![NewJournalEntry {
        kind: EVENT.into(),
        project: None,
        issue: None,
        text: String::new(),
        body: "{}".into(),
    }];
    let commit =
        Commit { expected, entries, effects: vec![ring(1)], host: Host("other".into()), ..Commit::default() };
    engine.store().commit(&commit).expect("committed");
    let here = engine.outbox().expect("readable");
    assert!(here.iter().all(|effect| *effect.action != ring(1)), "{here:?}");
    assert_eq!(engine.store().outbox().expect("readable").len(), here.len() + 1);
}

/// A store that counts the rows it is read.
struct Counting {
    inner: MemoryStore,
    rows: usize,
}

impl Store for Counting {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        let read = self.inner.rows_since(seq)?;
        self.rows += read.0.len();
        Ok(read)
    }
    fn rows_of(&mut self, keys: &[(&str, &str)]) -> StoreResult<Vec<Row>> {
        self.rows += keys.len();
        self.inner.rows_of(keys)
    }
    fn rows_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        self.inner.rows_of_kind(kind)
    }
    fn shelf(&mut self, label: &str) -> StoreResult<Vec<Row>> {
        self.inner.shelf(label)
    }
    fn shelf_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        self.inner.shelf_of_kind(kind)
    }
    fn commit(&mut self, commit: &Commit) -> StoreResult<shopfloor_store::Committed> {
        self.inner.commit(commit)
    }
    fn outbox(&mut self) -> StoreResult<Vec<OutboxEffect>> {
        self.inner.outbox()
    }
    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        self.inner.defer(id, attempts, not_before, error)
    }
    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<shopfloor_store::JournalEntry>> {
        self.inner.journal(after, limit)
    }
    fn position(&mut self) -> StoreResult<Seq> {
        self.inner.position()
    }
    fn last_notes(
        &mut self,
        filter: &shopfloor_store::NoteFilter,
        limit: usize,
    ) -> StoreResult<Vec<shopfloor_store::JournalEntry>> {
        self.inner.last_notes(filter, limit)
    }
    fn watch(&self) -> StoreResult<Box<dyn shopfloor_store::Watch>> {
        self.inner.watch()
    }
    fn set_patience(&mut self, patience: std::time::Duration) -> StoreResult<()> {
        self.inner.set_patience(patience)
    }
    fn verify(&mut self) -> StoreResult<()> {
        self.inner.verify()
    }
    fn prune(&mut self, expired: &Expired, stage: Stage, dry_run: bool) -> StoreResult<Batch> {
        self.inner.prune(expired, stage, dry_run)
    }
    fn compact(&mut self) -> StoreResult<u64> {
        self.inner.compact()
    }
    fn take_lease(&mut self) -> StoreResult<u64> {
        self.inner.take_lease()
    }
}

#[test]
fn a_step_that_came_too_late_is_taken_back_and_only_what_changed_is_read() {
    let store = MemoryStore::default();
    let mut one = engine(store.clone(), Steps::default());
    for number in 1..=200 {
        one.submit(Time(2), &shown(number, number)).expect("committed");
    }
    let mut two = Engine::open(Counting { inner: store.clone(), rows: 0 }).expect("it opens");
    assert!(two.store().rows >= 200);
    two.store().rows = 0;
    for number in 201..=205 {
        one.submit(Time(3), &shown(number, number)).expect("committed");
    }
    // Stale: its step knows nothing of those five.
    two.submit(Time(4), &shown(206, 206)).expect("committed");
    assert!(two.store().rows < 20, "{} rows were read", two.store().rows);
    let rows = |engine: &mut Engine<MemoryStore>| engine.store().rows_since(Seq(0)).expect("readable").0;
    let mut stored = Engine::open(store).expect("it opens");
    let mut mine = Floor::default();
    rows::load(&mut mine, rows(&mut stored)).expect("readable");
    assert_eq!(format!("{:?}", two.floor()), format!("{mine:?}"));
    // An outcome that was taken in before leaves nothing behind either.
    let effect = two.outbox().expect("readable").into_iter().next();
    if let Some(effect) = effect {
        stored.complete(Time(5), &effect, Outcome::Done).expect("committed");
        two.complete(Time(6), &effect, Outcome::Done).expect("known");
        stored.refresh().expect("readable");
        assert_eq!(format!("{:?}", two.floor()), format!("{:?}", stored.floor()));
    }
}

#[test]
fn a_reader_that_was_away_for_long_learns_of_deletions_that_nobody_remembers() {
    let mut store = MemoryStore::default();
    let mut one = engine(store.clone(), Steps::default());
    let mut two = engine(store.clone(), Steps::default());
    one.submit(Time(2), &shown(1, 1)).expect("committed");
    two.refresh().expect("readable");
    assert_eq!(two.floor().pulls.len(), 1);
    // As if the pull request's row had been deleted while the second was away, and the deletion forgotten.
    let key = one.store().rows_of_kind("pull").expect("readable").remove(0).key;
    let expected = one.position();
    let entry = shopfloor_store::NewJournalEntry {
        kind: shopfloor_store::EVENT.into(),
        project: None,
        issue: None,
        text: String::new(),
        body: "{}".into(),
    };
    let gone = Row { kind: "pull".into(), key, doc: None };
    let commit =
        Commit { expected, at: Time(3), entries: vec![entry], rows: vec![gone], ..Commit::default() };
    store.commit(&commit).expect("committed");
    let expired = Expired { tombstones_before: Time(9), ..Expired::default() };
    assert_eq!(store.prune(&expired, Stage::Tombstones, false).expect("pruned").tombstones, 1);
    two.refresh().expect("readable");
    assert_eq!((two.floor().pulls.len(), two.position()), (0, Seq(expected.0 + 1)));
    two.submit(Time(4), &shown(2, 2)).expect("committed");
}
