//! A lab of a test's own: a home, a project, a tmux server and a scripted model that a client finds
//! instead of the world. All of it goes away with it.
//!
//! A client gets an environment of the lab's making and nothing of the machine's but the `PATH`: keys are
//! dummies, URLs are on loopback.

use super::pane::Pane;
use serde_json::{Value, json};
use shopfloor_adapters::terminal::tmux::{SpawnSpec, Tmux};
use shopfloor_core::runtime::{EMBEDDED, RuntimeSpec};
use shopfloor_model_server::{Client, ModelServer, Scenario};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const KEY: &str = "dummy-key";

const CLAUDE_HOOKS: [&str; 8] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "PreCompact",
];
const CODEX_HOOKS: [&str; 5] = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];

pub struct Lab {
    folder: TempDir,
    clients: PathBuf,
    pub tmux: Tmux,
    pub server: ModelServer,
}

impl Lab {
    pub fn new(clients: &Path, scenario: &str) -> Lab {
        let private = std::fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("lab").permissions(private).tempdir().expect("a folder");
        let scenario = Scenario::parse(scenario).expect("a scenario");
        let server = ModelServer::start(scenario).expect("a port on loopback");
        let tmux = Tmux::new(folder.path().join("tmux.sock"), path_variable());
        let lab = Lab { folder, clients: clients.to_owned(), tmux, server };
        for part in ["home/.claude", "home/.codex", "tmp", "work"] {
            std::fs::create_dir_all(lab.path(part)).expect("a folder");
        }
        lab.git(&["init", "--quiet", "-b", "main"]);
        lab.git(&[
            "-c",
            "user.name=lab",
            "-c",
            "user.email=lab@localhost",
            "commit",
            "-qm",
            "begin",
            "--allow-empty",
        ]);
        lab.write("report.sh", "printf '%s\\n' \"$(tr -d '\\n')\" >> \"$1\"\n");
        lab.seed_claude();
        lab.seed_codex();
        lab
    }

    pub fn path(&self, part: &str) -> PathBuf {
        self.folder.path().join(part)
    }

    fn text(&self, part: &str) -> String {
        self.path(part).to_str().expect("a path in UTF-8").to_owned()
    }

    fn write(&self, part: &str, text: &str) {
        std::fs::write(self.path(part), text).expect("written");
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(args).current_dir(self.path("work")).env_clear().env("PATH", path_variable());
        let status = git.env("HOME", self.path("home")).stdin(Stdio::null()).status().expect("git runs");
        assert!(status.success(), "git {args:?}");
    }

    /// A hook or status line that writes what it is told to a file, a line each time.
    fn report(&self, file: &str) -> String {
        format!("sh {} {}", self.text("report.sh"), self.text(file))
    }

    fn hooks(&self, events: &[&str]) -> Value {
        let hook = json!([{ "hooks": [{ "type": "command", "command": self.report("hooks.jsonl"), "timeout": 3 }] }]);
        events
            .iter()
            .map(|event| ((*event).to_owned(), hook.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// Onboarding done, the key approved, the project trusted: with any of it missing there is a dialog,
    /// or a call to its vendor.
    fn seed_claude(&self) {
        let project = json!({
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": [],
        });
        let mut state = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "numStartups": 5, "autoUpdates": false,
            "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
            "bypassPermissionsModeAccepted": true, "projects": {},
        });
        state["projects"][self.text("work")] = project;
        self.write("home/.claude.json", &state.to_string());
        let settings = json!({
            "tui": "default",
            "hooks": self.hooks(&CLAUDE_HOOKS),
            "statusLine": { "type": "command", "command": self.report("statusline.jsonl"), "refreshInterval": 1 },
        });
        self.write("settings.json", &settings.to_string());
    }

    fn seed_codex(&self) {
        let config = format!(
            r#"model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
model_context_window = 200000
[model_providers.scripted]
name = "scripted"
base_url = "{}"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
[projects."{}"]
trust_level = "trusted"
[analytics]
enabled = false
"#,
            self.server.openai_url(),
            self.text("work")
        );
        self.write("home/.codex/config.toml", &config);
        self.write("home/.codex/hooks.json", &json!({ "hooks": self.hooks(&CODEX_HOOKS) }).to_string());
    }

    /// The environment of every client; a later value of the same name counts.
    fn environment(&self, more: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let (home, tmp, url) = (self.text("home"), self.text("tmp"), self.server.anthropic_url());
        let mut environment = vec![(OsString::from("PATH"), path_variable())];
        let fixed = [
            ("HOME", home.as_str()),
            ("LANG", "C.UTF-8"),
            ("SHELL", "/bin/sh"),
            ("TMPDIR", &tmp),
            ("CLAUDE_CODE_TMPDIR", &tmp),
            ("ANTHROPIC_BASE_URL", &url),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            // It refuses to skip permissions as root elsewhere.
            ("IS_SANDBOX", "1"),
        ];
        let own = fixed.iter().chain(more);
        environment.extend(own.map(|(name, value)| (OsString::from(*name), OsString::from(*value))));
        environment
    }

    /// Claude Code, with a key.
    pub fn claude(&self) -> Pane<'_> {
        self.claude_with(&[("ANTHROPIC_API_KEY", KEY)])
    }

    /// Claude Code with a subscription.
    pub fn claude_subscribed(&self) -> Pane<'_> {
        self.claude_with(&[("CLAUDE_CODE_OAUTH_TOKEN", KEY)])
    }

    fn claude_with(&self, environment: &[(&str, &str)]) -> Pane<'_> {
        let settings = self.text("settings.json");
        let args = ["--settings", &settings, "--dangerously-skip-permissions"];
        let pane = self.start(Client::Claude, &args, environment);
        pane.wait("it says that it is ready", || !pane.hooks("SessionStart").is_empty());
        pane
    }

    pub fn codex(&self) -> Pane<'_> {
        let off = ["plugins", "apps", "remote_plugin", "plugin_discovery_prefetch"];
        let mut args = vec!["--no-daemon", "--dangerously-bypass-hook-trust"];
        args.extend(off.iter().flat_map(|feature| ["--disable", feature]));
        self.start(Client::Codex, &args, &[("OPENAI_API_KEY", KEY)])
    }

    fn start(&self, client: Client, args: &[&str], environment: &[(&str, &str)]) -> Pane<'_> {
        let name = if client == Client::Claude { "claude" } else { "codex" };
        let mut argv = vec![self.clients.join("bin").join(name).into_os_string()];
        argv.extend(args.iter().map(OsString::from));
        let env = self.environment(environment);
        let spec = SpawnSpec { name: name.to_owned(), cwd: self.path("work"), argv, env };
        self.tmux.spawn(&spec).expect("spawned");
        let pane = Pane { lab: self, name, spec: runtime(name) };
        pane.wait("it can be typed into", || pane.reading().composer.as_str() == "empty");
        pane
    }

    /// The lines of a file that are whole; none if it is not there.
    pub fn lines(&self, file: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(str::to_owned).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for (name, _) in self.tmux.list().unwrap_or_default() {
            if std::thread::panicking() {
                eprintln!("{}", self.tmux.capture(&name, 60).unwrap_or_default());
            }
            let ended = self.tmux.end(&name);
            assert!(ended.is_ok() || std::thread::panicking(), "{name} is left: {ended:?}");
        }
        if std::thread::panicking() {
            for asked in self.server.requests() {
                let prompt: String = asked.prompt.chars().take(80).collect();
                eprintln!("{} {:?} {prompt:?} by {:?}", asked.number, asked.kind, asked.by);
            }
            eprintln!("{:?}", self.server.other_requests());
        }
    }
}

fn runtime(name: &str) -> RuntimeSpec {
    let (_, text) = EMBEDDED.iter().find(|(known, _)| *known == name).expect("a runtime of that name");
    toml::from_str(text).expect("a runtime")
}

fn path_variable() -> OsString {
    std::env::var_os("PATH").expect("a PATH")
}
