//! What a client finds in its home and its environment: dummies for keys, loopback for URLs, and no
//! reason to ask anybody anything at its start.

use serde_json::{Value, json};
use shopfloor_model_server::ModelServer;
use std::ffi::OsString;
use std::path::Path;

const KEY: &str = "dummy-key";

/// How Claude Code pays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Account {
    Key,
    Subscription,
}

/// The environment of every client, but for its `PATH` and `HOME`.
pub fn environment(tmp: &Path, server: &ModelServer, account: Account) -> Vec<(&'static str, OsString)> {
    let key = match account {
        Account::Key => "ANTHROPIC_API_KEY",
        Account::Subscription => "CLAUDE_CODE_OAUTH_TOKEN",
    };
    vec![
        ("LANG", "C.UTF-8".into()),
        ("SHELL", "/bin/sh".into()),
        ("TMPDIR", tmp.into()),
        ("CLAUDE_CODE_TMPDIR", tmp.into()),
        ("ANTHROPIC_BASE_URL", server.anthropic_url().into()),
        (key, KEY.into()),
        ("OPENAI_API_KEY", KEY.into()),
        ("DISABLE_AUTOUPDATER", "1".into()),
        ("DISABLE_TELEMETRY", "1".into()),
        ("DISABLE_ERROR_REPORTING", "1".into()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".into()),
        // It refuses to skip permissions as root elsewhere.
        ("IS_SANDBOX", "1".into()),
    ]
}

/// Onboarding done and the key approved, with `projects` as it keeps them: with any of it missing there
/// is a dialog, or a call to its vendor.
pub fn seed_claude(home: &Path, projects: &Value) {
    let state = json!({
        "hasCompletedOnboarding": true, "theme": "dark", "numStartups": 5, "autoUpdates": false,
        "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
        "bypassPermissionsModeAccepted": true, "projects": projects,
    });
    write(&home.join(".claude.json"), &state.to_string());
}

/// The scripted model is its only one. Otherwise it is as it comes: with its own sandbox, which lets a
/// command write to the folder it works in and to nothing else of the machine's.
pub fn seed_codex(home: &Path, server: &ModelServer, more: &str) {
    let config = format!(
        r#"model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
model_context_window = 200000
[model_providers.scripted]
name = "scripted"
base_url = "{}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
{more}"#,
        server.openai_url(),
    );
    write(&home.join(".codex/config.toml"), &config);
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(file, text).expect("written");
}
