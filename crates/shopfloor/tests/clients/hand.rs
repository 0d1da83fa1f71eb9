//! Hand sessions with real clients: watched without polling, and gone on from.

use super::home;
use super::isolation::with_clients;
use super::plant::{Plant, Setup};
use serde_json::json;
use shopfloor_model_server::Client;
use std::path::Path;

const ANYTHING: &str = "[[rule]]\nname = \"anything\"\nthen = [{ text = \"so be it\" }]\n";

/// A client at work, its end seen by `monitor`, and another that goes on from its conversation.
fn forks(clients: &Path, client: Client, program: &str, options: &[&str]) {
    let plant = Plant::new(clients, &Setup::new(client, ANYTHING.to_owned()));
    let repo = std::fs::canonicalize(plant.path("repo")).expect("it is there").display().to_string();
    let mut projects = json!({});
    projects[&repo] = json!({ "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true });
    home::seed_claude(&plant.path("home"), &projects);
    let trusted = format!("[projects.\"{repo}\"]\ntrust_level = \"trusted\"\n");
    home::seed_codex(&plant.path("home"), &plant.server, &trusted);
    let spawn = ["session", "spawn", "dev", "1", "1", "--runtime", program, "--", program];
    let name = plant.ok(&[&spawn[..], options, &["remember the fish"]].concat()).trim().to_owned();
    plant.asked("the first prompt", |all| all.iter().any(|a| a.prompt.contains("remember the fish")));
    let (code, result) = plant.json(&["session", "monitor", &name, "--keep"]);
    assert_eq!((code, &result["final_state"]), (0, &"completed".into()), "{result}");
    let reason = result["exit_reason"].as_str().expect("text");
    assert!(reason.contains("idle at its prompt") && !reason.contains("fell back"), "{result}");
    let (_, first) = plant.json(&["next"]);
    assert_eq!(first["session"], name.as_str(), "{first}");

    let fork = plant.run(&[&["session", "fork", &name, "--"], options, &["and what now"]].concat());
    let said = String::from_utf8_lossy(&fork.stderr).into_owned();
    assert!(fork.status.success(), "{said}");
    let asked = plant.asked("the fork's prompt", |all| all.iter().any(|a| a.prompt.contains("and what now")));
    let asked = asked.iter().find(|a| a.prompt.contains("and what now")).expect("waited for");
    assert!(asked.before.iter().any(|line| line.contains("remember the fish")), "{asked:?}");
    plant.ok(&["session", "kill-all"]);
}

#[test]
fn claude_is_watched_and_forked() {
    with_clients(|clients| forks(clients, Client::Claude, "claude", &["--dangerously-skip-permissions"]));
}

#[test]
fn codex_is_watched_and_forked() {
    with_clients(|clients| {
        let off = ["--no-daemon", "--disable", "plugins", "--disable", "apps", "--disable", "remote_plugin"];
        forks(clients, Client::Codex, "codex", &off);
    });
}

/// A worktree is a folder that the client has never seen: it does not ask whether that can be trusted.
#[test]
fn claude_in_a_worktree_of_its_own_begins_at_once() {
    with_clients(|clients| {
        let plant = Plant::new(clients, &Setup::new(Client::Claude, ANYTHING.to_owned()));
        home::seed_claude(&plant.path("home"), &json!({}));
        let spawn =
            ["session", "spawn", "dev", "1", "1", "--worktree", "--runtime", "claude", "--", "claude"];
        plant.ok(&[&spawn[..], &["remember the fish"]].concat());
        plant.asked("the first prompt", |all| all.iter().any(|a| a.prompt.contains("remember the fish")));
        plant.ok(&["session", "kill-all"]);
    });
}
