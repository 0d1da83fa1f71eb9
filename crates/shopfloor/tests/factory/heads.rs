//! Heads of agents' branches, and how they are checked: twice before they are called red, not at all by themselves,
//! on a primary branch that is red itself; and every commit of a branch where the project wants that.

use crate::branches::PEOPLE;
use crate::floor::Floor;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::End;

/// Writes a file, and reacts to what it is told as README says; what that is, it keeps.
const AGENT: &str = r#"
[agents.dev]
runtime = "generic"
command = ["sh", "-c", '''
set -eu
echo "$ISSUE" > "number-$ISSUE.txt"
git add -A; git commit -qm "number"
shopfloor phase awaiting_ci
while message=$(shopfloor inbox wait); do
    printf '%s\n' "$message" | head -n 1 >> "$SHOPFLOOR_HOME/told"
    case $message in
    "CI passed"*) shopfloor phase awaiting_review ;;
    "Review: APPROVE"*) shopfloor phase done ;;
    "CI waits"* | "PR not merged yet"*) ;;
    *) shopfloor phase failed --detail "what now?" ;;
    esac
done
''']
[review]
required = false
[limits]
respawns = 0
"#;

/// What is checked, and what for, is kept: a line for each run.
fn floor(config: &str, check: &str) -> Floor {
    let floor = Floor::new(config);
    let runs = floor.path("runs");
    let script =
        format!("#!/bin/sh\necho \"$SHOPFLOOR_PURPOSE $SHOPFLOOR_HEAD\" >> '{}'\n{check}\n", runs.display());
    std::fs::write(floor.path("repo/check.sh"), script).expect("written");
    floor.git(&["commit", "--quiet", "-am", "checks"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    floor
}

const BROKEN: &str = "! grep -rn BROKEN --include='*.txt' .";

/// What the runs were for, in order.
fn runs(floor: &Floor) -> Vec<String> {
    let text = std::fs::read_to_string(floor.path("runs")).unwrap_or_default();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The first lines of what the agent was told, but for what is a question of time: a reminder, and the approval, for its
/// change may land and its session end while it takes that.
fn told(floor: &Floor) -> Vec<String> {
    let text = std::fs::read_to_string(floor.home().join("told")).unwrap_or_default();
    let timely = |line: &&str| !["PR not merged yet", "Review: APPROVE"].contains(line);
    text.lines().filter(timely).map(str::to_owned).collect()
}

fn ci(floor: &Floor, settings: &str) {
    floor.configure(|text| text.replace("[ci]\n", &format!("[ci]\n{settings}")));
}

/// A person changes a file of the primary branch.
fn push_main(floor: &Floor, file: &str, content: &str) {
    std::fs::write(floor.path("repo").join(file), format!("{content}\n")).expect("written");
    floor.git_insists(&["add", file]);
    floor.git_insists(&["commit", "--quiet", "-m", &format!("{file}: {content}")]);
    floor.git_insists(&["push", "--quiet", "shopfloor", "main"]);
}

fn assert_landed(floor: &Floor, issue: IssueNumber) {
    assert_eq!(floor.job(issue).end(), Some(End::Merged));
    assert_eq!(floor.landed(&format!("number-{issue}.txt")), issue.to_string());
}

#[test]
fn a_head_that_fails_once_is_run_again_and_nobody_is_told() {
    let floor = floor(AGENT, "");
    let flag = floor.path("flaked");
    let script = std::fs::read_to_string(floor.path("repo/check.sh")).expect("read");
    let script = format!(
        "{script}ls number-*.txt >/dev/null 2>&1 || exit 0\n! mkdir '{}' 2>/dev/null\n",
        flag.display()
    );
    std::fs::write(floor.path("repo/check.sh"), script).expect("written");
    floor.git(&["commit", "--quiet", "-am", "flaky"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    let issue = floor.issue("Write a number", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_landed(&floor, issue);
    assert_eq!(told(&floor), ["CI passed"]);
    assert_eq!(runs(&floor), ["head", "head"], "its trial has the tree of its head");
    assert!(floor.ok(&["events", "--limit", "500"]).contains("times, then green"));
}

#[test]
fn a_job_on_a_red_primary_branch_waits_until_that_is_mended_and_is_blamed_for_nothing() {
    let floor = floor(AGENT, BROKEN);
    push_main(&floor, "main.txt", "BROKEN");
    let issue = floor.issue("Write a number", "");
    // Nothing goes on before somebody mends it.
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert_eq!(runs(&floor), ["head", "head", "base", "base"]);
    let (_, status) = floor.json(&["status"]);
    assert_eq!(status["jobs"][0]["state"], "parked", "{status}");
    let waits = status["jobs"][0]["waits_for"].as_str().unwrap_or_default().to_owned();
    assert!(waits.contains("to be fixed"), "{waits}");
    assert!(floor.ok(&["explain", &issue.to_string()]).contains("to be fixed"));
    assert_eq!((told(&floor), floor.job(issue).rounds.ci_fixes), (vec!["CI waits".to_owned()], 0));
    push_main(&floor, "main.txt", "mended");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_landed(&floor, issue);
    assert_eq!(told(&floor), ["CI waits", "CI passed"]);
    assert_eq!(runs(&floor)[4..], ["base", "trial"], "its head is not run once more");
}

#[test]
fn a_parked_job_that_is_cancelled_leaves_nothing_behind() {
    let floor = floor(AGENT, BROKEN);
    push_main(&floor, "main.txt", "BROKEN");
    let issue = floor.issue("Write a number", "");
    assert_eq!(floor.until_idle().0, 3);
    floor.ok(&["cancel", &issue.to_string()]);
    floor.until_idle();
    assert_eq!(floor.job(issue).end(), Some(End::Cancelled));
    let engine = floor.engine();
    assert!(engine.floor().queues.iter().all(|queue| queue.parked.is_empty()));
}

#[test]
fn where_heads_are_never_checked_the_one_run_is_that_of_the_merge() {
    let floor = floor(AGENT, BROKEN);
    ci(&floor, "heads = \"never\"\n");
    let issue = floor.issue("Write a number", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_landed(&floor, issue);
    assert_eq!((runs(&floor), told(&floor)), (vec!["trial".into()], vec!["CI passed".into()]));
}

#[test]
fn a_pass_that_comes_too_soon_is_the_runners_fault() {
    let floor = floor(AGENT, "exit 0");
    ci(&floor, "min_time = \"10m\"\ninfra_retries = 1\ninfra_cooldown = \"10ms\"\n");
    let issue = floor.issue("Write a number", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    let reason = floor.job(issue).reason.unwrap_or_default();
    assert!(reason.contains("the checks cannot run") && reason.contains("min_time"), "{reason}");
    assert_eq!((told(&floor).len(), runs(&floor).len(), floor.job(issue).rounds.ci_fixes), (0, 2, 0));
}

/// Pushes a branch whose commits write these, one after another, and queues it.
fn queue_commits(floor: &Floor, branch: &str, contents: &[&str]) {
    floor.git_insists(&["fetch", "--quiet", "shopfloor"]);
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "shopfloor/main"]);
    for content in contents {
        std::fs::write(floor.path(&format!("repo/{branch}.txt")), format!("{content}\n")).expect("written");
        floor.git(&["add", &format!("{branch}.txt")]);
        floor.git(&["commit", "--quiet", "-m", &format!("{branch}: {content}")]);
    }
    floor.git(&["push", "--quiet", "shopfloor", &format!("HEAD:refs/heads/{branch}")]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    floor.ok(&["merge-queue", "add", branch, "--approve"]);
    floor.until_idle();
}

#[test]
fn every_commit_that_lands_is_checked_where_the_project_wants_that() {
    let merge = "[merge]\npeople = \"rebase\"\ncheck_commits = \"each\"\n";
    let floor = floor(&format!("{PEOPLE}{merge}"), BROKEN);
    assert_eq!(floor.until_idle().0, 0);
    queue_commits(&floor, "bad", &["one", "BROKEN", "mended"]);
    let (_, entries) = floor.json(&["merge-queue", "history"]);
    let shown = entries.to_string();
    assert!(shown.contains("bad: BROKEN") && shown.contains("inner commit"), "{shown}");
    queue_commits(&floor, "good", &["one", "two", "three"]);
    assert_eq!(floor.landed("good.txt"), "three");
    let line = floor.hub(&["log", "--first-parent", "--reverse", "--format=%s", "main"]);
    let mine: Vec<&str> = line.lines().filter(|subject| subject.starts_with("good")).collect();
    assert_eq!(mine, ["good: one", "good: two", "good: three"], "{line}");
    floor.assert_history_green();
    // Each of them was run as it landed.
    let checked = std::fs::read_to_string(floor.path("runs")).expect("read");
    for commit in floor.hub(&["rev-list", "--first-parent", "-n", "3", "main"]).lines() {
        assert!(checked.contains(commit), "{commit}: {checked}");
    }
    let (_, status) = floor.json(&["merge-queue", "status"]);
    assert_eq!(status[0]["unchecked_commits"], false, "{status}");
    floor.configure(|text| text.replace("check_commits = \"each\"\n", ""));
    floor.until_idle();
    assert!(floor.ok(&["merge-queue", "status"]).contains("inner commits   not checked"));
}
