//! Going on with what was begun, learning from what was given up, and who waits for whom.

use crate::floor::{DEMO, Floor};
use shopfloor_core::ids::{IssueNumber, PrNumber};
use shopfloor_core::state::End;
use shopfloor_store::forge::{NewPr, PrState};

/// Somebody's branch with one commit, and its pull request.
fn pull(floor: &Floor, issue: IssueNumber, branch: &str, file: &str) -> PrNumber {
    floor.git(&["checkout", "--quiet", "-b", branch]);
    std::fs::write(floor.path(&format!("repo/{file}")), "half\n").expect("written");
    floor.git(&["add", file]);
    floor.git(&["commit", "--quiet", "-m", "half of it"]);
    floor.git(&["push", "--quiet", "shopfloor", branch]);
    let head = floor.git(&["rev-parse", "HEAD"]).parse().expect("a commit");
    floor.git(&["checkout", "--quiet", "main"]);
    let new = NewPr {
        title: "Half of it".into(),
        body: "Done so far".into(),
        branch: branch.into(),
        head,
        issue: Some(issue),
        author: "alice".into(),
    };
    floor.forge().open_pr(&floor.project, &new).expect("a pull request")
}

const AGENT: &str = r#"
[agents.dev]
runtime = "generic"
command = ["sh", "-c", '''
set -eu
test "$SHOPFLOOR_BRANCH" = half-done
test "$(git symbolic-ref --short HEAD)" = half-done
grep -q "There is a pull request already" "$SHOPFLOOR_PROMPT_FILE"
grep -q "half.txt | 1 +" "$SHOPFLOOR_PROMPT_FILE"
echo whole >> half.txt
git commit -qam "the rest"
git push -q origin "$SHOPFLOOR_BRANCH"
shopfloor phase awaiting_ci
test "$(shopfloor inbox wait | head -n 1)" = "CI passed"
shopfloor phase awaiting_review
shopfloor inbox wait
shopfloor inbox wait
''']
[review]
required = false
[limits]
respawn_backoff = "10ms"
"#;

#[test]
fn an_open_pull_request_is_gone_on_with_on_its_own_branch() {
    let floor = Floor::new(AGENT);
    let issue = floor.issue("Do it", "All of it.");
    let pr = pull(&floor, issue, "half-done", "half.txt");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("half.txt"), "half\nwhole");
    let job = floor.job(issue);
    assert_eq!((job.end(), job.pr, job.branch.as_str()), (Some(End::Merged), Some(pr), "half-done"));
    let all = floor.forge().prs(&floor.project, None).expect("pull requests");
    assert_eq!(all.iter().map(|pr| pr.state).collect::<Vec<_>>(), [PrState::Merged]);
    assert_eq!(floor.hub(&["for-each-ref", "refs/heads/half-done"]), "");
    floor.assert_cleaned_up(issue);
}

#[test]
fn a_pull_request_that_was_given_up_is_told_and_a_new_one_is_written_from_the_issue() {
    let floor = Floor::new(DEMO);
    let issue = floor.issue("Do it", "The way it should be.\n\ndemo: write good.txt <<good");
    let old = pull(&floor, issue, "bad-idea", "bad.txt");
    floor.ok(&["pr", "review", &old.to_string(), "--request-changes", "--body", "Not like this."]);
    floor.ok(&["pr", "close", &old.to_string()]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    let session = floor.job(issue).last_session.expect("a session");
    let prompt = floor.home().join(format!("sessions/e{session}/prompt.md"));
    let prompt = std::fs::read_to_string(prompt).expect("a prompt");
    for expect in [
        &format!("Pull request #{old} (commit "),
        "Half of it",
        "was closed without being merged",
        "bad.txt | 1 +",
        "Not like this.",
    ] {
        assert!(prompt.contains(expect), "{expect}: {prompt}");
    }
    let new = floor.job(issue).pr.expect("another");
    assert_ne!(new, old);
    let shown = floor.forge().pr(&floor.project, new).expect("the pull request");
    assert_eq!(shown.title, format!("Do it (#{issue})"));
    assert!(shown.body.starts_with("The way it should be.\n\nFixes #"), "{}", shown.body);
    assert_eq!(floor.hub(&["ls-tree", "--name-only", "main", "bad.txt"]), "");
}

#[test]
fn who_waits_for_whose_files_is_told() {
    let floor = Floor::new(&DEMO.replace("max_jobs = 2", "max_jobs = 1"));
    let asks = floor.issue("Which?", "demo: ask <<A or B?\ndemo: write src/choice.txt <<{answer}");
    let waits = floor.issue("The same", "demo: append src/choice.txt <<and C");
    let other = floor.issue("Another", "demo: write src/other.txt <<other");
    assert_eq!(floor.until_idle().0, 3, "it waits for a person");
    let why = floor.ok(&["explain", &waits.to_string()]);
    let expect = format!("waits: likely touches src/choice.txt, which #{asks} is changing");
    assert!(why.contains(&expect), "{why}");
    // The one that does not collide takes the next slot, though it is younger.
    let toml = floor.path("repo/shopfloor.toml");
    let text = std::fs::read_to_string(&toml).expect("read").replace("max_jobs = 1", "max_jobs = 2");
    std::fs::write(&toml, text).expect("written");
    floor.ok(&["answer", &asks.to_string(), "B"]);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert!(floor.job(other).id < floor.job(waits).id);
    assert_eq!(floor.landed("src/choice.txt"), "B\nand C");
}
