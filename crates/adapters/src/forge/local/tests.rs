use super::*;
use shopfloor_core::effect::Verdict;
use shopfloor_core::hints::Hints;
use shopfloor_core::time::Time;
use shopfloor_store::StoreError;
use std::path::Path;
use tempfile::TempDir;

fn app() -> ProjectName {
    "app".parse().unwrap()
}

fn sha(digit: char) -> Sha {
    digit.to_string().repeat(40).parse().unwrap()
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
    (dir, LocalForge::new(db(&path)), person)
}

fn issue(title: &str, body: &str) -> NewIssue {
    NewIssue { title: title.into(), body: body.into(), author: "ann".into(), ..NewIssue::default() }
}

fn review(markdown: &str) -> Review {
    Review { verdict: Verdict::Approve, reason: "Good".into(), markdown: markdown.into(), follow_ups: vec![] }
}

fn new_pr(head: &Sha) -> NewPr<'_> {
    NewPr { issue: IssueNumber(1), branch: "fix/issue-1", head }
}

#[test]
fn changes_say_what_is() {
    let (_dir, forge, mut person) = forge();
    assert_eq!(forge.changes(&app(), 0).unwrap().cursor, 0);
    person.create_issue(&app(), &issue("One", "")).unwrap();
    let mut new = issue("Two \x1b[31mred", "Depends on #1");
    new.labels = vec!["backlog".into()];
    person.create_issue(&app(), &new).unwrap();
    let page = forge.changes(&app(), 0).unwrap();
    let expect = Observation::Issue {
        number: IssueNumber(2),
        title: "Two red".into(),
        labels: vec!["backlog".into()],
        open: true,
        deps: vec![IssueNumber(1)],
        created_at: Time(7),
        revision: Digest::new().field(b"Two \x1b[31mred").field(b"Depends on #1").finish(),
        version: page.cursor,
        hints: Hints::default(),
    };
    assert_eq!(page.observations.len(), 2);
    assert_eq!(page.observations[1], expect);
    let rest = forge.changes(&app(), page.cursor).unwrap();
    assert_eq!((rest.cursor, rest.observations.len()), (page.cursor, 0));
}

#[test]
fn a_pull_request_goes_its_way_and_every_call_may_be_repeated() {
    let (_dir, forge, mut person) = forge();
    person
        .create_issue(&app(), &issue("Fix the parser", "## What\n\nIt panics.\n\n## Steps\n\n1. Parse"))
        .unwrap();
    let head = sha('a');
    let mut seen = Vec::new();
    let mut cursor = forge.changes(&app(), 0).unwrap().cursor;
    // Every call twice, as after a crash; the second shows nothing new.
    let calls: [&dyn Fn() -> PortResult<()>; 7] = [
        &|| forge.open_pr(&app(), &new_pr(&head)).map(|pr| assert_eq!(pr, PrNumber(2))),
        &|| forge.post_status(&app(), &head, RunId(1), StatusState::Success, "CI\npassed"),
        &|| forge.post_review(&app(), PrNumber(2), &head, "e1", &review("Fine.")),
        &|| forge.comment(&app(), IssueNumber(1), "m1", "Merged"),
        &|| forge.edit_labels(&app(), IssueNumber(1), &["blocked".into()], &["backlog".into()]).map(drop),
        &|| forge.close_pr(&app(), PrNumber(2), Some(&sha('b'))),
        &|| forge.close_issue(&app(), IssueNumber(1)),
    ];
    for call in calls {
        call().unwrap();
        let page = forge.changes(&app(), cursor).unwrap();
        cursor = page.cursor;
        seen.extend(page.observations);
        call().unwrap();
        assert_eq!(forge.changes(&app(), cursor).unwrap().observations, []);
    }
    let kinds: Vec<&str> = seen
        .iter()
        .map(|o| match o {
            Observation::Pr { open: true, .. } => "pr opened",
            Observation::Pr { open: false, .. } => "pr closed",
            Observation::Review { .. } => "review",
            Observation::Issue { open: true, .. } => "issue",
            Observation::Issue { open: false, .. } => "issue closed",
        })
        .collect();
    assert_eq!(kinds, ["pr opened", "review", "issue", "issue", "pr closed", "issue closed"]);
    let pr = person.pr(&app(), PrNumber(2)).unwrap();
    assert_eq!(pr.title, "Fix the parser (#1)");
    assert_eq!(pr.body, "It panics.\n\nFixes #1\n\n<!-- shopfloor: issue 1 -->");
    assert_eq!((pr.state, pr.merged_commit), (PrState::Merged, Some(sha('b'))));
    assert_eq!(pr.reviews[0].text, format!("Good\n\nFine.\n\n<!-- reviewed: {head} -->"));
    assert_eq!(
        (pr.statuses[0].context.as_str(), pr.statuses[0].description.as_str()),
        (STATUS_CONTEXT, "CI passed")
    );
    assert_eq!(person.issue(&app(), IssueNumber(1)).unwrap().labels, ["blocked"]);
}

#[test]
fn texts_for_agents_are_safe_and_bounded() {
    let (_dir, forge, mut person) = forge();
    let body = format!("\x1b]0;owned\x07Start\r\n{}", "x".repeat(200_000));
    person.create_issue(&app(), &issue("T\x1b[2Jitle", &body)).unwrap();
    for n in 1..=12 {
        person.comment(&app(), IssueNumber(1), "ann\x1b[1m", &format!("\x07No. {n}"), None).unwrap();
    }
    person.comment(&app(), IssueNumber(1), "ann", &"y".repeat(100_000), None).unwrap();
    let shown = forge.issue_text(&app(), IssueNumber(1)).unwrap();
    assert_eq!(shown.title, "Title");
    assert!(shown.body.starts_with("Start\nxxx") && shown.body.len() < ISSUE_BODY_BYTES_MAX + 100);
    assert_eq!(shown.comments.len(), COMMENTS_MAX);
    assert_eq!(shown.comments[0], "ann:\nNo. 4");
    assert!(shown.comments[9].len() < COMMENT_BYTES_MAX + 100);
    let head = sha('a');
    forge.open_pr(&app(), &new_pr(&head)).unwrap();
    for n in 1..=7 {
        let text = format!("\x1b[1m{n}{}", "z".repeat(2 * BODY_BYTES_MAX));
        forge.post_review(&app(), PrNumber(2), &head, &n.to_string(), &review(&text)).unwrap();
    }
    let reviews = forge.review_texts(&app(), PrNumber(2)).unwrap();
    assert_eq!(reviews.len(), REVIEWS_MAX);
    assert!(reviews[4].starts_with("APPROVE of aaaaaaaaaaaa by shopfloor-review:\nGood\n\n7zzz"));
    assert!(reviews.iter().all(|r| r.len() < REVIEW_BYTES_MAX + 200));
    for observation in forge.changes(&app(), 0).unwrap().observations {
        if let Observation::Review { text, .. } = observation {
            assert!(text.len() < REVIEW_BYTES_MAX + 100 && !text.contains('\x1b'));
        }
    }
}

#[test]
fn a_review_says_which_commit_it_is_of_and_what_it_suggests_becomes_one_issue() {
    let (_dir, forge, mut person) = forge();
    person.create_issue(&app(), &issue("Title", "")).unwrap();
    let head = sha('a');
    forge.open_pr(&app(), &new_pr(&head)).unwrap();
    let suggest = |title: &str| FollowUp { title: title.into(), body: "b".into() };
    let follow_ups = vec![suggest("Tidy up the parser"), suggest("tidy UP the parser")];
    let said = Review { follow_ups, ..review("Fine.") };
    // Performed again, and again by the next review.
    for marker in ["e1", "e1", "e2"] {
        forge.post_review(&app(), PrNumber(2), &head, marker, &said).unwrap();
    }
    assert!(
        forge.review_texts(&app(), PrNumber(2)).unwrap()[0].contains(&format!("<!-- reviewed: {head} -->"))
    );
    let filter = IssueFilter { label: Some("tech-debt".into()), ..IssueFilter::default() };
    let issues = person.issues(&app(), &filter).unwrap();
    let titles: Vec<&str> = issues.iter().map(|issue| issue.title.as_str()).collect();
    assert_eq!(titles, ["Tidy up the parser"]);
}

#[test]
fn the_reviewer_takes_back_its_own_requests_and_no_others() {
    let (_dir, forge, mut person) = forge();
    person.create_issue(&app(), &issue("Title", "")).unwrap();
    let (old, new) = (sha('a'), sha('b'));
    forge.open_pr(&app(), &new_pr(&old)).unwrap();
    let no = Review { verdict: Verdict::RequestChanges, ..review("No.") };
    forge.post_review(&app(), PrNumber(2), &old, "e1-a", &no).unwrap();
    let by_ann = NewReview {
        head: old.clone(),
        verdict: Verdict::RequestChanges,
        text: "No".into(),
        author: "ann".into(),
        marker: None,
    };
    person.review(&app(), PrNumber(2), &by_ann).unwrap();
    let cursor = forge.changes(&app(), 0).unwrap().cursor;
    forge.post_review(&app(), PrNumber(2), &new, "e1-b", &review("Yes.")).unwrap();
    let pr = person.pr(&app(), PrNumber(2)).unwrap();
    assert_eq!(pr.author, DEV_ACCOUNT);
    let seen: Vec<_> =
        pr.reviews.iter().map(|r| (r.author.as_str(), r.verdict, r.dismissed_at.is_some())).collect();
    assert_eq!(
        seen,
        [
            (REVIEW_ACCOUNT, Verdict::RequestChanges, true),
            ("ann", Verdict::RequestChanges, false),
            (REVIEW_ACCOUNT, Verdict::Approve, false),
        ]
    );
    // Whoever follows sees the approval, and that the other changed; who is an agent is said.
    let page = forge.changes(&app(), cursor).unwrap();
    let agents: Vec<bool> =
        page.observations.iter().map(|o| matches!(o, Observation::Review { agent: true, .. })).collect();
    assert_eq!(agents, [true, true]);
    forge.post_review(&app(), PrNumber(2), &new, "e1-b", &review("Yes.")).unwrap();
    assert_eq!(forge.changes(&app(), page.cursor).unwrap().observations, []);
}

#[test]
fn what_will_never_work_is_permanent() {
    let (_dir, forge, mut person) = forge();
    person.create_issue(&app(), &issue("One", "")).unwrap();
    let permanent = |result: PortResult<()>, says: &str| match result {
        Err(PortError::Permanent { why, .. }) => assert!(why.contains(says), "{why}"),
        other => panic!("{other:?}"),
    };
    permanent(forge.close_issue(&app(), IssueNumber(9)), "#9");
    permanent(
        forge.edit_labels(&app(), IssueNumber(1), &["blokced".into()], &[]).map(drop),
        "did you mean \"blocked\"",
    );
    permanent(forge.close_pr(&app(), PrNumber(9), None), "#9");
    permanent(forge.issue_text(&"nobody".parse().unwrap(), IssueNumber(1)).map(drop), "no issue");
    assert!(matches!(port_error(ForgeError::Store(StoreError::Busy)), PortError::Transient(_)));
}

#[test]
fn a_long_history_comes_in_pages() {
    let (_dir, forge, mut person) = forge();
    for n in 0..CHANGES_PAGE + 5 {
        person.create_issue(&app(), &issue(&format!("No. {n}"), "")).unwrap();
    }
    let first = forge.changes(&app(), 0).unwrap();
    assert_eq!(first.observations.len(), CHANGES_PAGE);
    let second = forge.changes(&app(), first.cursor).unwrap();
    assert_eq!(second.observations.len(), 5);
    assert_eq!(forge.changes(&app(), second.cursor).unwrap().observations.len(), 0);
}

#[test]
fn a_pull_request_that_was_given_up_is_found_again() {
    let (_dir, forge, mut person) = forge();
    person.create_issue(&app(), &issue("Fix the parser", "")).unwrap();
    assert_eq!(forge.abandoned_pull(&app(), IssueNumber(1)).unwrap(), None);
    for branch in ["fix/issue-1", "second-try"] {
        let head = sha('a');
        let pr = forge.open_pr(&app(), &NewPr { branch, ..new_pr(&head) }).unwrap();
        forge.post_status(&app(), &head, RunId(1), StatusState::Failure, "step \"test\" failed").unwrap();
        forge.close_pr(&app(), pr, None).unwrap();
    }
    let last = forge.abandoned_pull(&app(), IssueNumber(1)).unwrap();
    assert_eq!(last, Some(PrNumber(3)));
    let text = forge.pull_text(&app(), PrNumber(3)).unwrap();
    assert_eq!((text.title.as_str(), text.head), ("Fix the parser (#1)", sha('a')));
    assert_eq!(text.checks, ["shopfloor/ci on aaaaaaaaaaaa: failure, step \"test\" failed"]);
    // One that is open, or landed, was not given up.
    let merged = forge.open_pr(&app(), &new_pr(&sha('c'))).unwrap();
    assert_eq!(forge.abandoned_pull(&app(), IssueNumber(1)).unwrap(), last);
    forge.close_pr(&app(), merged, Some(&sha('d'))).unwrap();
    assert_eq!(forge.abandoned_pull(&app(), IssueNumber(1)).unwrap(), last);
}

#[test]
fn a_pull_request_is_for_its_issue_and_those_it_names() {
    let (_dir, forge, mut person) = forge();
    person.create_issue(&app(), &issue("One", "")).unwrap();
    let cursor = forge.changes(&app(), 0).unwrap().cursor;
    let new = NewPrRow {
        title: "Both".into(),
        body: "Fixes #1, closes #7".into(),
        branch: "theirs".into(),
        head: sha('a'),
        issue: Some(IssueNumber(1)),
        author: "alice".into(),
    };
    let number = person.open_pr(&app(), &new).unwrap();
    // What whoever reviews it is told.
    let text = forge.pull_text(&app(), number).unwrap();
    assert_eq!(
        (text.author.as_str(), text.body.as_str(), text.issue),
        ("alice", new.body.as_str(), new.issue)
    );
    let seen = forge.changes(&app(), cursor).unwrap().observations;
    let fixes = vec![IssueNumber(1), IssueNumber(7)];
    assert_eq!(
        seen,
        [Observation::Pr {
            number,
            open: true,
            branch: "theirs".into(),
            head: Some(new.head.clone()),
            fixes,
            title: "Both".into(),
            ours: false,
        }]
    );
}
