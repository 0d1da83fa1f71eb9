//! The schema and its history: an ordered list of steps, each run in one transaction.
//!
//! Invariants: a released step is never edited, only followed by another; before the first step touches an
//! existing store, there is a complete copy beside it; whoever wrote under the old schema is fenced off in
//! the transaction that changes it.

use super::io_error;
use super::open::{fresh_name, sync_parent};
use crate::{StoreError, StoreResult};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Each migrates a store from the previous version to `version`.
const MIGRATIONS: [(i64, &str); 9] = [
    (1, include_str!("migrations/0001.sql")),
    (2, include_str!("migrations/0002.sql")),
    (3, include_str!("migrations/0003.sql")),
    (4, include_str!("migrations/0004.sql")),
    (5, include_str!("migrations/0005.sql")),
    (6, include_str!("migrations/0006.sql")),
    (7, include_str!("migrations/0007.sql")),
    (8, include_str!("migrations/0008.sql")),
    (9, include_str!("migrations/0009.sql")),
];

/// The schema this program reads and writes.
pub(crate) const CURRENT: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Turns an empty database into a store, in one transaction.
pub(super) fn create(conn: &mut Connection, application_id: i32) -> StoreResult<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (version, sql) in MIGRATIONS {
        run_step(&tx, version, sql)?;
    }
    tx.pragma_update(None, "application_id", application_id)?;
    Ok(tx.commit()?)
}

/// Brings an older store up to date, after copying it.
pub(super) fn upgrade(conn: &mut Connection, path: &Path, from: i64) -> StoreResult<()> {
    if from == CURRENT {
        return Ok(());
    }
    back_up(conn, path, from)?;
    for (version, sql) in MIGRATIONS {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Read again under the write lock: another process may have done this step meanwhile.
        if user_version(&tx)? >= version {
            continue;
        }
        run_step(&tx, version, sql)?;
        // The older program's daemon must not continue to write to tables it does not know.
        tx.execute("UPDATE meta SET value = value + 1 WHERE key = 'lease'", [])?;
        tx.commit()?;
    }
    Ok(())
}

fn run_step(tx: &Transaction<'_>, version: i64, sql: &str) -> StoreResult<()> {
    tx.execute_batch(sql)?;
    Ok(tx.pragma_update(None, "user_version", version)?)
}

pub(super) fn user_version(conn: &Connection) -> StoreResult<i64> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Where a store of `version` is copied to before it is migrated.
pub fn backup_path(path: &Path, version: i64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{version}.bak"));
    name.into()
}

/// Removes the copies made before that time, except that of the newest version.
pub(crate) fn prune_backups(path: &Path, before: Time, dry_run: bool) -> StoreResult<Amount> {
    let copies = backups(path)?;
    let limit = UNIX_EPOCH + Duration::from_millis(before.0);
    let mut removed = Amount::default();
    for copy in copies.values().rev().skip(1) {
        let read = |e: std::io::Error| io_error("cannot reach", copy, &e);
        let meta = fs::symlink_metadata(copy).map_err(read)?;
        if !meta.is_file() || meta.modified().map_err(read)? >= limit {
            continue;
        }
        removed += Amount { count: 1, bytes: meta.len() };
        if !dry_run {
            fs::remove_file(copy).map_err(|e| io_error("cannot remove", copy, &e))?;
        }
    }
    Ok(removed)
}

/// The copies there are, by their versions.
fn backups(path: &Path) -> StoreResult<BTreeMap<i64, PathBuf>> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).map_err(|e| io_error("cannot read", folder, &e))?;
    let version = |name: &str| {
        let rest = name.strip_prefix(path.file_name()?.to_str()?)?;
        rest.strip_prefix(".v")?.strip_suffix(".bak")?.parse().ok()
    };
    let copies = entries.flatten().map(|entry| entry.path());
    Ok(copies.filter_map(|copy| Some((version(copy.file_name()?.to_str()?)?, copy))).collect())
}

fn back_up(conn: &Connection, path: &Path, from: i64) -> StoreResult<()> {
    let target = backup_path(path, from);
    let draft = fresh_name(&target);
    // VACUUM INTO accepts an empty file and leaves its mode alone.
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(|e| io_error("cannot make", &draft, &e))?;
    let made = fill_backup(conn, &draft, from).and_then(|ours| match ours {
        true => fs::rename(&draft, &target)
            .map_err(|e| io_error("cannot make", &target, &e))
            .and_then(|()| sync_parent(&target)),
        // Another process has migrated since `from` was read, and made its copy before that.
        false => fs::remove_file(&draft).map_err(|e| io_error("cannot remove", &draft, &e)),
    });
    if made.is_err() {
        // The store is untouched, so the copy is not needed; the first error matters more.
        let _ = fs::remove_file(&draft);
    }
    made
}

/// Copies the store. Returns whether the copy still had the schema `from`.
fn fill_backup(conn: &Connection, draft: &Path, from: i64) -> StoreResult<bool> {
    let name = draft.to_str().ok_or_else(|| {
        StoreError::Io(format!("{} is not UTF-8, so the store cannot be copied", draft.display()))
    })?;
    conn.execute("VACUUM INTO ?1", [name])?;
    let copied = user_version(&Connection::open(draft)?)?;
    fs::File::open(draft).and_then(|f| f.sync_all()).map_err(|e| io_error("cannot write", draft, &e))?;
    Ok(copied == from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_copies_go_and_the_newest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("floor.db");
        let others = ["floor.db", "floor.db.vx.bak", "other.db.v1.bak", "floor.db.v3"]
            .map(|name| dir.path().join(name));
        let copies = [1, 2, 10].map(|version| backup_path(&store, version));
        for file in others.iter().chain(&copies) {
            fs::write(file, "four").unwrap();
        }
        let young = fs::File::options().write(true).open(&copies[1]).unwrap();
        young.set_modified(UNIX_EPOCH + Duration::from_secs(1000)).unwrap();
        for old in [&copies[0], &copies[2]] {
            let old = fs::File::options().write(true).open(old).unwrap();
            old.set_modified(UNIX_EPOCH + Duration::from_secs(10)).unwrap();
        }
        let one = Amount { count: 1, bytes: 4 };
        assert_eq!(prune_backups(&store, Time(500_000), true).unwrap(), one);
        assert!(copies.iter().all(|copy| copy.exists()));
        assert_eq!(prune_backups(&store, Time(500_000), false).unwrap(), one);
        let left = copies.iter().map(|copy| copy.exists()).collect::<Vec<_>>();
        assert_eq!(left, [false, true, true], "the oldest is gone, one is young, and one is the newest");
        assert!(others.iter().all(|other| other.exists()));
    }
}
