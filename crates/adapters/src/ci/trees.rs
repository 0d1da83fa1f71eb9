//! Checkouts that are reused, so that a run of the checks does not begin by rewriting every file of the
//! project.
//!
//! A tree belongs to one run at a time. The next run gets it only if git says that it is exactly the commit
//! and nothing else; if there is any doubt, it is made anew. What checks may have done to the tree's `.git`
//! does not matter: it is made anew each time, and the index put into it is a copy from before they ran.

use super::checkout::{self, Source, checkout, finish, git};
use crate::host::atomic::write_atomic;
use crate::host::command;
use crate::host::lock::FileLock;
use shopfloor_core::ids::Sha;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// More than can be in use at once.
const TREES_MAX: u32 = 256;
const GIT_TIMEOUT: Duration = Duration::from_secs(600);

/// A tree that belongs to this run until the value is dropped.
pub(super) struct TestTree {
    place: PathBuf,
    _lock: FileLock,
}

impl TestTree {
    /// Takes a tree for the run of that folder. Also returns the folder of the run that had it last, whose
    /// processes may still be there if that run was cut short.
    pub(super) fn take(root: &Path, run: &Path) -> io::Result<(TestTree, Option<PathBuf>)> {
        fs::create_dir_all(root)?;
        for number in 0..TREES_MAX {
            let place = root.join(format!("tree-{number}"));
            let Some(lock) = FileLock::try_exclusive(&place.with_extension("lock"))? else { continue };
            let owner = place.with_extension("run");
            let before = fs::read(&owner).ok().map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
            write_atomic(&owner, run.as_os_str().as_bytes(), 0o600)?;
            return Ok((TestTree { place, _lock: lock }, before.filter(|b| b != run)));
        }
        Err(io::Error::other("every test tree is in use"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.place
    }

    /// Makes it exactly the commit. `Ok(Err(why))`: git could not.
    pub(super) fn check_out(
        &self,
        source: &Source<'_>,
        commit: &Sha,
        path: &OsStr,
    ) -> io::Result<Result<(), String>> {
        let index = self.place.with_extension("index");
        let reusable = index.is_file() && fs::symlink_metadata(&self.place).is_ok_and(|meta| meta.is_dir());
        if !(reusable && matches!(self.use_again(source, commit, path, &index), Ok(true))) {
            checkout::remove(&self.place)?;
            if let Err(why) = checkout(source, commit, &self.place, path)? {
                return Ok(Err(why));
            }
        }
        // Without a usable index, the checkout is made anew next time.
        let _ = fs::remove_file(&index);
        copy_index(&self.place.join(".git/index"), &index)?;
        Ok(Ok(()))
    }

    /// True if it is clean and at the commit.
    fn use_again(&self, source: &Source<'_>, commit: &Sha, path: &OsStr, index: &Path) -> io::Result<bool> {
        let inside = self.place.join(".git");
        match fs::symlink_metadata(&inside) {
            Ok(meta) if meta.is_dir() => checkout::remove(&inside)?,
            Ok(_) => fs::remove_file(&inside)?,
            Err(_) => {}
        }
        source.borrow_into(&inside, commit)?;
        copy_index(index, &inside.join("index"))?;
        let here = |args: &[&str]| -> Command {
            let mut git = git(path);
            git.arg("-C").arg(&self.place).args(args);
            git
        };
        for args in [&["reset", "--quiet", "--hard"][..], &["clean", "--quiet", "-ffdx"]] {
            if finish(args[0], command::run(&mut here(args), GIT_TIMEOUT))?.is_err() {
                return Ok(false);
            }
        }
        let status = here(&["status", "--porcelain", "--ignored", "--untracked-files=all"]).output()?;
        Ok(status.status.success() && status.stdout.is_empty())
    }
}

/// Keeps the modification time: git assumes that a file younger than the index may have changed, even if it
/// looks the same.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    fs::File::options().write(true).open(to)?.set_modified(fs::metadata(from)?.modified()?)
}
