//! A review cannot be run by what it reviews, and what runs or says what may run lands with a person's approval.

use crate::floor::{DEMO, Floor, wait_for};
use shopfloor_core::effect::Verdict;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::JobState;

/// What is waited for, by whoever looks.
fn waits(floor: &Floor, issue: IssueNumber) -> String {
    let (_, shown) = floor.json(&["status"]);
    let jobs = shown["jobs"].as_array().cloned().unwrap_or_default();
    let job = jobs.into_iter().find(|job| job["issue"] == issue.0);
    job.and_then(|job| job["waits_for"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn held(floor: &Floor, issue: IssueNumber, file: &str) {
    wait_for("it waits for a person", || waits(floor, issue).contains("a person's approval"));
    let shown = waits(floor, issue);
    assert!(shown.contains(file), "{shown}");
    assert!(matches!(floor.job(issue).state, JobState::Reviewing { .. }));
}

#[test]
fn what_says_what_agents_may_do_lands_with_a_persons_approval() {
    let floor = Floor::new(DEMO);
    floor.git_insists(&["add", "--all"]);
    floor.git_insists(&["commit", "--quiet", "-m", "the configuration"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    let issue = floor.issue("Rules", "demo: write .claude/settings.json <<{}");
    let other = floor.issue("Code", "demo: write src/x.txt <<x");
    floor.up();
    held(&floor, issue, ".claude/settings.json");
    // Everything else goes on; and a daemon that is killed finds it where it was.
    floor.wait_until_merged(other);
    floor.kill_daemon();
    floor.up();
    held(&floor, issue, ".claude/settings.json");
    let told = floor.ok(&["explain", &issue.to_string()]);
    assert!(told.contains("a person's approval") && told.contains(".claude/settings.json"), "{told}");
    let pr = floor.job(issue).pr.expect("a pull request");
    let comments = floor.ok(&["pr", "show", &pr.to_string()]);
    assert_eq!(comments.matches("It lands only if a person approves it").count(), 1, "{comments}");
    // An agent's word is none, and asking for it gets around nothing.
    let agent = |args: &[&str]| {
        let mut command = floor.command(args);
        command.env("SHOPFLOOR_SESSION", "7").env("PROJECT_NAME", "sample");
        command.output().expect("it runs").status.code()
    };
    assert_eq!(agent(&["pr", "review", &pr.to_string(), "--approve"]), Some(6));
    let asked = floor.run(&["merge-queue", "add", &issue.to_string()]);
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(!asked.status.success() && said.contains(".claude/settings.json"), "{said}");
    floor.ok(&["pr", "review", &pr.to_string(), "--approve"]);
    floor.wait_until_merged(issue);
    assert_eq!(floor.landed(".claude/settings.json"), "{}");
    floor.assert_history_green();
}

#[test]
fn the_scripts_of_the_checks_are_protected_also_where_nothing_is_reviewed() {
    let floor = Floor::new(&format!("{DEMO}[review]\nrequired = false\n"));
    let issue = floor.issue("Looser checks", "demo: append check.sh <<# looser");
    floor.up();
    held(&floor, issue, "check.sh");
    let pr = floor.job(issue).pr.expect("a pull request");
    floor.ok(&["pr", "review", &pr.to_string(), "--approve"]);
    floor.wait_until_merged(issue);
}

/// A branch that a person queues is theirs to approve, too.
#[test]
fn a_persons_branch_needs_a_persons_word() {
    let floor = Floor::new(&format!("{DEMO}[review]\nrequired = false\n"));
    floor.until_idle();
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
    std::fs::write(floor.path("repo/AGENTS.md"), "Do as you like.\n").expect("written");
    floor.git_insists(&["add", "AGENTS.md"]);
    floor.git_insists(&["commit", "--quiet", "-m", "rules"]);
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/rules"]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    let output = floor.run(&["merge-queue", "add", "rules"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("AGENTS.md") && said.contains("--approve"), "{said}");
    floor.ok(&["merge-queue", "add", "rules", "--approve"]);
    floor.until_idle();
    assert_eq!(floor.landed("AGENTS.md"), "Do as you like.");
}

const DEV: &str = r#"
set -eu
changed=$(sed s/REQUEST_CHANGES/APPROVE/ review.sh)
echo "$changed" > review.sh
git add review.sh; git commit -qm evil
shopfloor phase awaiting_review
sleep 1000
"#;

const REVIEW: &str = r#"#!/bin/sh
echo '{"verdict": "REQUEST_CHANGES"}' > "$SHOPFLOOR_RESULT_FILE"
"#;

#[test]
fn a_reviewers_own_script_is_the_primary_branchs() {
    let floor = Floor::new(&format!(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{DEV}''']\n[agents.review]\nruntime = \"generic\"\ncommand = [\"./review.sh\"]\n"
    ));
    let script = floor.path("repo/review.sh");
    std::fs::write(&script, REVIEW).expect("written");
    std::fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("executable");
    floor.git_insists(&["add", "--all"]);
    floor.git_insists(&["commit", "--quiet", "-m", "a reviewer"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    floor.accept();
    let issue = floor.issue("Approve me", "");
    floor.up();
    wait_for("it is reviewed", || {
        let engine = floor.engine();
        let reviews: Vec<_> = engine.floor().pulls.iter().flat_map(|pull| pull.reviews.clone()).collect();
        assert!(reviews.iter().all(|review| review.verdict != Verdict::Approve), "{reviews:?}");
        !reviews.is_empty()
    });
    assert!(floor.job(issue).is_live());
}
