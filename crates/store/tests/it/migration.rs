//! Every migration on rows of the version before it.

use crate::{entry, ring};
use rusqlite::Connection;
use rusqlite::types::Value;
use shopfloor_core::ids::{ProjectName, Seq};
use shopfloor_core::time::Time;
use shopfloor_store::forge::{ForgeDb, NewIssue, NewPr};
use shopfloor_store::retention::{Expired, Stage};
use shopfloor_store::sqlite::{SqliteStore, backup_path};
use shopfloor_store::{Commit, NewJournalEntry, NoteFilter, Store, StoreError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A store as version 1 wrote it: its schema and rows in every table.
const VERSION_1: &str = include_str!("fixtures/v1.sql");

fn version_1() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floor.db");
    Connection::open(&path).unwrap().execute_batch(VERSION_1).unwrap();
    (dir, path)
}

fn tables(conn: &Connection) -> Vec<String> {
    let mut query = conn
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )
        .unwrap();
    let names = query.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

fn columns(conn: &Connection, table: &str) -> Vec<String> {
    let query = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
    query.column_names().map(Into::into).collect()
}

fn rows(conn: &Connection, table: &str, columns: &[String]) -> Vec<Vec<Value>> {
    let mut query =
        conn.prepare(&format!("SELECT {} FROM {table} ORDER BY 1, 2", columns.join(", "))).unwrap();
    let rows = query.query_map([], |row| (0..columns.len()).map(|c| row.get(c)).collect()).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Every table, with the columns it had, holds the rows it had.
fn check_same_rows(before: &Path, after: &Path) {
    let (before, after) = (Connection::open(before).unwrap(), Connection::open(after).unwrap());
    for table in tables(&before) {
        let columns = columns(&before, &table);
        let mut had = rows(&before, &table, &columns);
        if table == "state" && tables(&after).contains(&"gone".to_owned()) {
            // What was deleted has a table of its own.
            let gone = rows(&after, "gone", &columns[..3]);
            had.retain(|row| row[3] != Value::Null || !gone.contains(&row[..3].to_vec()));
        }
        assert!(!had.is_empty(), "the fixture has no row in {table}");
        if table != "meta" {
            assert_eq!(rows(&after, &table, &columns), had, "{table}");
        }
    }
}

#[test]
fn version_1_keeps_every_row() {
    let (dir, path) = version_1();
    let original = dir.path().join("original.db");
    std::fs::copy(&path, &original).unwrap();
    let mut store = SqliteStore::open(&path).unwrap();
    store.verify().unwrap();
    check_same_rows(&original, &path);
    let conn = Connection::open(&path).unwrap();
    let added = rows(&conn, "forge_prs", &["number".into(), "author".into()]);
    assert!(added.iter().all(|row| row[1] == Value::Text("shopfloor".into())), "{added:?}");
    let added = rows(&conn, "forge_reviews", &["id".into(), "dismissed_at".into()]);
    assert!(!added.is_empty() && added.iter().all(|row| row[1] == Value::Null), "{added:?}");
    let outbox = store.outbox().unwrap();
    assert_eq!(outbox.iter().map(|q| (q.id.0, q.attempts)).collect::<Vec<_>>(), [(4, 0), (7, 2)]);
    assert!(outbox.iter().all(|q| q.last_error.is_none()));
    // It goes on where it was: positions and ids continue.
    let commit =
        Commit { expected: Seq(3), entries: vec![entry("new")], effects: vec![ring(1)], ..Commit::default() };
    let done = store.commit(&commit).unwrap();
    assert_eq!((done.seq, done.effects[0].0), (Seq(4), 8));
}

#[test]
fn a_copy_of_the_old_store_is_kept() {
    let (dir, path) = version_1();
    let original = dir.path().join("original.db");
    std::fs::copy(&path, &original).unwrap();
    SqliteStore::open(&path).unwrap();
    let backup = backup_path(&path, 1);
    assert_eq!(backup.file_name().unwrap(), "floor.db.v1.bak");
    assert_eq!(std::fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    check_same_rows(&original, &backup);
    let version: i64 =
        Connection::open(&backup).unwrap().pragma_query_value(None, "user_version", |r| r.get(0)).unwrap();
    assert_eq!(version, 1);
    // The copy opens by itself, as somebody who goes back would need it to.
    SqliteStore::open(&backup).unwrap().verify().unwrap();
}

#[test]
fn a_migrated_store_has_the_schema_of_a_new_one() {
    let (dir, path) = version_1();
    SqliteStore::open(&path).unwrap();
    let new = dir.path().join("new.db");
    SqliteStore::open(&new).unwrap();
    let schema = |path: &Path| -> Vec<(String, Vec<String>)> {
        let conn = Connection::open(path).unwrap();
        tables(&conn).into_iter().map(|t| (t.clone(), columns(&conn, &t))).collect()
    };
    assert_eq!(schema(&path), schema(&new));
}

#[test]
fn who_held_the_lease_under_the_old_schema_is_fenced() {
    let (_dir, path) = version_1();
    let mut store = SqliteStore::open(&path).unwrap();
    let commit =
        Commit { expected: Seq(3), entries: vec![entry("old")], lease: Some(5), ..Commit::default() };
    assert!(matches!(store.commit(&commit), Err(StoreError::Fenced)));
}

#[test]
fn many_may_migrate_at_once() {
    let (_dir, path) = version_1();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| SqliteStore::open(&path).unwrap().verify().unwrap());
        }
    });
    assert!(backup_path(&path, 1).exists());
}

#[test]
fn reading_does_not_migrate() {
    let (_dir, path) = version_1();
    let error = SqliteStore::open_read_only(&path).unwrap_err();
    assert!(matches!(error, StoreError::Older { found: 1, known: 9 }), "{error:?}");
    assert!(!backup_path(&path, 1).exists());
}

#[test]
fn what_belongs_to_one_state_of_a_job_moves_into_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floor.db");
    drop(SqliteStore::open(&path).unwrap());
    let conn = Connection::open(&path).unwrap();
    let rest =
        r#""release_at":9,"releasing":2,"held":true,"successor_due":true,"end_wanted":["cancelled","no"]"#;
    let jobs = [
        ("1", r#"{"state":"ended","end":"blocked"}"#),
        ("2", r#"{"state":"respawning"}"#),
        ("3", r#"{"state":"merging","entry":4}"#),
        ("4", r#"{"state":"working"}"#),
    ];
    for (key, state) in jobs {
        let doc = format!(r#"{{"id":{key},"state":{state},{rest}}}"#);
        let insert = "INSERT INTO state (kind, key, seq, doc) VALUES ('job', ?1, 1, ?2)";
        conn.execute(insert, [key, &doc]).unwrap();
    }
    // One that was removed, and one that is no job.
    conn.execute("INSERT INTO state (kind, key, seq, doc) VALUES ('job', '5', 1, NULL)", []).unwrap();
    conn.execute("INSERT INTO state (kind, key, seq, doc) VALUES ('x', '1', 1, '{\"held\":1}')", []).unwrap();
    conn.execute_batch("DROP TABLE shelf; DROP INDEX forge_issues_state").unwrap();
    // What later steps add is not there yet.
    conn.execute_batch("DROP TABLE gone; DELETE FROM meta WHERE key = 'tombstones_gone'").unwrap();
    conn.execute_batch("DROP INDEX journal_of_issue; DROP INDEX forge_prs_issue").unwrap();
    conn.pragma_update(None, "user_version", 5).unwrap();
    drop(conn);
    let mut store = SqliteStore::open(&path).unwrap();
    let (rows, _) = store.rows_since(Seq(0)).unwrap();
    let docs: Vec<Option<&str>> = rows.iter().map(|row| row.doc.as_deref()).collect();
    assert_eq!(
        docs,
        [
            Some(r#"{"id":1,"state":{"state":"ended","end":"blocked","release_at":9,"releasing":2}}"#),
            Some(r#"{"id":2,"state":{"state":"respawning","held":true,"successor_due":true}}"#),
            Some(r#"{"id":3,"state":{"state":"merging","entry":4,"end_wanted":["cancelled","no"]}}"#),
            Some(r#"{"id":4,"state":{"state":"working"}}"#),
            Some(r#"{"held":1}"#),
        ]
    );
}

#[test]
fn tombstones_of_an_older_store_go_as_those_of_a_new_one_do() {
    let (_dir, path) = version_1();
    let conn = Connection::open(&path).unwrap();
    conn.execute("INSERT INTO state (kind, key, seq, doc) VALUES ('job', 'gone', 2, NULL)", []).unwrap();
    drop(conn);
    let mut store = SqliteStore::open(&path).unwrap();
    let mut after = |seq| store.rows_since(Seq(seq)).map(|(_, newest)| newest);
    assert_eq!(after(1).unwrap(), Seq(3), "nothing was pruned yet");
    let expired = Expired { tombstones_before: Time(u64::MAX), ..Expired::default() };
    assert!(store.prune(&expired, Stage::Tombstones, false).unwrap().tombstones > 0);
    assert!(matches!(store.rows_since(Seq(1)), Err(StoreError::TooOld)));
}

#[test]
fn what_version_8_kept_is_found_by_the_indexes_of_version_9() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floor.db");
    let app: ProjectName = "app".parse().unwrap();
    let mut forge = ForgeDb::open(&path).unwrap();
    forge.init_project(&app).unwrap();
    let new = NewIssue { title: "Fix it".into(), author: "ann".into(), ..NewIssue::default() };
    let issue = forge.create_issue(&app, &new).unwrap();
    let pr = NewPr {
        title: "A change".into(),
        body: String::new(),
        branch: "fix/issue-1".into(),
        head: "a".repeat(40).parse().unwrap(),
        issue: Some(issue),
        author: "ann".into(),
    };
    let pr = forge.open_pr(&app, &pr).unwrap();
    forge.close_pr(&app, pr, None).unwrap();
    drop(forge);
    let mut store = SqliteStore::open(&path).unwrap();
    let said = |kind: &str| NewJournalEntry {
        kind: kind.into(),
        project: Some("app".into()),
        issue: Some(1),
        text: kind.into(),
        body: "{}".into(),
    };
    let commit = Commit { entries: vec![said("event"), said("job_started")], ..Commit::default() };
    store.commit(&commit).unwrap();
    drop(store);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("DROP INDEX journal_of_issue; DROP INDEX forge_prs_issue").unwrap();
    conn.pragma_update(None, "user_version", 8).unwrap();
    drop(conn);
    assert_eq!(ForgeDb::open(&path).unwrap().abandoned_pr(&app, issue).unwrap(), Some(pr));
    let filter = NoteFilter { project: Some("app".into()), issue: Some(1), ..NoteFilter::default() };
    let notes = SqliteStore::open(&path).unwrap().last_notes(&filter, 10).unwrap();
    let notes: Vec<_> = notes.iter().map(|note| note.kind.as_str()).collect();
    assert_eq!(notes, ["job_started"], "an event is no note");
}
