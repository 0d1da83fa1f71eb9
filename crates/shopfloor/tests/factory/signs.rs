//! What is known of a session, and since when: output is a sign of life of an agent that tells nothing, a
//! dialog that no rule knows is named, and what `explain` says of a session that is over is true.

use crate::client::{FAST, wait_for};
use crate::floor::Floor;
use shopfloor_core::ids::Epoch;
use shopfloor_core::state::{End, SessionState};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

fn config(dev: &str, review: &str, more: &str) -> String {
    format!(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{dev}''']\n[agents.review]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{review}''']\n{more}"
    )
}

const WORK: &str = r#"
echo "$ISSUE" > number.txt; git add number.txt; git commit -qm number
git push -q origin "$SHOPFLOOR_BRANCH"; shopfloor phase awaiting_ci; shopfloor inbox wait
shopfloor phase awaiting_review; shopfloor inbox wait; shopfloor phase done; shopfloor inbox wait
"#;

const APPROVE: &str = r#"printf '{"verdict":"APPROVE","verdict_reason":"right","review_markdown":"right"}' > "$SHOPFLOOR_RESULT_FILE"; shopfloor phase done"#;

#[test]
fn an_agent_that_prints_is_alive_however_long_it_says_nothing_else() {
    let dev = format!("until [ -e \"$SHOPFLOOR_HOME/enough\" ]; do echo at work; sleep 0.2; done\n{WORK}");
    let floor = Floor::new(&config(&dev, APPROVE, "[limits]\nidle = \"4s\"\nrespawn_backoff = \"10ms\"\n"));
    let issue = floor.issue("Take your time", "");
    floor.up();
    let born = floor.live(1).created_at;
    // Three times as long as it may show no sign.
    wait_for("time passes", || {
        let engine = floor.engine();
        let session = engine.floor().sessions.get(&Epoch(1))?;
        assert_eq!(session.state, SessionState::Live, "it is ended though it prints");
        (session.last_seen.since(born) >= Duration::from_secs(12)).then_some(())
    });
    std::fs::write(floor.home().join("enough"), "").expect("written");
    floor.wait_until_merged(issue);
    assert_eq!(floor.job(issue).rounds.respawns, 0);
    // A healthy review says nothing that is stale, and who approved is known.
    assert_eq!(floor.notes("STALE_SIGNAL"), [""; 0]);
    let (_, entries) = floor.json(&["merge-queue", "list", "--all"]);
    let approved = entries.as_array().and_then(|all| all.first()).map(|entry| entry["approved_by"].clone());
    assert!(approved.as_ref().is_some_and(|by| by.is_string()), "{entries}");
}

#[test]
fn a_reviewer_that_never_ends_is_replaced_and_then_a_person_is_asked() {
    let more = "[review]\nagent_timeout = \"1s\"\n[limits]\nrespawn_backoff = \"10ms\"\n";
    let floor = Floor::new(&config(WORK, "sleep 100000", more));
    let issue = floor.issue("Review me", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("a person has to review"), "{text}");
    let engine = floor.engine();
    let reviewers = engine.floor().sessions.iter().filter(|s| s.review.head.is_some()).count();
    assert_eq!(reviewers, 2, "the first was replaced");
    assert_eq!(floor.job(issue).end(), None);
}

#[test]
fn a_session_that_was_killed_is_said_to_have_crashed() {
    let floor = Floor::new(&config("sleep 100000", APPROVE, "[limits]\nrespawn_backoff = \"10ms\"\n"));
    let issue = floor.issue("Die once", "");
    floor.up();
    let process = floor.live(1).process.expect("it lives");
    let killed = std::process::Command::new("kill").args(["-9", &process.pid.to_string()]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    floor.live(2);
    wait_for("the first has ended", || {
        let state = floor.engine().floor().sessions.get(&Epoch(1))?.state;
        (state == SessionState::Ended).then_some(())
    });
    let first = floor.explain("e1");
    assert_eq!((&first["status"], &first["exit"]), (&"crashed (exit 137)".into(), &137.into()), "{first}");
    let sources = first["facts"].as_array().expect("facts").iter().map(|fact| fact["source"].clone());
    assert!(sources.clone().all(|source| source != "git"), "the worktree is its successor's: {first}");
    // The second has worked since its start, not since this look.
    let second = floor.explain("e2");
    assert_eq!(second["status"], "working", "{second}");
    floor.ok(&["cancel", &issue.to_string()]);
    wait_for("it ends", || floor.job(issue).end().filter(|end| *end == End::Cancelled));
}

/// A client that draws a dialog that no rule knows, and waits for an answer.
const STRANGE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo 9.9.9; exit 0; fi
echo Installing; sleep 1; clear
printf 'A new theme was found\n\nUse it for all sessions?\n  > 1. Yes\n    2. Not now\n'
read -r answer
"#;

#[test]
fn a_dialog_that_no_rule_knows_is_named_with_its_text() {
    let floor = Floor::with_clients(FAST);
    let client = floor.path("strange");
    std::fs::write(&client, STRANGE).expect("written");
    std::fs::set_permissions(&client, PermissionsExt::from_mode(0o755)).expect("made a program");
    let argv = format!("argv = [{:?}]", client.display().to_string());
    let runtime = format!(
        "[launch]\n{argv}\n[resume]\n{argv}\n[version]\nargv = [{:?}, \"--version\"]\nminimum = \"0.0.1\"\n",
        client.display().to_string()
    );
    std::fs::write(floor.home().join("runtimes/claude.toml"), runtime).expect("written");
    floor.issue("Be asked", "");
    floor.up();
    floor.live(1);
    let status = wait_for("it asks something", || {
        let status = floor.engine().floor().sessions.get(&Epoch(1))?.status.clone()?;
        (status.state.as_str() == "dialog").then_some(status)
    });
    assert_eq!(status.state.to_string(), "asks something");
    let dialog = status.dialog.expect("its text");
    assert_eq!(dialog.summary(), "Use it for all sessions?");
    let options: Vec<&str> = dialog.options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(options, ["Yes", "Not now"]);
    // Told in the same step, not at the next look.
    let told = floor.notes("NEEDS_HUMAN");
    assert!(told.iter().any(|line| line.contains("asks something: Use it for all sessions?")), "{told:?}");
    let shown = floor.explain("dev-sample-1");
    assert_eq!(shown["dialog"]["title"], "A new theme was found", "{shown}");
}
