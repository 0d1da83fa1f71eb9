//! The floor's tmux server: when there is one, who is in it, and what is left of it.

use crate::floor::{DEMO, Floor, wait_for};
use std::os::unix::net::UnixStream;

fn has_server(floor: &Floor) -> bool {
    UnixStream::connect(floor.home().join("tmux.sock")).is_ok()
}

fn sessions(floor: &Floor) -> Vec<String> {
    floor.tmux(&["list-sessions", "-F", "#S"]).lines().map(str::to_owned).collect()
}

/// An agent that stays.
const WAITS: &str = "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sleep\", \"300\"]\n[agents.review]\nruntime = \"demo\"\n";

#[test]
fn a_run_that_ends_leaves_no_server() {
    let floor = Floor::new(DEMO);
    floor.issue("Say hello", "demo: write hello.txt <<hello");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    wait_for("the server ends", || !has_server(&floor));
}

#[test]
fn agents_are_attached_to_by_name_and_by_issue_and_outlive_the_daemon() {
    let floor = Floor::new(WAITS);
    let started = floor.ok(&["up", "--detach"]);
    assert!(!has_server(&floor), "no agent, no server");
    let missing = floor.run(&["attach", "nobody"]);
    assert_eq!(missing.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no agent has a terminal now"));

    let issue = floor.issue("Wait", "");
    floor.ok(&["issue", "comment", &issue.to_string(), "now"]);
    wait_for("the agent and the connection come", || sessions(&floor) == ["dev-sample-1-e1", "shopfloor"]);
    wait_for("the floor knows it", || floor.run(&["attach", "1", "--print"]).status.success());
    let socket = floor.home().join("tmux.sock");
    let command = format!("tmux -S {} attach-session -t '=dev-sample-1-e1'", socket.display());
    for who in ["1", "#1", "dev-sample-1", "dev-sample-1-e1"] {
        assert_eq!(floor.ok(&["attach", who, "--print"]).trim(), command, "{who}");
    }
    let answer = floor.ok(&["attach", "1", "--json"]);
    assert!(answer.contains("\"session\": \"dev-sample-1-e1\""), "{answer}");
    let missing = floor.run(&["attach", "dev-sample-1-e"]);
    assert_eq!(missing.status.code(), Some(4), "a prefix is no name");
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("live sessions: dev-sample-1-e1\n"), "{said}");
    assert_eq!(floor.run(&["attach", "2"]).status.code(), Some(4));
    assert_eq!(floor.run(&["attach", "shopfloor"]).status.code(), Some(4), "that is nobody's");
    let blind = floor.run(&["attach", "1"]);
    assert_eq!(blind.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&blind.stderr).contains("no terminal"));

    // Killed: the agents stay, what was the daemon's goes, and the server can end.
    let pid = started.split("pid ").nth(1).and_then(|rest| rest.split(';').next()).expect("a pid");
    let killed = std::process::Command::new("kill").args(["-9", pid]).status().expect("kill runs");
    assert!(killed.success());
    wait_for("the daemon's session goes", || sessions(&floor) == ["dev-sample-1-e1"]);
    floor.ok(&["up", "--detach"]);
    wait_for("the connection comes again", || sessions(&floor) == ["dev-sample-1-e1", "shopfloor"]);
    floor.ok(&["down"]);
    wait_for("the connection goes", || sessions(&floor) == ["dev-sample-1-e1"]);
    floor.tmux(&["kill-server"]);
    wait_for("the server ends", || !has_server(&floor));
}
