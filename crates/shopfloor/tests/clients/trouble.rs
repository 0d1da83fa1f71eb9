//! Agents' clients in trouble: killed, left without a daemon, limited, refused, out of room. Nothing is
//! lost, nothing is counted against the agent, and it goes on.

use super::home::Account;
use super::isolation::with_clients;
use super::plant::{ISSUE, Plant, Setup, scenario};
use crate::client::wait_for;
use shopfloor_core::state::JobState;
use shopfloor_model_server::{Asked, Client, Fault, FaultKind, Kind, Usage};
use std::path::Path;
use std::process::Command;

/// Seconds that a limit lasts at least.
const SEEN_WITHIN: u64 = 6;

fn plant(clients: &Path, client: Client, rules: &str) -> Plant {
    Plant::new(clients, &Setup::new(client, scenario(rules)))
}

fn kill(pid: u32) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
    assert!(killed.success());
}

/// Nothing of it was the agent's fault.
fn nothing_counted(plant: &Plant) {
    let job = plant.job(ISSUE);
    assert_eq!((job.rounds.respawns, job.rounds.ci_fixes, job.session.map(|e| e.0)), (0, 0, Some(1)));
}

fn killed_and_resumed(clients: &Path, client: Client) {
    const SLEEPS: &str = r#"
[[rule]]
name = "sleeps"
times = 1
when = { prompt = "You implement issue #*" }
then = [{ bash = "echo half > half.tmp; sleep 1000" }, { text = "Never said." }]
"#;
    let plant = plant(clients, client, SLEEPS);
    plant.begin();
    let half = plant.home().join("projects/sample/worktrees/issue-1/half.tmp");
    wait_for("the tool runs", || half.exists().then_some(()));
    let first = plant.session(1, "its conversation is known", |s| s.client.conversation.is_some());
    let before = plant.processes(&first.tmux);
    let (client_pid, conversation) =
        (first.process.expect("a process").pid, first.client.conversation.clone());
    assert!(before.contains(&client_pid) && before.len() >= 2, "it and its tool: {before:?}");
    // What it has not written down yet it cannot remember; then its successor begins without.
    wait_for("the call is in its transcript", || {
        let file = format!("--include=*{}*", conversation.as_deref().unwrap_or_default());
        let grep = Command::new("grep").args(["-rqs", &file, "half.tmp"]).arg(plant.path("home")).status();
        grep.expect("grep runs").success().then_some(())
    });
    kill(client_pid);
    let second = plant.live(2);
    assert_eq!(plant.processes(&first.tmux), [0; 0], "its tool died with it");
    plant.ends_well(ISSUE);

    // It remembers: the conversation's first prompt is in the request that brings the second.
    let asked = plant.server.requests();
    let resumed =
        |a: &&Asked| a.kind == Kind::Prompt && a.prompt.contains("You continue the work of session 1");
    let resumed = asked.iter().find(resumed).expect("the successor was prompted");
    assert!(resumed.before.iter().any(|line| line.starts_with("You implement issue #1 ")), "{resumed:?}");
    let end = plant.session(2, "it is on record", |s| s.client.conversation.is_some());
    assert_eq!((end.client.conversation, second.predecessor), (conversation, Some(first.epoch)));
    let kept = plant.clone_git(&["show", "refs/rescue/dev-sample-1/1:half.tmp"]);
    assert_eq!(kept, "half");
}

#[test]
fn claude_is_killed_in_mid_tool_and_goes_on_with_its_conversation() {
    with_clients(|clients| killed_and_resumed(clients, Client::Claude));
}

#[test]
fn codex_is_killed_in_mid_tool_and_goes_on_with_its_conversation() {
    with_clients(|clients| killed_and_resumed(clients, Client::Codex));
}

fn works_without_a_daemon(clients: &Path, client: Client) {
    const HELD: &str = r#"
[[rule]]
name = "held"
when = { prompt = "You implement issue #*" }
then = [{ hold = "gate" }, { bash = "echo hello > hello.txt && git add -A && git commit -qm Hello && shopfloor phase awaiting_ci" }, { text = "It waits." }]
"#;
    let plant = plant(clients, client, HELD);
    plant.begin();
    plant.status(1, "working");
    let before = plant.live(1);
    plant.kill_daemon();
    plant.server.release("gate");
    wait_for("its turn ends", || plant.hooks(1).iter().any(|hook| hook == "stop").then_some(()));
    plant.up();
    plant.ends_well(ISSUE);
    assert_eq!(plant.live(1).process, before.process, "adopted, not started again");
    assert_eq!(plant.prompts(1).iter().filter(|p| p.starts_with("You implement")).count(), 1);
    assert_eq!(plant.hooks(1).iter().filter(|hook| *hook == "session_start").count(), 1);
    assert!(plant.taken_ever("CI passed"));
}

#[test]
fn claude_works_on_while_no_daemon_runs_and_is_adopted() {
    with_clients(|clients| works_without_a_daemon(clients, Client::Claude));
}

#[test]
fn codex_works_on_while_no_daemon_runs_and_is_adopted() {
    with_clients(|clients| works_without_a_daemon(clients, Client::Codex));
}

fn storm(clients: &Path, client: Client) {
    let mut setup = Setup::new(client, scenario(""));
    setup.limits = "retries = 2\nretry_backoff = \"500ms\"\n";
    let plant = Plant::new(clients, &setup);
    plant.server.set_fault(Fault::new(FaultKind::Overloaded));
    plant.begin();
    // Told to go on twice, then a person is asked.
    plant.person_asked(ISSUE);
    assert_eq!(plant.prompts(1)[1..], ["Continue", "Continue"]);
    nothing_counted(&plant);
    let asked = plant.server.requests().iter().filter(|a| a.kind == Kind::Prompt).count();
    assert!(asked > 3, "the client itself tries again, too: {asked}");
    plant.server.clear_faults();
    plant.ok(&["answer", "1", "It is over."]);
    plant.ends_well(ISSUE);
    assert_eq!(plant.prompts(1)[3], "Answer: It is over.");
}

#[test]
fn claude_in_a_storm_is_told_to_go_on_and_then_a_person_is_asked() {
    with_clients(|clients| storm(clients, Client::Claude));
}

#[test]
fn codex_in_a_storm_is_told_to_go_on_and_then_a_person_is_asked() {
    with_clients(|clients| storm(clients, Client::Codex));
}

fn limited(clients: &Path, client: Client) {
    const HELD: &str = r#"
[[rule]]
name = "held"
when = { prompt = "You implement issue #*" }
then = [{ hold = "gate" }, { bash = "git status" }, { text = "Never said." }]
"#;
    let mut setup = Setup::new(client, scenario(HELD));
    setup.account = Account::Subscription;
    let plant = Plant::new(clients, &setup);
    plant.begin();
    plant.asked("the first prompt", |all| all.iter().any(|a| a.kind == Kind::Prompt));
    // Clients show whole minutes: the next one, if it leaves time to see that it is waited for.
    let reset = (now() + SEEN_WITHIN).div_ceil(60) * 60;
    plant.server.set_fault(Fault::usage_limit(reset));
    plant.server.release("gate");
    let parked = plant.status(1, "limited_until");
    assert_eq!(parked.stops.resume_at.map(|at| at.0), Some(reset * 1000));
    assert_eq!((plant.job(ISSUE).state, parked.stops.nudges), (JobState::Working, 0));
    nothing_counted(&plant);
    plant.server.clear_faults();
    plant.ends_well(ISSUE);
    nothing_counted_at_the_end(&plant);
}

fn nothing_counted_at_the_end(plant: &Plant) {
    let job = plant.job(ISSUE);
    assert_eq!((job.rounds.respawns, job.rounds.ci_fixes), (0, 0));
    assert!(plant.notes("NEEDS_HUMAN").is_empty());
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970").as_secs()
}

#[test]
fn claude_at_its_limit_is_parked_until_the_reset() {
    with_clients(|clients| limited(clients, Client::Claude));
}

#[test]
fn codex_at_its_limit_is_parked_until_the_reset() {
    with_clients(|clients| limited(clients, Client::Codex));
}

/// Little room is left, then none: the client compacts its context, and hears again how to work.
fn compacts(clients: &Path, client: Client, window: u64, full_percent: u64) {
    const ASKS: &str = r#"
[[rule]]
name = "asks"
when = { prompt = "You implement issue #*" }
then = [{ bash = "shopfloor phase needs_human --detail 'Which greeting?'" }, { text = "I wait." }]
"#;
    let plant = plant(clients, client, ASKS);
    let used = |percent: u64| Some(Usage { input_tokens: window / 100 * percent, output_tokens: 40 });
    plant.server.set_usage(used(if client == Client::Claude { 96 } else { 50 }));
    plant.begin();
    plant.person_asked(ISSUE);
    if client == Client::Claude {
        let low = plant.status(1, "context_low").status.expect("it was waited for");
        assert_eq!(low.context_percent, Some(96));
    }
    plant.server.set_usage(used(full_percent));
    plant.ok(&["answer", "1", "hello"]);
    wait_for("it compacts", || plant.hooks(1).iter().any(|h| h == "pre_compact").then_some(()));
    plant.server.set_usage(None);
    plant.ends_well(ISSUE);
    let asked = plant.server.requests();
    let compacted = asked.iter().position(|a| a.kind == Kind::Compact).expect("a summary was asked for");
    let next = asked[compacted..].iter().find(|a| matches!(a.kind, Kind::Prompt | Kind::ToolResult));
    let next = next.expect("it goes on");
    assert!(next.system.contains("## How to work"), "{next:?}");
    assert_eq!(plant.prompts(1).iter().filter(|p| p.starts_with("You implement")).count(), 1);
    assert_eq!((plant.job(ISSUE).rounds.respawns, plant.job(ISSUE).rounds.ci_fixes), (0, 0));
}

#[test]
fn claude_that_compacts_is_told_the_protocol_again() {
    with_clients(|clients| compacts(clients, Client::Claude, 1_000_000, 98));
}

#[test]
fn codex_that_compacts_is_told_the_protocol_again() {
    with_clients(|clients| compacts(clients, Client::Codex, 200_000, 99));
}
