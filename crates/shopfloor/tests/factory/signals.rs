//! What agents say, in however many steps they write it: phases with a reason, drafts of reviews, results of
//! no use; and what is left of it when their job has ended.

use crate::floor::Floor;
use shopfloor_core::effect::Verdict;
use shopfloor_core::state::{End, JobState, WorkPhase, WorkRecord};
use std::path::Path;

fn config(dev: &str, review: &str) -> String {
    format!(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{dev}''']\n[agents.review]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{review}''']\n[limits]\nmax_jobs = 3\nrespawn_backoff = \"10ms\"\n"
    )
}

/// Commits something and carries it through, whatever is said of it.
const DEV: &str = r#"
set -eu
echo "$ISSUE" > "number-$ISSUE.txt"
git add -A; git commit -qm number
shopfloor phase awaiting_review
while first=$(shopfloor inbox wait | head -n 1); do
  echo "$first" >> "$SHOPFLOOR_HOME/told.txt"
  case "$first" in
    "Review: APPROVE") shopfloor phase done ;;
    "Review: "*) echo more >> "number-$ISSUE.txt"; git commit -qam more; shopfloor phase awaiting_review ;;
  esac
done
"#;

fn verdicts(floor: &Floor, issue: shopfloor_core::ids::IssueNumber) -> Vec<Verdict> {
    let pr = floor.job(issue).pr.expect("a pull request");
    let pull = floor.forge().pr(&floor.project, pr).expect("the pull request");
    pull.reviews.iter().map(|review| review.verdict).collect()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("listed");
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

#[test]
fn a_reason_comes_with_its_phase_and_nothing_is_left_of_the_file() {
    let dev = r#"
case "$ISSUE" in
  1) printf 'PHASE:failed\nReason: %s\n' "printed" > "$PHASE_FILE"; sleep 1000 ;;
  2) echo PHASE:failed > "$PHASE_FILE"; echo "Reason: echoed" >> "$PHASE_FILE"; sleep 1000 ;;
  3) printf 'PHASE:failed\nReason: left' > "$PHASE_FILE" ;;
esac
"#;
    let floor = Floor::new(&config(dev, "exit 0"));
    let issues = ["printed", "echoed", "left"].map(|title| (floor.issue(title, ""), title));
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    for (issue, said) in issues {
        assert_eq!(floor.job(issue).reason.as_deref(), Some(format!("the agent gave up: {said}").as_str()));
    }
    assert_eq!(files(&floor.path("phases")), [""; 0]);
}

#[test]
fn another_floor_of_the_same_name_gets_the_protocols_path_when_the_first_is_done() {
    let dev = r#"echo "$PHASE_FILE" > "$SHOPFLOOR_HOME/seen"; shopfloor phase failed --detail enough"#;
    let [one, two] = [config(dev, "exit 0"), config(dev, "exit 0")].map(|config| Floor::new(&config));
    let phases = one.path("phases");
    let sessions =
        format!("[sessions]\nphase_dir = \"{}\"\n[isolation]\nlevel = \"none\"\n", phases.display());
    std::fs::write(two.home().join("floor.toml"), sessions).expect("written");
    for floor in [&one, &two] {
        let issue = floor.issue("Say where", "");
        assert_eq!(floor.until_idle().0, 3);
        let seen = std::fs::read_to_string(floor.home().join("seen")).expect("the agent ran");
        assert_eq!(
            seen.trim(),
            phases.join(format!("dev-session-sample-{issue}.phase")).display().to_string()
        );
        assert_eq!(files(&phases), [""; 0]);
    }
}

#[test]
fn a_draft_that_approves_is_no_approval() {
    let review = r#"
set -eu
say() { printf '{"verdict":"%s","commit":"%s","review_markdown":"x"}' "$1" "$SHOPFLOOR_COMMIT" > "$SHOPFLOOR_RESULT_FILE"; }
say APPROVE
if [ "$(wc -l < "number-$ISSUE.txt")" = 1 ]; then sleep 2; say DISCUSS; fi
shopfloor phase done
sleep 1000
"#;
    let floor = Floor::new(&config(DEV, review));
    let issue = floor.issue("Drafted", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(verdicts(&floor, issue), [Verdict::Discuss, Verdict::Approve]);
    let told = std::fs::read_to_string(floor.home().join("told.txt")).expect("told");
    assert!(told.starts_with("Review: DISCUSS\nReview: APPROVE\n"), "{told}");
    assert_eq!(floor.notes("STALE_SIGNAL"), [""; 0], "a healthy review");
}

#[test]
fn an_old_result_is_nobodys_and_one_cause_is_told_once() {
    // The first reviewer leaves nothing of its own, the second far too much, in many steps.
    let review = r#"
if [ ! -e "$SHOPFLOOR_HOME/first" ]; then touch "$SHOPFLOOR_HOME/first"; exit 0; fi
cp "$SHOPFLOOR_PROMPT_FILE" "$SHOPFLOOR_HOME/second.md"
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do head -c 30000 /dev/zero | tr '\0' x >> "$SHOPFLOOR_RESULT_FILE"; done
shopfloor phase done
"#;
    let floor = Floor::new(&config(DEV, review));
    for epoch in 1..=3 {
        let folder = floor.home().join(format!("sessions/e{epoch}"));
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("result.json"), r#"{"verdict":"APPROVE"}"#).expect("written");
    }
    let issue = floor.issue("Reviewed by nobody", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert!(matches!(floor.job(issue).state, JobState::Reviewing { .. }));
    assert_eq!(verdicts(&floor, issue), []);
    let unusable = floor.notes("REVIEW_UNUSABLE");
    assert_eq!(unusable.len(), 2, "{unusable:?}");
    assert!(unusable[0].contains("it left no result file") && unusable[1].contains("more than 262144 bytes"));
    let second = std::fs::read_to_string(floor.home().join("second.md")).expect("its prompt");
    assert!(second.contains("it left no result file"), "the next try is told: {second}");
    assert_eq!(floor.notes("ESCALATION").len(), 1, "{:?}", floor.notes("ESCALATION"));
    let recorded = std::fs::read_to_string(floor.home().join("escalations-sample.jsonl")).expect("recorded");
    assert_eq!(recorded.lines().count(), 1, "{recorded}");
    assert!(recorded.contains("no_review") && recorded.contains("more than 262144 bytes"), "{recorded}");
}

#[test]
fn a_reviewer_that_dies_with_a_draft_has_said_nothing() {
    let review = r#"
set -eu
printf '{"verdict":"%s"}' "$([ -e "$SHOPFLOOR_HOME/first" ] && echo APPROVE || echo REQUEST_CHANGES)" > "$SHOPFLOOR_RESULT_FILE"
if [ ! -e "$SHOPFLOOR_HOME/first" ]; then touch "$SHOPFLOOR_HOME/first"; kill -9 $$; fi
"#;
    let floor = Floor::new(&config(DEV, review));
    let issue = floor.issue("Cut off", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(
        (verdicts(&floor, issue), floor.job(issue).end()),
        (vec![Verdict::Approve], Some(End::Merged))
    );
}

#[test]
fn a_question_is_answered_by_the_seeds_reply_file_and_the_answer_is_on_the_issue() {
    let dev = r#"
set -eu
printf 'PHASE:needs_human\nQuestion: A or B?\n' > "$PHASE_FILE"
answer=$(shopfloor inbox wait | head -n 1)
echo "$answer" > answer.txt
git add -A; git commit -qm answered
shopfloor phase awaiting_ci
test "$(shopfloor inbox wait | head -n 1)" = "CI passed"
cp "$(dirname "$PHASE_FILE")/ci-result-sample-$ISSUE.txt" "$SHOPFLOOR_HOME/ci-result"
shopfloor phase awaiting_review
sleep 1000
"#;
    let limits = "renotify = \"1s\"\n[review]\nrequired = false\n";
    let floor = Floor::new(&format!("{}{limits}", config(dev, "exit 0")));
    let toml = floor.home().join("floor.toml");
    let mut text = std::fs::read_to_string(&toml).expect("read");
    text.push_str("[compat]\nseed_files = true\n");
    std::fs::write(&toml, text).expect("written");
    let issue = floor.issue("Which one?", "");
    floor.up();
    let phases = floor.path("phases");
    crate::floor::wait_for("the mark of a repeated question", || {
        phases.join(format!("dev-renotify-sample-{issue}")).exists()
    });
    // As the seed's listener writes it.
    let line = "2026-01-02T03:04:05Z\t@ann:example.org\tTake B\n";
    std::fs::write(phases.join("dev-escalation-reply"), line).expect("written");
    floor.wait_until_merged(issue);
    assert_eq!(floor.landed("answer.txt"), "Answer: Take B");
    let seen = std::fs::read_to_string(floor.home().join("ci-result")).expect("the result of the checks");
    assert!(seen.starts_with("CI passed\nCommit "), "{seen}");
    let comments = floor.forge().issue(&floor.project, issue).expect("the issue").comments;
    assert!(comments.iter().any(|c| c.body.contains("Answer to question q1: Take B")), "{comments:?}");
    crate::floor::wait_for("nothing left there", || files(&phases).is_empty());
}

fn record(floor: &Floor, issue: shopfloor_core::ids::IssueNumber) -> WorkRecord {
    let engine = floor.engine();
    engine.floor().records.iter().find(|r| r.issue == Some(issue)).expect("a record").clone()
}

#[test]
fn a_successor_after_a_failed_merge_is_told_of_it_and_its_record_says_so() {
    // The first change forbids the second, which was begun before: green by itself, red on top.
    let dev = r#"
set -eu
if [ "$ISSUE" = 1 ]; then
  until [ -e "$SHOPFLOOR_HOME/begun" ]; do sleep 0.1; done
  printf '#!/bin/sh\ntest ! -e second.txt\n' > check.sh
  git commit -qam forbid
  shopfloor phase awaiting_review
  sleep 1000
fi
if [ -e "$SHOPFLOOR_HOME/begun" ]; then
  cp "$SHOPFLOOR_PROMPT_FILE" "$SHOPFLOOR_HOME/successor.md"
  shopfloor phase failed --detail enough
  sleep 1000
fi
echo x > second.txt; git add -A; git commit -qm second
base=$(git ls-remote origin main)
touch "$SHOPFLOOR_HOME/begun"
until [ "$(git ls-remote origin main)" != "$base" ]; do sleep 0.1; done
shopfloor phase awaiting_review
while first=$(shopfloor inbox wait | head -n 1); do
  case "$first" in
    MERGE_FAILED) shopfloor phase done ;;
    "PR not merged yet") kill -9 $$ ;;
  esac
done
"#;
    // The check is the agents' own to change here.
    let review = "[review]\nrequired = false\nprotected = []\n";
    let floor = Floor::new(&format!("{}{review}", config(dev, "exit 0")));
    let first = floor.issue("Forbid", "");
    let second = floor.issue("Forbidden", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert_eq!(floor.job(first).end(), Some(End::Merged));
    assert!(floor.job(second).reason.is_some_and(|why| why.contains("enough")), "{text}");
    let told = std::fs::read_to_string(floor.home().join("successor.md")).expect("a successor");
    for expect in ["Resume from phase: implementation", "It came back with MERGE_FAILED", "MERGE_FAILED\n"] {
        assert!(told.contains(expect), "{expect}: {told}");
    }
    for overtaken in ["merges without a review", "tests: passed", "The latest reviews", "The latest checks"] {
        assert!(!told.contains(overtaken), "{overtaken}: {told}");
    }
    let record = record(&floor, second);
    assert_eq!(record.work_phase, WorkPhase::Implementation);
    assert!(record.tests_status.starts_with("failed on top of the primary branch"), "{record:?}");
    assert!(record.resumption_instructions.contains("Next: merge the primary branch in"), "{record:?}");
}

#[test]
fn a_base_that_moved_under_an_agent_that_did_nothing_is_not_its_work() {
    let dev = r#"
set -eu
if [ -e "$SHOPFLOOR_HOME/begun" ]; then shopfloor phase failed --detail enough; sleep 1000; fi
base=$(git ls-remote origin main)
touch "$SHOPFLOOR_HOME/begun"
until [ "$(git ls-remote origin main)" != "$base" ]; do sleep 0.1; done
kill -9 $$
"#;
    let floor = Floor::new(&config(dev, "exit 0"));
    let issue = floor.issue("Nothing", "");
    floor.up();
    crate::floor::wait_for("an agent", || floor.home().join("begun").exists());
    floor.git(&["commit", "--quiet", "--allow-empty", "-m", "elsewhere"]);
    std::fs::write(floor.path("repo/other.txt"), "other\n").expect("written");
    floor.git(&["add", "other.txt"]);
    floor.git(&["commit", "--quiet", "-m", "something else"]);
    floor.git_insists(&["push", "--quiet", "shopfloor", "main"]);
    crate::floor::wait_for("its end", || !floor.job(issue).is_live());
    let record = record(&floor, issue);
    assert_eq!((record.work_phase, record.files_modified), (WorkPhase::Investigation, vec![]));
    assert_eq!(record.sessions.len(), 2);
}
