//! Whether anything in a folder has changed since it was last looked at, without starting a process: from the times
//! at which the kernel says each of its files and folders changed.
//!
//! A file's change time is set by the kernel with every write, and nobody can set it back. So two equal looks mean
//! that nothing was written in between, provided that everything in the first had changed before it began: what is
//! written afterwards gets a later time. (Not so what a program writes into memory that it has mapped: whatever removes a
//! worktree has git look at the files themselves.) Where that cannot be told (something changed just now, times in whole
//! seconds, too much to look at, repositories inside), there is no look, and git has to be asked.

use super::capture::Captured;
use shopfloor_core::digest::Digest;
use shopfloor_core::ids::Sha;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// With more than this, nothing is looked at.
const ENTRIES_MAX: usize = 100_000;

/// For so long, git's answer counts as the answer to whoever has git look again.
const MOMENT: Duration = Duration::from_secs(10);

/// What a folder looked like. Equal ones hold the same files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look(u64);

/// How many folders are remembered. When there are more, all are forgotten.
const FOLDERS_MAX: usize = 1_000;

/// What folders were found to hold, for as long as they look the same. By git directory.
#[derive(Debug, Default)]
pub(super) struct Stills(Mutex<HashMap<PathBuf, Still>>);

#[derive(Debug)]
struct Still {
    look: Look,
    head: Option<Sha>,
    found: Captured,
    /// When git was asked; `None` once somebody has made use of the answer.
    asked: Option<Instant>,
    /// The snapshot that was found to hold all of it, and to be whole.
    proved: Option<Sha>,
}

impl Stills {
    pub(super) fn get(&self, git_dir: &Path, look: Look, head: Option<&Sha>) -> Option<Captured> {
        self.with(|all| {
            let still = all.get_mut(git_dir).filter(|still| still.is(look, head))?;
            still.asked = None;
            Some(still.found.clone())
        })
    }

    /// The same, if git was asked a moment ago, and nobody has made use of its answer since.
    pub(super) fn take_asked(&self, git_dir: &Path, look: Look, head: Option<&Sha>) -> Option<Captured> {
        self.with(|all| {
            let still = all.get_mut(git_dir).filter(|still| still.is(look, head))?;
            let asked = still.asked.take().filter(|at| at.elapsed() < MOMENT);
            asked.map(|_| still.found.clone())
        })
    }

    pub(super) fn put(&self, git_dir: &Path, look: Look, head: Option<&Sha>, found: &Captured) {
        self.with(|all| {
            if all.len() >= FOLDERS_MAX {
                all.clear();
            }
            let (found, asked) = (found.clone(), Some(Instant::now()));
            let still = Still { look, head: head.cloned(), found, asked, proved: None };
            all.insert(git_dir.to_owned(), still);
        });
    }

    pub(super) fn forget(&self, git_dir: &Path) {
        self.with(|all| all.remove(git_dir));
    }

    /// The tree that an index with these entries was written as, if the last capture wrote it.
    pub(super) fn written(&self, git_dir: &Path, entries: u64) -> Option<Sha> {
        self.with(|all| {
            let found = &all.get(git_dir)?.found;
            (found.entries == Some(entries)).then(|| found.tree.clone())
        })
    }

    /// The last capture is held by that snapshot, which is whole.
    pub(super) fn prove(&self, git_dir: &Path, snapshot: &Sha) {
        self.with(|all| {
            if let Some(still) = all.get_mut(git_dir) {
                still.proved = Some(snapshot.clone());
            }
        });
    }

    /// What was proved of that snapshot, once, if everything looks as it did when git was asked for that proof.
    pub(super) fn take_proved(
        &self,
        git_dir: &Path,
        look: Look,
        head: Option<&Sha>,
        snapshot: &Sha,
    ) -> Option<Captured> {
        self.with(|all| {
            let still = all.get_mut(git_dir)?;
            let proved = still.proved.take();
            (proved.as_ref() == Some(snapshot) && still.is(look, head)).then(|| still.found.clone())
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<PathBuf, Still>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Still {
    fn is(&self, look: Look, head: Option<&Sha>) -> bool {
        self.look == look && self.head.as_ref() == head
    }
}

/// What a walk through a folder shows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// `None`: only git can say what is there.
    pub look: Option<Look>,
    /// The sizes of its files, and of those in repositories inside it; `None`: there is too much to look at.
    pub sizes: Option<Sizes>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    pub total: u64,
    pub largest: u64,
}

/// Looks at everything in `folder`, and at the files `besides`, which need not exist.
pub(super) fn look(folder: &Path, besides: &[&Path]) -> Seen {
    let began = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    let mut walk = Walk {
        digest: Digest::new(),
        entries: 0,
        began: (began.tv_sec, began.tv_nsec),
        settled: true,
        sizes: Sizes::default(),
    };
    for path in besides {
        match path.symlink_metadata() {
            Ok(meta) => walk.take(path, &meta),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => walk.settled = false,
        }
    }
    match folder.symlink_metadata() {
        Ok(meta) => walk.take(folder, &meta),
        Err(_) => walk.settled = false,
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(inside) = folders.pop() {
        // What cannot be read cannot be taken in either: git says so.
        let Ok(entries) = std::fs::read_dir(&inside) else {
            walk.settled = false;
            continue;
        };
        // In the order of the folder, which is the same for as long as nothing in it is made or removed.
        for entry in entries {
            let Ok((entry, meta)) = entry.and_then(|entry| entry.metadata().map(|meta| (entry, meta))) else {
                walk.settled = false;
                continue;
            };
            let path = entry.path();
            if entry.file_name() != ".git" {
                walk.take_in(&path, &meta);
                if meta.is_dir() {
                    folders.push(path);
                }
            } else if inside == folder {
                // What is in its own repository is looked at separately.
                walk.take(&path, &meta);
            } else {
                walk.settled = false;
            }
            if walk.entries > ENTRIES_MAX {
                return Seen::default();
            }
        }
    }
    Seen { look: walk.settled.then(|| Look(walk.digest.finish())), sizes: Some(walk.sizes) }
}

struct Walk {
    digest: Digest,
    entries: usize,
    began: (i64, i64),
    /// What is written from now on is seen.
    settled: bool,
    sizes: Sizes,
}

impl Walk {
    fn take_in(&mut self, path: &Path, meta: &std::fs::Metadata) {
        self.take(path, meta);
        if meta.is_file() {
            self.sizes.total = self.sizes.total.saturating_add(meta.len());
            self.sizes.largest = self.sizes.largest.max(meta.len());
        }
    }

    fn take(&mut self, path: &Path, meta: &std::fs::Metadata) {
        self.entries += 1;
        let changed = (meta.ctime(), meta.ctime_nsec());
        self.settled &= changed < self.began && changed.1 != 0;
        if !self.settled {
            return;
        }
        let numbers = [meta.dev(), meta.ino(), u64::from(meta.mode()), meta.size(), meta.ctime() as u64];
        let digest = std::mem::take(&mut self.digest).field(path.as_os_str().as_bytes());
        let digest = numbers.iter().fold(digest, |digest, number| digest.field(&number.to_le_bytes()));
        self.digest = digest.field(&meta.ctime_nsec().to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A look that does not come too soon after a change. The clock's ticks are a few milliseconds apart.
    fn settled(folder: &Path) -> Look {
        loop {
            if let Some(look) = look(folder, &[]).look {
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
        assert_eq!(look(dir.path(), &[]).look, None, "it was made just now");
        let inner = dir.path().join("inner");
        settled(&inner);
        assert_eq!(look(dir.path(), &[]).look, None, "another repository is in it");
    }
}
