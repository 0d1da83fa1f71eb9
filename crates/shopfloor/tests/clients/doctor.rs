//! `shopfloor doctor agents --client`: the real clients pass it, and nothing of the user's is touched.

use super::isolation::with_clients;
use std::path::Path;
use std::process::Command;

fn is_certified(clients: &Path, client: &str, behaviours: &[&str]) {
    let folder = tempfile::Builder::new().prefix("doctor").tempdir().expect("a folder");
    for part in ["home", "tmp"] {
        std::fs::create_dir(folder.path().join(part)).expect("a folder");
    }
    let mut path = clients.join("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").expect("a PATH"));
    let output = Command::new(env!("CARGO_BIN_EXE_shopfloor"))
        .args(["doctor", "agents", "--json", "--client", client])
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder.path().join("home"))
        .env("TMPDIR", folder.path().join("tmp"))
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = report["checks"].as_array().expect("a list");
    let names: Vec<&str> = checks.iter().filter_map(|check| check["name"].as_str()).collect();
    let tried = format!("{client} tried: ");
    let tried: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(tried.as_str())).collect();
    assert_eq!(tried, behaviours, "{report}");
    let bad: Vec<_> = checks.iter().filter(|check| check["status"] != "ok").collect();
    assert!(bad.is_empty(), "{bad:#?}");
    for part in ["home", "tmp"] {
        let left: Vec<_> = std::fs::read_dir(folder.path().join(part)).expect("listed").collect();
        assert!(left.is_empty(), "{part}: {left:?}");
    }
}

#[test]
fn claude_is_certified() {
    with_clients(|clients| {
        let behaviours = [
            "starts",
            "status line",
            "prompt",
            "at work",
            "turn's end",
            "guard",
            "failed turn",
            "resume",
            "resume of nothing",
            "dialog",
        ];
        is_certified(clients, "claude", &behaviours);
    });
}

#[test]
fn codex_is_certified() {
    with_clients(|clients| {
        let behaviours = [
            "starts",
            "prompt",
            "at work",
            "turn's end",
            "guard",
            "failed turn",
            "resume",
            "resume of nothing",
            "dialog",
        ];
        is_certified(clients, "codex", &behaviours);
    });
}
