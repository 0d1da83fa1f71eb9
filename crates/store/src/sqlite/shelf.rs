//! The shelf: rows that are read when something is about them, and never with the rest of the state.

use super::to_sql;
use crate::{Row, ShelvedRow, StoreResult};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use shopfloor_core::ids::Seq;

/// In one transaction with the rows of the state: a row is in exactly one of the two.
pub(super) fn write(
    tx: &Transaction<'_>,
    seq: Seq,
    taken_down: &[(String, String)],
    shelved: &[ShelvedRow],
) -> StoreResult<()> {
    let mut delete = tx.prepare_cached("DELETE FROM shelf WHERE kind = ?1 AND key = ?2")?;
    for (kind, key) in taken_down {
        delete.execute([kind, key])?;
    }
    let mut insert = tx.prepare_cached(
        "INSERT OR REPLACE INTO shelf (kind, key, label, branch, seq, doc) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for row in shelved {
        insert.execute(params![row.kind, row.key, row.label, row.branch, to_sql(seq.0), row.doc])?;
    }
    Ok(())
}

pub(super) fn read(conn: &Connection, label: &str) -> StoreResult<Vec<Row>> {
    let is_there = "SELECT EXISTS (SELECT 1 FROM shelf WHERE label = ?1 OR branch = ?1)";
    // Mostly nothing is, and that is quickly said.
    if !conn.prepare_cached(is_there)?.query_row([label], |row| row.get(0))? {
        return Ok(Vec::new());
    }
    let mut query = conn.prepare_cached(
        "SELECT kind, key, doc FROM shelf WHERE label = ?1
             OR label IN (SELECT label FROM shelf WHERE branch = ?1) ORDER BY kind, key",
    )?;
    let rows =
        query.query_map([label], |row| Ok(Row { kind: row.get(0)?, key: row.get(1)?, doc: row.get(2)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// A row that is at hand as well, if there is one.
pub(super) fn also_at_hand(conn: &Connection) -> StoreResult<Option<(String, String)>> {
    let sql = "SELECT kind, key FROM shelf JOIN state USING (kind, key) LIMIT 1";
    Ok(conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

pub(super) fn read_kind(conn: &Connection, kind: &str) -> StoreResult<Vec<Row>> {
    let mut query = conn.prepare_cached("SELECT key, doc FROM shelf WHERE kind = ?1")?;
    let rows = query
        .query_map([kind], |row| Ok(Row { kind: kind.to_owned(), key: row.get(0)?, doc: row.get(1)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
