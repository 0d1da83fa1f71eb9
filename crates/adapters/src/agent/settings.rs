//! What makes clients call us: settings for a session of ours, and entries for a person's own settings.
//!
//! Each of our entries ends in [`MARKER`], a comment to the shell that runs it, which distinguishes it from
//! anybody else's. Measured on Claude Code 2.1.325 and Codex 0.166.0.

use super::json_file;
use serde_json::{Map, Value, json};
use shopfloor_core::text::shell_word;
use std::io;
use std::path::{Path, PathBuf};

/// Ends each of our commands in a client's settings.
pub const MARKER: &str = "# managed by shopfloor";

/// A hook answers in milliseconds; this is for a machine that is nearly stalled.
const TIMEOUT_SECONDS: u64 = 10;
/// Codex gives the last hooks of a session no more than this, and warns about a longer timeout.
const LAST_TIMEOUT_SECONDS: u64 = 3;
/// How often the status line is redrawn when nothing happens.
const REFRESH_SECONDS: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    Claude,
    Codex,
}

impl Client {
    /// The events it reports to us.
    pub fn events(self) -> &'static [&'static str] {
        match self {
            Client::Claude => &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PostToolUseFailure",
                "Notification",
                "PermissionRequest",
                "Stop",
                "StopFailure",
                "SubagentStop",
                "PreCompact",
                "PostCompact",
                "SessionEnd",
            ],
            Client::Codex => &[
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PermissionRequest",
                "PreCompact",
                "PostCompact",
                "Stop",
                "SubagentStop",
                "Interrupt",
                "SessionEnd",
            ],
        }
    }

    /// A person's own file with hooks. `config`: the folder that `CLAUDE_CONFIG_DIR` or `CODEX_HOME` names,
    /// if set.
    pub fn user_file(self, home: &Path, config: Option<&Path>) -> PathBuf {
        let folder = |name: &str| config.map_or_else(|| home.join(name), Path::to_owned);
        match self {
            Client::Claude => folder(".claude").join("settings.json"),
            Client::Codex => folder(".codex").join("hooks.json"),
        }
    }
}

/// The settings file that turns off all of Claude Code's hooks in a worktree, including ours: the first file
/// that says anything about it counts. An unreadable file says nothing.
pub fn claude_hooks_off(worktree: &Path, home: &Path, config: Option<&Path>) -> Option<PathBuf> {
    let own = worktree.join(".claude");
    let user = Client::Claude.user_file(home, config);
    let files = [own.join("settings.local.json"), own.join("settings.json"), user];
    let says = |file: PathBuf| {
        let off = json_file::read(&file).ok()?.get("disableAllHooks")?.as_bool()?;
        Some((file, off))
    };
    files.into_iter().find_map(says).filter(|(_, off)| *off).map(|(file, _)| file)
}

fn command(program: &Path, call: &str) -> String {
    format!("{} {call} {MARKER}", shell_word(&program.to_string_lossy()))
}

fn entry(client: Client, event: &str, program: &Path) -> Value {
    let last = client == Client::Codex && matches!(event, "Interrupt" | "SessionEnd");
    let timeout = if last { LAST_TIMEOUT_SECONDS } else { TIMEOUT_SECONDS };
    json!({"hooks": [{"type": "command", "command": command(program, "hook"), "timeout": timeout}]})
}

fn status_line(program: &Path) -> Value {
    json!({"type": "command", "command": command(program, "statusline"), "padding": 0,
        "refreshInterval": REFRESH_SECONDS})
}

/// What a Claude Code session need not ask about.
#[derive(Clone, Debug, Default)]
pub struct ClaudeRules {
    /// Its permission rules, see [`super::rules`].
    pub allow: Vec<String>,
    /// Servers in the worktree's own `.mcp.json` that must not be used.
    pub no_mcp: Vec<String>,
}

/// For Claude Code's `--settings`: added on top of the person's own, for this session only. `program` is the
/// absolute path of `shopfloor`.
pub fn claude_settings(program: &Path, rules: &ClaudeRules) -> Value {
    let events = Client::Claude.events();
    let hooks: Map<String, Value> = events
        .iter()
        .map(|event| ((*event).to_owned(), json!([entry(Client::Claude, event, program)])))
        .collect();
    json!({
        // The classic renderer: we read screens, and the other one draws them differently.
        "tui": "default",
        // Only asked with `--dangerously-skip-permissions`, and then that is what was configured.
        "skipDangerousModePermissionPrompt": true,
        "hooks": hooks,
        "statusLine": status_line(program),
        "permissions": { "allow": rules.allow },
        "disabledMcpjsonServers": rules.no_mcp,
    })
}

/// For Codex's command line: hooks, `notify` and trust in the worktree, for this session only. These are the
/// words of the placeholder `{overrides}`. They need `--dangerously-bypass-hook-trust` beside them: nobody
/// has reviewed these hooks.
pub fn codex_overrides(program: &Path, worktree: &Path) -> Vec<String> {
    let mut words = vec![];
    let mut set = |setting: String| words.extend(["-c".to_owned(), setting]);
    for event in Client::Codex.events() {
        set(format!("hooks.{event}=[{}]", toml(&entry(Client::Codex, event, program))));
    }
    set(format!("notify={}", toml(&json!([program.to_string_lossy(), "hook", "notify"]))));
    // As a table: a quoted key in a dotted path is not understood.
    let mut trusted = Map::new();
    trusted.insert(worktree.to_string_lossy().into_owned(), json!({"trust_level": "trusted"}));
    set(format!("projects={}", toml(&Value::Object(trusted))));
    words
}

/// For Codex's command line: folders besides its worktree that the sandbox lets an agent write to. They
/// replace the person's own list, so they have to include it.
pub fn codex_writable(folders: &[PathBuf]) -> [String; 2] {
    let folders: Vec<Value> = folders.iter().map(|folder| json!(folder.to_string_lossy())).collect();
    ["-c".to_owned(), format!("sandbox_workspace_write.writable_roots={}", toml(&Value::Array(folders)))]
}

/// For Codex's command line: no sandbox of its own, since it is in ours.
pub fn codex_unconfined() -> [String; 2] {
    ["-c".to_owned(), "sandbox_mode=\"danger-full-access\"".to_owned()]
}

/// For Codex's command line: a server that must not be used. A name that cannot appear in a dotted path
/// cannot be switched off there; such names are never passed in.
pub fn codex_without_mcp(server: &str) -> [String; 2] {
    ["-c".to_owned(), format!("mcp_servers.{server}.enabled=false")]
}

/// A value in TOML, on one line.
fn toml(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(",");
    match value {
        Value::Object(map) => {
            let pair = |(key, value): (&String, &Value)| format!("{}={}", text(key), toml(value));
            format!("{{{}}}", list(map.iter().map(pair).collect()))
        }
        Value::Array(values) => format!("[{}]", list(values.iter().map(toml).collect())),
        Value::String(string) => text(string),
        other => other.to_string(),
    }
}

/// A TOML string. JSON's escapes are TOML's too; the character that only TOML must escape is escaped.
fn text(string: &str) -> String {
    Value::from(string).to_string().replace('\u{7f}', "\\u007F")
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    pub changed: bool,
    /// There is somebody else's status line, which stays.
    pub other_status_line: bool,
}

/// Puts our entries beside the existing ones. Earlier entries of ours are replaced.
pub fn install(file: &Path, client: Client, program: &Path) -> io::Result<Changed> {
    let mut result = Changed { changed: false, other_status_line: false };
    let mut wrong = None;
    result.changed = json_file::edit(file, |settings| {
        let before = settings.clone();
        take_out(settings);
        wrong = put_in(settings, client, program).err();
        if wrong.is_some() {
            *settings = before;
            return;
        }
        if client == Client::Claude {
            result.other_status_line = settings.contains_key("statusLine");
            settings.entry("statusLine").or_insert_with(|| status_line(program));
        }
    })?;
    match wrong {
        Some(what) => {
            let what = format!("{}: {what}; nothing was changed", file.display());
            Err(io::Error::new(io::ErrorKind::InvalidData, what))
        }
        None => Ok(result),
    }
}

fn put_in(settings: &mut Map<String, Value>, client: Client, program: &Path) -> Result<(), String> {
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or("`hooks` is not an object")?;
    for event in client.events() {
        let list = hooks.entry(*event).or_insert_with(|| json!([]));
        let list = list.as_array_mut().ok_or_else(|| format!("`hooks.{event}` is not a list"))?;
        list.push(entry(client, event, program));
    }
    Ok(())
}

/// Removes our entries and nothing else. Returns whether there were any.
pub fn remove(file: &Path) -> io::Result<bool> {
    json_file::edit(file, take_out)
}

/// Our entries in a file: the event (or `statusLine`) and the command.
pub fn installed(file: &Path) -> io::Result<Vec<(String, String)>> {
    let settings = json_file::read(file)?;
    let mut found = vec![];
    if let Some(command) = settings.get("statusLine").and_then(our_command) {
        found.push(("statusLine".to_owned(), command.to_owned()));
    }
    for (event, groups) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        let groups = groups.as_array().into_iter().flatten();
        let hooks = groups.filter_map(|group| group.get("hooks")?.as_array()).flatten();
        found.extend(hooks.filter_map(our_command).map(|command| (event.clone(), command.to_owned())));
    }
    Ok(found)
}

fn our_command(entry: &Value) -> Option<&str> {
    entry.get("command")?.as_str().filter(|command| command.trim_end().ends_with(MARKER))
}

fn take_out(settings: &mut Map<String, Value>) {
    if settings.get("statusLine").is_some_and(|line| our_command(line).is_some()) {
        settings.remove("statusLine");
    }
    let Some(Value::Object(hooks)) = settings.get_mut("hooks") else { return };
    let mut any = false;
    hooks.retain(|_, groups| {
        let Value::Array(groups) = groups else { return true };
        let mut ours = false;
        groups.retain_mut(|group| {
            let Some(Value::Array(hooks)) = group.get_mut("hooks") else { return true };
            let before = hooks.len();
            hooks.retain(|hook| our_command(hook).is_none());
            let taken = hooks.len() < before;
            ours |= taken;
            !(taken && hooks.is_empty())
        });
        any |= ours;
        // Whatever is empty because of us was made by us.
        !(ours && groups.is_empty())
    });
    if any && hooks.is_empty() {
        settings.remove("hooks");
    }
}
