//! Whether a session of a role could be started at all: one line says what prevents every session, and what
//! to do about it. Checked before an issue is touched, and again before each session.
//!
//! This costs little: programs are asked again only when a file has changed, and asked for a login only if
//! nothing else shows one.

use super::codex::{self, Configuration};
use super::{AgentConfig, client, json_file, key, settings, trust};
use crate::host::command;
use serde_json::Value;
use shopfloor_core::runtime::Setup;
use shopfloor_core::text::one_line;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

type Environment = [(OsString, OsString)];

/// How long a client may take to answer a question about itself.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const SAID_CHARS_MAX: usize = 300;

/// Any of these pays for Claude Code.
const CLAUDE_ACCOUNTS: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

/// `env` is the session's, with the folder of the floor's own programs on its `PATH`.
pub fn trouble(config: &AgentConfig, env: &Environment) -> Option<String> {
    check(config, env).err()
}

/// The files that may have to change before a session can be started: programs, wherever on the PATH they may
/// appear, and the client's settings and logins.
pub fn files(config: &AgentConfig) -> Vec<PathBuf> {
    let env = &config.env;
    let mut files = Vec::new();
    if let Some(home) = client::variable(env, "HOME").map(Path::new) {
        match config.spec.setup {
            Setup::Nothing => {}
            Setup::Claude => {
                let folder = client::variable(env, "CLAUDE_CONFIG_DIR").map(Path::new);
                let own = settings::Client::Claude.user_file(home, folder);
                files.push(own.with_file_name(".credentials.json"));
                files.push(own);
            }
            Setup::Codex => {
                let folder = codex::home(env).unwrap_or_default();
                files.extend(["config.toml", "auth.json"].map(|name| folder.join(name)));
            }
        }
    }
    let program = program(config).filter(|program| !program.contains('/'));
    let names = program.into_iter().map(String::as_str).chain(["tmux"]);
    let path = client::variable(env, "PATH").unwrap_or_default();
    files.extend(names.flat_map(|name| std::env::split_paths(path).map(move |folder| folder.join(name))));
    files.retain(|file| file.is_absolute());
    files
}

/// The program that is run; the project's own if the runtime can run any.
fn program(config: &AgentConfig) -> Option<&String> {
    match config.spec.launch.argv.first().map(String::as_str) {
        Some("{command}") => config.values.get("command").and_then(|words| words.first()),
        _ => config.spec.launch.argv.first(),
    }
}

fn check(config: &AgentConfig, env: &Environment) -> Result<(), String> {
    let nowhere = Path::new("/");
    if client::find("tmux", env, nowhere).is_none() {
        return Err("tmux is not installed, or not on the PATH: install it with your package manager".into());
    }
    let spec = &config.spec;
    let Some(program) = program(config) else { return Ok(()) };
    // A path in the repository is a different file in each worktree.
    let relative = program.contains('/') && !program.starts_with('/');
    let path = client::find(program, env, nowhere);
    let Some(path) = path else {
        return match relative {
            true => Ok(()),
            false => Err(format!(
                "{program} is not installed, or not on the PATH of the agents: install it, or choose another agent in shopfloor.toml"
            )),
        };
    };
    if let Some(check) = &spec.version {
        client::check_version(&path, check, env)?;
    }
    refuses_root(config, program, env)?;
    let mut env = env.to_vec();
    if let Some(wanted) = &config.key {
        let key = key::ask(wanted, &env)?;
        env.push((wanted.variable.clone().into(), key.into()));
    }
    match spec.setup {
        Setup::Nothing => Ok(()),
        Setup::Claude => claude(&path, &env),
        Setup::Codex => codex(&path, &env),
    }
}

fn refuses_root(config: &AgentConfig, program: &str, env: &Environment) -> Result<(), String> {
    let Some(refusal) = &config.spec.root else { return Ok(()) };
    let mode = config.values.get("permission_mode").and_then(|mode| mode.first());
    let refused = mode.is_some_and(|mode| refusal.permission_modes.contains(mode));
    if !refused
        || !rustix::process::geteuid().is_root()
        || client::variable(env, &refusal.unless_env).is_some()
    {
        return Ok(());
    }
    Err(format!(
        "{program} refuses to run as root with permission_mode = {:?}: run the floor as another user, or, in a sandbox, set {} and add it to pass_env",
        mode.map_or("", String::as_str),
        refusal.unless_env
    ))
}

fn claude(path: &Path, env: &Environment) -> Result<(), String> {
    let Some(home) = client::variable(env, "HOME").map(Path::new) else { return Ok(()) };
    let config = client::variable(env, "CLAUDE_CONFIG_DIR").map(Path::new);
    let own = settings::Client::Claude.user_file(home, config);
    let read = |file: &Path| json_file::read(file).map_err(|e| format!("claude's own settings: {e}"));
    let settings = read(&own)?;
    read(&trust::claude_file(home, config))?;
    let set = |name: &&str| client::variable(env, name).is_some_and(|value| !value.is_empty());
    let in_settings = |name: &&str| settings.get("env").is_some_and(|env| env.get(*name).is_some());
    let known = CLAUDE_ACCOUNTS.iter().any(|name| set(name) || in_settings(name))
        || settings.contains_key("apiKeyHelper")
        || own.with_file_name(".credentials.json").exists();
    if known {
        return Ok(());
    }
    // A client that cannot be asked is not known to be logged out.
    let files = [path, &own, &own.with_file_name(".credentials.json")];
    let said = said_of_login(path, &["auth", "status"], env, &files);
    let status: Value = serde_json::from_str(said.trim()).unwrap_or_default();
    match status.get("loggedIn") {
        Some(Value::Bool(false)) => Err(
            "claude is not logged in, and there is no key: run `claude auth login`, or put ANTHROPIC_API_KEY into pass_env"
                .into(),
        ),
        _ => Ok(()),
    }
}

fn codex(path: &Path, env: &Environment) -> Result<(), String> {
    let Some(home) = codex::home(env) else { return Ok(()) };
    let file = home.join("config.toml");
    let config = Configuration::read(&file).map_err(|why| format!("codex's own settings: {why}"))?;
    if let Some(name) =
        config.key_variable().filter(|name| client::variable(env, name).is_none_or(OsStr::is_empty))
    {
        return Err(format!(
            "codex has no key: {name}, which its model provider takes it from, is not set for the agents: set it, and put it into pass_env"
        ));
    }
    let said = said_of_login(path, &["login", "status"], env, &[path, &file, &home.join("auth.json")]);
    if let Some(wrong) = said.lines().find(|line| line.starts_with("Error loading config")) {
        return Err(format!("codex does not accept its own settings: {}", one_line(wrong, SAID_CHARS_MAX)));
    }
    if config.needs_login() && said.contains("Not logged in") {
        return Err("codex is not logged in: run `codex login`".into());
    }
    Ok(())
}

/// The state of files when something was asked.
type Stamps = Vec<(PathBuf, Option<(u64, i64, i64)>)>;

/// What a client said about its configuration and login, or nothing if it did not answer; asked again only
/// when one of the files has changed.
fn said_of_login(path: &Path, words: &[&str], env: &Environment, files: &[&Path]) -> String {
    static KNOWN: Mutex<BTreeMap<Stamps, String>> = Mutex::new(BTreeMap::new());
    const KNOWN_MAX: usize = 64;
    let stamp = |file: &Path| std::fs::metadata(file).ok().map(|m| (m.size(), m.mtime(), m.mtime_nsec()));
    let stamps: Stamps = files.iter().map(|file| (file.to_path_buf(), stamp(file))).collect();
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(said) = known().get(&stamps) {
        return said.clone();
    }
    let said = ask(path, words, env).map(|said| format!("{}\n{}", said.stdout, said.stderr));
    let said = said.unwrap_or_default();
    // Not every login is in a file: a client without one is asked again.
    if said.contains("\"loggedIn\": false") || said.contains("Not logged in") {
        return said;
    }
    let mut known = known();
    if known.len() >= KNOWN_MAX {
        known.clear();
    }
    known.insert(stamps, said.clone());
    said
}

fn ask(path: &Path, words: &[&str], env: &Environment) -> std::io::Result<command::Finished> {
    let mut asked = Command::new(path);
    asked.args(words).env_clear().current_dir("/");
    asked.envs(env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())));
    command::run(&mut asked, ANSWER_WITHIN)
}
