//! What an older program left is read, and written again under the same names.

use super::*;
use serde_json::Value;
use shopfloor_core::effect::Action;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Assignment, PrNumber, Role};

/// Rows, effects and events as the build before roles were data wrote them while it was simulated: one of each
/// kind in each state.
const OLDER: &str = include_str!("older.tsv");

fn older(what: &str) -> impl Iterator<Item = (&str, &str)> {
    let fields = OLDER.lines().map(|line| {
        let mut fields = line.splitn(3, '\t');
        [fields.next(), fields.next(), fields.next()].map(|field| field.expect("three fields"))
    });
    fields.filter(move |[of, ..]| *of == what).map(|[_, kind, doc]| (kind, doc))
}

/// What an order to tidy named for removal, and how it was counted; today it names what stays, and counts by kind.
const DROPPED: [&str; 3] = ["sessions", "sessions_below", "folders"];

/// What an issue's row need not say.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        _ => false,
    }
}

/// Everything that is in `before` is in `after`, under the same name; but an issue's row leaves out what is nothing.
#[track_caller]
fn keeps(before: &Value, after: &Value, path: &str) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let path = format!("{path}.{key}");
                let tidying = [("action", "tidy"), ("outcome", "tidied")];
                let of_tidying =
                    tidying.iter().any(|(tag, is)| before.get(*tag).is_some_and(|tag| tag == is));
                if of_tidying && DROPPED.contains(&key.as_str()) {
                    continue;
                }
                match after.get(key) {
                    Some(after) => keeps(value, after, &path),
                    None => assert!(path.starts_with("issue.") && is_nothing(value), "{path} is gone"),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len(), "{path}");
            before.iter().zip(after).for_each(|(before, after)| keeps(before, after, path));
        }
        _ => assert_eq!(before, after, "{path}"),
    }
}

fn read_again<T: Serialize + DeserializeOwned>(doc: &str) {
    let read: T = serde_json::from_str(doc).unwrap_or_else(|e| panic!("{e}: {doc}"));
    let before = serde_json::from_str(doc).expect("JSON");
    keeps(&before, &serde_json::to_value(&read).expect("plain data"), "");
}

#[test]
fn effects_and_events_of_an_older_program_are_read() {
    let (effects, events) = (older("effect"), older("event"));
    assert!(effects.map(|(_, doc)| read_again::<Action>(doc)).count() > 30);
    assert!(events.map(|(_, doc)| read_again::<Event>(doc)).count() > 100);
}

#[test]
fn rows_of_an_older_program_are_read() {
    for (kind, doc) in older("row") {
        let mut floor = Floor::default();
        let row = Row { kind: kind.to_owned(), key: String::new(), doc: Some(doc.to_owned()) };
        load(&mut floor, vec![row]).expect("it is read");
        let mut before: Value = serde_json::from_str(doc).expect("JSON");
        if let (true, Some(job)) = (kind == "job", before.as_object_mut()) {
            // The store's sixth migration has put these into the state they belong to.
            job.retain(|key, _| !MOVED.contains(&&**key));
        }
        let after = written(&floor);
        keeps(&before, &after, kind);
        // What was left out is read back as what it was.
        let mut again = Floor::default();
        let row = Row { kind: kind.to_owned(), key: String::new(), doc: Some(after.to_string()) };
        load(&mut again, vec![row]).expect("it is read again");
        assert_eq!(format!("{again:?}"), format!("{floor:?}"), "{kind}");
    }
}

const MOVED: [&str; 5] = ["release_at", "releasing", "held", "successor_due", "end_wanted"];

/// The one row of a floor, as it would be stored.
fn written(floor: &Floor) -> Value {
    fn rows<R: Record + Serialize>(table: &Table<R>) -> Vec<Value> {
        table.iter().map(|row| serde_json::to_value(row).expect("plain data")).collect()
    }
    let all = [
        rows(&floor.counters),
        rows(&floor.projects),
        rows(&floor.issues),
        rows(&floor.jobs),
        rows(&floor.sessions),
        rows(&floor.agents),
        rows(&floor.entries),
        rows(&floor.tries),
        rows(&floor.queues),
        rows(&floor.messages),
        rows(&floor.records),
        rows(&floor.pulls),
        rows(&floor.staff),
    ];
    all.into_iter().flatten().next().expect("it is there")
}

#[test]
fn what_a_session_works_on_is_read_from_what_was_stored() {
    let mut floor = Floor::default();
    let rows = older("row").filter(|(kind, doc)| *kind == "job" && doc.contains(r#""kind":"review""#));
    for (kind, doc) in rows {
        load(&mut floor, vec![Row { kind: kind.to_owned(), key: String::new(), doc: Some(doc.to_owned()) }])
            .expect("it is read");
    }
    assert!(!floor.jobs.is_empty());
    for job in floor.jobs.iter() {
        assert_eq!(job.assignment, Assignment::Pull(job.pr.unwrap_or(PrNumber(0))));
    }
    let starts = older("effect").filter_map(|(_, doc)| match serde_json::from_str(doc).expect("read") {
        Action::StartSession(start) => Some(start),
        _ => None,
    });
    let of_people = starts.filter(|start| start.assignment.issue().is_none());
    assert!(of_people.map(|start| assert_eq!(start.role, Role::REVIEW)).count() > 0);
}
