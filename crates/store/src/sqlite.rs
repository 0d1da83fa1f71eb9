//! The store on disk: SQLite, embedded.
//!
//! Invariants: every write is one `BEGIN IMMEDIATE` transaction with `synchronous=FULL`, so once a commit has
//! returned it survives a crash of the process or the machine; the newest journal position is read under the
//! write lock, so two writers can never both extend the same state.

#[cfg(feature = "count")]
pub mod count;
mod migrations;
mod open;
mod outbox;
mod retention;
mod shelf;
mod watch;

pub use migrations::backup_path;
pub(crate) use migrations::prune_backups;
pub(crate) use open::{connect, connect_read_only, in_memory};

use self::outbox::Outbox;
use crate::retention::{Batch, Expired, Stage};
use crate::{
    Commit, Committed, EFFECT_ERROR_BYTES_MAX, JournalEntry, NoteFilter, OutboxEffect, Row, Store,
    StoreError, StoreResult, Watch,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension, ToSql, Transaction, TransactionBehavior, params};
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::text;
use shopfloor_core::time::Time;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One connection to a floor's store. Several may be open at once, in any number of processes.
#[derive(Debug)]
pub struct SqliteStore {
    conn: Connection,
    path: PathBuf,
    file: FileId,
    outbox: Outbox,
}

impl SqliteStore {
    /// Opens the store, creating it (mode 0600) if there is none and migrating it if it is older. The folder
    /// must exist.
    pub fn open(path: &Path) -> StoreResult<Self> {
        Self::new(connect(path)?, path)
    }

    /// Opens an existing store for reading; nothing is created or migrated.
    pub fn open_read_only(path: &Path) -> StoreResult<Self> {
        Self::new(connect_read_only(path)?, path)
    }

    fn new(conn: Connection, path: &Path) -> StoreResult<Self> {
        let file = file_id(path)?;
        Ok(SqliteStore { conn, path: path.to_owned(), file, outbox: Outbox::default() })
    }

    /// Checks that the open file is still the one at the store's path. (It only looks: opening the file would
    /// drop our locks.)
    fn check_file(&self) -> StoreResult<()> {
        match file_id(&self.path) {
            Ok(now) if now == self.file => Ok(()),
            _ => Err(StoreError::Replaced(self.path.display().to_string())),
        }
    }
}

impl Store for SqliteStore {
    fn rows_since(&mut self, seq: Seq) -> StoreResult<(Vec<Row>, Seq)> {
        self.check_file()?;
        let tx = self.conn.transaction()?;
        let newest = newest_seq(&tx)?;
        if seq > Seq(0) && seq < retention::gone(&tx)? {
            return Err(StoreError::TooOld);
        }
        let rows = if seq == Seq(0) {
            // Whoever reads from the start has no rows to delete.
            let sql = "SELECT kind, key, doc FROM state ORDER BY kind, key";
            collect_rows(&tx, sql, params![])?
        } else {
            // Names the index, or the planner may walk the whole table to avoid sorting a few rows.
            let sql = "SELECT kind, key, doc FROM state INDEXED BY state_seq WHERE seq > ?1
                 UNION ALL SELECT kind, key, NULL FROM gone INDEXED BY gone_seq WHERE seq > ?1 ORDER BY 1, 2";
            collect_rows(&tx, sql, params![to_sql(seq.0)])?
        };
        Ok((rows, newest))
    }

    fn rows_of(&mut self, keys: &[(&str, &str)]) -> StoreResult<Vec<Row>> {
        let mut query = self.conn.prepare_cached("SELECT doc FROM state WHERE kind = ?1 AND key = ?2")?;
        let read = |(kind, key): &(&str, &str)| {
            let doc = query.query_row([kind, key], |row| row.get(0)).optional()?.flatten();
            Ok(Row { kind: (*kind).to_owned(), key: (*key).to_owned(), doc })
        };
        keys.iter().map(read).collect()
    }

    fn rows_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        let mut query = self.conn.prepare_cached("SELECT key, doc FROM state WHERE kind = ?1")?;
        let rows = query
            .query_map([kind], |row| Ok(Row { kind: kind.to_owned(), key: row.get(0)?, doc: row.get(1)? }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn shelf(&mut self, label: &str) -> StoreResult<Vec<Row>> {
        shelf::read(&self.conn, label)
    }

    fn shelf_of_kind(&mut self, kind: &str) -> StoreResult<Vec<Row>> {
        shelf::read_kind(&self.conn, kind)
    }

    fn is_kept(&mut self, kind: &str, key: &str) -> StoreResult<bool> {
        // One statement: a row that moves from one table to the other is in one of the two.
        let mut query = self.conn.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM state WHERE kind = ?1 AND key = ?2)
                 OR EXISTS (SELECT 1 FROM shelf WHERE kind = ?1 AND key = ?2)",
        )?;
        Ok(query.query_row([kind, key], |row| row.get(0))?)
    }

    fn commit(&mut self, commit: &Commit) -> StoreResult<Committed> {
        if commit.entries.is_empty() {
            return Err(StoreError::NoEntry);
        }
        self.check_file()?;
        let tx = write(&mut self.conn)?;
        if let Some(lease) = commit.lease
            && to_sql(lease) != read_lease(&tx)?
        {
            return Err(StoreError::Fenced);
        }
        let newest = newest_seq(&tx)?;
        if newest != commit.expected {
            return Err(StoreError::Stale);
        }
        let struck =
            commit.performed.map(|id| Ok::<_, StoreError>((id, take_performed(&tx, id)?))).transpose()?;
        let seq = write_entries(&tx, newest, commit)?;
        write_rows(&tx, seq, &commit.rows)?;
        shelf::write(&tx, seq, &commit.taken_down, &commit.shelved)?;
        let effects = outbox::write(&tx, commit)?;
        tx.commit()?;
        watch::ring(&self.path);
        if let Some((id, touched)) = struck {
            self.outbox.struck_off(id, touched);
        }
        Ok(Committed { seq, effects })
    }

    fn outbox(&mut self) -> StoreResult<Vec<OutboxEffect>> {
        self.outbox.read(&mut self.conn)
    }

    fn defer(&mut self, id: EffectId, attempts: u32, not_before: Time, error: &str) -> StoreResult<()> {
        let tx = write(&mut self.conn)?;
        let error = text::head(error, EFFECT_ERROR_BYTES_MAX);
        let changed = tx.execute(
            "UPDATE outbox SET attempts = ?2, not_before = ?3, last_error = ?4 WHERE id = ?1",
            params![to_sql(id.0), attempts, to_sql(not_before.0), error],
        )?;
        if changed == 0 {
            return Err(StoreError::AlreadyPerformed(id));
        }
        let touched = outbox::touch(&tx)?;
        tx.commit()?;
        watch::ring(&self.path);
        self.outbox.put_off(id, touched, (attempts, not_before, error));
        Ok(())
    }

    fn journal(&mut self, after: Seq, limit: usize) -> StoreResult<Vec<JournalEntry>> {
        let mut query = self.conn.prepare_cached(
            "SELECT seq, at, kind, project, issue, text, body FROM journal
             WHERE seq > ?1 ORDER BY seq LIMIT ?2",
        )?;
        let rows = query.query_map([to_sql(after.0), to_sql(limit as u64)], read_entry)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn position(&mut self) -> StoreResult<Seq> {
        newest_seq(&self.conn)
    }

    fn last_notes(&mut self, filter: &NoteFilter, limit: usize) -> StoreResult<Vec<JournalEntry>> {
        // A statement for each filter: a condition that holds for no filter as well could not use the index.
        let (from, of_project, of_issue) = match (&filter.project, filter.issue) {
            (Some(_), Some(_)) => ("journal INDEXED BY journal_of_issue", "project = ?3", "issue = ?4"),
            (Some(_), None) => ("journal NOT INDEXED", "project = ?3", "?4 IS NULL"),
            (None, Some(_)) => ("journal NOT INDEXED", "?3 IS NULL", "issue = ?4"),
            (None, None) => ("journal NOT INDEXED", "?3 IS NULL", "?4 IS NULL"),
        };
        // By time as well as by position: clocks may step back, so neither implies the other.
        let mut query = self.conn.prepare_cached(&format!(
            "SELECT seq, at, kind, project, issue, text, body FROM {from}
             WHERE seq > ?1 AND at >= ?2 AND kind <> 'event' AND {of_project} AND {of_issue}
             ORDER BY seq DESC LIMIT ?5",
        ))?;
        let args = params![
            to_sql(filter.after.0),
            to_sql(filter.since.0),
            filter.project,
            filter.issue.map(to_sql),
            to_sql(limit as u64)
        ];
        let rows = query.query_map(args, read_entry)?;
        let mut notes = rows.collect::<Result<Vec<_>, _>>()?;
        notes.reverse();
        Ok(notes)
    }

    fn prune(&mut self, expired: &Expired, stage: Stage, dry_run: bool) -> StoreResult<Batch> {
        self.check_file()?;
        retention::prune(&mut self.conn, expired, stage, dry_run)
    }

    fn compact(&mut self) -> StoreResult<u64> {
        self.check_file()?;
        retention::compact(&self.conn)
    }

    fn take_lease(&mut self) -> StoreResult<u64> {
        let tx = write(&mut self.conn)?;
        tx.execute("UPDATE meta SET value = value + 1 WHERE key = 'lease'", [])?;
        let lease = read_lease(&tx)?;
        tx.commit()?;
        Ok(lease as u64)
    }

    fn watch(&self) -> StoreResult<Box<dyn Watch>> {
        Ok(Box::new(watch::FileWatch::new(&self.path)?))
    }

    fn set_patience(&mut self, patience: Duration) -> StoreResult<()> {
        Ok(self.conn.busy_timeout(patience)?)
    }

    fn verify(&mut self) -> StoreResult<()> {
        let first: String = self.conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if first != "ok" {
            return Err(StoreError::Corrupt(first));
        }
        let tx = self.conn.transaction()?;
        let dangling: Option<String> =
            tx.query_row("PRAGMA foreign_key_check", [], |row| row.get(0)).optional()?;
        if let Some(table) = dangling {
            return Err(StoreError::Corrupt(format!("{table} refers to rows that are not there")));
        }
        let newest = newest_seq(&tx)?;
        let ahead: i64 =
            tx.query_row("SELECT count(*) FROM state WHERE seq > ?1", [to_sql(newest.0)], |row| row.get(0))?;
        if ahead > 0 {
            return Err(StoreError::Corrupt(format!("{ahead} rows of the state are ahead of the journal")));
        }
        if let Some((kind, key)) = shelf::also_at_hand(&tx)? {
            return Err(crate::on_both(&kind, &key));
        }
        outbox::check(&tx)
    }
}

/// Identifies a file: its device and inode.
type FileId = (u64, u64);

fn file_id(path: &Path) -> StoreResult<FileId> {
    let meta = std::fs::metadata(path).map_err(|e| io_error("cannot reach", path, &e))?;
    Ok((meta.dev(), meta.ino()))
}

/// A transaction that has the write lock from its start: what it reads cannot change under it.
pub(crate) fn write(conn: &mut Connection) -> StoreResult<Transaction<'_>> {
    Ok(conn.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

fn collect_rows(tx: &Transaction<'_>, sql: &str, args: &[&dyn ToSql]) -> StoreResult<Vec<Row>> {
    let mut query = tx.prepare_cached(sql)?;
    let rows =
        query.query_map(args, |row| Ok(Row { kind: row.get(0)?, key: row.get(1)?, doc: row.get(2)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read_entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<JournalEntry> {
    Ok(JournalEntry {
        seq: Seq(from_sql(row, 0)?),
        at: Time(from_sql(row, 1)?),
        kind: row.get(2)?,
        project: row.get(3)?,
        issue: optional_from_sql(row, 4)?,
        text: row.get(5)?,
        body: row.get(6)?,
    })
}

fn newest_seq(conn: &Connection) -> StoreResult<Seq> {
    let mut newest = conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM journal")?;
    Ok(newest.query_row([], |row| from_sql(row, 0).map(Seq))?)
}

fn read_lease(tx: &Transaction<'_>) -> StoreResult<i64> {
    let mut lease = tx.prepare_cached("SELECT value FROM meta WHERE key = 'lease'")?;
    Ok(lease.query_row([], |row| row.get(0))?)
}

fn take_performed(tx: &Transaction<'_>, id: EffectId) -> StoreResult<outbox::Touched> {
    match tx.prepare_cached("DELETE FROM outbox WHERE id = ?1")?.execute([to_sql(id.0)])? {
        0 => Err(StoreError::AlreadyPerformed(id)),
        _ => outbox::touch(tx),
    }
}

fn write_entries(tx: &Transaction<'_>, newest: Seq, commit: &Commit) -> StoreResult<Seq> {
    let mut insert = tx.prepare_cached(
        "INSERT INTO journal (seq, at, kind, project, issue, text, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut seq = newest;
    for entry in &commit.entries {
        seq.0 += 1;
        insert.execute(params![
            to_sql(seq.0),
            to_sql(commit.at.0),
            entry.kind,
            entry.project,
            entry.issue.map(to_sql),
            entry.text,
            entry.body
        ])?;
    }
    Ok(seq)
}

fn write_rows(tx: &Transaction<'_>, seq: Seq, rows: &[Row]) -> StoreResult<()> {
    let mut upsert = tx.prepare_cached(
        "INSERT INTO state (kind, key, seq, doc) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (kind, key) DO UPDATE SET seq = excluded.seq, doc = excluded.doc",
    )?;
    let mut delete = tx.prepare_cached("DELETE FROM state WHERE kind = ?1 AND key = ?2")?;
    let mut remember =
        tx.prepare_cached("INSERT OR REPLACE INTO gone (kind, key, seq) VALUES (?1, ?2, ?3)")?;
    let mut forget = tx.prepare_cached("DELETE FROM gone WHERE kind = ?1 AND key = ?2")?;
    for row in rows {
        let (kind, key, seq) = (&row.kind, &row.key, to_sql(seq.0));
        match &row.doc {
            Some(doc) => {
                upsert.execute(params![kind, key, seq, doc])?;
                forget.execute([kind, key])?;
            }
            None => {
                delete.execute([kind, key])?;
                remember.execute(params![kind, key, seq])?;
            }
        }
    }
    Ok(())
}

/// SQLite's integers are signed; larger values of ours mean "never" and still do.
pub(crate) fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn from_sql(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

pub(crate) fn optional_from_sql(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    match row.get::<_, Option<i64>>(column)? {
        None => Ok(None),
        Some(_) => from_sql(row, column).map(Some),
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        meaning(error)
    }
}

/// What an SQLite failure means to us: somebody else's lock, a damaged file, or the world.
fn meaning(error: rusqlite::Error) -> StoreError {
    use rusqlite::Error as E;
    match &error {
        E::SqliteFailure(failure, message) => {
            let says = message.clone().unwrap_or_else(|| failure.to_string());
            match failure.code {
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(says),
                ErrorCode::DiskFull => StoreError::Full(says),
                // Our statements are fixed, so what they name is missing from the file.
                ErrorCode::Unknown if says.starts_with("no such ") => StoreError::Corrupt(says),
                _ => StoreError::Io(says),
            }
        }
        E::SqlInputError { msg, .. } if msg.starts_with("no such ") => StoreError::Corrupt(msg.clone()),
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::InvalidColumnType(..)
        | E::Utf8Error(..)
        | E::QueryReturnedNoRows => StoreError::Corrupt(error.to_string()),
        _ => StoreError::Io(error.to_string()),
    }
}

fn io_error(doing: &str, path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Io(format!("{doing} {}: {error}", path.display()))
}

#[cfg(all(test, feature = "count"))]
mod asked;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewJournalEntry;

    #[test]
    fn a_held_lock_is_busy_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("floor.db");
        let mut store = SqliteStore::open(&path).unwrap();
        store.conn.busy_timeout(Duration::ZERO).unwrap();
        let mut other = connect(&path).unwrap();
        let held = write(&mut other).unwrap();
        let entry = NewJournalEntry {
            kind: "event".into(),
            project: None,
            issue: None,
            text: "".into(),
            body: "{}".into(),
        };
        let commit = Commit { entries: vec![entry], ..Commit::default() };
        assert!(matches!(store.commit(&commit), Err(StoreError::Busy)));
        // Readers are not kept waiting by a writer.
        assert_eq!(store.journal(Seq(0), 10).unwrap(), vec![]);
        drop(held);
        assert_eq!(store.commit(&commit).unwrap().seq, Seq(1));
    }

    #[test]
    fn a_store_that_is_not_there_any_more_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("floor.db");
        let entry = || NewJournalEntry {
            kind: "event".into(),
            project: None,
            issue: None,
            text: "".into(),
            body: "{}".into(),
        };
        let commit = |expected| Commit { expected, entries: vec![entry()], ..Commit::default() };
        let mut store = SqliteStore::open(&path).unwrap();
        store.commit(&commit(Seq(0))).unwrap();
        let gone = |store: &mut SqliteStore| {
            assert!(matches!(store.commit(&commit(Seq(1))), Err(StoreError::Replaced(_))));
            assert!(matches!(store.rows_since(Seq(0)), Err(StoreError::Replaced(_))));
        };
        let copy = dir.path().join("copy.db");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::rename(&copy, &path).unwrap();
        gone(&mut store);
        std::fs::remove_file(&path).unwrap();
        gone(&mut store);
    }

    #[test]
    fn a_full_disk_writes_nothing_and_passes() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(&dir.path().join("floor.db")).unwrap();
        let pages: i64 = store.conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        // SQLite's own bound fails as a full disk does.
        let limit = |store: &SqliteStore, pages: i64| {
            store.conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        };
        limit(&store, pages);
        let body = "x".repeat(100_000);
        let entry =
            NewJournalEntry { kind: "event".into(), project: None, issue: None, text: "".into(), body };
        let commit = Commit { entries: vec![entry], ..Commit::default() };
        assert!(matches!(store.commit(&commit), Err(StoreError::Full(_))));
        assert_eq!(store.journal(Seq(0), 10).unwrap(), vec![]);
        limit(&store, 1 << 30);
        assert_eq!(store.commit(&commit).unwrap().seq, Seq(1));
    }

    #[test]
    fn every_connection_is_durable_and_checks_references() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("floor.db")).unwrap();
        let pragma = |name: &str| -> String {
            store
                .conn
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
                .map(|v| format!("{v:?}"))
                .unwrap()
        };
        assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
        assert_eq!(pragma("synchronous"), "Integer(2)");
        assert_eq!(pragma("foreign_keys"), "Integer(1)");
        assert_eq!(pragma("busy_timeout"), "Integer(30000)");
    }
}
