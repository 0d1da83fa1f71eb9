//! Answers the questions of Claude Code's first start beforehand: in our sessions nobody is there to answer
//! them. The answers are kept in `.claude.json`, in the person's home or in the folder that
//! `CLAUDE_CONFIG_DIR` names. Nothing else in it is touched, credentials least of all.
//!
//! Measured on 2.1.325. Trust in a folder extends to plain folders below it, but not to a git repository
//! there: a repository is trusted by itself, by the folder that its `.git` is in, whether that is a folder or
//! a file. So each agent's worktree has an entry; entries of worktrees that are gone are removed.

use super::{client, json_file};
use crate::host::clock;
use serde_json::{Map, Value, json};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The client takes its own lock, a folder beside the file, for every write: a holder that has not renewed it
/// for this long is dead.
const STALE: Duration = Duration::from_secs(10);
const LOCK_WAIT: Duration = Duration::from_secs(3);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Where Claude Code keeps the answers. `config`: what `CLAUDE_CONFIG_DIR` names, if it is set.
pub fn claude_file(home: &Path, config: Option<&Path>) -> PathBuf {
    config.unwrap_or(home).join(".claude.json")
}

/// The configuration's answers to the client's questions.
#[derive(Clone, Copy, Debug)]
pub struct Answers<'a> {
    /// The worktree that is trusted.
    pub worktree: &'a Path,
    /// The folder of all worktrees: entries for those that are gone are removed.
    pub worktrees: Option<&'a Path>,
    /// Running without permissions is accepted.
    pub skip_permissions: bool,
    /// The key that the configuration passes on and that is to be used.
    pub key: Option<&'a str>,
}

/// Answers what the client would ask at its start in that worktree, in the home that its environment names.
/// Its key is one that the configuration passes on.
pub fn settle(env: &[(OsString, OsString)], worktree: &Path, skip_permissions: bool) -> Result<(), String> {
    let Some(home) = client::variable(env, "HOME").map(Path::new) else { return Ok(()) };
    let file = claude_file(home, client::variable(env, "CLAUDE_CONFIG_DIR").map(Path::new));
    // The path as the client sees it, which asks the kernel where it is.
    let answered = fs::canonicalize(worktree).and_then(|worktree| {
        let answers = Answers {
            worktree: &worktree,
            worktrees: worktree.parent(),
            skip_permissions,
            key: client::variable(env, "ANTHROPIC_API_KEY").and_then(OsStr::to_str),
        };
        seed_claude(&file, &answers)
    });
    answered
        .map(|_| ())
        .map_err(|e| format!("the worktrees cannot be marked as trusted in {}: {e}", file.display()))
}

/// The client recognises a key by its end. It asks about a key that is neither approved nor rejected, and
/// does not use a rejected one.
const KEY_CHARS: usize = 20;

/// Marks onboarding as done, and answers the client's questions. Returns whether anything had to be changed.
///
/// A file that is not JSON is left alone, and so is one that the client keeps locked for long: both are
/// errors.
pub fn seed_claude(file: &Path, answers: &Answers<'_>) -> io::Result<bool> {
    let seed = |settings: &mut Map<String, Value>| {
        settings.insert("hasCompletedOnboarding".into(), json!(true));
        if answers.skip_permissions {
            settings.insert("bypassPermissionsModeAccepted".into(), json!(true));
        }
        if let Some(key) = answers.key.filter(|key| !key.is_empty()) {
            approve(settings, key);
        }
        let projects = settings.entry("projects").or_insert_with(|| json!({}));
        let Some(projects) = projects.as_object_mut() else { return };
        if let Some(all) = answers.worktrees {
            projects.retain(|path, _| Path::new(path).parent() != Some(all) || Path::new(path).exists());
        }
        let project = projects.entry(answers.worktree.to_string_lossy()).or_insert_with(|| json!({}));
        let Some(project) = project.as_object_mut() else { return };
        for key in ["hasTrustDialogAccepted", "hasCompletedProjectOnboarding"] {
            project.insert(key.into(), json!(true));
        }
    };
    // Almost always everything is there already: that needs no lock.
    let now = json_file::read(file)?;
    let mut then = now.clone();
    seed(&mut then);
    if then == now {
        return Ok(false);
    }
    let _lock = ClientLock::take(file)?;
    json_file::edit(file, seed)
}

/// Writes what the client itself notes for a "yes".
fn approve(settings: &mut Map<String, Value>, key: &str) {
    let end: String = key.chars().skip(key.chars().count().saturating_sub(KEY_CHARS)).collect();
    let end = Value::from(end);
    let responses = settings.entry("customApiKeyResponses").or_insert_with(|| json!({}));
    let Some(responses) = responses.as_object_mut() else { return };
    if let Some(Value::Array(rejected)) = responses.get_mut("rejected") {
        rejected.retain(|known| *known != end);
    }
    if let Value::Array(approved) = responses.entry("approved").or_insert_with(|| json!([]))
        && !approved.contains(&end)
    {
        approved.push(end);
    }
}

struct ClientLock(PathBuf);

impl ClientLock {
    fn take(file: &Path) -> io::Result<ClientLock> {
        let mut name = file.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        for _ in 0..LOCK_WAIT.as_millis() / LOCK_PAUSE.as_millis() {
            match fs::create_dir(&path) {
                Ok(()) => return Ok(ClientLock(path)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
            if is_stale(&path) {
                // Somebody else may have removed it just now: the next round will tell.
                let _ = fs::remove_dir(&path);
            } else {
                // The lock is a folder: there is nothing to wait on.
                std::thread::sleep(LOCK_PAUSE);
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, format!("{} is held by a client", path.display())))
    }
}

fn is_stale(lock: &Path) -> bool {
    let changed = fs::metadata(lock).and_then(|meta| meta.modified());
    changed.is_ok_and(|at| clock::now().duration_since(at).is_ok_and(|age| age > STALE))
}

impl Drop for ClientLock {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
