//! One tree that an agent works in: finds its folder and its git directory, and makes sure of them.
//!
//! The git directory lies beside the worktrees and belongs to this one alone; the folder's `.git` is a file
//! that names it. The factory never finds one through the other: it tells git both. So a damaged `.git` file,
//! or a repository in a folder above, misleads nobody.
//!
//! A tree is *ready* once its folder has been filled completely; one that is not (after a crash in the middle
//! of filling it) never had an agent in it, or none since its folder was lost.

use super::jailed::is_within;
use super::refs::{self, Head};
use super::run::{Git, GitError, GitResult, Repo};
use super::{hazards, linked, locks, repository};
use crate::host::atomic::write_atomic;
use crate::host::theirs;
use crate::layout::Layout;
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::Tree;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Says that the folder is complete, and which branch it is for; or what is to be put back into it.
/// Of a mark, and of a file that names a git directory.
const MARK_BYTES_MAX: u64 = 16 * 1024;
pub(crate) const READY: &str = "shopfloor-ready";
const PUT_BACK: &str = "put back ";

pub(crate) struct Worktree {
    pub path: PathBuf,
    /// Its own git directory.
    pub git_dir: PathBuf,
    /// Where its refs are: in the git directory as well, except for a worktree of the clone.
    pub common: PathBuf,
    pub repo: Repo,
}

pub(crate) enum Found {
    Absent,
    /// Something is there that does not belong to the tree.
    Foreign,
    /// Its repository exists, but its folder does not.
    Folderless(Worktree),
    Open(Worktree),
    /// As `Open`, after its damaged `.git` file was repaired.
    Repaired(Worktree),
}

impl Found {
    /// The tree, if there is a folder to work in.
    pub(crate) fn open(self) -> Option<Worktree> {
        match self {
            Found::Open(worktree) | Found::Repaired(worktree) => Some(worktree),
            Found::Absent | Found::Foreign | Found::Folderless(_) => None,
        }
    }
}

impl Worktree {
    /// Starts no process, except to repair a worktree of the clone.
    pub(crate) fn find(git: &Git, layout: &Layout, tree: &Tree) -> GitResult<Found> {
        let (path, own) = (layout.tree(tree), layout.repository(tree));
        repository::finish_removal(&own, &path)?;
        let folder = is_filled(&path)?;
        if own.join("HEAD").exists() {
            let worktree = Worktree::at(git, path, own.clone(), own);
            return Ok(match folder {
                false => Found::Folderless(worktree),
                true => worktree.tied()?,
            });
        }
        if !folder {
            return Ok(Found::Absent);
        }
        let clone = layout.clone_repo(&tree.project);
        let old = |git_dir| Worktree::at(git, path.clone(), git_dir, clone.clone());
        if let Some(git_dir) = linked::git_dir(&clone, &path) {
            return Ok(Found::Open(old(git_dir)));
        }
        if linked::record(&clone, &path).is_none() || path.join(".git").is_dir() {
            return Ok(Found::Foreign);
        }
        // The `.git` file is missing; the clone knows where its worktrees are.
        linked::repair(git, &clone)?;
        Ok(linked::git_dir(&clone, &path).map_or(Found::Foreign, |git_dir| Found::Repaired(old(git_dir))))
    }

    pub(crate) fn at(git: &Git, path: PathBuf, git_dir: PathBuf, common: PathBuf) -> Worktree {
        let repo = git.others_folder(&git_dir, &path, &common);
        Worktree { path, git_dir, common, repo }
    }

    /// A repository nested in it, to be looked at; `None`: it is kept somewhere that is not this tree's.
    pub(crate) fn nested(&self, git: &Git, folder: &Path) -> Option<Repo> {
        let git_dir = git_dir_of(folder)?;
        is_within(&git_dir, &[&self.path, &self.git_dir])
            .then(|| git.others_nested(&git_dir, folder, &self.path))
    }

    /// Makes sure that the folder's `.git` file names the git directory.
    fn tied(self) -> GitResult<Found> {
        let named = git_dir_of(&self.path);
        let real = |path: &Path| path.canonicalize().ok();
        if named.as_deref().and_then(real).is_some_and(|named| Some(named) == real(&self.git_dir)) {
            return Ok(Found::Open(self));
        }
        if self.path.join(".git").is_dir() {
            // Somebody made it a repository of another kind; a person has to say whose it is.
            return Ok(Found::Foreign);
        }
        self.tie()?;
        Ok(Found::Repaired(self))
    }

    pub(crate) fn tie(&self) -> GitResult<()> {
        let mut text = b"gitdir: ".to_vec();
        text.extend_from_slice(self.git_dir.as_os_str().as_bytes());
        text.push(b'\n');
        write_atomic(&self.path.join(".git"), &text, 0o644)
            .map_err(|e| GitError::io(format!("writing {}/.git", self.path.display()), e))
    }

    /// Whether it is a worktree of the clone, as earlier builds made them.
    pub(crate) fn is_linked(&self) -> bool {
        self.common != self.git_dir
    }

    /// Where the objects that are not shared are.
    pub(crate) fn objects(&self) -> PathBuf {
        self.common.join("objects")
    }

    pub(crate) fn head(&self) -> GitResult<Option<Sha>> {
        match refs::head(&self.git_dir) {
            Some(Head::On(name)) => Ok(self.at_ref(&name)),
            Some(Head::Detached(commit)) => Ok(Some(commit)),
            None => self.repo.commit("HEAD"),
        }
    }

    /// The full name of the branch that is checked out; `None` if HEAD is detached.
    pub(crate) fn branch(&self) -> Option<String> {
        match refs::head(&self.git_dir) {
            Some(Head::On(name)) => Some(name),
            Some(Head::Detached(_)) | None => None,
        }
    }

    pub(crate) fn at_ref(&self, full: &str) -> Option<Sha> {
        refs::read(&self.common, full)
    }

    pub(crate) fn is_ready(&self) -> bool {
        theirs::read(&self.git_dir.join(READY), MARK_BYTES_MAX)
            .is_ok_and(|text| !text.starts_with(PUT_BACK.as_bytes()))
    }

    /// `branch`: the full name of the branch it is for; empty for a review tree.
    pub(crate) fn set_ready(&self, branch: &str) -> GitResult<()> {
        self.mark(branch.as_bytes())
    }

    /// Its folder is to be filled again, and gets back what a snapshot holds.
    pub(crate) fn set_put_back(&self, snapshot: Option<&Sha>) -> GitResult<()> {
        self.mark(put_back_mark(snapshot).as_bytes())
    }

    fn mark(&self, text: &[u8]) -> GitResult<()> {
        write_atomic(&self.git_dir.join(READY), text, 0o644)
            .map_err(|e| GitError::io(format!("marking {} as ready", self.path.display()), e))
    }

    /// The snapshot that is to be put back.
    pub(crate) fn put_back(&self) -> Option<Sha> {
        let text = theirs::read_to_string(&self.git_dir.join(READY), MARK_BYTES_MAX).ok()?;
        text.strip_prefix(PUT_BACK)?.trim().parse().ok()
    }

    /// The full name of the branch it was made for.
    pub(crate) fn made_for(&self) -> Option<String> {
        let text = theirs::read_to_string(&self.git_dir.join(READY), MARK_BYTES_MAX).ok()?;
        text.starts_with("refs/heads/").then_some(text)
    }

    /// Whether it was made for another branch.
    pub(crate) fn is_for_another(&self, branch: &str) -> bool {
        self.made_for().is_some_and(|made| made != branch)
    }

    /// Removes locks that a killed git left in here; returns which files. Only while no session runs in the
    /// worktree, and not while anybody's git does.
    pub(crate) fn unlock(&self) -> Vec<String> {
        let locks = match self.is_linked() {
            // Every other lock belongs to the clone, and may be another worktree's.
            true => ["index.lock", "HEAD.lock"].map(|name| self.git_dir.join(name)).into(),
            false => locks::held(&self.git_dir),
        };
        let locks: Vec<PathBuf> = locks.into_iter().filter(|lock| lock.symlink_metadata().is_ok()).collect();
        if locks.is_empty() || hazards::git_at_work(&self.path).is_some() {
            return Vec::new();
        }
        let gone = locks.iter().filter(|lock| std::fs::remove_file(lock).is_ok());
        gone.map(|lock| lock.strip_prefix(&self.git_dir).unwrap_or(lock).display().to_string()).collect()
    }

    /// How many files differ from HEAD or are untracked, ignored ones aside.
    pub(crate) fn dirty(&self) -> GitResult<u32> {
        // What is in the repositories nested in it is theirs: git would ask a git there, by its rules.
        let call =
            self.repo.call("status").args(["--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty"]);
        let bytes = call.arg("--untracked-files=all").run()?;
        Ok(bytes.iter().filter(|byte| **byte == 0).count().try_into().unwrap_or(u32::MAX))
    }
}

pub(crate) fn put_back_mark(snapshot: Option<&Sha>) -> String {
    format!("{PUT_BACK}{}", snapshot.map_or("nothing", |commit| commit.as_str()))
}

/// Whether there is a folder with anything in it.
fn is_filled(path: &Path) -> GitResult<bool> {
    match std::fs::read_dir(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(GitError::io(format!("reading {}", path.display()), e)),
        Ok(mut entries) => Ok(entries.next().is_some()),
    }
}

/// The git directory that belongs to a folder: its `.git`, or what that file names.
pub(crate) fn git_dir_of(folder: &Path) -> Option<PathBuf> {
    let link = folder.join(".git");
    if link.is_dir() {
        return Some(link);
    }
    let text = theirs::read(&link, MARK_BYTES_MAX).ok()?;
    let named = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    Some(folder.join(Path::new(OsStr::from_bytes(named))))
}
