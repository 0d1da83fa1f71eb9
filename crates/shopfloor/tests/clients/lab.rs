//! A lab of a test's own: a home, a project, a tmux server and a scripted model that a client finds
//! instead of the world. All of it goes away with it.
//!
//! A client gets an environment of the lab's making and nothing of the machine's but the `PATH`: keys are
//! dummies, URLs are on loopback.

use super::home::{self, Account};
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
        // On a disk: a client with a sandbox has a /dev/shm of its own.
        let mut builder = tempfile::Builder::new();
        let folder = builder.prefix("lab").permissions(private);
        let folder = folder.tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let scenario = Scenario::parse(scenario).expect("a scenario");
        let server = ModelServer::start(scenario).expect("a port on loopback");
        let tmux = Tmux::new(folder.path().join("tmux.sock"), path_variable());
        let lab = Lab { folder, clients: clients.to_owned(), tmux, server };
        for part in ["home/.codex", "tmp", "work"] {
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

    fn seed_claude(&self) {
        let mut projects = json!({});
        projects[self.text("work")] = json!({
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": [],
        });
        home::seed_claude(&self.path("home"), &projects);
        let settings = json!({
            "tui": "default",
            "hooks": self.hooks(&CLAUDE_HOOKS),
            "statusLine": { "type": "command", "command": self.report("statusline.jsonl"), "refreshInterval": 1 },
        });
        self.write("settings.json", &settings.to_string());
    }

    fn seed_codex(&self) {
        let trusted = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", self.text("work"));
        home::seed_codex(&self.path("home"), &self.server, &trusted);
        self.write("home/.codex/hooks.json", &json!({ "hooks": self.hooks(&CODEX_HOOKS) }).to_string());
    }

    fn environment(&self, account: Account) -> Vec<(OsString, OsString)> {
        let own = [("PATH", path_variable()), ("HOME", self.path("home").into())];
        let more = home::environment(&self.path("tmp"), &self.server, account);
        own.into_iter().chain(more).map(|(name, value)| (name.into(), value)).collect()
    }

    /// Claude Code, with a key.
    pub fn claude(&self) -> Pane<'_> {
        self.claude_with(Account::Key)
    }

    /// Claude Code with a subscription.
    pub fn claude_subscribed(&self) -> Pane<'_> {
        self.claude_with(Account::Subscription)
    }

    fn claude_with(&self, account: Account) -> Pane<'_> {
        let settings = self.text("settings.json");
        let args = ["--settings", &settings, "--dangerously-skip-permissions"];
        let pane = self.start(Client::Claude, &args, account);
        pane.wait("it says that it is ready", || !pane.hooks("SessionStart").is_empty());
        pane
    }

    pub fn codex(&self) -> Pane<'_> {
        let off = ["plugins", "apps", "remote_plugin", "plugin_discovery_prefetch"];
        let mut args = vec!["--no-daemon", "--dangerously-bypass-hook-trust"];
        args.extend(off.iter().flat_map(|feature| ["--disable", feature]));
        self.start(Client::Codex, &args, Account::Key)
    }

    fn start(&self, client: Client, args: &[&str], account: Account) -> Pane<'_> {
        let name = if client == Client::Claude { "claude" } else { "codex" };
        let mut argv = vec![self.clients.join("bin").join(name).into_os_string()];
        argv.extend(args.iter().map(OsString::from));
        let env = self.environment(account);
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
