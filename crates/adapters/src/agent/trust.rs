//! Claude Code's questions at a first start, answered beforehand: nobody is there to answer them in a
//! session of ours. They are kept in `.claude.json`, in the person's home or in the folder that
//! `CLAUDE_CONFIG_DIR` names. Nothing else in it is touched, credentials least of all.
//!
//! Measured on 2.1.325. Trust in a folder holds for plain folders below it, but not for a git
//! repository there: a repository is trusted as itself, by the folder that its `.git` is in, be that a folder
//! or a file. So each worktree of an agent has an entry; those of worktrees that are gone are taken out again.

use super::json_file;
use serde_json::{Map, Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The client's own lock, a folder beside the file, which it takes for every write: whoever has not
/// renewed it for this long is dead.
const STALE: Duration = Duration::from_secs(10);
const LOCK_WAIT: Duration = Duration::from_secs(3);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Where Claude Code keeps it. `config`: what `CLAUDE_CONFIG_DIR` names, if it is set.
pub fn claude_file(home: &Path, config: Option<&Path>) -> PathBuf {
    config.unwrap_or(home).join(".claude.json")
}

/// Marks onboarding as done and `folder` (a worktree) as trusted, and forgets those beside it that are
/// gone; with `skip_permissions` also that mode as accepted. Whether anything had to be changed.
///
/// A file that is not JSON is left alone, and so is one that the client holds locked for long: both
/// are errors.
pub fn seed_claude(file: &Path, folder: &Path, skip_permissions: bool) -> io::Result<bool> {
    let seed = |settings: &mut Map<String, Value>| {
        settings.insert("hasCompletedOnboarding".into(), json!(true));
        if skip_permissions {
            settings.insert("bypassPermissionsModeAccepted".into(), json!(true));
        }
        let projects = settings.entry("projects").or_insert_with(|| json!({}));
        let Some(projects) = projects.as_object_mut() else { return };
        projects.retain(|known, _| !is_gone_beside(Path::new(known), folder));
        let project = projects.entry(folder.to_string_lossy()).or_insert_with(|| json!({}));
        let Some(project) = project.as_object_mut() else { return };
        for key in ["hasTrustDialogAccepted", "hasCompletedProjectOnboarding"] {
            project.insert(key.into(), json!(true));
        }
    };
    // Almost always it is there already: no lock for that.
    let now = json_file::read(file)?;
    let mut then = now.clone();
    seed(&mut then);
    if then == now {
        return Ok(false);
    }
    let _lock = ClientLock::take(file)?;
    json_file::edit(file, seed)
}

/// Whether it is a worktree of the same project that is not there any more: its issue is over.
fn is_gone_beside(known: &Path, folder: &Path) -> bool {
    let worktrees = folder.parent().filter(|parent| parent.file_name() == Some("worktrees".as_ref()));
    worktrees.is_some() && known.parent() == worktrees && known != folder && !known.exists()
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
                // Somebody else may have removed it just now: the next turn tells.
                let _ = fs::remove_dir(&path);
            } else {
                // It is a folder: nothing can be waited for.
                std::thread::sleep(LOCK_PAUSE);
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, format!("{} is held by a client", path.display())))
    }
}

fn is_stale(lock: &Path) -> bool {
    let changed = fs::metadata(lock).and_then(|meta| meta.modified());
    changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > STALE))
}

impl Drop for ClientLock {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
