//! One suite over every [`Store`]. Each case gets a fresh store through two handles, as a daemon
//! and a command have.

use crate::{entry, ring, row};
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::time::Time;
use shopfloor_store::retention::{Expired, Stage};
use shopfloor_store::{Commit, Host, NewJournalEntry, NoteFilter, ShelvedRow, Store, StoreError, backend};
use std::time::Duration;

macro_rules! conformance {
    ($($case:ident),* $(,)?) => {
        mod memory {
            $(#[test]
            fn $case() {
                super::twice(concat!("memory:", stringify!($case)), super::$case);
            })*
        }
        mod sqlite {
            $(#[test]
            fn $case() {
                let dir = tempfile::tempdir().unwrap();
                super::twice(&format!("sqlite:{}", dir.path().join("floor.db").display()), super::$case);
            })*
        }
    };
}

/// Two handles on one store, whichever it is.
fn twice(url: &str, case: impl FnOnce(Box<dyn Store>, Box<dyn Store>)) {
    let one = backend::at(url).unwrap().store().unwrap();
    case(one, backend::at(url).unwrap().store().unwrap());
}

conformance!(
    positions_count_entries,
    a_stale_commit_changes_nothing,
    an_older_lease_is_fenced,
    an_outcome_is_taken_once,
    a_commit_needs_an_entry,
    rows_are_followed_incrementally,
    the_outbox_keeps_order_and_never_reuses_an_id,
    a_deferred_effect_keeps_its_place,
    the_journal_is_read_in_pages,
    two_handles_interleave,
    writers_at_once_lose_no_step,
    whoever_waits_is_woken_by_a_write,
    what_somebody_is_woken_for_can_be_read,
    rows_are_read_by_their_keys,
    the_shelf_is_read_by_label_or_branch_and_never_with_the_rest,
    effects_are_of_their_host,
    notes_are_filtered,
    old_entries_go_in_batches_and_positions_stay,
    a_deletion_that_is_not_remembered_is_not_missed,
    counting_removes_nothing,
);

fn commit_at(expected: u64, body: &str) -> Commit {
    Commit {
        expected: Seq(expected),
        at: Time(1000 + expected),
        entries: vec![entry(body)],
        ..Commit::default()
    }
}

/// Everything a store holds, to see that something did or did not change.
fn everything<S: Store>(store: &mut S) -> String {
    let (rows, seq) = store.rows_since(Seq(0)).unwrap();
    format!("{rows:?} {seq:?} {:?} {:?}", store.outbox().unwrap(), store.journal(Seq(0), 1000).unwrap())
}

fn positions_count_entries<S: Store>(mut store: S, _: S) {
    assert_eq!(store.rows_since(Seq(0)).unwrap(), (vec![], Seq(0)));
    assert_eq!(store.outbox().unwrap(), vec![]);
    let commit = Commit { entries: vec![entry("a"), entry("b"), entry("c")], ..commit_at(0, "") };
    assert_eq!(store.commit(&commit).unwrap().seq, Seq(3));
    assert_eq!(store.commit(&commit_at(3, "d")).unwrap().seq, Seq(4));
    let journal = store.journal(Seq(0), 10).unwrap();
    let seen: Vec<_> = journal.iter().map(|e| (e.seq.0, e.at.0, e.body.as_str())).collect();
    assert_eq!(seen, [(1, 1000, "a"), (2, 1000, "b"), (3, 1000, "c"), (4, 1003, "d")]);
    assert_eq!((journal[0].project.as_deref(), journal[0].issue), (Some("app"), Some(7)));
}

fn a_stale_commit_changes_nothing<S: Store>(mut one: S, mut two: S) {
    one.commit(&Commit { effects: vec![ring(1)], ..commit_at(0, "a") }).unwrap();
    let before = everything(&mut one);
    for expected in [0, 2] {
        let stale = Commit {
            rows: vec![row("job", "1", Some("{}"))],
            effects: vec![ring(2)],
            performed: Some(EffectId(1)),
            ..commit_at(expected, "b")
        };
        assert!(matches!(two.commit(&stale), Err(StoreError::Stale)));
        assert_eq!(everything(&mut two), before);
    }
}

fn an_older_lease_is_fenced<S: Store>(mut one: S, mut two: S) {
    let first = one.take_lease().unwrap();
    let held = Commit { lease: Some(first), ..commit_at(0, "a") };
    one.commit(&held).unwrap();
    let second = two.take_lease().unwrap();
    assert!(second > first);
    let before = everything(&mut one);
    let fenced = Commit { lease: Some(first), rows: vec![row("job", "1", Some("{}"))], ..commit_at(1, "b") };
    assert!(matches!(one.commit(&fenced), Err(StoreError::Fenced)));
    // Fenced comes first: a writer that lost its lease must not reload and try again.
    assert!(matches!(one.commit(&Commit { expected: Seq(0), ..fenced }), Err(StoreError::Fenced)));
    assert_eq!(everything(&mut one), before);
    two.commit(&Commit { lease: Some(second), ..commit_at(1, "b") }).unwrap();
    // Who holds no lease is not fenced: a command beside the daemon.
    one.commit(&commit_at(2, "c")).unwrap();
}

fn an_outcome_is_taken_once<S: Store>(mut one: S, mut two: S) {
    let made = one.commit(&Commit { effects: vec![ring(1), ring(2)], ..commit_at(0, "a") }).unwrap();
    let id = made.effects[0];
    let take = |expected| Commit { performed: Some(id), effects: vec![ring(3)], ..commit_at(expected, "b") };
    two.commit(&take(1)).unwrap();
    let before = everything(&mut one);
    assert!(matches!(one.commit(&take(2)), Err(StoreError::AlreadyPerformed(gone)) if gone == id));
    assert!(matches!(one.defer(id, 1, Time(5), "late"), Err(StoreError::AlreadyPerformed(_))));
    assert_eq!(everything(&mut one), before);
}

fn a_commit_needs_an_entry<S: Store>(mut store: S, _: S) {
    let empty = Commit { entries: vec![], rows: vec![row("job", "1", Some("{}"))], ..commit_at(0, "") };
    assert!(matches!(store.commit(&empty), Err(StoreError::NoEntry)));
    assert_eq!(store.rows_since(Seq(0)).unwrap(), (vec![], Seq(0)));
}

fn rows_are_followed_incrementally<S: Store>(mut one: S, mut two: S) {
    let rows = vec![row("job", "1", Some("a")), row("job", "2", Some("b")), row("agent", "1", Some("c"))];
    // Two entries: the rows belong to the last one.
    one.commit(&Commit { entries: vec![entry("x"), entry("y")], rows, ..commit_at(0, "") }).unwrap();
    assert_eq!(two.rows_since(Seq(1)).unwrap().0.len(), 3);
    let (all, seq) = two.rows_since(Seq(0)).unwrap();
    assert_eq!(all, [row("agent", "1", Some("c")), row("job", "1", Some("a")), row("job", "2", Some("b"))]);
    assert_eq!(seq, Seq(2));
    let rows = vec![
        row("job", "1", None),
        row("job", "2", Some("old")),
        row("job", "2", Some("B")),
        row("job", "9", None),
    ];
    one.commit(&Commit { rows, ..commit_at(2, "z") }).unwrap();
    let (changed, seq) = two.rows_since(Seq(2)).unwrap();
    assert_eq!(changed, [row("job", "1", None), row("job", "2", Some("B")), row("job", "9", None)]);
    assert_eq!(seq, Seq(3));
    assert_eq!(two.rows_since(Seq(3)).unwrap(), (vec![], Seq(3)));
    // From the start there is nothing to delete.
    let (all, _) = two.rows_since(Seq(0)).unwrap();
    assert_eq!(all, [row("agent", "1", Some("c")), row("job", "2", Some("B"))]);
    // What was deleted may come back.
    one.commit(&Commit { rows: vec![row("job", "1", Some("again"))], ..commit_at(3, "w") }).unwrap();
    assert_eq!(two.rows_since(Seq(3)).unwrap().0, [row("job", "1", Some("again"))]);
}

fn the_outbox_keeps_order_and_never_reuses_an_id<S: Store>(mut store: S, _: S) {
    let first = store.commit(&Commit { effects: vec![ring(1), ring(2)], ..commit_at(0, "a") }).unwrap();
    let [a, b] = first.effects[..] else { panic!("two effects, {first:?}") };
    assert!(a < b);
    store.commit(&Commit { performed: Some(b), ..commit_at(1, "b") }).unwrap();
    let third = store.commit(&Commit { effects: vec![ring(3)], ..commit_at(2, "c") }).unwrap();
    assert!(third.effects[0] > b);
    let outbox = store.outbox().unwrap();
    let seen: Vec<_> = outbox.iter().map(|q| (q.id, (*q.action).clone())).collect();
    assert_eq!(seen, [(a, ring(1)), (third.effects[0], ring(3))]);
    assert!(outbox.iter().all(|q| q.attempts == 0 && q.not_before == Time(0) && q.last_error.is_none()));
}

fn a_deferred_effect_keeps_its_place<S: Store>(mut one: S, mut two: S) {
    let made = one.commit(&Commit { effects: vec![ring(1), ring(2)], ..commit_at(0, "a") }).unwrap();
    one.defer(made.effects[0], 3, Time(99), "no route").unwrap();
    let outbox = two.outbox().unwrap();
    let first = &outbox[0];
    assert_eq!((first.id, first.attempts, first.not_before), (made.effects[0], 3, Time(99)));
    assert_eq!(first.last_error.as_deref(), Some("no route"));
    assert_eq!(outbox[1].attempts, 0);
    one.defer(made.effects[1], 1, Time(1), &"x".repeat(1_000_000)).unwrap();
    assert!(two.outbox().unwrap()[1].last_error.as_ref().unwrap().len() < 5000);
    // Noting a failure is no step: the next commit is based on the same position.
    one.commit(&commit_at(1, "b")).unwrap();
}

fn the_journal_is_read_in_pages<S: Store>(mut store: S, _: S) {
    let entries = (1..=25).map(|n| entry(&n.to_string())).collect();
    store.commit(&Commit { entries, ..commit_at(0, "") }).unwrap();
    let mut after = Seq(0);
    let mut seen = Vec::new();
    loop {
        let page = store.journal(after, 10).unwrap();
        assert!(page.len() <= 10);
        let Some(last) = page.last() else { break };
        after = last.seq;
        seen.extend(page.into_iter().map(|e| e.body));
    }
    assert_eq!(seen, (1..=25).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(store.journal(Seq(99), 10).unwrap(), vec![]);
    assert_eq!(store.journal(Seq(0), 0).unwrap(), vec![]);
}

fn two_handles_interleave<S: Store>(mut one: S, mut two: S) {
    let mut expected = 0;
    for round in 0..20 {
        let key = round.to_string();
        let commit = Commit { rows: vec![row("n", &key, Some(&key))], ..commit_at(expected, &key) };
        let (writer, loser) = if round % 2 == 0 { (&mut one, &mut two) } else { (&mut two, &mut one) };
        expected = writer.commit(&commit).unwrap().seq.0;
        assert!(matches!(loser.commit(&commit), Err(StoreError::Stale)));
        // The loser sees what happened and could go on from there.
        assert_eq!(loser.rows_since(commit.expected).unwrap(), (commit.rows, Seq(expected)));
    }
    assert_eq!(everything(&mut one), everything(&mut two));
}

/// Read, step, commit, and again from the newest state when somebody was faster.
fn writers_at_once_lose_no_step<S: Store + Send>(one: S, two: S) {
    const STEPS: u64 = 50;
    let count = |mut store: S| {
        let mut done = 0;
        while done < STEPS {
            let (rows, seq) = store.rows_since(Seq(0)).unwrap();
            let n: u64 = rows.first().and_then(|r| r.doc.as_ref()).map_or(0, |doc| doc.parse().unwrap());
            let doc = (n + 1).to_string();
            let commit = Commit { rows: vec![row("count", "", Some(&doc))], ..commit_at(seq.0, &doc) };
            match store.commit(&commit) {
                Ok(_) => done += 1,
                Err(StoreError::Stale) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        store
    };
    let mut store = std::thread::scope(|scope| {
        let other = scope.spawn(|| count(two));
        count(one);
        other.join().unwrap()
    });
    let (rows, seq) = store.rows_since(Seq(0)).unwrap();
    assert_eq!((rows[0].doc.as_deref(), seq), (Some("100"), Seq(2 * STEPS)));
}

fn whoever_waits_is_woken_by_a_write<S: Store>(mut one: S, two: S) {
    one.commit(&commit_at(0, "a")).unwrap();
    let mut watch = two.watch().unwrap();
    // What was written before may be told of; what is written from now on is.
    while watch.wait(Duration::ZERO).unwrap() {}
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let woken = watch.wait(Duration::from_secs(600)).unwrap();
            (woken, watch)
        });
        one.commit(&commit_at(1, "b")).unwrap();
        let (woken, mut watch) = waiting.join().unwrap();
        assert!(woken);
        while watch.wait(Duration::ZERO).unwrap() {}
        // Also while nobody waits, and whatever kind of writing it is.
        one.commit(&Commit { effects: vec![ring(1)], ..commit_at(2, "c") }).unwrap();
        assert!(watch.wait(Duration::from_secs(600)).unwrap());
        while watch.wait(Duration::ZERO).unwrap() {}
        let effect = one.outbox().unwrap()[0].id;
        one.defer(effect, 1, Time(5), "later").unwrap();
        assert!(watch.wait(Duration::from_secs(600)).unwrap());
    });
}

fn what_somebody_is_woken_for_can_be_read<S: Store>(mut one: S, mut two: S) {
    const COMMITS: u64 = 200;
    let mut watch = two.watch().unwrap();
    let (seen, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut known = Seq(0);
            while known < Seq(COMMITS) {
                assert!(
                    watch.wait(Duration::from_secs(600)).unwrap(),
                    "nobody said that {known:?} is not the last"
                );
                let now = two.position().unwrap();
                if now > known {
                    known = now;
                    seen.send(now).unwrap();
                }
            }
        });
        for n in 0..COMMITS {
            // The next comes only when this one was seen: nothing else would wake whoever missed it.
            one.commit(&commit_at(n, "a")).unwrap();
            while told.recv().unwrap() < Seq(n + 1) {}
        }
    });
}

fn effects_are_of_their_host<S: Store>(mut one: S, mut two: S) {
    one.commit(&Commit { effects: vec![ring(1)], ..commit_at(0, "a") }).unwrap();
    let host = Host("press-2".into());
    one.commit(&Commit { effects: vec![ring(2)], host: host.clone(), ..commit_at(1, "b") }).unwrap();
    let outbox: Vec<_> = two.outbox().unwrap().into_iter().map(|q| (q.host, (*q.action).clone())).collect();
    assert_eq!(outbox, [(Host::default(), ring(1)), (host, ring(2))]);
}

fn rows_are_read_by_their_keys<S: Store>(mut one: S, mut two: S) {
    let rows = vec![row("job", "1", Some("{}")), row("job", "2", Some("[]")), row("issue", "1", Some("1"))];
    one.commit(&Commit { rows, ..commit_at(0, "a") }).unwrap();
    one.commit(&Commit { rows: vec![row("job", "2", None)], ..commit_at(1, "b") }).unwrap();
    let asked = [("issue", "1"), ("job", "1"), ("job", "2"), ("job", "3")];
    let found = two.rows_of(&asked).unwrap();
    let expected = [
        row("issue", "1", Some("1")),
        row("job", "1", Some("{}")),
        row("job", "2", None),
        row("job", "3", None),
    ];
    assert_eq!(found, expected);
}

fn the_shelf_is_read_by_label_or_branch_and_never_with_the_rest<S: Store>(mut one: S, mut two: S) {
    let rows = vec![row("job", "1", Some("{}")), row("issue", "p/1", Some("1"))];
    one.commit(&Commit { rows, ..commit_at(0, "a") }).unwrap();
    let shelved = |kind: &str, key: &str, branch: Option<&str>| ShelvedRow {
        kind: kind.into(),
        key: key.into(),
        label: "p/1".into(),
        branch: branch.map(str::to_owned),
        doc: format!("{kind} {key}"),
    };
    let gone = vec![row("job", "1", None), row("issue", "p/1", None)];
    let both = vec![shelved("job", "1", Some("p:fix/1")), shelved("issue", "p/1", None)];
    one.commit(&Commit { rows: gone, shelved: both, ..commit_at(1, "b") }).unwrap();
    assert_eq!(two.rows_since(Seq(0)).unwrap().0, [], "they are not at hand");
    assert_eq!(two.rows_since(Seq(1)).unwrap().0.len(), 2, "whoever had them learns that they went");
    let all = [row("issue", "p/1", Some("issue p/1")), row("job", "1", Some("job 1"))];
    assert_eq!(two.shelf("p/1").unwrap(), all);
    assert_eq!(two.shelf("p:fix/1").unwrap(), all, "what belongs together comes together");
    assert_eq!(two.shelf("p/2").unwrap(), []);
    assert_eq!(two.shelf_of_kind("job").unwrap(), all[1..]);
    two.verify().unwrap();
    // By what is old, a job goes for good, and an issue does not.
    let old = Expired { journal_before: Time(1002), ..Expired::default() };
    let counted = two.prune(&old, Stage::Shelf, true).unwrap();
    assert_eq!((counted.shelved.count, counted.shelved.bytes, two.shelf("p/1").unwrap().len()), (1, 5, 2));
    let young = Expired { journal_before: Time(1001), ..Expired::default() };
    assert_eq!(two.prune(&young, Stage::Shelf, false).unwrap().shelved.count, 0);
    // Taken down, the row is at hand again; a commit that is refused takes nothing down.
    let back = Commit {
        rows: vec![row("job", "1", Some("again"))],
        taken_down: vec![("job".into(), "1".into())],
        ..commit_at(1, "c")
    };
    assert!(matches!(two.commit(&back), Err(StoreError::Stale)));
    assert_eq!(one.shelf("p/1").unwrap(), all);
    two.commit(&Commit { expected: Seq(2), ..back }).unwrap();
    assert_eq!(one.shelf("p/1").unwrap(), all[..1]);
    assert_eq!(one.rows_since(Seq(0)).unwrap().0, [row("job", "1", Some("again"))]);
    let back = Commit {
        rows: vec![row("job", "1", None)],
        shelved: vec![shelved("job", "1", None)],
        ..commit_at(3, "d")
    };
    one.commit(&back).unwrap();
    let old = Expired { journal_before: Time(9999), ..Expired::default() };
    assert_eq!(one.prune(&old, Stage::Shelf, false).unwrap().shelved.count, 1);
    assert_eq!(two.shelf("p/1").unwrap(), all[..1]);
    one.commit(&Commit { rows: vec![row("issue", "p/1", Some("1"))], ..commit_at(4, "e") }).unwrap();
    assert!(matches!(one.verify(), Err(StoreError::Corrupt(_))), "it is in both places");
}

fn notes_are_filtered<S: Store>(mut one: S, mut two: S) {
    let note = |kind: &str, issue| NewJournalEntry { kind: kind.into(), issue, ..entry(kind) };
    let entries =
        vec![note("event", Some(1)), note("merged", Some(1)), note("claimed", Some(2)), note("said", None)];
    one.commit(&Commit { entries, ..commit_at(0, "") }).unwrap();
    let kinds = |store: &mut S, filter: &NoteFilter, limit| -> Vec<String> {
        store.last_notes(filter, limit).unwrap().into_iter().map(|e| e.kind).collect()
    };
    let all = NoteFilter::default();
    assert_eq!(kinds(&mut two, &all, 10), ["merged", "claimed", "said"]);
    assert_eq!(kinds(&mut two, &all, 2), ["claimed", "said"]);
    assert_eq!(kinds(&mut two, &NoteFilter { after: Seq(3), ..all.clone() }, 10), ["said"]);
    assert_eq!(kinds(&mut two, &NoteFilter { issue: Some(1), ..all.clone() }, 10), ["merged"]);
    assert_eq!(kinds(&mut two, &NoteFilter { since: Time(1001), ..all.clone() }, 10), [""; 0]);
    assert_eq!(kinds(&mut two, &NoteFilter { project: Some("other".into()), ..all }, 10), [""; 0]);
    assert_eq!(two.position().unwrap(), Seq(4));
}

fn expired(journal: u64, tombstones: u64) -> Expired {
    Expired {
        journal_before: Time(journal),
        notes_kept: [("app".to_owned(), 7)].into(),
        tombstones_before: Time(tombstones),
    }
}

/// Prunes until nothing is left to prune. Returns entries, tombstones and calls.
fn prune_all<S: Store>(store: &mut S, expired: &Expired, dry_run: bool) -> (u64, u64, u32) {
    let (mut stage, mut entries, mut tombstones, mut calls) = (Stage::Journal(Seq(0)), 0, 0, 0);
    while stage != Stage::Over {
        let batch = store.prune(expired, stage, dry_run).unwrap();
        assert!(batch.entries.count <= 500 && (dry_run || batch.tombstones <= 500), "{batch:?}");
        (entries, tombstones, calls) =
            (entries + batch.entries.count, tombstones + batch.tombstones, calls + 1);
        stage = batch.next;
    }
    (entries, tombstones, calls)
}

fn old_entries_go_in_batches_and_positions_stay<S: Store>(mut one: S, mut two: S) {
    let of = |kind: &str, issue| NewJournalEntry { kind: kind.into(), issue, ..entry("12345") };
    let kept = [of("merged", Some(7)), of("merged", Some(8)), of("said", None)];
    let old = (0..1200).map(|_| of("event", Some(7))).chain(kept).collect();
    one.commit(&Commit { entries: old, at: Time(10), ..commit_at(0, "") }).unwrap();
    one.commit(&Commit { at: Time(99), ..commit_at(1203, "late") }).unwrap();
    one.commit(&Commit { at: Time(100), ..commit_at(1204, "young") }).unwrap();
    let before = one.prune(&expired(100, 0), Stage::Journal(Seq(0)), false).unwrap();
    assert_eq!((before.entries.count, before.entries.bytes), (500, 2500));
    let (entries, _, calls) = prune_all(&mut one, &expired(100, 0), false);
    assert_eq!((entries, calls), (703, 3), "all events, and the notes about other issues");
    let left: Vec<(u64, String)> =
        two.journal(Seq(0), 10).unwrap().into_iter().map(|e| (e.seq.0, e.kind)).collect();
    assert_eq!(left, [(1201, "merged".into()), (1205, "event".into())]);
    assert_eq!(two.position().unwrap(), Seq(1205));
    // However old it is, the newest stays: the next commit goes on from there.
    assert_eq!(prune_all(&mut one, &expired(1000, 0), false).0, 0);
    assert_eq!(two.commit(&commit_at(1205, "next")).unwrap().seq, Seq(1206));
    one.verify().unwrap();
}

fn a_deletion_that_is_not_remembered_is_not_missed<S: Store>(mut one: S, mut two: S) {
    let at = |time, rows, expected| Commit { at: Time(time), rows, ..commit_at(expected, "x") };
    one.commit(&at(1, vec![row("job", "1", Some("a")), row("job", "2", Some("b"))], 0)).unwrap();
    one.commit(&at(2, vec![row("job", "1", None)], 1)).unwrap();
    one.commit(&at(3, vec![row("job", "2", None), row("job", "3", Some("c"))], 2)).unwrap();
    assert_eq!(prune_all(&mut one, &expired(0, 3), false), (0, 1, 2), "the last is too young");
    // Whoever read before that deletion has to begin anew; whoever read after it has missed nothing.
    assert!(matches!(two.rows_since(Seq(1)), Err(StoreError::TooOld)));
    assert_eq!(two.rows_since(Seq(2)).unwrap().0, [row("job", "2", None), row("job", "3", Some("c"))]);
    assert_eq!(two.rows_since(Seq(0)).unwrap(), (vec![row("job", "3", Some("c"))], Seq(3)));
    assert_eq!(prune_all(&mut one, &expired(0, 3), false).1, 0);
    // A key that is used again is no tombstone.
    one.commit(&at(4, vec![row("job", "2", Some("again"))], 3)).unwrap();
    assert_eq!(prune_all(&mut one, &expired(0, 9), false).1, 0);
    assert_eq!(two.rows_since(Seq(3)).unwrap().0, [row("job", "2", Some("again"))]);
    // Many, in several calls.
    let many = |doc| (0..1100).map(|n| row("agent", &n.to_string(), doc)).collect();
    one.commit(&at(5, many(Some("a")), 4)).unwrap();
    one.commit(&at(6, many(None), 5)).unwrap();
    assert_eq!(prune_all(&mut one, &expired(0, 9), false).1, 1100);
    assert!(matches!(two.rows_since(Seq(5)), Err(StoreError::TooOld)));
    assert_eq!(two.rows_since(Seq(0)).unwrap().0.len(), 2);
    one.compact().unwrap();
    one.verify().unwrap();
}

fn counting_removes_nothing<S: Store>(mut one: S, mut two: S) {
    one.commit(&Commit { rows: vec![row("job", "1", None)], at: Time(1), ..commit_at(0, "a") }).unwrap();
    one.commit(&Commit { at: Time(2), ..commit_at(1, "b") }).unwrap();
    let before = everything(&mut one);
    let counted = prune_all(&mut two, &expired(9, 9), true);
    assert_eq!((counted.0, counted.1, everything(&mut one)), (1, 1, before));
    assert_eq!(one.rows_since(Seq(0)).unwrap().1, Seq(2));
}
