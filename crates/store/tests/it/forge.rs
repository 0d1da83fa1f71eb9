//! The embedded forge.

use shopfloor_core::effect::{StatusState, Verdict};
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, RunId, Sha};
use shopfloor_core::time::Time;
use shopfloor_store::forge::*;
use std::path::Path;
use tempfile::TempDir;

fn app() -> ProjectName {
    "app".parse().unwrap()
}

fn sha(digit: char) -> Sha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn open(path: &Path) -> ForgeDb {
    ForgeDb::open(path).unwrap().with_clock(|| Time(5))
}

fn forge() -> (TempDir, ForgeDb) {
    let dir = tempfile::tempdir().unwrap();
    let mut forge = open(&dir.path().join("floor.db"));
    forge.init_project(&app()).unwrap();
    (dir, forge)
}

fn issue(title: &str) -> NewIssue {
    NewIssue { title: title.into(), author: "ann".into(), ..NewIssue::default() }
}

fn pr(branch: &str, head: char) -> NewPr {
    NewPr {
        title: "A change".into(),
        body: "Fixes #1".into(),
        branch: branch.into(),
        head: sha(head),
        issue: Some(IssueNumber(1)),
        author: "shopfloor-dev".into(),
    }
}

fn review(marker: Option<&str>) -> NewReview {
    NewReview {
        head: sha('a'),
        verdict: Verdict::RequestChanges,
        text: "No".into(),
        author: "bob".into(),
        marker: marker.map(Into::into),
    }
}

/// The changes after a cursor, and the next cursor.
fn changes(forge: &mut ForgeDb, cursor: &mut u64) -> Vec<(&'static str, u64)> {
    let changes = forge.changes(&app(), *cursor, 100).unwrap();
    *cursor = changes.last().map_or(*cursor, |c| c.seq);
    changes.into_iter().map(|c| (c.kind.as_str(), c.number)).collect()
}

#[test]
fn issues_and_pull_requests_share_numbers_within_a_project() {
    let (_dir, mut forge) = forge();
    let other: ProjectName = "other".parse().unwrap();
    forge.init_project(&other).unwrap();
    assert_eq!(forge.create_issue(&app(), &issue("One")).unwrap(), IssueNumber(1));
    assert_eq!(forge.open_pr(&app(), &pr("b", 'a')).unwrap(), PrNumber(2));
    assert_eq!(forge.create_issue(&app(), &issue("Three")).unwrap(), IssueNumber(3));
    assert_eq!(forge.create_issue(&other, &issue("One")).unwrap(), IssueNumber(1));
    assert!(matches!(forge.issue(&app(), IssueNumber(2)), Err(ForgeError::NoSuchIssue(IssueNumber(2)))));
    assert!(matches!(forge.pr(&app(), PrNumber(1)), Err(ForgeError::NoSuchPr(PrNumber(1)))));
    let nobody: ProjectName = "nobody".parse().unwrap();
    assert!(matches!(forge.create_issue(&nobody, &issue("x")), Err(ForgeError::NoSuchProject(_))));
    assert!(matches!(forge.issues(&nobody, &IssueFilter::default()), Err(ForgeError::NoSuchProject(_))));
}

#[test]
fn an_issue_is_kept_as_given() {
    let (_dir, mut forge) = forge();
    forge.create_issue(&app(), &issue("First")).unwrap();
    let new = NewIssue {
        title: "  Sëcond \x1b[31m\0 ".into(),
        body: "Text\0 with NUL\n\nDepends on #1\n".into(),
        author: "ann".into(),
        labels: vec!["priority".into(), "backlog".into(), "backlog".into()],
        deps: vec![IssueNumber(1)],
    };
    let number = forge.create_issue(&app(), &new).unwrap();
    let kept = forge.issue(&app(), number).unwrap();
    assert_eq!(kept.title, "Sëcond \x1b[31m");
    // It names its dependency itself, so there is no second list.
    assert_eq!(kept.body, "Text with NUL\n\nDepends on #1\n");
    assert_eq!(kept.labels, ["backlog", "priority"]);
    assert_eq!((kept.state, kept.created_at, kept.closed_at), (IssueState::Open, Time(5), None));
    let json = serde_json::to_value(&kept).unwrap();
    assert_eq!(json["state"], "open");
    assert_eq!(json["number"], 2);
    assert_eq!(json["comments"], serde_json::json!([]));
}

#[test]
fn dependencies_go_into_the_body() {
    let (_dir, mut forge) = forge();
    for n in 1..=3 {
        forge.create_issue(&app(), &issue(&n.to_string())).unwrap();
    }
    let deps = vec![IssueNumber(3), IssueNumber(1), IssueNumber(3)];
    let new = NewIssue { body: "Do it.\n".into(), deps, ..issue("Four") };
    let number = forge.create_issue(&app(), &new).unwrap();
    let body = forge.issue(&app(), number).unwrap().body;
    assert_eq!(body, "Do it.\n\n## Dependencies\n- #1\n- #3\n");
    assert_eq!(shopfloor_core::deps::parse(&body), [IssueNumber(1), IssueNumber(3)]);
    let new = NewIssue { deps: vec![IssueNumber(9)], ..issue("Five") };
    assert!(matches!(forge.create_issue(&app(), &new), Err(ForgeError::NoSuchIssue(IssueNumber(9)))));
    // A refused issue takes no number.
    assert_eq!(forge.create_issue(&app(), &issue("Five")).unwrap(), IssueNumber(5));
}

#[test]
fn texts_are_bounded_and_the_error_says_how() {
    let (_dir, mut forge) = forge();
    let check = |forge: &mut ForgeDb, new: NewIssue, expect: &str| {
        assert_eq!(forge.create_issue(&app(), &new).unwrap_err().to_string(), expect);
    };
    check(&mut forge, issue(" \0\n"), "issue title is empty");
    check(&mut forge, issue("a\nb"), "issue title must be one line");
    check(&mut forge, issue(&"ä".repeat(301)), "issue title has 301 characters; at most 300 are allowed");
    let new = NewIssue { body: "x".repeat(BODY_BYTES_MAX + 1), ..issue("t") };
    check(&mut forge, new, "issue body has 1048577 bytes; at most 1048576 are allowed");
    let new = NewIssue { body: "x".repeat(BODY_BYTES_MAX), ..issue(&"ä".repeat(300)) };
    let number = forge.create_issue(&app(), &new).unwrap();
    let big = "x".repeat(BODY_BYTES_MAX + 1);
    assert!(matches!(
        forge.comment(&app(), number, "ann", &big, None),
        Err(ForgeError::TooLong { what: "comment", .. })
    ));
    assert!(matches!(forge.comment(&app(), number, "ann", " \n", None), Err(ForgeError::Empty { .. })));
    assert!(forge.edit_issue(&app(), number, Some("a\rb"), None).is_err());
}

#[test]
fn unknown_labels_are_refused_with_a_hint() {
    let (_dir, mut forge) = forge();
    forge.create_issue(&app(), &issue("One")).unwrap();
    let hint = |forge: &mut ForgeDb, name: &str| match forge.edit_labels(&app(), IssueNumber(1), &[name], &[])
    {
        Err(ForgeError::UnknownLabel { known, nearest, .. }) => {
            assert_eq!(known.len(), DEFAULT_LABELS.len());
            nearest
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(hint(&mut forge, "baclkog").as_deref(), Some("backlog"));
    assert_eq!(hint(&mut forge, "In-Progress").as_deref(), Some("in-progress"));
    assert_eq!(hint(&mut forge, "frontend"), None);
    let error =
        forge.create_issue(&app(), &NewIssue { labels: vec!["visoin".into()], ..issue("x") }).unwrap_err();
    assert!(error.to_string().starts_with(
        "there is no label \"visoin\" (did you mean \"vision\"?); this project has action, backlog, "
    ));
    assert!(forge.create_label(&app(), "frontend").unwrap());
    assert!(!forge.create_label(&app(), "frontend").unwrap());
    forge.edit_labels(&app(), IssueNumber(1), &["frontend"], &[]).unwrap();
    for bad in ["", " ", "a,b", "a\nb", &"x".repeat(51)] {
        assert!(forge.create_label(&app(), bad).is_err(), "{bad:?}");
    }
    // Made again, the project keeps what it has.
    forge.init_project(&app()).unwrap();
    assert_eq!(forge.labels(&app()).unwrap().len(), DEFAULT_LABELS.len() + 1);
}

#[test]
fn issues_are_listed_by_state_and_label() {
    let (_dir, mut forge) = forge();
    for n in 1..=4 {
        let labels = if n % 2 == 0 { vec!["backlog".to_owned()] } else { vec![] };
        forge.create_issue(&app(), &NewIssue { labels, ..issue(&n.to_string()) }).unwrap();
    }
    forge.close_issue(&app(), IssueNumber(4)).unwrap();
    let mut list = |state, label: Option<&str>| -> Vec<u64> {
        let filter = IssueFilter { state, label: label.map(Into::into), ..IssueFilter::default() };
        forge.issues(&app(), &filter).unwrap().iter().map(|i| i.number.0).collect()
    };
    assert_eq!(list(None, None), [1, 2, 3, 4]);
    assert_eq!(list(Some(IssueState::Open), None), [1, 2, 3]);
    assert_eq!(list(Some(IssueState::Open), Some("backlog")), [2]);
    assert_eq!(list(None, Some("backlog")), [2, 4]);
    assert_eq!(list(None, Some("vision")), [0; 0]);
    let typo = IssueFilter { label: Some("backlgo".into()), ..IssueFilter::default() };
    assert!(matches!(forge.issues(&app(), &typo), Err(ForgeError::UnknownLabel { .. })));
}

#[test]
fn a_marked_comment_is_posted_once() {
    let (dir, mut forge) = forge();
    forge.create_issue(&app(), &issue("One")).unwrap();
    forge.create_issue(&app(), &issue("Two")).unwrap();
    let post =
        |forge: &mut ForgeDb, n, marker| forge.comment(&app(), IssueNumber(n), "ann", "Hi", marker).unwrap();
    let first = post(&mut forge, 1, Some("m1"));
    // Another process, after a crash.
    let mut again = open(&dir.path().join("floor.db"));
    assert_eq!(post(&mut again, 1, Some("m1")), first);
    post(&mut forge, 1, Some("m2"));
    post(&mut forge, 2, Some("m1"));
    post(&mut forge, 1, None);
    post(&mut forge, 1, None);
    assert_eq!(forge.issue(&app(), IssueNumber(1)).unwrap().comments.len(), 4);
    assert_eq!(forge.issue(&app(), IssueNumber(2)).unwrap().comments.len(), 1);
    assert!(matches!(
        forge.comment(&app(), IssueNumber(9), "ann", "Hi", Some("m1")),
        Err(ForgeError::NoSuchIssue(_))
    ));
}

#[test]
fn a_branch_has_one_open_pull_request() {
    let (_dir, mut forge) = forge();
    forge.create_issue(&app(), &issue("One")).unwrap();
    let first = forge.open_pr(&app(), &pr("fix/issue-1", 'a')).unwrap();
    assert_eq!(forge.open_pr(&app(), &pr("fix/issue-1", 'a')).unwrap(), first);
    assert_eq!(forge.open_pr(&app(), &pr("fix/issue-1", 'b')).unwrap(), first);
    assert_eq!(forge.pr(&app(), first).unwrap().head, sha('b'));
    assert_ne!(forge.open_pr(&app(), &pr("other", 'a')).unwrap(), first);
    forge.close_pr(&app(), first, None).unwrap();
    assert_eq!(forge.pr(&app(), first).unwrap().state, PrState::Closed);
    let second = forge.open_pr(&app(), &pr("fix/issue-1", 'b')).unwrap();
    assert_ne!(second, first);
    forge.close_pr(&app(), second, Some(&sha('c'))).unwrap();
    forge.close_pr(&app(), second, Some(&sha('c'))).unwrap();
    forge.close_pr(&app(), second, None).unwrap();
    let merged = forge.pr(&app(), second).unwrap();
    assert_eq!((merged.state, merged.merged_commit), (PrState::Merged, Some(sha('c'))));
    assert!(matches!(forge.close_pr(&app(), second, Some(&sha('d'))), Err(ForgeError::AlreadyMerged { .. })));
    let open = forge.prs(&app(), Some(PrState::Open)).unwrap();
    assert_eq!(open.iter().map(|p| p.branch.as_str()).collect::<Vec<_>>(), ["other"]);
    assert_eq!(forge.prs(&app(), None).unwrap().len(), 3);
    let mut orphan = pr("x", 'a');
    orphan.issue = Some(IssueNumber(99));
    assert!(matches!(forge.open_pr(&app(), &orphan), Err(ForgeError::NoSuchIssue(_))));
}

#[test]
fn nobody_approves_their_own() {
    let (_dir, mut forge) = forge();
    forge.create_issue(&app(), &issue("One")).unwrap();
    let number = forge.open_pr(&app(), &pr("b", 'a')).unwrap();
    let by = |author: &str, verdict| NewReview { author: author.into(), verdict, ..review(None) };
    let own = forge.review(&app(), number, &by("shopfloor-dev", Verdict::Approve)).unwrap_err();
    assert!(own.to_string().contains("by shopfloor-dev, who cannot approve it"), "{own}");
    // It may say what is wrong with it, and others may approve.
    forge.review(&app(), number, &by("shopfloor-dev", Verdict::Discuss)).unwrap();
    forge.review(&app(), number, &by("bob", Verdict::Approve)).unwrap();
    assert_eq!(forge.pr(&app(), number).unwrap().reviews.len(), 2);
}

#[test]
fn reviews_and_statuses_belong_to_a_pull_request() {
    let (_dir, mut forge) = forge();
    forge.create_issue(&app(), &issue("One")).unwrap();
    let number = forge.open_pr(&app(), &pr("b", 'a')).unwrap();
    let id = forge.review(&app(), number, &review(Some("e7"))).unwrap();
    assert_eq!(forge.review(&app(), number, &review(Some("e7"))).unwrap(), id);
    let other = forge.review(&app(), number, &review(None)).unwrap();
    let kept = forge.review_by_id(&app(), number, id).unwrap();
    assert_eq!((kept.verdict, kept.author.as_str()), (Verdict::RequestChanges, "bob"));
    assert!(matches!(forge.review_by_id(&app(), number, 99), Err(ForgeError::NoSuchReview { id: 99, .. })));
    assert_eq!(forge.reviews(&app(), number, 1).unwrap()[0].id, other);
    let status = |context: &str, state, run| NewStatus {
        commit: sha('a'),
        context: context.into(),
        state,
        description: "text".into(),
        run: Some(RunId(run)),
    };
    forge.set_status(&app(), &status("ci", StatusState::Pending, 1)).unwrap();
    forge.set_status(&app(), &status("lint", StatusState::Success, 2)).unwrap();
    forge.set_status(&app(), &status("ci", StatusState::Failure, 3)).unwrap();
    let shown = forge.pr(&app(), number).unwrap();
    let seen: Vec<_> = shown.statuses.iter().map(|s| (s.context.as_str(), s.state, s.run)).collect();
    assert_eq!(
        seen,
        [("ci", StatusState::Failure, Some(RunId(3))), ("lint", StatusState::Success, Some(RunId(2)))]
    );
    let json = serde_json::to_value(&shown).unwrap();
    assert_eq!(json["reviews"][0]["verdict"], "REQUEST_CHANGES");
    assert_eq!(json["statuses"][0]["state"], "failure");
    assert_eq!(json["merged_commit"], serde_json::Value::Null);
    // Statuses are the head's: a new head starts without.
    forge.open_pr(&app(), &pr("b", 'b')).unwrap();
    assert!(forge.pr(&app(), number).unwrap().statuses.is_empty());
}

#[test]
fn changes_name_each_object_once_and_nothing_that_stayed() {
    let (_dir, mut forge) = forge();
    let mut cursor = 0;
    let one = forge.create_issue(&app(), &issue("One")).unwrap();
    forge.create_issue(&app(), &issue("Two")).unwrap();
    forge.edit_labels(&app(), one, &["backlog"], &[]).unwrap();
    forge.edit_issue(&app(), one, Some("Uno"), None).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), [("issue", 2), ("issue", 1)]);
    assert_eq!(changes(&mut forge, &mut cursor), []);
    // What is so already is no change.
    forge.edit_labels(&app(), one, &["backlog"], &["vision"]).unwrap();
    forge.edit_issue(&app(), one, Some("Uno"), Some("")).unwrap();
    forge.reopen_issue(&app(), one).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), []);
    forge.close_issue(&app(), one).unwrap();
    forge.close_issue(&app(), one).unwrap();
    let number = forge.open_pr(&app(), &pr("b", 'a')).unwrap();
    forge.open_pr(&app(), &pr("b", 'a')).unwrap();
    forge.review(&app(), number, &review(Some("m"))).unwrap();
    forge.review(&app(), number, &review(Some("m"))).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), [("issue", 1), ("pr", 3), ("review", 3)]);
    forge.comment(&app(), one, "ann", "Hi", Some("m")).unwrap();
    forge.close_pr(&app(), number, Some(&sha('b'))).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), [("issue", 1), ("pr", 3)]);
    // A reader from the start sees every object once, a page at a time.
    let mut from_start = Vec::new();
    let mut cursor = 0;
    while let Some(change) = forge.changes(&app(), cursor, 1).unwrap().pop() {
        cursor = change.seq;
        from_start.push((change.kind.as_str(), change.number));
    }
    assert_eq!(from_start, [("issue", 2), ("review", 3), ("issue", 1), ("pr", 3)]);
}

#[test]
fn a_migrated_forge_works() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floor.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(include_str!("fixtures/v1.sql")).unwrap();
    let mut forge = open(&path);
    let old = forge.issue(&app(), IssueNumber(1)).unwrap();
    assert_eq!((old.comments.len(), old.labels.len()), (2, 1));
    forge.comment(&app(), IssueNumber(1), "shopfloor", "Hi", Some("m")).unwrap();
    forge.comment(&app(), IssueNumber(1), "shopfloor", "Hi", Some("m")).unwrap();
    assert_eq!(forge.issue(&app(), IssueNumber(1)).unwrap().comments.len(), 3);
    let mut cursor = 0;
    changes(&mut forge, &mut cursor);
    forge.comment(&app(), IssueNumber(1), "ann", "Me too", None).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), [("issue", 1), ("comment", 1)]);
    assert_eq!(forge.create_issue(&app(), &issue("New")).unwrap(), IssueNumber(4));
    assert_eq!(forge.pr(&app(), PrNumber(3)).unwrap().reviews.len(), 1);
}

#[test]
fn a_persons_pull_request_needs_no_issue_follows_its_branch_and_is_told_things_once() {
    let (_dir, mut forge) = forge();
    let mut cursor = 0;
    let new = NewPr { issue: None, author: "ann".into(), ..pr("ann/fix", 'a') };
    let number = forge.open_pr(&app(), &new).unwrap();
    assert_eq!(forge.pr_summary(&app(), number).unwrap().issue, None);
    assert_eq!(changes(&mut forge, &mut cursor), [("pr", number.0)]);
    forge.move_pr(&app(), number, &sha('a')).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), []);
    forge.move_pr(&app(), number, &sha('b')).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), [("pr", number.0)]);
    let say = |forge: &mut ForgeDb, text: &str, marker: Option<&str>| {
        forge.comment_pr(&app(), number, "shopfloor", text, marker).unwrap()
    };
    let first = say(&mut forge, "one", Some("m"));
    assert_eq!(say(&mut forge, "again", Some("m")), first);
    assert_eq!(changes(&mut forge, &mut cursor), []);
    assert_ne!(say(&mut forge, "two", None), say(&mut forge, "three", None));
    assert_eq!(
        changes(&mut forge, &mut cursor),
        [("pr_comment", number.0); 2],
        "they are nobody's but people's"
    );
    forge.close_pr(&app(), number, None).unwrap();
    forge.move_pr(&app(), number, &sha('c')).unwrap();
    let shown = forge.pr(&app(), number).unwrap();
    assert_eq!(shown.head, sha('b'));
    let said: Vec<&str> = shown.comments.iter().map(|c| c.body.as_str()).collect();
    assert_eq!(said, ["one", "two", "three"]);
    assert!(forge.comment_pr(&app(), PrNumber(99), "a", "b", None).is_err());
}

#[test]
fn what_a_person_says_is_told_once_and_again_when_they_edit_it() {
    let (_dir, mut forge) = forge();
    let one = forge.create_issue(&app(), &issue("One")).unwrap();
    let mut cursor = 0;
    changes(&mut forge, &mut cursor);
    forge.comment(&app(), one, "shopfloor", "A question", Some("m")).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), [("issue", 1)], "the factory's own is no news");
    let id = forge.comment(&app(), one, "ann", "Yes", None).unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), [("issue", 1), ("comment", 1)]);
    let on = Subject::Issue(one);
    forge.edit_comment(&app(), on, id, "Yes").unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), []);
    forge.edit_comment(&app(), on, id, "No").unwrap();
    assert_eq!(changes(&mut forge, &mut cursor), [("comment", 1)]);
    assert_eq!(forge.comment_by_id(&app(), on, id).unwrap().body, "No");
    assert!(matches!(forge.edit_comment(&app(), on, 99, "x"), Err(ForgeError::NoSuchComment { .. })));
    assert!(matches!(forge.edit_comment(&app(), on, id, " "), Err(ForgeError::Empty { .. })));
}

#[test]
fn an_issue_with_a_marker_is_made_once() {
    let (_dir, mut forge) = forge();
    let make = |forge: &mut ForgeDb, marker| forge.create_issue_once(&app(), &issue("One"), marker).unwrap();
    let first = make(&mut forge, Some("m"));
    assert_eq!(make(&mut forge, Some("m")), first);
    assert_ne!(make(&mut forge, Some("n")), first);
    assert_ne!(make(&mut forge, None), make(&mut forge, None));
}
