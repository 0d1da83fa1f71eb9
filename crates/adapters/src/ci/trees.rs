//! Checkouts that are reused, so that a run of the checks does not begin by rewriting every file of the
//! project.
//!
//! A tree belongs to one run at a time. Of what the run before left in it, nothing is believed: `.git` with its index,
//! configuration and hooks is made anew, what is no file of the commit is removed ([`clean`]), and every file is
//! hashed, whatever its size and time say. What differs is written anew. If that fails, the whole checkout is.

use super::checkout::{Source, checkout, finish, git};
use super::clean::{self, Files};
use crate::git::index::Index;
use crate::host::atomic::write_atomic;
use crate::host::command;
use crate::host::lock::FileLock;
use shopfloor_core::ids::Sha;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// More than can be in use at once.
const TREES_MAX: u32 = 256;
const GIT_TIMEOUT: Duration = Duration::from_secs(600);
/// Contents are compared as they are. Otherwise a file that only differs in what git would convert counts as the same.
const AS_IT_IS: &str = "* -text -ident !working-tree-encoding !filter\n";
/// Files with one of these are not in a checkout as they are in the commit, and are always written anew.
const CONVERTED: [&str; 3] = ["eol", "ident", "working-tree-encoding"];

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
        // Earlier builds believed what they kept here.
        clean::remove_any(&self.place.with_extension("index"))?;
        let reusable = fs::symlink_metadata(&self.place).is_ok_and(|meta| meta.is_dir());
        if reusable && matches!(self.use_again(source, commit, path), Ok(true)) {
            return Ok(Ok(()));
        }
        clean::remove_any(&self.place)?;
        checkout(source, commit, &self.place, path)
    }

    /// True if it is the commit now, and nothing else.
    fn use_again(&self, source: &Source<'_>, commit: &Sha, path: &OsStr) -> io::Result<bool> {
        let inside = self.place.join(".git");
        fs::set_permissions(&self.place, Permissions::from_mode(0o700))?;
        clean::remove_any(&inside)?;
        source.borrow_into(&inside, commit)?;
        let here = |args: &[&str]| -> Command {
            let mut git = git(path);
            git.arg("-C").arg(&self.place).args(args);
            git
        };
        let done = |args: &[&str]| -> io::Result<bool> {
            Ok(finish(args[0], command::run(&mut here(args), GIT_TIMEOUT))?.is_ok())
        };
        if !done(&["read-tree", commit.as_str()])? {
            return Ok(false);
        }
        // Git has just made it, where nothing was before.
        let index = Index::read(&inside.join("index"), commit);
        let Some(files) = index.and_then(|index| Files::of(&index, commit)) else { return Ok(false) };
        clean::clean(&self.place, &files)?;
        if files.has_named(".gitattributes") && !self.remove_converted(&files, path)? {
            return Ok(false);
        }
        let attributes = inside.join("info/attributes");
        fs::write(&attributes, AS_IT_IS)?;
        // It fails if a file differs, too.
        command::run(&mut here(&["update-index", "-q", "--really-refresh"]), GIT_TIMEOUT)?;
        fs::remove_file(&attributes)?;
        done(&["reset", "--quiet", "--hard"])
    }

    /// False if git does not say which those are.
    fn remove_converted(&self, files: &Files, path: &OsStr) -> io::Result<bool> {
        let list = self.place.join(".git/files");
        fs::write(&list, files.list())?;
        let mut ask = git(path);
        ask.arg("-C").arg(&self.place).args(["check-attr", "--cached", "--stdin", "-z"]).args(CONVERTED);
        let said = ask.stdin(File::open(&list)?).output()?;
        fs::remove_file(&list)?;
        if !said.status.success() {
            return Ok(false);
        }
        let words: Vec<&[u8]> = said.stdout.split(|byte| *byte == 0).collect();
        for answer in words.chunks_exact(3).filter(|answer| answer[2] != b"unspecified") {
            clean::remove_any(&self.place.join(OsStr::from_bytes(answer[0])))?;
        }
        Ok(true)
    }
}
