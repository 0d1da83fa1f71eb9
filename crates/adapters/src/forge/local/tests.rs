use super::*;
use shopfloor_core::hints::Hints;
use shopfloor_core::time::Time;
use shopfloor_store::StoreError;
use shopfloor_store::forge::ForgeDb;
use std::path::Path;
use tempfile::TempDir;

fn app() -> ProjectName {
    "app".parse().unwrap()
}

fn db(path: &Path) -> ForgeDb {
    ForgeDb::open(path).unwrap().with_clock(|| Time(7))
}

/// The forge as the engine has it, and a person's own handle on the same data.
fn forge() -> (TempDir, LocalForge, ForgeDb) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floor.db");
    let mut person = db(&path);
    person.init_project(&app()).unwrap();
    (dir, LocalForges::new(Box::new(db(&path))).forge(&app()), person)
}

fn issue(title: &str, body: &str) -> NewIssueRow {
    NewIssueRow { title: title.into(), body: body.into(), author: "ann".into(), ..NewIssueRow::default() }
}

fn start() -> Cursor {
    Cursor::default()
}

#[test]
fn changes_say_what_is() {
    let (_dir, forge, mut person) = forge();
    assert_eq!(forge.changes(&start()).unwrap().cursor, start());
    person.create_issue(&app(), &issue("One", "")).unwrap();
    let mut new = issue("Two \x1b[31mred", "Depends on #1");
    new.labels = vec!["backlog".into()];
    person.create_issue(&app(), &new).unwrap();
    let page = forge.changes(&start()).unwrap();
    let expect = Observation::Issue {
        number: IssueNumber(2),
        title: "Two red".into(),
        labels: vec!["backlog".into()],
        open: true,
        deps: vec![IssueNumber(1)],
        created_at: Time(7),
        by: None,
        revision: Digest::new().field(b"Two \x1b[31mred").field(b"Depends on #1").finish(),
        version: Version::numbered(page.cursor.as_str().parse().unwrap()),
        hints: Hints::default(),
    };
    assert_eq!(page.observations.len(), 2);
    assert_eq!(page.observations[1], expect);
    let rest = forge.changes(&page.cursor).unwrap();
    assert_eq!((rest.cursor, rest.observations.len()), (page.cursor, 0));
}

#[test]
fn a_pull_request_is_for_its_issue_and_those_it_names() {
    let (_dir, forge, mut person) = forge();
    person.create_issue(&app(), &issue("One", "")).unwrap();
    let cursor = forge.changes(&start()).unwrap().cursor;
    let new = NewPrRow {
        title: "Both".into(),
        body: "Fixes #1, closes #7".into(),
        branch: "theirs".into(),
        head: "a".repeat(40).parse().unwrap(),
        issue: Some(IssueNumber(1)),
        author: "alice".into(),
    };
    let number = person.open_pr(&app(), &new).unwrap();
    // What whoever reviews it is told.
    let text = forge.pull_text(number).unwrap();
    assert_eq!(
        (text.author.as_str(), text.body.as_str(), text.issue),
        ("alice", new.body.as_str(), new.issue)
    );
    let seen = forge.changes(&cursor).unwrap().observations;
    assert_eq!(
        seen,
        [Observation::Pr {
            number,
            open: true,
            branch: "theirs".into(),
            head: Some(new.head.clone()),
            fixes: vec![IssueNumber(1), IssueNumber(7)],
            title: "Both".into(),
            ours: false,
            author: "alice".into(),
            labels: vec![],
            merged: None,
        }]
    );
}

#[test]
fn a_long_history_comes_in_pages() {
    let (_dir, forge, mut person) = forge();
    for n in 0..CHANGES_PAGE + 5 {
        person.create_issue(&app(), &issue(&format!("No. {n}"), "")).unwrap();
    }
    let first = forge.changes(&start()).unwrap();
    assert_eq!((first.observations.len(), first.more), (CHANGES_PAGE, true));
    let second = forge.changes(&first.cursor).unwrap();
    assert_eq!((second.observations.len(), second.more), (5, false));
    assert_eq!(forge.changes(&second.cursor).unwrap().observations.len(), 0);
}

#[test]
fn trouble_with_the_store_may_pass_and_another_forges_cursor_does_not_fit() {
    let (_dir, forge, mut person) = forge();
    assert!(matches!(port_error(ForgeError::Store(StoreError::Busy)), PortError::Transient(_)));
    let foreign = forge.changes(&Cursor::new("2026-11-15T10:00:00Z"));
    assert!(matches!(foreign, Err(PortError::Permanent { cause: Final::Config, .. })));
    person.create_issue(&app(), &issue("One", "")).unwrap();
    match forge.edit_labels(IssueNumber(1), &["blokced".into()], &[]) {
        Err(PortError::Permanent { why, .. }) => assert!(why.contains("did you mean \"blocked\""), "{why}"),
        other => panic!("{other:?}"),
    }
}
