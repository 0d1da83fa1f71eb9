//! Agents that are clients in a terminal: typed to, read and judged. Each misbehaves in its way.

use crate::client::{FAST, Person, wait_for};
use crate::floor::Floor;
use serde_json::Value;
use shopfloor_core::delivery::Stage;
use shopfloor_core::state::{End, Message, MessageState, SessionState};

/// Whether it came so far, or farther.
fn reached(stage: Stage) -> impl Fn(&Message) -> bool {
    move |message| message.receipts.iter().any(|receipt| receipt.to == stage)
}

fn stages(message: &Message) -> Vec<Stage> {
    let mut stages: Vec<Stage> = message.receipts.iter().map(|receipt| receipt.to).collect();
    // On a slow machine a key is sent once more.
    stages.dedup();
    stages
}

fn count(stages: &[String], stage: &str) -> usize {
    stages.iter().filter(|s| *s == stage).count()
}

fn texts(facts: &Value, key: &str) -> Vec<String> {
    let facts = facts.as_array().expect("a list");
    facts.iter().map(|fact| fact[key].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn an_issue_is_driven_to_merged_through_terminals() {
    let floor = Floor::with_clients(FAST);
    // Longer than what is typed at most, and not all of it ASCII.
    let body = format!("demo: fail-ci-once hello.txt <<hello\n{}", "\tzwölf Boxkämpfer ✓ \n".repeat(1500));
    let issue = floor.issue("Say hello", &body);
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("hello.txt"), "hello");
    floor.assert_history_green();
    floor.assert_cleaned_up(issue);
    let dev = floor.prompts(1);
    assert_eq!(
        dev[0],
        "You implement issue #1 of project sample. You are in a git worktree on branch fix/issue-1."
    );
    assert_eq!(dev[1..3], ["CI failed", "CI passed"]);
    assert_eq!(floor.prompts(2).len(), 1, "the reviewer's");
    // The first prompt and two messages to the one, a prompt to the other: each with its receipts.
    let journeys = floor.journeys();
    let delivered: Vec<_> =
        journeys.iter().filter(|(_, stages)| count(stages, "turn_started") == 1).collect();
    assert!(delivered.len() >= 4, "{journeys:?}");
    for (_, stages) in delivered {
        assert_eq!((stages[0].as_str(), count(stages, "typed")), ("typed", 1), "{journeys:?}");
        assert!(
            count(stages, "submitted") >= 1 && stages[stages.len() - 1] == "turn_started",
            "{journeys:?}"
        );
    }
    let hooks = floor.hooks(1);
    assert_eq!(hooks[..3], ["session_start", "user_prompt_submit", "pre_tool_use"]);
    let explained = floor.explain("dev-sample-1");
    assert_eq!(explained["runtime"], "claude");
    let sources = texts(&explained["facts"], "source");
    // (Titles are told once a second, which may be longer than it lives.)
    for source in ["process", "hook", "statusline", "phase file"] {
        assert!(sources.iter().any(|s| s == source), "{source}: {sources:?}");
    }
    assert!(explained["context_percent"].as_u64().is_some() && explained["cost_usd"].as_f64().is_some());
}

#[test]
fn a_swallowed_enter_and_a_lost_paste_are_noticed_and_made_good() {
    let floor = Floor::with_clients(FAST);
    floor.issue("Swallows", "demo: swallow-enter 2\ndemo: slow-start 1s\ndemo: write a.txt <<a");
    floor.issue("Loses", "demo: lose-paste-once\ndemo: write b.txt <<b");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!((floor.landed("a.txt"), floor.landed("b.txt")), ("a".into(), "b".into()));
    let journeys = floor.journeys();
    let first = |epoch: u64| journeys.iter().find(|((to, _), _)| *to == epoch).expect("a prompt").1;
    let swallowed =
        [1, 2].into_iter().find(|epoch| floor.prompts(*epoch)[0].contains("#1 ")).expect("a session");
    let lost = 3 - swallowed;
    assert_eq!(count(first(swallowed), "typed"), 1, "{journeys:?}");
    assert!(count(first(swallowed), "submitted") >= 3, "{journeys:?}");
    assert_eq!(count(first(lost), "typed"), 2, "{journeys:?}");
    for epoch in [swallowed, lost] {
        assert_eq!(count(first(epoch), "turn_started"), 1, "{journeys:?}");
        let prompts = floor.prompts(epoch);
        assert_eq!(prompts.iter().filter(|p| p.starts_with("You implement")).count(), 1, "{prompts:?}");
    }
}

#[test]
fn nothing_is_typed_into_a_dialog() {
    let floor = Floor::with_clients(FAST);
    let bodies = ["demo: dialog\ndemo: write a.txt <<a", "demo: question\ndemo: write b.txt <<b"];
    let issues = bodies.map(|body| floor.issue("Asks", body));
    floor.up();
    let mut up = Vec::new();
    for (issue, kind) in issues.into_iter().zip(["permission", "question"]) {
        let epoch = wait_for("a session", || floor.engine().floor().job_of(&floor.project, issue)?.session).0;
        let tmux = floor.live(epoch).tmux;
        let message = floor.held(epoch, &format!("a dialog is up ({kind})"));
        assert_eq!((message.text.lines().next(), message.state), (Some("CI passed"), MessageState::Queued));
        assert_eq!(stages(&message), [Stage::Queued]);
        let first = floor.messages(epoch).into_iter().find(|m| m.prompt).expect("the first prompt");
        assert_eq!(stages(&first), [Stage::Queued, Stage::Typed, Stage::Submitted, Stage::TurnStarted]);
        let explained = floor.explain(&format!("dev-sample-{issue}"));
        assert_eq!(explained["status"], format!("dialog ({kind})"), "{explained}");
        let held = texts(&explained["messages"], "held");
        assert!(held.iter().any(|why| why.contains("a dialog is up")), "{explained}");
        // People are told once the dialog can be read, which may be after the hook that announces it.
        wait_for("people are told", || {
            let names_it =
                |told: &String| told.contains(&format!("a dialog ({kind})")) && told.contains(&tmux);
            floor.notes("NEEDS_HUMAN").iter().any(names_it).then_some(())
        });
        up.push((issue, epoch, tmux));
    }
    // It stays so for as long as the dialogs are up.
    floor.beats(up[0].1, 3);
    for (issue, epoch, tmux) in &up {
        let record = floor.home().join(format!("sessions/e{epoch}/own/typed-into-dialog"));
        assert!(!record.exists(), "{:?}", std::fs::read_to_string(&record));
        assert_eq!(floor.prompts(*epoch).len(), 1, "only the first prompt");
        floor.send_keys(tmux, "1");
        floor.wait_until_merged(*issue);
        assert_eq!(std::fs::read_to_string(&record).expect("it was answered"), "Text(\"1\")\n");
        assert_eq!(floor.prompts(*epoch)[1], "CI passed");
    }
}

#[test]
fn a_draft_is_not_touched_and_a_person_who_types_is_not_interrupted() {
    let floor = Floor::with_clients(FAST);
    let issue = floor.issue("Somebody is here", "demo: draft <<half a thought\ndemo: write a.txt <<a");
    floor.up();
    let tmux = floor.live(1).tmux;
    floor.held(1, "the composer holds a draft");
    assert!(floor.screen(&tmux).contains("❯\u{a0}half a thought"), "{}", floor.screen(&tmux));
    let person = Person::attach(&floor, &tmux);
    floor.held(1, "somebody is typing");
    person.press("C-u");
    wait_for("the person removes the draft", || {
        (!floor.screen(&tmux).contains("half a thought")).then_some(())
    });
    floor.beats(1, 3);
    person.press("C-u");
    floor.held(1, "a person has the session");
    let has_it = floor.explain("1")["job"]["held"].to_string();
    assert!(has_it.contains("you have had it since"), "{has_it}");
    assert_eq!(floor.prompts(1), [""; 0], "the composer is empty, but not ours");
    // The person scrolls up, and leaves it so.
    floor.tmux(&["copy-mode", "-t", &format!("={tmux}:")]);
    drop(person);
    floor.held(1, "somebody scrolls");
    floor.tmux(&["send-keys", "-t", &format!("={tmux}:"), "-X", "cancel"]);
    floor.wait_until_merged(issue);
}

#[test]
fn a_frozen_client_and_one_that_is_killed_are_replaced_and_their_work_is_kept() {
    let timing = "[timing]\nfrozen_ms = 4000\nlook_ms = 300\nstrike_ms = 300\n";
    let floor = Floor::with_clients(&format!("{FAST}{timing}"));
    let freezes = floor.issue("Freezes", "demo: freeze\ndemo: write a.txt <<a");
    let dies = floor.issue("Dies", "demo: die\ndemo: write b.txt <<b");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!((floor.landed("a.txt"), floor.landed("b.txt")), ("a".into(), "b".into()));
    let crashes = floor.notes("AGENT_CRASHED");
    let frozen = crashes.iter().find(|c| c.contains("frozen")).and_then(|c| c.split([' ', ':']).nth(2));
    let strikes = floor.statuses(frozen.expect("an epoch").parse().expect("an epoch"));
    assert_eq!(strikes[strikes.len() - 3..], ["stuck", "stuck", "stuck"], "{strikes:?}");
    for (issue, why) in [(freezes, "the client is frozen"), (dies, "exit 137")] {
        assert!(crashes.iter().any(|c| c.contains(why)), "{why}: {crashes:?}");
        let kept = floor.clone_git(&["show", &format!("refs/rescue/dev-sample-{issue}/1:half-done.tmp")]);
        assert_eq!(kept, "interrupted");
        floor.assert_cleaned_up(issue);
    }
}

#[test]
fn a_flood_and_escape_codes_reach_nobody() {
    let floor = Floor::with_clients(FAST);
    let issue = floor.issue("Floods", "demo: escapes\ndemo: flood\ndemo: dialog\ndemo: write a.txt <<a");
    floor.up();
    let tmux = floor.live(1).tmux;
    floor.held(1, "a dialog is up");
    let evidence = std::fs::read(floor.home().join("sessions/e1/evidence.json")).expect("evidence");
    assert!(evidence.len() < 64 * 1024, "{}", evidence.len());
    let number = issue.to_string();
    for args in [
        &["events"][..],
        &["status"],
        &["explain", "dev-sample-1"],
        &["explain", "dev-sample-1", "--json"],
        &["explain", &number],
        &["agents"],
        &["issue", "show", &number],
    ] {
        let shown = floor.ok(args);
        assert!(shown.len() < 64 * 1024, "{args:?}: {} bytes", shown.len());
        let foreign = shown.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(foreign, None, "{args:?}: {shown}");
    }
    floor.send_keys(&tmux, "1");
    floor.wait_until_merged(issue);
}

#[test]
fn a_client_that_cannot_be_asked_to_end_leaves_no_process() {
    let floor = Floor::with_clients(FAST);
    let issue = floor.issue("Stays", "demo: ignore-sigterm\ndemo: grandchildren\ndemo: sleep 10m");
    floor.up();
    let tmux = floor.live(1).tmux;
    floor.message(1, "it works", reached(Stage::TurnStarted));
    assert!(floor.processes(&tmux).len() >= 3, "it and its grandchildren");
    floor.ok(&["cancel", &issue.to_string()]);
    wait_for("the job ends", || floor.job(issue).end());
    assert_eq!(floor.job(issue).end(), Some(End::Cancelled));
    assert_eq!(floor.processes(&tmux), [0; 0]);
}

#[test]
fn a_client_that_stops_without_a_phase_is_reminded_twice_and_given_up() {
    let floor = Floor::with_clients(&format!("{FAST}[timing]\nidle_gap_ms = 200\n"));
    let issue = floor.issue("Says nothing", "demo: no-phase\ndemo: write a.txt <<a");
    floor.up();
    let end = wait_for("the job ends", || floor.engine().floor().job_of(&floor.project, issue)?.end());
    let job = floor.job(issue);
    assert_eq!(end, End::Blocked);
    let reason = job.reason.unwrap_or_default();
    assert!(reason.contains("the agent stopped without a phase, after 2 reminders"), "{reason}");
    assert_eq!(floor.prompts(1)[1..], ["PHASE missing", "PHASE missing"]);
}

#[test]
fn a_message_is_delivered_once_though_the_daemon_is_killed_on_its_way() {
    let floor = Floor::with_clients("[submit]\npause_ms = 1500\nconfirm_ms = 1500\n");
    let issue = floor.issue("Once", "demo: swallow-enter 1\ndemo: write a.txt <<a");
    floor.up();
    floor.message(1, "it is typed", reached(Stage::Typed));
    floor.kill_daemon();
    floor.up();
    floor.message(1, "Enter is sent", reached(Stage::Submitted));
    floor.kill_daemon();
    floor.up();
    floor.message(1, "it is taken", |m| m.state == MessageState::Taken);
    floor.wait_until_merged(issue);
    let prompts = floor.prompts(1);
    assert_eq!(prompts.iter().filter(|p| p.starts_with("You implement")).count(), 1, "{prompts:?}");
    let journeys = floor.journeys();
    assert_eq!(count(&journeys[&(1, 1)], "typed"), 1, "{journeys:?}");
}

#[test]
fn what_clients_tell_while_no_daemon_runs_is_taken_in_later() {
    let floor = Floor::with_clients(FAST);
    let issue = floor.issue("Alone", "demo: sleep 1s\ndemo: write a.txt <<a");
    floor.up();
    floor.message(1, "it works", reached(Stage::TurnStarted));
    floor.kill_daemon();
    wait_for("its turn ends", || floor.hooks(1).iter().any(|hook| hook == "stop").then_some(()));
    assert_eq!(floor.explain("dev-sample-1")["status"], "idle");
    let known = floor.engine().floor().sessions.iter().next().expect("a session").status.clone();
    assert_ne!(known.map(|status| status.state.as_str()), Some("idle"), "nobody was there to see it");
    floor.up();
    floor.wait_until_merged(issue);
    assert_eq!(floor.prompts(1)[1], "CI passed");
}

#[test]
fn sessions_that_nobody_knows_are_ended_and_their_work_is_kept() {
    let floor = Floor::with_clients(FAST);
    let issue = floor.issue("Known", "demo: dialog\ndemo: write a.txt <<a");
    floor.up();
    let known = floor.live(1).tmux;
    floor.held(1, "a dialog is up");
    floor.kill_daemon();
    // As after a store was put back from a copy: sessions run that are on no record.
    let worktree = floor.home().join("projects/sample/worktrees/issue-1");
    std::fs::write(worktree.join("unseen.tmp"), "unseen").expect("written");
    for name in ["dev-sample-1-e7", "review-sample-9-e8", "dev-gone-1-e9", "hand-sample-1-e7", "mine"] {
        floor.tmux(&["new-session", "-d", "-s", name, "sleep 600"]);
    }
    floor.up();
    let left = floor.tmux(&["list-sessions", "-F", "#S"]);
    let left: Vec<&str> = left.lines().filter(|name| *name != "shopfloor").collect();
    assert_eq!(left, ["dev-sample-1-e1", "hand-sample-1-e7", "mine"]);
    let kept = floor.clone_git(&[
        "for-each-ref",
        "--sort=-refname",
        "--format=%(refname)",
        "refs/rescue/dev-sample-1",
    ]);
    let newest = kept.lines().next().expect("a rescue ref");
    assert_eq!(floor.clone_git(&["show", &format!("{newest}:unseen.tmp")]), "unseen");
    let session = floor.live(1);
    assert_eq!((session.state, session.tmux.as_str()), (SessionState::Live, known.as_str()));
    std::fs::remove_file(worktree.join("unseen.tmp")).expect("removed");
    floor.send_keys(&known, "1");
    floor.wait_until_merged(issue);
}
