//! What only a file can suffer: damage, strangers, other programs' versions.

use crate::{entry, ring, row};
use rusqlite::Connection;
use shopfloor_core::ids::Seq;
use shopfloor_store::sqlite::SqliteStore;
use shopfloor_store::{Commit, Store, StoreError};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floor.db");
    (dir, path)
}

fn filled(path: &Path) {
    let mut store = SqliteStore::open(path).unwrap();
    let commit = Commit {
        entries: (0..200).map(|n| entry(&format!("{n} {}", "x".repeat(200)))).collect(),
        rows: vec![row("job", "1", Some("{}"))],
        effects: vec![ring(1)],
        ..Commit::default()
    };
    store.commit(&commit).unwrap();
}

fn corrupt(path: &Path) -> String {
    match SqliteStore::open(path) {
        Err(StoreError::Corrupt(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_store_is_private_and_alone() {
    let (dir, path) = place();
    filled(&path);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["floor.db"]);
    SqliteStore::open(&path).unwrap().verify().unwrap();
}

#[test]
fn the_folder_must_exist() {
    let (dir, _) = place();
    let error = SqliteStore::open(&dir.path().join("nowhere/floor.db")).unwrap_err();
    assert!(matches!(&error, StoreError::Io(why) if why.contains("nowhere")), "{error:?}");
}

#[test]
fn many_may_make_the_store_at_once() {
    let (_dir, path) = place();
    let leases: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| SqliteStore::open(&path).unwrap().take_lease().unwrap())).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let mut sorted = leases.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=8).collect::<Vec<_>>(), "{leases:?}");
}

#[test]
fn damage_is_never_an_empty_store() {
    let (_dir, path) = place();
    fs::write(&path, "").unwrap();
    assert!(corrupt(&path).contains("is empty"));
    fs::write(&path, "this is not a database, ".repeat(100)).unwrap();
    assert!(corrupt(&path).contains("floor.db"));
    fs::remove_file(&path).unwrap();
    fs::write(path.with_file_name("floor.db-wal"), "x").unwrap();
    assert!(corrupt(&path).contains("missing"));
}

#[test]
fn a_damaged_page_is_found_by_verify() {
    let (_dir, path) = place();
    filled(&path);
    let page: u64 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'journal'", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap() as u64;
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start((page - 1) * 4096)).unwrap();
    file.write_all(&[0x55; 4096]).unwrap();
    drop(file);
    // Opening looks at no data: a start stays quick however large the journal is.
    let mut store = SqliteStore::open(&path).unwrap();
    assert!(matches!(store.verify(), Err(StoreError::Corrupt(_))));
    assert!(matches!(store.rows_since(Seq(0)), Err(StoreError::Corrupt(_))));
    assert!(matches!(store.journal(Seq(0), 10), Err(StoreError::Corrupt(_))));
}

#[test]
fn an_action_that_cannot_be_read_is_damage() {
    let (_dir, path) = place();
    filled(&path);
    Connection::open(&path).unwrap().execute("UPDATE outbox SET action = '{\"action\":\"?\"}'", []).unwrap();
    let mut store = SqliteStore::open(&path).unwrap();
    assert!(matches!(store.outbox(), Err(StoreError::Corrupt(why)) if why.contains("effect 1")));
    assert!(matches!(store.verify(), Err(StoreError::Corrupt(_))));
}

#[test]
fn a_strangers_database_is_left_alone() {
    let (dir, path) = place();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .unwrap();
    let before = fs::read(&path).unwrap();
    assert!(corrupt(&path).contains("not a Shopfloor store"));
    assert!(matches!(SqliteStore::open_read_only(&path), Err(StoreError::Corrupt(_))));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_newer_store_is_refused() {
    let (_dir, path) = place();
    filled(&path);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, known: 9 }), "{error:?}");
}

#[test]
fn a_read_only_handle_reads_and_does_not_write() {
    let (_dir, path) = place();
    assert!(matches!(SqliteStore::open_read_only(&path), Err(StoreError::Io(_))));
    assert!(!path.exists());
    filled(&path);
    let mut store = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(store.rows_since(Seq(0)).unwrap().1, Seq(200));
    assert!(matches!(store.take_lease(), Err(StoreError::Io(_))));
}
