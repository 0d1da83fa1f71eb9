//! `doctor agents`: on the recordings, on a user's own patterns and captures, and on a program that
//! only says its version.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn doctor(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shopfloor"))
        .args(["doctor", "agents"])
        .args(args)
        .env_clear()
        .env("PATH", folder.join("bin"))
        .env("HOME", folder)
        .env("SHOPFLOOR_HOME", folder.join("home"))
        .current_dir(folder)
        .output()
        .expect("it runs")
}

fn folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("doctor").tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("bin")).expect("a folder");
    folder
}

fn client(folder: &Path, says: &str) {
    let file = folder.join("bin/claude");
    std::fs::write(&file, format!("#!/bin/sh\necho '{says}'\n")).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("made executable");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_recordings_hold_and_a_missing_client_is_no_failure() {
    let folder = folder();
    let output = doctor(folder.path(), &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["ok"], true);
    let checks = report["checks"].as_array().expect("checks");
    let find = |name: &str| checks.iter().find(|c| c["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(find("claude dialogs")["status"], "ok");
    assert_eq!(find("codex limit")["status"], "ok");
    assert_eq!(find("claude program")["status"], "warn");
}

#[test]
fn an_installed_client_is_asked_for_its_version() {
    let folder = folder();
    for (says, code, expect) in [
        ("2.1.325 (Claude Code)", 0, "is version 2.1.325"),
        ("3.0.0 (Claude Code)", 0, "3.0.0 is not recorded, only 2.1.197 and 2.1.325"),
        ("2.0.9 (Claude Code)", 1, "at least 2.1.197 is needed"),
        ("hello", 1, "names no version"),
    ] {
        client(folder.path(), says);
        let output = doctor(folder.path(), &["--client", "claude", "--no-run"]);
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{says}: {shown}");
        assert!(shown.contains(expect), "{says}: {shown}");
    }
}

#[test]
fn a_client_that_does_not_run_as_it_should_gets_a_verdict() {
    let folder = folder();
    client(folder.path(), "2.1.325 (Claude Code)");
    let mut path = folder.path().join("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").expect("a PATH"));
    std::fs::create_dir(folder.path().join("tmp")).expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_shopfloor"))
        .args(["doctor", "agents", "--client", "claude"])
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path().join("tmp"))
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("fail  claude tried: starts: it ended at once; it shows:"), "{shown}");
    assert!(shown.contains("        2.1.325 (Claude Code)"), "{shown}");
    let left: Vec<_> = std::fs::read_dir(folder.path().join("tmp")).expect("listed").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_users_patterns_are_run_on_the_recordings() {
    let folder = folder();
    let file = folder.path().join("mine.toml");
    let run = |content: &str| {
        std::fs::write(&file, content).expect("written");
        doctor(folder.path(), &["--client", "claude", "--runtime", "mine.toml", "--no-run"])
    };
    assert_eq!(run("[submit]\npause_ms = 400\n").status.code(), Some(0));
    let greedy =
        "[[screen.rules]]\nname = \"greedy\"\nwhere = \"screen\"\nany = [\"*❯*\"]\nmeaning = \"ready\"\n";
    let output = run(greedy);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("fail  claude dialogs") && shown.contains("taken for ready"), "{shown}");
    let output = run("[screen]\nprompts = \"x\"\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("mine.toml:2:1: unknown key `prompts`"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_users_captures_are_named_for_what_they_are_taken_for() {
    let folder = folder();
    let screens = folder.path().join("screens");
    std::fs::create_dir(&screens).expect("a folder");
    let rule = "─".repeat(40);
    std::fs::write(screens.join("a.txt"), format!("{rule}\n❯\u{a0}\n{rule}\n")).expect("written");
    std::fs::write(screens.join("b.txt"), "Something new\n Enter to confirm\n").expect("written");
    std::fs::write(screens.join("c.txt"), "not a client\n").expect("written");
    std::fs::write(screens.join("d.txt"), [0xff, 0xfe]).expect("written");
    let output = doctor(folder.path(), &["--client", "claude", "--screens", "screens", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let taken: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows: Vec<(&str, bool)> = taken
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| (row["taken_for"].as_str().unwrap_or("?"), row["would_type"] == true))
        .collect();
    assert_eq!(
        rows,
        [("ready", true), ("dialog(other)", false), ("nothing", false), ("is not UTF-8 text", false)]
    );
    let output = doctor(folder.path(), &["--client", "claude", "--screens", "nowhere"]);
    assert_eq!(output.status.code(), Some(4));
}
