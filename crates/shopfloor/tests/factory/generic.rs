//! Any command as an agent: the interface other tools rely on.

use crate::floor::Floor;
use shopfloor_core::state::End;

fn config(dev: &str, review: &str) -> String {
    format!(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{dev}''']\n[agents.review]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{review}''']\n[limits]\nrespawn_backoff = \"10ms\"\n"
    )
}

const DEV: &str = r#"
set -eu
test "$PROJECT_NAME" = sample
test "$(git symbolic-ref --short HEAD)" = "$SHOPFLOOR_BRANCH"
grep -q "Write the number" "$SHOPFLOOR_PROMPT_FILE"
env > seen.txt
echo "$ISSUE" > number.txt
git add number.txt
git commit -qm "number"
git push -q origin "$SHOPFLOOR_BRANCH"
echo PHASE:awaiting_ci > "$PHASE_FILE"
test "$(shopfloor inbox wait | head -n 1)" = "CI passed"
shopfloor phase awaiting_review
test "$(shopfloor inbox wait | head -n 1)" = "Review: APPROVE"
shopfloor phase done
shopfloor inbox wait
"#;

const REVIEW: &str = r#"
set -eu
test -n "$SHOPFLOOR_PR"
test "$(cat number.txt)" = "$ISSUE"
printf '{"verdict":"APPROVE","verdict_reason":"right","review_markdown":"right"}' > "$SHOPFLOOR_RESULT_FILE"
"#;

#[test]
fn a_command_drives_an_issue_to_merged() {
    let floor = Floor::new(&config(DEV, REVIEW));
    let issue = floor.issue("Write the number", "Write the number of this issue to number.txt.");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("number.txt"), issue.to_string());
    assert_eq!(floor.job(issue).end(), Some(End::Merged));
    floor.assert_cleaned_up(issue);
}

#[test]
fn a_command_that_pushes_to_the_primary_branch_is_refused() {
    let dev = r#"
set -u
echo x > x.txt; git add x.txt; git commit -qm x
if git push -q origin HEAD:main; then echo PUSHED > "$PHASE_FILE"; exit 0; fi
git push -q origin "$SHOPFLOOR_BRANCH"
shopfloor phase failed --detail "the push to main was refused"
"#;
    let floor = Floor::new(&config(dev, REVIEW));
    let before = floor.hub(&["rev-parse", "main"]);
    let issue = floor.issue("Push to main", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert_eq!(floor.hub(&["rev-parse", "main"]), before);
    assert!(floor.job(issue).reason.unwrap().contains("was refused"));
}

#[test]
fn an_agents_environment_is_clean() {
    let dev = r#"env > "$SHOPFLOOR_HOME/env.txt"; shopfloor phase failed --detail enough"#;
    let floor = Floor::new(&config(dev, REVIEW));
    floor.issue("Look around", "");
    let output = floor
        .command(&["up", "--until-idle"])
        .env("ANTHROPIC_API_KEY", "dummy-value-of-a-key")
        .env("CI", "true")
        .env("TMUX", "/nowhere,1,0")
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3));
    let env = std::fs::read_to_string(floor.home().join("env.txt")).expect("the agent ran");
    for absent in ["ANTHROPIC_API_KEY", "dummy-value", "\nCI=", "\nTMUX="] {
        assert!(!env.contains(absent), "{absent}: {env}");
    }
}

#[test]
fn secrets_reach_no_comment_no_log_and_no_record() {
    let dev = r#"
secret=$(cat "$SHOPFLOOR_HOME/secret")
echo "I print $secret"
shopfloor issue comment "$ISSUE" "I tell $secret"
printf 'PHASE:failed\nReason: I blame %s\n' "$secret" > "$PHASE_FILE"
sleep 60
"#;
    let floor = Floor::new(&config(dev, REVIEW));
    let secret = "correct-horse-battery";
    let file = floor.home().join("secret");
    std::fs::write(&file, secret).expect("written");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("closed");
    let toml = floor.path("repo/shopfloor.toml");
    let mut text = std::fs::read_to_string(&toml).expect("read");
    text.push_str(&format!("[secrets]\nPHRASE = {{ file = \"{}\" }}\n", file.display()));
    std::fs::write(&toml, text).expect("written");
    floor.accept();
    let issue = floor.issue("Talk", "");
    let (code, shown) = floor.until_idle();
    assert_eq!(code, 3, "{shown}");
    assert!(shown.contains("I blame [redacted]"), "{shown}");
    let seen = floor.forge().issue(&floor.project, issue).expect("the issue");
    let comments: Vec<&str> = seen.comments.iter().map(|c| c.body.as_str()).collect();
    assert!(comments.iter().any(|c| c.contains("I tell [redacted]")), "{comments:?}");
    assert!(comments.iter().any(|c| c.contains("I print [redacted]")), "{comments:?}");
    // Nowhere in the store, the journal included.
    for part in ["floor.db", "floor.db-wal"] {
        let bytes = std::fs::read(floor.home().join(part)).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|w| w == secret.as_bytes()), "{part}");
    }
}

/// The secret is in the branch's first commit, and in no file any more.
const LEAKS: &str = r#"
set -eu
cp "$SHOPFLOOR_HOME/secret" number.txt; git add number.txt; git commit -qm "number"
echo "$ISSUE" > number.txt; git commit -qam "the right number"
shopfloor phase awaiting_ci
shopfloor inbox wait > "$SHOPFLOOR_HOME/told"
git reset -q --soft HEAD~2; git commit -qm "number"
shopfloor phase awaiting_ci
test "$(shopfloor inbox wait | head -n 1)" = "CI passed"
shopfloor phase awaiting_review
test "$(shopfloor inbox wait | head -n 1)" = "Review: APPROVE"
shopfloor phase done
shopfloor inbox wait
"#;

#[test]
fn a_commit_with_a_secret_is_not_published_until_it_is_rewritten() {
    let floor = Floor::new(&config(LEAKS, REVIEW));
    let secret = "correct-horse-battery";
    let file = floor.home().join("secret");
    std::fs::write(&file, secret).expect("written");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("closed");
    floor.configure(|text| format!("{text}[secrets]\nPHRASE = {{ file = \"{}\" }}\n", file.display()));
    let issue = floor.issue("Write the number", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.job(issue).end(), Some(End::Merged));
    let told = std::fs::read_to_string(floor.home().join("told")).expect("it was told");
    assert!(told.contains("has a secret of this project in number.txt"), "{told}");
    assert!(!told.contains(secret), "{told}");
    // The last line is the one that its prompt names, and nobody else knows.
    let last = told.trim_end().lines().next_back().expect("a line").to_owned();
    let prompt = std::fs::read_to_string(floor.home().join("sessions/e1/prompt.md")).expect("its prompt");
    assert!(last.starts_with("[shopfloor ") && prompt.contains(&last), "{last}: {prompt}");
    // No object of the hub has it.
    let objects =
        floor.hub(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]);
    for blob in objects.lines().filter_map(|line| line.strip_suffix(" blob")) {
        assert!(!floor.hub(&["cat-file", "blob", blob]).contains(secret));
    }
}
