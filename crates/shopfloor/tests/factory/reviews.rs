//! Reviews from end to end: one reviewer for a pull request, told what is new; what it asked for is taken
//! back when it approves; a person's word stands; what it suggests becomes one issue.

use crate::client::{FAST, wait_for};
use crate::floor::{DEMO, Floor};
use shopfloor_core::effect::Verdict;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::{End, JobState, Session, SessionState};
use shopfloor_store::forge::{IssueFilter, Pr};

fn reviewers(floor: &Floor, issue: IssueNumber) -> Vec<Session> {
    let engine = floor.engine();
    let mine = |s: &&Session| s.assignment.number() == Some(issue) && s.role.reviews();
    engine.floor().sessions.iter().filter(mine).cloned().collect()
}

fn pull(floor: &Floor, issue: IssueNumber) -> Pr {
    let pr = floor.job(issue).pr.expect("a pull request");
    floor.forge().pr(&floor.project, pr).expect("the pull request")
}

/// The prompt that a session began with, as it stands in its file.
fn prompt(floor: &Floor, session: &Session) -> String {
    let file = floor.home().join(format!("sessions/e{}/prompt.md", session.epoch));
    std::fs::read_to_string(file).expect("a prompt")
}

#[test]
fn the_same_session_reviews_again_what_it_asked_for() {
    let floor = Floor::with_clients(FAST);
    let issue = floor.issue("Rough first", "demo: fail-review-once a.txt <<polished");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("a.txt"), "polished");
    floor.assert_cleaned_up(issue);
    let sessions = reviewers(&floor, issue);
    assert_eq!(sessions.len(), 1, "one session for the pull request");
    let reviewer = &sessions[0];
    assert_eq!(
        (reviewer.state, reviewer.review.head.as_ref()),
        (SessionState::Ended, floor.job(issue).head.as_ref())
    );
    let prompts = floor.prompts(reviewer.epoch.0);
    assert!(prompts[0].starts_with("You review pull request #2 "), "{prompts:?}");
    assert_eq!(prompts[1..], ["Review again"]);
    // What it was shown: the whole change first, then only what is new.
    assert!(prompt(&floor, reviewer).contains("+FIXME polished"), "the change is in its prompt");
    let folder = floor.home().join(format!("sessions/e{}/own", reviewer.epoch));
    let told = std::fs::read_to_string(folder.join("hooks.jsonl")).expect("what it was told");
    assert!(told.contains("-FIXME polished\\n+polished"), "{told}");
    // The first result was put away, and is not the second.
    let results: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder")
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("result"))
        .collect();
    assert_eq!(results.len(), 2, "{results:?}");
    // On the forge: under its own name, with the commit each is of; its own request is taken back.
    let pr = pull(&floor, issue);
    assert_eq!(pr.author, "shopfloor-dev");
    let seen: Vec<_> = pr.reviews.iter().map(|r| (r.verdict, r.dismissed_at.is_some())).collect();
    assert_eq!(seen, [(Verdict::RequestChanges, true), (Verdict::Approve, false)]);
    for review in &pr.reviews {
        assert_eq!(review.author, "shopfloor-review");
        assert!(review.text.contains(&format!("<!-- reviewed: {} -->", review.head)), "{}", review.text);
    }
    assert_ne!(pr.reviews[0].head, pr.reviews[1].head);
    assert!(floor.ok(&["pr", "show", &pr.number.to_string()]).contains("dismissed"));
}

#[test]
fn a_reviewer_that_cannot_be_told_is_started_anew_with_what_was_said() {
    let floor = Floor::new(DEMO);
    let issue = floor.issue("Rough first", "demo: fail-review-once a.txt <<polished");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    let sessions = reviewers(&floor, issue);
    assert_eq!(sessions.len(), 2);
    let second = prompt(&floor, &sessions[1]);
    for expect in ["It was reviewed before", "say FIXME", "-FIXME polished", "### The whole change"] {
        assert!(second.contains(expect), "{expect}: {second}");
    }
    assert!(!prompt(&floor, &sessions[0]).contains("It was reviewed before"));
}

#[test]
fn a_reviewer_that_is_killed_after_its_verdict_is_replaced_if_it_is_needed() {
    let floor = Floor::with_clients(FAST);
    let issue = floor.issue("Dies at rest", "demo: fail-review-once a.txt <<polished");
    floor.up();
    let reviewer = wait_for("a verdict", || {
        let reviewer = reviewers(&floor, issue).pop()?;
        (reviewer.review.reviewed.is_some() && reviewer.review.reviewed == reviewer.review.head)
            .then_some(reviewer)
    });
    // Whether it rests, is on its way to the next head or at work on that.
    floor.tmux(&["kill-session", "-t", &format!("={}", reviewer.tmux)]);
    floor.wait_until_merged(issue);
    assert_eq!(floor.landed("a.txt"), "polished");
    let verdicts: Vec<_> = pull(&floor, issue).reviews.iter().map(|r| r.verdict).collect();
    assert_eq!(verdicts, [Verdict::RequestChanges, Verdict::Approve]);
}

#[test]
fn a_persons_request_for_changes_stands_until_that_person_is_content() {
    let floor = Floor::with_clients(FAST);
    let ann = crate::floor::person("ann");
    let issue = floor.issue("Asked by a person", "demo: dialog\ndemo: fail-review-once a.txt <<polished");
    floor.up();
    // Its agent waits in a dialog after its first signal: time for a person to look.
    let dev = wait_for("a session", || floor.engine().floor().job_of(&floor.project, issue)?.session).0;
    floor.held(dev, "a dialog is up");
    let pr = floor.job(issue).pr.expect("a pull request").to_string();
    let review = |verdict: &str| {
        let output =
            floor.command(&["pr", "review", &pr, verdict, "--body", "by me"]).env("USER", "ann").output();
        assert!(output.expect("it runs").status.success());
    };
    review("--request-changes");
    floor.send_keys(&floor.live(dev).tmux, "1");
    let explained = wait_for("the reviewer approves, and that is not enough", || {
        let explained = floor.ok(&["explain", &issue.to_string()]);
        explained.contains(&format!("waits for: {ann}, who asked for changes")).then_some(explained)
    });
    assert!(explained.contains("the reviewer approves"), "{explained}");
    assert!(matches!(floor.job(issue).state, JobState::Reviewing { .. }));
    let refused = floor.run(&["merge-queue", "add", &issue.to_string()]);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains(&format!("{ann} asked for changes")), "{said}");
    let comments = floor.forge().issue(&floor.project, issue).expect("the issue").comments;
    assert!(comments.iter().any(|c| c.body.contains(&format!("{ann} asked for changes"))), "{comments:?}");
    review("--approve");
    floor.wait_until_merged(issue);
    let mine: Vec<_> = pull(&floor, issue).reviews.into_iter().filter(|r| r.author == ann).collect();
    assert_eq!((mine[0].dismissed_at.is_some(), mine[1].verdict), (true, Verdict::Approve));
}

#[test]
fn what_reviewers_suggest_becomes_one_issue() {
    let floor = Floor::new(DEMO);
    let bodies = ["a", "b"].map(|n| {
        format!("demo: write {n}.txt <<{n}\ndemo: follow-up <<Tidy up the parser\ndemo: follow-up <<Name {n}")
    });
    let issues = bodies.map(|body| floor.issue("Suggests", &body));
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    for issue in issues {
        assert_eq!(floor.job(issue).end(), Some(End::Merged));
    }
    let filter = IssueFilter { label: Some("tech-debt".into()), ..IssueFilter::default() };
    let found = floor.forge().issues(&floor.project, &filter).expect("issues");
    let mut titles: Vec<&str> = found.iter().map(|issue| issue.title.as_str()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Name a", "Name b", "Tidy up the parser"]);
    assert!(found.iter().all(|i| !i.labels.iter().any(|l| l == "backlog")), "people decide about them");
}
