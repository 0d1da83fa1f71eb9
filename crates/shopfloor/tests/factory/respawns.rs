//! Work records on real parts: what an agent did is on record when it dies, and each successor goes on from
//! there.

use crate::client::wait_for;
use crate::floor::{DEMO, Floor};
use serde_json::Value;
use shopfloor_core::state::End;

/// Dies three times, each time a step further on.
const DEV: &str = r#"
set -eu
n=$(($(cat "$SHOPFLOOR_HOME/n" 2>/dev/null || echo 0) + 1))
echo $n >"$SHOPFLOOR_HOME/n"
submit() {
    git push -q origin "$SHOPFLOOR_BRANCH"
    shopfloor phase awaiting_ci
    test "$(shopfloor inbox wait | head -n 1)" = "CI passed"
}
case $n in
1) echo one >one.txt; kill -9 $$ ;;
2) git add -A; git commit -qm one; kill -9 $$ ;;
3) echo two >two.txt; git add -A; git commit -qm two; submit; echo three >three.txt; kill -9 $$ ;;
4) git add -A; git commit -qm three; submit; shopfloor phase awaiting_review; shopfloor inbox wait ;;
esac
"#;

fn record(floor: &Floor) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(floor.home().join("records/dev-sample-1.json")).ok()?).ok()
}

#[test]
fn three_crashes_and_each_successor_goes_on_from_the_newest_point() {
    let floor = Floor::new(&format!(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{DEV}''']\n[review]\nrequired = false\n[limits]\nrespawn_backoff = \"10ms\"\n"
    ));
    let issue = floor.issue("Count", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    for (file, content) in [("one.txt", "one"), ("two.txt", "two"), ("three.txt", "three")] {
        assert_eq!(floor.landed(file), content);
    }
    let prompt = |epoch: u64| {
        let file = floor.home().join(format!("sessions/e{epoch}/prompt.md"));
        std::fs::read_to_string(file).expect("a prompt")
    };
    assert!(!prompt(1).contains("Resume from"));
    for (epoch, phase, done, tests) in [
        (2, "implementation", "one.txt", "tests: not run"),
        (3, "implementation", "one.txt", "tests: not run"),
        (4, "awaiting_ci", "three.txt", "tests: passed on "),
    ] {
        let prompt = prompt(epoch);
        let resume = format!("Resume from phase: {phase}, last working on: issue #1: Count.");
        for expect in [resume.as_str(), done, tests] {
            assert!(prompt.contains(expect), "e{epoch}, {expect}: {prompt}");
        }
    }
    let record = record(&floor).expect("a record");
    assert_eq!(record["sessions"], serde_json::json!(["e1", "e2", "e3", "e4"]));
    assert_eq!(record["work_phase"], "merged");
    assert!(floor.ok(&["agents", "--all"]).contains("e4 < e3 < e2 < e1"));
    assert_eq!(floor.job(issue).end(), Some(End::Merged));
    floor.assert_cleaned_up(issue);
}

#[test]
fn a_commit_is_on_record_before_anything_is_signalled() {
    let floor = Floor::new(DEMO);
    floor.issue("Commit", "demo: hold committed\ndemo: write a.txt <<a");
    floor.up();
    let git = floor.home().join("projects/sample/repos/issue-1.git");
    let held = git.join("demo-hold-committed");
    wait_for("it has committed", || held.exists().then_some(()));
    let head = std::fs::read_to_string(git.join("refs/heads/fix/issue-1")).expect("its branch");
    // That the commit is the agent's own is known once the branch was compared.
    wait_for("the record follows", || {
        record(&floor).filter(|r| r["head"] == head.trim() && r["work_phase"] == "implementation")
    });
    let seen = wait_for("what it changed follows", || {
        record(&floor).filter(|r| r["files_modified"] == serde_json::json!(["a.txt"]))
    });
    assert!(seen["resumption_instructions"].as_str().is_some_and(|text| {
        text.starts_with("Resume from phase: implementation, last working on: issue #1: Commit.")
    }));
    // Also while no daemon runs: the next one sees it.
    floor.kill_daemon();
    std::fs::write(git.join("demo-go-committed"), "").expect("written");
    floor.up();
    floor.wait_until_merged(shopfloor_core::ids::IssueNumber(1));
}
