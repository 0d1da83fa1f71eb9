//! The floor as stored rows, and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use shopfloor_core::state::{Agent, Entry, Floor, Issue, Job, Request, Run, Session, Shelvable, WorkRecord};
use shopfloor_core::table::{Record, Table};
use shopfloor_store::{Row, ShelvedRow, Store, StoreError, StoreResult};
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of rows that may be on the shelf.
pub const SHELVED: [&str; 8] = [
    Issue::KIND,
    Job::KIND,
    Session::KIND,
    Agent::KIND,
    Entry::KIND,
    WorkRecord::KIND,
    Request::KIND,
    Run::KIND,
];

/// What a step changed.
pub struct Changed {
    pub rows: Vec<Row>,
    pub taken_down: Vec<(String, String)>,
    pub shelved: Vec<ShelvedRow>,
}

/// Everything that changed since the last call, when the rows `down` were taken from the shelf. What was put back
/// there as it was need not be written.
pub fn take_changed(floor: &mut Floor, down: Vec<Row>) -> Changed {
    let (mut rows, mut shelved) = (take_touched(floor), take_shelved(floor));
    let mut taken_down: BTreeMap<(String, String), Option<String>> =
        down.into_iter().map(|row| ((row.kind, row.key), row.doc)).collect();
    let mut unchanged = BTreeSet::new();
    shelved.retain(|row| {
        let place = (row.kind.clone(), row.key.clone());
        let same = taken_down.get(&place).is_some_and(|doc| doc.as_ref() == Some(&row.doc));
        if same {
            taken_down.remove(&place);
            unchanged.insert(place);
        }
        !same
    });
    rows.retain(|row| unchanged.is_empty() || !unchanged.contains(&(row.kind.clone(), row.key.clone())));
    Changed { rows, taken_down: taken_down.into_keys().collect(), shelved }
}

/// Rows for everything touched since the last call.
fn take_touched(floor: &mut Floor) -> Vec<Row> {
    let mut rows = Vec::new();
    collect(&mut floor.counters, &mut rows);
    collect(&mut floor.projects, &mut rows);
    collect(&mut floor.issues, &mut rows);
    collect(&mut floor.jobs, &mut rows);
    collect(&mut floor.sessions, &mut rows);
    collect(&mut floor.agents, &mut rows);
    collect(&mut floor.entries, &mut rows);
    collect(&mut floor.tries, &mut rows);
    collect(&mut floor.queues, &mut rows);
    collect(&mut floor.messages, &mut rows);
    collect(&mut floor.records, &mut rows);
    collect(&mut floor.pulls, &mut rows);
    collect(&mut floor.staff, &mut rows);
    collect(&mut floor.mutes, &mut rows);
    collect(&mut floor.pins, &mut rows);
    collect(&mut floor.runs, &mut rows);
    collect(&mut floor.schedules, &mut rows);
    collect(&mut floor.conducts, &mut rows);
    collect(&mut floor.requests, &mut rows);
    collect(&mut floor.health, &mut rows);
    rows
}

fn collect<R: Record + Serialize>(table: &mut Table<R>, rows: &mut Vec<Row>) {
    for (key, record) in table.take_touched() {
        let doc = record.map(|r| serde_json::to_string(r).expect("records have string keys only"));
        rows.push(Row { kind: R::KIND.to_owned(), key, doc });
    }
}

/// Rows for everything that was put on the shelf since the last call.
fn take_shelved(floor: &mut Floor) -> Vec<ShelvedRow> {
    let mut rows = Vec::new();
    shelved(&mut floor.issues, &mut rows);
    shelved(&mut floor.jobs, &mut rows);
    shelved(&mut floor.sessions, &mut rows);
    shelved(&mut floor.agents, &mut rows);
    shelved(&mut floor.entries, &mut rows);
    shelved(&mut floor.records, &mut rows);
    shelved(&mut floor.runs, &mut rows);
    shelved(&mut floor.requests, &mut rows);
    rows
}

fn shelved<R: Shelvable + Serialize>(table: &mut Table<R>, rows: &mut Vec<ShelvedRow>) {
    rows.extend(table.take_shelved().iter().map(|record| ShelvedRow {
        kind: R::KIND.to_owned(),
        key: R::key_text(&record.key()),
        label: record.shelf().to_string(),
        branch: record.branch().map(|branch| branch.to_string()),
        doc: serde_json::to_string(record).expect("records have string keys only"),
    }));
}

/// Puts rows that were on the shelf back into the floor's tables.
pub fn take_down(floor: &mut Floor, rows: &[Row]) -> StoreResult<()> {
    for row in rows {
        match row.kind.as_str() {
            "issue" => put_back(&mut floor.issues, row)?,
            "job" => put_back(&mut floor.jobs, row)?,
            "session" => put_back(&mut floor.sessions, row)?,
            "agent" => put_back(&mut floor.agents, row)?,
            "entry" => put_back(&mut floor.entries, row)?,
            "record" => put_back(&mut floor.records, row)?,
            "request" => put_back(&mut floor.requests, row)?,
            "run" => put_back(&mut floor.runs, row)?,
            other => return Err(StoreError::Corrupt(format!("unknown kind of row {other:?} on the shelf"))),
        }
    }
    Ok(())
}

fn put_back<R: Shelvable + DeserializeOwned>(table: &mut Table<R>, row: &Row) -> StoreResult<()> {
    if let Some(record) = read(row)? {
        table.take_down(record);
    }
    Ok(())
}

/// All records of one kind, without the rest of the floor.
pub fn records<R: Record + DeserializeOwned>(store: &mut dyn Store) -> StoreResult<Vec<R>> {
    store.rows_of_kind(R::KIND)?.iter().filter_map(|row| read(row).transpose()).collect()
}

/// Puts stored rows in place. An unreadable row is damage, and is never skipped.
pub fn load(floor: &mut Floor, rows: Vec<Row>) -> StoreResult<()> {
    let mut by_kind: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows {
        match by_kind.get_mut(&row.kind) {
            Some(rows) => rows.push(row),
            None => drop(by_kind.insert(row.kind.clone(), vec![row])),
        }
    }
    for (kind, rows) in by_kind {
        match kind.as_str() {
            "counters" => place(&mut floor.counters, rows)?,
            "project" => place(&mut floor.projects, rows)?,
            "issue" => place(&mut floor.issues, rows)?,
            "job" => place(&mut floor.jobs, rows)?,
            "session" => place(&mut floor.sessions, rows)?,
            "agent" => place(&mut floor.agents, rows)?,
            "entry" => place(&mut floor.entries, rows)?,
            "try" => place(&mut floor.tries, rows)?,
            "queue" => place(&mut floor.queues, rows)?,
            "message" => place(&mut floor.messages, rows)?,
            "record" => place(&mut floor.records, rows)?,
            "pull" => place(&mut floor.pulls, rows)?,
            "staff" => place(&mut floor.staff, rows)?,
            "mute" => place(&mut floor.mutes, rows)?,
            "pin" => place(&mut floor.pins, rows)?,
            "run" => place(&mut floor.runs, rows)?,
            "schedule" => place(&mut floor.schedules, rows)?,
            "conduct" => place(&mut floor.conducts, rows)?,
            "request" => place(&mut floor.requests, rows)?,
            "health" => place(&mut floor.health, rows)?,
            other => return Err(StoreError::Corrupt(format!("unknown kind of row {other:?}"))),
        }
    }
    Ok(())
}

fn place<R: Record + DeserializeOwned>(table: &mut Table<R>, rows: Vec<Row>) -> StoreResult<()> {
    let mut gone = BTreeSet::new();
    for row in rows {
        match read(&row)? {
            Some(record) => table.load(record),
            None => drop(gone.insert(row.key)),
        }
    }
    table.unload(&gone);
    Ok(())
}

fn read<R: DeserializeOwned>(row: &Row) -> StoreResult<Option<R>> {
    let record = row.doc.as_deref().map(serde_json::from_str).transpose();
    record.map_err(|e| StoreError::Corrupt(format!("{} {:?} cannot be read: {e}", row.kind, row.key)))
}

#[cfg(test)]
mod tests;
