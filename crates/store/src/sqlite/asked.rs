//! What statements walk over: what they are asked for, however much else there is; and that they stay prepared.

use super::count::{Counts, counted};
use super::*;
use crate::NewJournalEntry;
use crate::forge::{ForgeDb, NewIssue, NewPr};
use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, StatementStatus};
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName};
use tempfile::TempDir;

const FEW: usize = 5;
const MANY: usize = 500;

fn app() -> ProjectName {
    "app".parse().unwrap()
}

/// A journal with so many notes on other issues, and two on issue 7.
fn journal(others: usize) -> (TempDir, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(&dir.path().join("floor.db")).unwrap();
    let entry = |kind: &str, issue: u64| NewJournalEntry {
        kind: kind.into(),
        project: Some("app".into()),
        issue: Some(issue),
        text: String::new(),
        body: "{}".into(),
    };
    let mine = || [entry("job_started", 7), entry("event", 7)];
    let rest = (0..others).flat_map(|n| [entry("event", 7), entry("job_started", 100 + n as u64)]);
    let entries = mine().into_iter().chain(rest).chain(mine()).collect();
    store.commit(&Commit { entries, ..Commit::default() }).unwrap();
    (dir, store)
}

#[test]
fn what_is_said_of_an_issue_is_found_without_walking_the_journal() {
    let filter = NoteFilter { project: Some("app".into()), issue: Some(7), ..NoteFilter::default() };
    let [few, many] = [FEW, MANY].map(|others| {
        let (_dir, mut store) = journal(others);
        let (notes, counts) = counted(|| store.last_notes(&filter, 10).unwrap());
        assert_eq!(notes.len(), 2);
        counts
    });
    assert_eq!(few, many, "with {FEW} and with {MANY} other notes");
}

#[test]
fn the_notes_of_a_project_or_of_all_are_the_same_as_ever() {
    let (_dir, mut store) = journal(3);
    let mut seen = |project: Option<&str>, issue| {
        let filter = NoteFilter { project: project.map(Into::into), issue, ..NoteFilter::default() };
        store.last_notes(&filter, 100).unwrap().iter().map(|note| note.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(seen(None, None), [1, 4, 6, 8, 9]);
    assert_eq!(seen(Some("app"), None), [1, 4, 6, 8, 9]);
    assert_eq!((seen(Some("app"), Some(7)), seen(None, Some(7))), (vec![1, 9], vec![1, 9]));
    assert_eq!((seen(Some("web"), None), seen(Some("web"), Some(7))), (vec![], vec![]));
}

/// A forge with so many pull requests that were given up, each for an issue of its own.
fn given_up(count: usize) -> (TempDir, ForgeDb) {
    let dir = tempfile::tempdir().unwrap();
    let mut forge = ForgeDb::open(&dir.path().join("floor.db")).unwrap();
    forge.init_project(&app()).unwrap();
    for n in 0..count {
        let new = NewIssue { title: format!("{n}"), body: "It is wanted.".into(), ..NewIssue::default() };
        let issue = forge.create_issue(&app(), &new).unwrap();
        let pr = NewPr {
            title: "A change".into(),
            body: String::new(),
            branch: format!("fix/issue-{issue}"),
            head: "a".repeat(40).parse().unwrap(),
            issue: Some(issue),
            author: "ann".into(),
        };
        let pr = forge.open_pr(&app(), &pr).unwrap();
        forge.close_pr(&app(), pr, None).unwrap();
    }
    (dir, forge)
}

#[test]
fn what_was_given_up_for_an_issue_is_found_without_walking_all_pull_requests() {
    let [few, many] = [FEW, MANY / 5].map(|count| {
        let (_dir, mut forge) = given_up(count);
        let (found, counts) = counted(|| forge.abandoned_pr(&app(), IssueNumber(3)).unwrap());
        assert_eq!(found, Some(PrNumber(4)));
        assert_eq!(counted(|| forge.abandoned_pr(&app(), IssueNumber(2)).unwrap()).0, None);
        counts
    });
    assert_eq!(few, many);
}

#[test]
fn a_page_of_issues_is_read_with_as_many_statements_as_one() {
    let (_dir, mut forge) = given_up(40);
    let mut read = |numbers: &[u64]| {
        let numbers: Vec<_> = numbers.iter().map(|n| IssueNumber(*n)).collect();
        counted(|| forge.issues_without_comments(&app(), &numbers).unwrap())
    };
    let ((one, few), (all, many)) = (read(&[1]), read(&(1..=80).collect::<Vec<_>>()));
    assert_eq!((one.len(), all.len()), (1, 40), "every other number is a pull request");
    assert_eq!(few.statements, many.statements);
    assert!(many.scanned <= 2 * 80, "only the numbers themselves are walked: {many:?}");
    let (few, many) = (few.instructions, many.instructions);
    assert!(many < 80 * few, "{few} and {many}");
}

/// Every index that has only some of the rows, with a statement that needs it.
#[test]
fn statements_use_the_indexes_of_some_of_the_rows() {
    let dir = tempfile::tempdir().unwrap();
    let conn = connect(&dir.path().join("floor.db")).unwrap();
    let cases = [
        ("forge_issues_marker", "SELECT number FROM forge_issues WHERE project = ?1 AND marker = ?2"),
        (
            "forge_comments_marker",
            "SELECT id FROM forge_comments WHERE project = ?1 AND number = ?2 AND marker = ?3",
        ),
        (
            "forge_prs_open_branch",
            "SELECT number FROM forge_prs WHERE project = ?1 AND branch = ?2 AND state = 'open'",
        ),
        ("forge_prs_issue", "SELECT number FROM forge_prs WHERE project = ?1 AND issue = ?2"),
        ("shelf_branch", "SELECT label FROM shelf WHERE branch = ?1"),
        (
            "journal_of_issue",
            "SELECT text FROM journal WHERE project = ?1 AND issue = ?2 AND kind <> 'event' AND seq > ?3",
        ),
    ];
    for (index, sql) in cases {
        let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = plan.raw_query().mapped(|row| row.get::<_, String>(3));
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert!(steps.iter().any(|step| step.contains(index)), "{sql}: {steps:?}");
    }
}

/// How often a kept statement was prepared anew after it was used three times, whose plan might depend on a value.
fn prepared_anew(conn: &Connection) -> i32 {
    let sql = "SELECT number FROM forge_prs WHERE project = ?1 AND branch = ?2 AND state = ?3";
    let statement = || -> CachedStatement<'_> { conn.prepare_cached(sql).unwrap() };
    for _ in 0..3 {
        let found = statement().query_row(["app", "main", "open"], |_| Ok(())).optional().unwrap();
        assert_eq!(found, None);
    }
    statement().get_status(StatementStatus::RePrepare)
}

#[test]
fn a_kept_statement_is_prepared_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floor.db");
    drop(connect(&path).unwrap());
    for conn in [connect(&path).unwrap(), connect_read_only(&path).unwrap()] {
        assert_eq!(prepared_anew(&conn), 0);
    }
    let conn = connect(&path).unwrap();
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, false).unwrap();
    assert!(prepared_anew(&conn) > 0, "SQLite does it otherwise");
}

#[test]
fn a_walk_over_a_whole_table_is_counted() {
    let (_dir, store) = journal(100);
    let ask = |sql: &str| -> Counts {
        counted(|| store.conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()).1
    };
    let walked = ask("SELECT count(*) FROM journal WHERE text = 'nothing'");
    assert_eq!((walked.rows, walked.statements), (1, 1));
    assert!(walked.scanned > 200, "{walked:?}");
    let found = ask("SELECT count(*) FROM journal WHERE seq = 3");
    assert_eq!(found.scanned, 0);
    assert!(found.instructions < walked.instructions / 5);
}
