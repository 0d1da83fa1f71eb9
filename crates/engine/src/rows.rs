//! The floor as stored rows, and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use shopfloor_core::state::Floor;
use shopfloor_core::table::{Record, Table};
use shopfloor_store::{Row, Store, StoreError, StoreResult};

/// Rows for everything touched since the last call.
pub fn take_touched(floor: &mut Floor) -> Vec<Row> {
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
    rows
}

fn collect<R: Record + Serialize>(table: &mut Table<R>, rows: &mut Vec<Row>) {
    for (key, record) in table.take_touched() {
        let doc = record.map(|r| serde_json::to_string(r).expect("records have string keys only"));
        rows.push(Row { kind: R::KIND.to_owned(), key, doc });
    }
}

/// All records of one kind, without the rest of the floor.
pub fn records<R: Record + DeserializeOwned>(store: &mut dyn Store) -> StoreResult<Vec<R>> {
    store.rows_of_kind(R::KIND)?.iter().filter_map(|row| read(row).transpose()).collect()
}

/// Puts stored rows in place. An unreadable row is damage, and is never skipped.
pub fn load(floor: &mut Floor, rows: Vec<Row>) -> StoreResult<()> {
    for row in rows {
        match row.kind.as_str() {
            "counters" => place(&mut floor.counters, row)?,
            "project" => place(&mut floor.projects, row)?,
            "issue" => place(&mut floor.issues, row)?,
            "job" => place(&mut floor.jobs, row)?,
            "session" => place(&mut floor.sessions, row)?,
            "agent" => place(&mut floor.agents, row)?,
            "entry" => place(&mut floor.entries, row)?,
            "try" => place(&mut floor.tries, row)?,
            "queue" => place(&mut floor.queues, row)?,
            "message" => place(&mut floor.messages, row)?,
            "record" => place(&mut floor.records, row)?,
            "pull" => place(&mut floor.pulls, row)?,
            "staff" => place(&mut floor.staff, row)?,
            "mute" => place(&mut floor.mutes, row)?,
            other => return Err(StoreError::Corrupt(format!("unknown kind of row {other:?}"))),
        }
    }
    Ok(())
}

fn place<R: Record + DeserializeOwned>(table: &mut Table<R>, row: Row) -> StoreResult<()> {
    match read(&row)? {
        Some(record) => table.load(record),
        None => table.unload(&row.key),
    }
    Ok(())
}

fn read<R: DeserializeOwned>(row: &Row) -> StoreResult<Option<R>> {
    let record = row.doc.as_deref().map(serde_json::from_str).transpose();
    record.map_err(|e| StoreError::Corrupt(format!("{} {:?} cannot be read: {e}", row.kind, row.key)))
}

#[cfg(test)]
mod tests;
