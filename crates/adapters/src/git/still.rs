//! Whether anything in a folder has changed since it was last looked at, without starting a process: from the times
//! at which the kernel says each of its files and folders changed.
//!
//! A file's change time is set by the kernel with every write, and nobody can set it back. So two equal looks mean
//! that nothing was written in between, provided that everything in the first had changed before it began: what is
//! written afterwards gets a later time. (Not so what a program writes into memory that it has mapped: whatever removes a
//! worktree has git look at the files themselves.) Where that cannot be told (something changed just now, times in whole
//! seconds, too much to look at, repositories inside), there is no look, and git has to be asked.

use super::bounds::Left;
use super::capture::Captured;
use shopfloor_core::digest::Digest;
use shopfloor_core::ids::Sha;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// With more than this, asking git is no slower.
const ENTRIES_MAX: usize = 10_000;

/// What a folder looked like. Equal ones hold the same files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look(u64);

/// How many folders are remembered. When there are more, all are forgotten.
const FOLDERS_MAX: usize = 1_000;

/// The trees that folders were found to hold, for as long as they look the same. By git directory.
#[derive(Debug, Default)]
pub(super) struct Stills(Mutex<HashMap<PathBuf, Still>>);

#[derive(Debug)]
struct Still {
    look: Look,
    head: Option<Sha>,
    tree: Sha,
    left: Vec<Left>,
}

impl Stills {
    pub(super) fn get(&self, git_dir: &Path, look: Look, head: Option<&Sha>) -> Option<(Sha, Vec<Left>)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let still = all.get(git_dir).filter(|still| still.look == look && still.head.as_ref() == head)?;
        Some((still.tree.clone(), still.left.clone()))
    }

    pub(super) fn put(&self, git_dir: &Path, look: Look, head: Option<&Sha>, found: &Captured) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= FOLDERS_MAX {
            all.clear();
        }
        let Captured { tree, left, .. } = found;
        let still = Still { look, head: head.cloned(), tree: tree.clone(), left: left.clone() };
        all.insert(git_dir.to_owned(), still);
    }

    pub(super) fn forget(&self, git_dir: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(git_dir);
    }
}

/// Looks at everything in `folder`, and at the files `besides`, which need not exist.
pub(super) fn look(folder: &Path, besides: &[&Path]) -> Option<Look> {
    let began = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    let mut seen = Seen { digest: Digest::new(), entries: 0, began: (began.tv_sec, began.tv_nsec) };
    for path in besides {
        match path.symlink_metadata() {
            Ok(meta) => seen.take(path, &meta)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    seen.take(folder, &folder.symlink_metadata().ok()?)?;
    let mut folders = vec![(folder.to_owned(), true)];
    while let Some((folder, top)) = folders.pop() {
        let mut entries = std::fs::read_dir(&folder).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let git = entry.file_name() == ".git";
            if git && !top {
                return None;
            }
            let (path, meta) = (entry.path(), entry.metadata().ok()?);
            seen.take(&path, &meta)?;
            // What is in its own repository is looked at separately.
            if meta.is_dir() && !git {
                folders.push((path, false));
            }
        }
    }
    Some(Look(seen.digest.finish()))
}

struct Seen {
    digest: Digest,
    entries: usize,
    began: (i64, i64),
}

impl Seen {
    fn take(&mut self, path: &Path, meta: &std::fs::Metadata) -> Option<()> {
        self.entries += 1;
        let changed = (meta.ctime(), meta.ctime_nsec());
        if self.entries > ENTRIES_MAX || changed >= self.began || changed.1 == 0 {
            return None;
        }
        let numbers = [meta.dev(), meta.ino(), u64::from(meta.mode()), meta.size(), meta.ctime() as u64];
        let digest = std::mem::replace(&mut self.digest, Digest::new()).field(path.as_os_str().as_bytes());
        let digest = numbers.iter().fold(digest, |digest, number| digest.field(&number.to_le_bytes()));
        self.digest = digest.field(&meta.ctime_nsec().to_le_bytes());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A look that does not come too soon after a change. The clock's ticks are a few milliseconds apart.
    fn settled(folder: &Path) -> Look {
        loop {
            if let Some(look) = look(folder, &[]) {
                return look;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn every_change_is_seen_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("deep")).expect("made");
        fs::write(at("deep/a"), "one").expect("written");
        let mut before = settled(dir.path());
        assert_eq!(settled(dir.path()), before);
        let changes: [&dyn Fn(); 6] = [
            &|| fs::write(at("deep/a"), "two").expect("written"),
            // As long as before, and with its old time put back.
            &|| {
                let was = fs::metadata(at("deep/a")).and_then(|meta| meta.modified()).expect("a time");
                fs::write(at("deep/a"), "six").expect("written");
                let file = fs::File::options().write(true).open(at("deep/a")).expect("opened");
                file.set_modified(was).expect("set");
            },
            &|| fs::rename(at("deep/a"), at("deep/b")).expect("renamed"),
            &|| fs::write(at("new"), "").expect("written"),
            &|| fs::remove_file(at("new")).expect("removed"),
            &|| {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
                fs::set_permissions(at("deep/b"), mode).expect("set");
            },
        ];
        for change in changes {
            change();
            let now = settled(dir.path());
            assert_ne!(now, before);
            before = now;
        }
    }

    #[test]
    fn what_changes_at_that_moment_and_repositories_inside_are_left_to_git() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join("inner/.git")).expect("made");
        assert_eq!(look(dir.path(), &[]), None, "it was made just now");
        let inner = dir.path().join("inner");
        settled(&inner);
        assert_eq!(look(dir.path(), &[]), None, "another repository is in it");
    }
}
