//! Clients' own files: ours is put in and taken out, everything else stays.

use serde_json::{Value, json};
use shopfloor_adapters::agent::settings::{
    ClaudeRules, Client, MARKER, claude_settings, codex_overrides, install, installed, remove,
};
use shopfloor_adapters::agent::trust::{Answers, claude_file, seed_claude};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn file(content: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    fs::write(&path, content).unwrap();
    (dir, path)
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_session_of_claude_tells_us_everything() {
    let settings = claude_settings(Path::new("/a b/shopfloor"), &ClaudeRules::default());
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(hooks.len(), 13);
    for (event, groups) in hooks {
        let command = groups[0]["hooks"][0]["command"].as_str().unwrap();
        assert_eq!(command, format!("'/a b/shopfloor' hook {MARKER}"), "{event}");
    }
    assert_eq!(settings["statusLine"]["refreshInterval"], 10);
    assert_eq!(settings["tui"], "default");
}

#[test]
fn a_session_of_codex_needs_no_file() {
    let words = codex_overrides(Path::new("/bin/shop\"floor"), Path::new("/w/issue 1"));
    assert!(words.chunks(2).all(|pair| pair[0] == "-c"), "{words:?}");
    let setting = |name: &str| words.iter().find_map(|w| w.strip_prefix(&format!("{name}="))).unwrap();
    assert_eq!(setting("notify"), r#"["/bin/shop\"floor","hook","notify"]"#);
    assert_eq!(setting("projects"), r#"{"/w/issue 1"={"trust_level"="trusted"}}"#);
    assert_eq!(
        setting("hooks.Stop"),
        r##"[{"hooks"=[{"command"="'/bin/shop\"floor' hook # managed by shopfloor","timeout"=10,"type"="command"}]}]"##
    );
    assert!(setting("hooks.SessionEnd").contains("\"timeout\"=3"));
}

#[test]
fn what_was_put_in_is_taken_out_and_nothing_else() {
    let own = [
        json!({}),
        json!({"hooks": {}}),
        json!({"hooks": {"Stop": []}, "x": [1, {"y": null}]}),
        json!({"statusLine": {"type": "command", "command": "mine"}, "hooks": {"Other": "odd"}}),
        json!({"hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}, {"hooks": []}],
            "Stop": [{"hooks": [{"type": "http", "url": "http://127.0.0.1"}]}],
        }}),
    ];
    for own in own {
        for client in [Client::Claude, Client::Codex] {
            let (_dir, path) = file(&own.to_string());
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            assert!(!remove(&path).unwrap());
            assert!(install(&path, client, Path::new("/old/shopfloor")).unwrap().changed);
            // Another program of ours takes the place of the first.
            let done = install(&path, client, Path::new("/new/shopfloor")).unwrap();
            assert!(done.changed);
            let has_line = client == Client::Claude && own.get("statusLine").is_some();
            assert_eq!(done.other_status_line, has_line, "{own}");
            assert!(!install(&path, client, Path::new("/new/shopfloor")).unwrap().changed);
            let ours = installed(&path).unwrap();
            let line = usize::from(client == Client::Claude && !has_line);
            assert_eq!(ours.len(), client.events().len() + line);
            assert!(ours.iter().all(|(_, command)| command.starts_with("/new/")), "{ours:?}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
            assert!(remove(&path).unwrap());
            let left = json_of(&path);
            // Empty lists that were there for events of ours are the only thing that may go.
            assert_eq!(left, own_without_empty(&own, client), "{own}");
        }
    }
}

fn own_without_empty(own: &Value, client: Client) -> Value {
    let mut own = own.clone();
    if let Some(hooks) = own.get_mut("hooks").and_then(Value::as_object_mut) {
        hooks.retain(|event, list| !(client.events().contains(&event.as_str()) && *list == json!([])));
        if hooks.is_empty() {
            own.as_object_mut().unwrap().remove("hooks");
        }
    }
    own
}

#[test]
fn what_is_no_settings_file_is_left_alone() {
    for content in ["{", "[]", "{\"hooks\": 3}", "{\"hooks\": {\"Stop\": {}}}"] {
        let (_dir, path) = file(content);
        let error = install(&path, Client::Claude, Path::new("/x")).unwrap_err().to_string();
        assert!(error.contains("nothing was changed"), "{content}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn a_link_is_followed() {
    let (dir, target) = file("{}");
    let link = dir.path().join("link.json");
    std::os::unix::fs::symlink("settings.json", &link).unwrap();
    install(&link, Client::Codex, Path::new("/x")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(json_of(&target).get("hooks").is_some());
    // Also to where nothing is yet.
    let dangling = dir.path().join("dangling.json");
    std::os::unix::fs::symlink("new.json", &dangling).unwrap();
    install(&dangling, Client::Codex, Path::new("/x")).unwrap();
    assert!(json_of(&dir.path().join("new.json")).get("hooks").is_some());
}

fn answers(worktree: &str, skip_permissions: bool) -> Answers<'_> {
    Answers { worktree: Path::new(worktree), worktrees: None, skip_permissions, key: None }
}

fn beside<'a>(worktree: &'a Path, worktrees: &'a Path) -> Answers<'a> {
    Answers { worktree, worktrees: Some(worktrees), skip_permissions: false, key: None }
}

#[test]
fn a_key_that_is_passed_on_is_approved_as_the_client_does() {
    let (_dir, path) =
        file(r#"{"customApiKeyResponses":{"approved":["other"],"rejected":["0123456789abcdefghij"]}}"#);
    let passed = Answers { key: Some("sk-ant-0123456789abcdefghij"), ..answers("/w", false) };
    assert!(seed_claude(&path, &passed).unwrap());
    let expect = json!({"approved": ["other", "0123456789abcdefghij"], "rejected": []});
    assert_eq!(json_of(&path)["customApiKeyResponses"], expect);
    assert!(!fs::read_to_string(&path).unwrap().contains("sk-ant"), "its end will do");
    assert!(!seed_claude(&path, &passed).unwrap(), "once");
}

#[test]
fn questions_are_answered_once_and_everything_else_stays() {
    let (dir, path) = file(r#"{"numStartups":5,"projects":{"/w":{"allowedTools":["x"]},"/v":{}}}"#);
    assert!(seed_claude(&path, &answers("/w", false)).unwrap());
    assert_eq!(
        json_of(&path),
        json!({"numStartups": 5, "hasCompletedOnboarding": true, "projects": {
            "/w": {"allowedTools": ["x"], "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true},
            "/v": {},
        }})
    );
    assert!(!seed_claude(&path, &answers("/w", false)).unwrap());
    assert!(seed_claude(&path, &answers("/w", true)).unwrap());
    assert_eq!(json_of(&path)["bypassPermissionsModeAccepted"], true);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no lock is left");

    let new = claude_file(&dir.path().join("home"), None);
    assert!(seed_claude(&new, &answers("/w", false)).unwrap());
    assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(claude_file(Path::new("/h"), Some(Path::new("/c"))), Path::new("/c/.claude.json"));
}

#[test]
fn worktrees_that_are_gone_are_forgotten_and_nothing_else() {
    let (dir, path) = file("{}");
    let worktrees = dir.path().join("worktrees");
    let worktree = |n: u32| worktrees.join(format!("issue-{n}"));
    for n in [1, 2] {
        fs::create_dir_all(worktree(n)).unwrap();
        seed_claude(&path, &beside(&worktree(n), &worktrees)).unwrap();
    }
    seed_claude(&path, &answers("/gone/elsewhere", false)).unwrap();
    fs::remove_dir(worktree(1)).unwrap();
    seed_claude(&path, &beside(&worktree(3), &worktrees)).unwrap();
    let known = json_of(&path)["projects"].clone();
    let known: BTreeSet<String> = known.as_object().unwrap().keys().cloned().collect();
    let worktrees = [2, 3].map(|n| worktree(n).display().to_string());
    assert_eq!(known, BTreeSet::from(worktrees).into_iter().chain(["/gone/elsewhere".to_owned()]).collect());
}

#[test]
fn a_file_that_is_damaged_or_locked_is_not_touched() {
    let (_dir, path) = file("{ damaged");
    assert!(seed_claude(&path, &answers("/w", false)).unwrap_err().to_string().contains("is not JSON"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ damaged");
    let (dir, path) = file("{}");
    let lock = dir.path().join("settings.json.lock");
    fs::create_dir(&lock).unwrap();
    let error = seed_claude(&path, &answers("/w", false)).unwrap_err();
    assert_eq!(
        (error.kind(), fs::read_to_string(&path).unwrap().as_str()),
        (std::io::ErrorKind::WouldBlock, "{}")
    );
    // Nobody has renewed it for long: its holder is dead.
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::open(&lock).unwrap().set_modified(long_ago).unwrap();
    assert!(seed_claude(&path, &answers("/w", false)).unwrap());
    assert!(!lock.exists());
}

#[test]
fn many_at_once_all_get_their_folder_in() {
    let (_dir, path) = file("{}");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let path = &path;
            let folder = format!("/w{n}");
            // Held for longer than it is waited for: tried again, as the caller would.
            scope.spawn(move || while seed_claude(path, &answers(&folder, false)).is_err() {});
        }
    });
    assert_eq!(json_of(&path)["projects"].as_object().unwrap().len(), 8);
}
