//! Pruning the store on disk.
//!
//! What is deleted leaves free pages in the file, which SQLite fills before it lets the file grow: a floor that is
//! tidied daily stops growing. The pages are not given back meanwhile. `auto_vacuum` would have to be set when a store
//! is made, moves pages at every commit and fragments the journal; a full `VACUUM` holds the write lock for as long as
//! it copies. So that is [`compact`], for a person who asks for it while no daemon runs.

use super::{Connection, StoreResult, Transaction, from_sql, newest_seq, read_entry, to_sql, write};
use crate::retention::{BATCH, Batch, Expired, LASTING_KIND, Stage, choose};
use rusqlite::OptionalExtension;
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::ids::Seq;
use shopfloor_core::time::Time;

/// Copying the file is worth it if at least one page in so many is free.
const FREE_SHARE: u64 = 4;

pub(super) fn prune(
    conn: &mut Connection,
    expired: &Expired,
    stage: Stage,
    dry_run: bool,
) -> StoreResult<Batch> {
    // Whoever only counts keeps nobody from writing.
    let tx = if dry_run { conn.transaction()? } else { write(conn)? };
    let batch = match stage {
        Stage::Shelf => shelf(&tx, expired, dry_run)?,
        Stage::Journal(after) => journal(&tx, expired, after, dry_run)?,
        Stage::Tombstones => tombstones(&tx, expired, dry_run)?,
        Stage::Over => Batch::default(),
    };
    tx.commit()?;
    Ok(batch)
}

fn shelf(tx: &Transaction<'_>, expired: &Expired, dry_run: bool) -> StoreResult<Batch> {
    let next = Stage::Journal(Seq(0));
    let Some(upto) = all_before(tx, expired.journal_before)? else {
        return Ok(Batch { next, ..Batch::default() });
    };
    let most = if dry_run { i64::MAX } else { BATCH as i64 };
    let mut query = tx.prepare_cached(
        "SELECT kind, key, length(doc) FROM shelf WHERE seq <= ?1 AND kind <> ?2 ORDER BY seq LIMIT ?3",
    )?;
    let rows = query
        .query_map((upto, LASTING_KIND, most), |row| Ok((row.get(0)?, row.get(1)?, from_sql(row, 2)?)))?;
    let going: Vec<(String, String, u64)> = rows.collect::<Result<_, _>>()?;
    let shelved = Amount { count: going.len() as u64, bytes: going.iter().map(|(.., bytes)| bytes).sum() };
    if dry_run {
        return Ok(Batch { shelved, next, ..Batch::default() });
    }
    let taken: Vec<(String, String)> = going.into_iter().map(|(kind, key, _)| (kind, key)).collect();
    super::shelf::write(tx, Seq(0), &taken, &[])?;
    let next = if taken.len() == BATCH { Stage::Shelf } else { next };
    Ok(Batch { shelved, next, ..Batch::default() })
}

/// The position up to which every entry is from before that time, also if a clock was wrong for a while.
fn all_before(tx: &Transaction<'_>, time: Time) -> StoreResult<Option<i64>> {
    if time == Time(0) {
        return Ok(None);
    }
    let first_since = "SELECT seq FROM journal WHERE at >= ?1 ORDER BY seq LIMIT 1";
    let first: Option<i64> = tx.query_row(first_since, [to_sql(time.0)], |row| row.get(0)).optional()?;
    Ok(Some(first.unwrap_or(i64::MAX) - 1))
}

/// The newest position before that time: what the store keeps has no times but the journal's.
fn newest_before(tx: &Transaction<'_>, time: Time) -> StoreResult<Option<i64>> {
    let newest = "SELECT seq FROM journal WHERE at < ?1 ORDER BY seq DESC LIMIT 1";
    Ok(tx.query_row(newest, [to_sql(time.0)], |row| row.get(0)).optional()?)
}

fn journal(tx: &Transaction<'_>, expired: &Expired, after: Seq, dry_run: bool) -> StoreResult<Batch> {
    let entries = {
        let mut query = tx.prepare_cached(
            "SELECT seq, at, kind, project, issue, text, body FROM journal WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        )?;
        let rows = query.query_map([to_sql(after.0), BATCH as i64], read_entry)?;
        rows.collect::<Result<Vec<_>, _>>()?
    };
    let (going, amount, next) = choose(&entries, newest_seq(tx)?, expired);
    if !dry_run {
        let mut delete = tx.prepare_cached("DELETE FROM journal WHERE seq = ?1")?;
        for seq in going {
            delete.execute([to_sql(seq.0)])?;
        }
    }
    Ok(Batch { entries: amount, next, ..Batch::default() })
}

fn tombstones(tx: &Transaction<'_>, expired: &Expired, dry_run: bool) -> StoreResult<Batch> {
    let Some(upto) = newest_before(tx, expired.tombstones_before)? else { return Ok(Batch::default()) };
    if dry_run {
        let count = "SELECT count(*) FROM gone WHERE seq <= ?1";
        let tombstones = tx.query_row(count, [upto], |row| from_sql(row, 0))?;
        return Ok(Batch { tombstones, ..Batch::default() });
    }
    // Oldest first: what is left after a crash is younger than the horizon.
    let mut query =
        tx.prepare_cached("SELECT kind, key, seq FROM gone WHERE seq <= ?1 ORDER BY seq LIMIT ?2")?;
    let rows = query.query_map([upto, BATCH as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let going: Vec<(String, String, i64)> = rows.collect::<Result<_, _>>()?;
    let Some((_, _, last)) = going.last() else { return Ok(Batch::default()) };
    tx.execute("UPDATE meta SET value = max(value, ?1) WHERE key = 'tombstones_gone'", [last])?;
    let mut delete = tx.prepare_cached("DELETE FROM gone WHERE kind = ?1 AND key = ?2")?;
    for (kind, key, _) in &going {
        delete.execute([kind, key])?;
    }
    let next = if going.len() == BATCH { Stage::Tombstones } else { Stage::Over };
    Ok(Batch { tombstones: going.len() as u64, next, ..Batch::default() })
}

/// The newest position whose tombstone was pruned.
pub(super) fn gone(tx: &Transaction<'_>) -> StoreResult<Seq> {
    let value = "SELECT value FROM meta WHERE key = 'tombstones_gone'";
    Ok(tx.query_row(value, [], |row| from_sql(row, 0).map(Seq))?)
}

/// Gives free pages back, if there are many. Returns how many bytes that was.
pub(super) fn compact(conn: &Connection) -> StoreResult<u64> {
    let pragma =
        |name: &str| -> StoreResult<u64> { Ok(conn.pragma_query_value(None, name, |row| from_sql(row, 0))?) };
    let (free, all) = (pragma("freelist_count")?, pragma("page_count")?);
    if free.saturating_mul(FREE_SHARE) < all {
        return Ok(0);
    }
    conn.execute_batch("VACUUM")?;
    // The copy is in the log until it is written back, and the log is as large as the file.
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(all.saturating_sub(pragma("page_count")?) * pragma("page_size")?)
}
