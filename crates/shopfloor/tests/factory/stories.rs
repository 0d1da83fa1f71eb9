//! Issues on their way to the primary branch, undisturbed but for what the agents do.

use crate::floor::{DEMO, Floor};
use shopfloor_core::state::End;

#[test]
fn issues_with_a_dependency_run_to_merged() {
    let floor = Floor::new(DEMO);
    let first = floor.issue("Say hello", "demo: write hello.txt <<hello");
    let second = floor.issue_after("Say more", "demo: append hello.txt <<and more", &[first]);
    let third = floor.issue("Say it elsewhere", "demo: write other.txt <<elsewhere");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("hello.txt"), "hello\nand more");
    assert_eq!(floor.landed("other.txt"), "elsewhere");
    floor.assert_history_green();
    for issue in [first, second, third] {
        assert_eq!(floor.job(issue).end(), Some(End::Merged));
        floor.assert_cleaned_up(issue);
    }
    // A dependent may begin as soon as its dependency has landed and is closed; the worktree is
    // still being tidied up then.
    let landed = floor.job(first).history.iter().find(|stage| stage.state == "finishing").unwrap().at;
    assert!(floor.job(second).created_at >= landed);
    // The user's own checkout followed.
    assert_eq!(floor.git(&["rev-parse", "HEAD"]), floor.hub(&["rev-parse", "main"]));
}

#[test]
fn a_red_check_and_a_review_are_worked_off() {
    let floor = Floor::new(DEMO);
    let red = floor.issue("Red first", "demo: fail-ci-once a.txt <<good");
    let rough = floor.issue("Rough first", "demo: fail-review-once b.txt <<polished");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("a.txt"), "good");
    assert_eq!(floor.landed("b.txt"), "polished");
    floor.assert_history_green();
    assert!(text.contains("ci result"), "{text}");
    assert_eq!(floor.job(rough).rounds.review_rounds, 1);
    let pr = floor.job(red).pr.expect("a pull request");
    let statuses = floor.forge().pr(&floor.project, pr).expect("the pull request").statuses;
    assert_eq!(statuses.len(), 1, "{statuses:?}");
}

#[test]
fn changes_that_collide_are_resolved_by_their_agents() {
    let floor = Floor::new(DEMO);
    let issues = [
        floor.issue("One", "demo: append list.txt <<one"),
        floor.issue("Two", "demo: append list.txt <<two"),
    ];
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    let list = floor.landed("list.txt");
    assert!(list.contains("one") && list.contains("two"), "{list}");
    floor.assert_history_green();
    for issue in issues {
        floor.assert_cleaned_up(issue);
    }
}

#[test]
fn agents_that_misbehave_do_not_stop_the_factory() {
    let floor = Floor::new(DEMO);
    let fine = [
        floor.issue("Crashes", "demo: crash-once\ndemo: write crash.txt <<survived"),
        floor.issue("Forgets to push", "demo: no-push\ndemo: write push.txt <<pushed"),
        floor.issue("Leaves", "demo: leave\ndemo: fail-ci-once leave.txt <<back again"),
        floor.issue("Writes nonsense", "demo: garbage-phase\ndemo: write sense.txt <<sense"),
        floor.issue("Bad reviewer", "demo: bad-review-once\ndemo: write review.txt <<reviewed"),
        floor.issue("Dead reviewer", "demo: reviewer-dies-once\ndemo: write dead.txt <<reviewed"),
    ];
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    for (file, content) in [
        ("crash.txt", "survived"),
        ("push.txt", "pushed"),
        ("leave.txt", "back again"),
        ("sense.txt", "sense"),
        ("review.txt", "reviewed"),
        ("dead.txt", "reviewed"),
    ] {
        assert_eq!(floor.landed(file), content, "{text}");
    }
    floor.assert_history_green();
    for issue in fine {
        floor.assert_cleaned_up(issue);
    }
}

#[test]
fn what_cannot_be_done_ends_blocked_with_one_comment() {
    let floor = Floor::new(DEMO);
    let gives_up = floor.issue("Gives up", "demo: give-up <<too hard");
    let crashes = floor.issue("Crashes", "demo: crash-always");
    let empty = floor.issue("Empty", "demo: empty");
    let waits = floor.issue_after("Waits", "demo: write x.txt <<x", &[gives_up]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    for (issue, end, why) in [
        (gives_up, End::Failed, "too hard"),
        (crashes, End::Blocked, "successors were tried"),
        (empty, End::Blocked, "its branch is empty"),
    ] {
        let job = floor.job(issue);
        assert_eq!(job.end(), Some(end), "{text}");
        assert!(job.reason.as_deref().unwrap_or("").contains(why), "{:?}", job.reason);
        let seen = floor.forge().issue(&floor.project, issue).expect("the issue");
        assert!(seen.labels.iter().any(|l| l == "blocked"), "{:?}", seen.labels);
        assert_eq!(seen.comments.len(), 1, "{:?}", seen.comments);
        // What was there is kept.
        assert!(job.worktree.as_deref().is_some_and(|w| std::path::Path::new(w).exists()));
    }
    let told = floor.forge().issue(&floor.project, crashes).expect("the issue").comments.remove(0).body;
    let rescue = floor.job(crashes).rescue.expect("what it left is kept");
    for part in [
        rescue.as_str(),
        "last output:",
        "demo agent, session",
        "To reproduce it: give `sessions/e",
        "To try again:",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(floor.clone_git(&["show", &format!("{rescue}:half-done.tmp")]), "interrupted");
    assert!(floor.engine().floor().job_of(&floor.project, waits).is_none(), "its dependency is open");
}

#[test]
fn a_question_is_asked_and_the_answer_used() {
    let floor = Floor::new(DEMO);
    let issue = floor.issue("Which?", "demo: ask <<A or B?\ndemo: write choice.txt <<{answer}");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "it waits for a person: {text}");
    assert!(text.contains("A or B?"), "{text}");
    // The session lives on without a daemon, and is taken up again.
    let before = floor.job(issue).session;
    floor.ok(&["answer", &issue.to_string(), "B"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("choice.txt"), "B");
    assert_eq!(floor.job(issue).last_session, before, "adopted, not restarted");
    // First answer wins.
    assert_eq!(floor.run(&["answer", &issue.to_string(), "A"]).status.code(), Some(4));
}

#[test]
fn a_project_made_while_the_daemon_runs_is_worked_on_and_a_bad_one_holds_up_nobody() {
    let floor = Floor::new(DEMO);
    floor.ok(&["up", "--detach"]);
    let issue = floor.issue("While it runs", "demo: write runs.txt <<yes");
    let other = floor.path("other");
    let copy = ["clone", "--quiet", "--origin", "first", ".", other.to_str().expect("UTF-8")];
    floor.git(&copy);
    let in_other = |args: &[&str]| {
        let output = floor.command(args).current_dir(&other).output().expect("the binary runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    in_other(&["init", "--name", "other"]);
    in_other(&["issue", "add", "New here", "--label", "backlog"]);
    floor.ok(&["down"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("runs.txt"), "yes");
    assert_eq!(floor.job(issue).end(), Some(End::Merged));
    let engine = floor.engine();
    let ends: Vec<_> = engine.floor().jobs.iter().map(|j| (j.project.to_string(), j.end())).collect();
    assert!(ends.contains(&("other".to_owned(), Some(End::Merged))), "{ends:?}");

    // One whose repository is gone is passed over, and said.
    std::fs::remove_dir_all(&other).expect("removed");
    let second = floor.issue("Goes on", "demo: write on.txt <<yes");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("nothing new is started in other"), "{text}");
    floor.assert_cleaned_up(second);
}

#[test]
fn another_try_begins_where_the_primary_branch_is_now() {
    let floor = Floor::new(DEMO);
    let issue = floor.issue("Gives up first", "demo: give-up <<not yet");
    assert_eq!(floor.until_idle().0, 3);
    std::fs::write(floor.path("repo/later.txt"), "later\n").expect("written");
    floor.git(&["add", "later.txt"]);
    floor.git(&["commit", "--quiet", "-m", "later"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    let number = issue.to_string();
    floor.ok(&["issue", "edit", &number, "--body", "demo: write again.txt <<done"]);
    floor.ok(&["issue", "label", &number, "--remove", "blocked", "--add", "backlog"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!((floor.landed("again.txt"), floor.landed("later.txt")), ("done".into(), "later".into()));
}

#[test]
fn checks_cannot_push() {
    let config = DEMO.to_owned();
    let floor = Floor::new(&config);
    let hub = floor.home().join("projects/sample/hub.git");
    let check = format!("#!/bin/sh\ngit push {} HEAD:refs/heads/main && exit 0\nexit 7\n", hub.display());
    std::fs::write(floor.path("repo/check.sh"), check).expect("written");
    floor.git(&["commit", "--quiet", "-am", "a check that pushes"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    let before = floor.hub(&["rev-parse", "main"]);
    floor.issue("Anything", "demo: write x.txt <<x");
    assert_eq!(floor.until_idle().0, 3);
    assert_eq!(floor.hub(&["rev-parse", "main"]), before);
}

#[test]
fn a_refusal_leads_to_what_its_reason_says() {
    let floor = Floor::new(DEMO);
    let first = floor.issue("First", "demo: ask <<Go?\ndemo: write first.txt <<{answer}");
    let waits = floor.issue("Waits", &format!("demo: give-up <<blocked_by #{first}"));
    let large = floor.issue("Large", "demo: give-up <<too_large: three changes in one");
    let done = floor.issue("Done", "demo: give-up <<already_done, see #1");
    let fails = floor.issue("Fails", "demo: give-up <<it is beyond me");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    let issue = |number| floor.forge().issue(&floor.project, number).expect("the issue");
    assert_eq!(issue(waits).labels, ["backlog"], "it is begun again when #{first} is closed");
    assert!(floor.ok(&["explain", &waits.to_string()]).contains(&format!("#{first}")));
    assert_eq!(issue(large).labels, ["underspecified"]);
    assert_eq!(issue(done).labels, ["blocked"], "closing it is a person's, unless configured otherwise");
    assert_eq!(issue(fails).labels, ["blocked"]);
    for number in [waits, large, done, fails] {
        assert_eq!(issue(number).comments.len(), 1, "said once: {:?}", issue(number).comments);
    }
    // What went wrong is on record, once; a refusal that the factory acts upon is nothing wrong.
    let record = floor.home().join("escalations-sample.jsonl");
    let record = std::fs::read_to_string(&record).unwrap_or_else(|e| panic!("{}: {e}", record.display()));
    let issues: Vec<&str> = record.lines().filter(|line| line.contains("it is beyond me")).collect();
    assert_eq!(issues.len(), 1, "{record}");
    // The one it waited for lands, and it is taken up again (and refuses again: nothing it needs is open).
    floor.ok(&["answer", &first.to_string(), "yes"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert_eq!(floor.landed("first.txt"), "yes");
    assert_eq!(issue(waits).labels, ["blocked"], "{text}");
}
