//! The floor's own repositories (the hub or what is near a remote, the queue's, the keeper): what git obeys in them is
//! what the factory wrote. Before each git of ours in one of them, their configuration, hooks, `info/` and borrowed
//! stores are compared with that. What differs is put right first, and told.
//!
//! Invariants:
//! - A look at what has not changed reads no file and starts no process: the kernel's times say so.
//! - Nothing that is found is deleted. What was written over, and what does not belong there, is moved to `not-ours/`.
//! - If it cannot be put right, no git is run.
//!
//! Whoever runs as the floor's user can write there (at isolation level `none`, every agent and check), and nothing says
//! who did.

use super::repos::write_if_different;
use super::run::{GitError, GitResult};
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A file as the factory wrote it; `None`: it must not be there.
pub(super) struct Wanted {
    pub name: &'static str,
    pub content: Option<Vec<u8>>,
    pub mode: u32,
}

/// What git would obey, and the factory never writes.
const NEVER: [&str; 5] =
    ["config.worktree", "commondir", "gitdir", "shallow", "objects/info/http-alternates"];

/// Folders with nothing in them but what is wanted, and what git itself writes there.
const FOLDERS: [&str; 2] = ["hooks", "info"];
const GITS_OWN: &str = "info/refs";

const NOT_OURS: &str = "not-ours";

/// How many findings are told; whoever writes there all the time need not fill the journal.
const TOLD_MAX: usize = 200;

/// What was found in a repository of the floor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub repository: PathBuf,
    /// For people.
    pub what: String,
}

type Tell = Box<dyn Fn(&Found) + Send + Sync>;

/// The repositories that are looked after.
#[derive(Default)]
pub(super) struct Ours {
    kept: Mutex<HashMap<PathBuf, Kept>>,
    tell: OnceLock<Tell>,
}

struct Kept {
    wanted: Vec<Wanted>,
    /// How it looked when all was right.
    looked: Option<Vec<Option<Stamp>>>,
    told: usize,
}

type Stamp = (u64, u64, u64, u32, i64, i64);

impl fmt::Debug for Ours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ours")
    }
}

impl Ours {
    /// From now on what is found is told there. Only the first who asks for it is told.
    pub(super) fn tell(&self, tell: Tell) {
        let _ = self.tell.set(tell);
    }

    /// From now on the repository is looked after.
    pub(super) fn keep(&self, dir: &Path, wanted: Vec<Wanted>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let told = kept.get(dir).map_or(0, |kept| kept.told);
        kept.insert(dir.to_owned(), Kept { wanted, looked: None, told });
    }

    /// Puts right what is not as it was written.
    pub(super) fn check(&self, dir: &Path) -> GitResult<()> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kept) = all.get_mut(dir) else { return Ok(()) };
        if kept.looked.is_some() && kept.looked == Some(look(dir, &kept.wanted)) {
            return Ok(());
        }
        let found = put_right(dir, &kept.wanted)
            .map_err(|e| GitError::io(format!("putting {} right", dir.display()), e))?;
        // What is written after this look has a later time, if it comes later than the clock's last tick.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        let stamps = look(dir, &kept.wanted);
        let settled = |stamp: &Option<Stamp>| {
            stamp.is_none_or(|(.., seconds, nanos)| (seconds, nanos) < (now.tv_sec, now.tv_nsec))
        };
        kept.looked = stamps.iter().all(settled).then_some(stamps);
        let room = TOLD_MAX.saturating_sub(kept.told);
        kept.told += found.len().min(room);
        drop(all);
        for what in found.into_iter().take(room) {
            if let Some(tell) = self.tell.get() {
                tell(&Found { repository: dir.to_owned(), what });
            }
        }
        Ok(())
    }
}

fn look(dir: &Path, wanted: &[Wanted]) -> Vec<Option<Stamp>> {
    let names = wanted.iter().map(|wanted| wanted.name).chain(NEVER).chain(FOLDERS);
    names.map(|name| stamp(&dir.join(name))).collect()
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.dev(), meta.ino(), meta.size(), meta.mode(), meta.ctime(), meta.ctime_nsec()))
}

/// Returns what was found.
fn put_right(dir: &Path, wanted: &[Wanted]) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for Wanted { name, content, mode } in wanted {
        let path = dir.join(name);
        let there = fs::symlink_metadata(&path).ok();
        let Some(content) = content else {
            if there.is_some() {
                set_aside(dir, &path)?;
                found.push(format!("{name} does not belong there"));
            }
            continue;
        };
        let what = match &there {
            None => "was gone",
            Some(meta) if !meta.is_file() => "was not a file",
            Some(_) if fs::read(&path)? != *content => "was not as shopfloor wrote it",
            Some(meta) if meta.mode() & 0o111 != mode & 0o111 || meta.mode() & 0o022 != 0 => {
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
                found.push(format!("{name} had another mode ({:o})", meta.mode() & 0o7777));
                continue;
            }
            Some(_) => continue,
        };
        match &there {
            // Written over in one step: there is a configuration at every moment.
            Some(meta) if meta.is_file() => keep_copy(dir, &path)?,
            Some(_) => set_aside(dir, &path)?,
            None => {}
        }
        write_if_different(&path, content, *mode).map_err(io::Error::other)?;
        found.push(format!("{name} {what}"));
    }
    for name in NEVER {
        let path = dir.join(name);
        if fs::symlink_metadata(&path).is_ok() {
            set_aside(dir, &path)?;
            found.push(format!("{name} does not belong there"));
        }
    }
    for folder in FOLDERS {
        let path = dir.join(folder);
        match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => {
                set_aside(dir, &path)?;
                found.push(format!("{folder} was not a folder"));
                continue;
            }
        }
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if name == GITS_OWN
                || wanted.iter().any(|wanted| wanted.name == name)
                || is_ours_in_the_making(&name)
            {
                continue;
            }
            set_aside(dir, &entry.path())?;
            found.push(format!("{} does not belong there", shopfloor_core::text::one_line(&name, 200)));
        }
    }
    Ok(found)
}

/// A file that is being written, by git or by us, and will be renamed.
fn is_ours_in_the_making(name: &str) -> bool {
    name.ends_with(".lock") || name.starts_with("info/refs_") || name.contains(".new-")
}

fn set_aside(dir: &Path, path: &Path) -> io::Result<()> {
    match fs::rename(path, free_place(dir, path)?) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// For a file that is about to be written over.
pub(super) fn keep_copy(dir: &Path, path: &Path) -> io::Result<()> {
    fs::copy(path, free_place(dir, path)?).map(drop)
}

fn free_place(dir: &Path, path: &Path) -> io::Result<PathBuf> {
    let folder = dir.join(NOT_OURS);
    fs::create_dir_all(&folder)?;
    let name = path.strip_prefix(dir).unwrap_or(path).as_os_str().as_bytes();
    let name: String = String::from_utf8_lossy(name).replace('/', "-");
    let mut free = (0..TOLD_MAX).map(|n| folder.join(format!("{name}.{n}")));
    // When there are too many, the last is written over.
    let to = free.find(|to| fs::symlink_metadata(to).is_err());
    Ok(to.unwrap_or_else(|| folder.join(format!("{name}.last"))))
}
