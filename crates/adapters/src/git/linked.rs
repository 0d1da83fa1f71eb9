//! Worktrees of the clone itself, as floors of earlier builds made them: they share its refs, configuration
//! and stash. None are made any more. Existing ones stay as they are until they are removed, since an agent
//! may be at work in one; everything new gets a repository of its own.

use super::refs::{self, Head};
use super::run::{Git, GitResult, Repo};
use super::worktree::{READY, git_dir_of};
use shopfloor_core::ids::Sha;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The clone's record of a worktree whose folder may be gone.
pub(crate) struct Record {
    pub head: Option<Sha>,
    pub was_ready: bool,
}

/// The git directory that the folder's `.git` file names, if it is one of the clone's.
pub(crate) fn git_dir(clone: &Path, folder: &Path) -> Option<PathBuf> {
    let named = git_dir_of(folder)?;
    let inside = named.parent()?.canonicalize().ok()? == clone.join("worktrees").canonicalize().ok()?;
    (inside && named.join("commondir").exists()).then_some(named)
}

/// What the clone knows of a worktree at `path`.
pub(crate) fn record(clone: &Path, path: &Path) -> Option<Record> {
    // A missing folder cannot be resolved, but the folder it was in can.
    let real = |path: &Path| {
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        parent.zip(path.file_name()).map(|(parent, name)| parent.join(name))
    };
    let wanted = real(path)?;
    let entries = std::fs::read_dir(clone.join("worktrees")).ok()?;
    let git_dir = entries.flatten().map(|entry| entry.path()).find(|entry| {
        let link = std::fs::read(entry.join("gitdir")).unwrap_or_default();
        let link = Path::new(OsStr::from_bytes(link.trim_ascii_end()));
        link.parent().and_then(real).as_ref() == Some(&wanted)
    })?;
    let head = match refs::head(&git_dir) {
        Some(Head::On(name)) => refs::read(clone, &name),
        Some(Head::Detached(commit)) => Some(commit),
        None => None,
    };
    let was_ready = git_dir.join(READY).exists();
    Some(Record { head, was_ready })
}

/// Rewrites the damaged `.git` files of the clone's worktrees.
pub(crate) fn repair(git: &Git, clone: &Path) -> GitResult<()> {
    git.shared(clone).call("worktree").arg("repair").ending(&[0, 1, 128])?;
    Ok(())
}

/// Takes the worktree off the clone's records and deletes its folder, whatever is in it.
pub(crate) fn discard(clone: &Repo, path: &Path) -> GitResult<()> {
    // Twice: removes it even if it is locked, as it is when its making was cut short.
    clone.call("worktree").args(["remove", "--force", "--force", "--"]).arg(path).run()?;
    Ok(())
}

/// Which of them has the branch checked out, if any.
pub(crate) fn holder(clone: &Path, full: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(clone.join("worktrees")).ok()?;
    entries.flatten().map(|e| e.path()).find(|dir| refs::head(dir) == Some(Head::On(full.to_owned())))
}
