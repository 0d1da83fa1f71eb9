//! One worktree of the agents' clone: finding it, being sure it is the one meant, making it.
//!
//! A [`Worktree`] value means: git, run in that folder, works on that folder and on the project's
//! clone. A folder that lost its `.git` file would otherwise make git climb to whatever repository
//! lies above. A worktree is *ready* once it was checked out whole; one that is not (a crash in the
//! middle of making it) never had an agent in it.

use super::hazards;
use super::run::{Git, GitError, GitResult, Repo, parse_sha};
use crate::host::atomic::write_atomic;
use shopfloor_core::ids::Sha;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const READY: &str = "shopfloor-ready";

pub(crate) struct Worktree {
    pub path: PathBuf,
    /// The worktree's own git directory, inside the clone.
    pub git_dir: PathBuf,
    pub repo: Repo,
}

pub(crate) enum Found {
    Absent,
    /// Something is there that is not a worktree of the clone.
    Foreign,
    Open(Worktree),
    /// As `Open`, once its damaged `.git` file was repaired.
    Repaired(Worktree),
}

impl Worktree {
    pub(crate) fn find(git: &Git, clone: &Path, path: &Path) -> GitResult<Found> {
        match std::fs::read_dir(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Absent),
            Err(e) => return Err(GitError::io(format!("reading {}", path.display()), e)),
            Ok(mut entries) => {
                if entries.next().is_none() {
                    return Ok(Found::Absent);
                }
            }
        }
        if let Some(found) = Self::open(git, clone, path)? {
            return Ok(Found::Open(found));
        }
        // The `.git` file may be what is missing; the clone knows where its worktrees are.
        git.shared(clone).call("worktree").arg("repair").ending(&[0, 1, 128])?;
        Ok(Self::open(git, clone, path)?.map_or(Found::Foreign, Found::Repaired))
    }

    fn open(git: &Git, clone: &Path, path: &Path) -> GitResult<Option<Worktree>> {
        let repo = git.tree(path);
        let call = repo.call("rev-parse").arg("--path-format=absolute");
        let output = call.args(["--show-toplevel", "--git-common-dir", "--git-dir"]).ending(&[0, 128])?;
        let lines: Vec<&[u8]> = output.stdout.split(|byte| *byte == b'\n').collect();
        let (0, [top, common, git_dir, ..]) = (output.code, lines.as_slice()) else { return Ok(None) };
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let as_path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let meant = real(&as_path(top)) == real(path) && real(&as_path(common)) == real(clone);
        Ok(meant.then(|| Worktree { path: path.to_owned(), git_dir: as_path(git_dir), repo }))
    }

    pub(crate) fn head(&self) -> GitResult<Option<Sha>> {
        self.repo.commit("HEAD")
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.git_dir.join(READY).exists()
    }

    /// `branch`: the full name of the one it is for; nothing for a review's.
    pub(crate) fn set_ready(&self, branch: &str) -> GitResult<()> {
        write_atomic(&self.git_dir.join(READY), branch.as_bytes(), 0o644)
            .map_err(|e| GitError::io(format!("marking {} as ready", self.path.display()), e))
    }

    /// Whether it was made for another branch than that.
    pub(crate) fn is_for_another(&self, branch: &str) -> bool {
        std::fs::read(self.git_dir.join(READY))
            .is_ok_and(|made| !made.is_empty() && made != branch.as_bytes())
    }

    /// The full name of the branch that is checked out; `None` if HEAD is detached.
    pub(crate) fn branch(&self) -> GitResult<Option<String>> {
        let output = self.repo.call("symbolic-ref").args(["--quiet", "HEAD"]).ending(&[0, 1])?;
        Ok((output.code == 0).then(|| output.text()))
    }

    /// Removes what a killed git left locked in here: which files. Only while no session runs in the
    /// worktree; and not while any git does, of whomever.
    pub(crate) fn unlock(&self) -> Vec<&'static str> {
        let there = |name: &&str| self.git_dir.join(name).symlink_metadata().is_ok();
        let locks: Vec<&str> = ["index.lock", "HEAD.lock"].into_iter().filter(there).collect();
        if locks.is_empty() || hazards::git_at_work(&self.path).is_some() {
            return Vec::new();
        }
        locks.into_iter().filter(|name| std::fs::remove_file(self.git_dir.join(name)).is_ok()).collect()
    }

    /// Files that differ from HEAD or that no commit knows, ignored ones aside.
    pub(crate) fn dirty(&self) -> GitResult<u32> {
        let call = self.repo.call("status").args(["--porcelain", "-z", "--no-renames"]);
        let bytes = call.arg("--untracked-files=all").run()?;
        Ok(bytes.iter().filter(|byte| **byte == 0).count().try_into().unwrap_or(u32::MAX))
    }
}

/// A worktree as the clone has it on record; its folder may be gone.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub path: PathBuf,
    pub head: Option<Sha>,
    /// The full name of the branch that is checked out there.
    pub branch: Option<String>,
}

pub(crate) fn list(clone: &Repo) -> GitResult<Vec<Listed>> {
    let call = clone.call("worktree").args(["list", "--porcelain", "-z"]);
    let command = call.shown();
    let bytes = call.run()?;
    let mut all = Vec::new();
    let mut current = Listed::default();
    for line in bytes.split(|byte| *byte == 0) {
        let (key, value) = match line.iter().position(|byte| *byte == b' ') {
            Some(space) => (&line[..space], &line[space + 1..]),
            None => (line, &b""[..]),
        };
        match key {
            b"worktree" => current.path = PathBuf::from(OsStr::from_bytes(value)),
            b"HEAD" => {
                let sha = parse_sha(&command, &String::from_utf8_lossy(value))?;
                // All zeros stands for a branch without a commit.
                current.head = (!sha.as_str().bytes().all(|digit| digit == b'0')).then_some(sha);
            }
            b"branch" => current.branch = Some(String::from_utf8_lossy(value).into_owned()),
            b"" if !current.path.as_os_str().is_empty() => all.push(std::mem::take(&mut current)),
            _ => {}
        }
    }
    Ok(all)
}

/// The clone's record of the worktree at `path`, whether the folder is there or not.
pub(crate) fn listed(clone: &Repo, path: &Path) -> GitResult<Option<Listed>> {
    // A folder that is gone cannot be resolved, but the folder it was in can.
    let real = |path: &Path| {
        let parent = path.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
        parent.zip(path.file_name()).map(|(parent, name)| parent.join(name))
    };
    let wanted = real(path);
    Ok(list(clone)?
        .into_iter()
        .find(|entry| entry.path == path || wanted == real(&entry.path) && wanted.is_some()))
}

/// Whether the worktree at `path`, whose folder may be gone, was ever ready for an agent.
pub(crate) fn was_ready(clone: &Repo, listed: &Listed) -> bool {
    let Ok(entries) = std::fs::read_dir(clone.path().join("worktrees")) else { return false };
    entries.flatten().any(|entry| {
        let link = std::fs::read(entry.path().join("gitdir")).unwrap_or_default();
        let link = Path::new(OsStr::from_bytes(link.trim_ascii_end()));
        link.parent() == Some(&listed.path) && entry.path().join(READY).exists()
    })
}

/// Takes the worktree off the clone's record and deletes its folder, whatever is in it.
pub(crate) fn discard(clone: &Repo, path: &Path) -> GitResult<()> {
    // Twice: also when locked, as one is whose making was cut short.
    clone.call("worktree").args(["remove", "--force", "--force", "--"]).arg(path).run()?;
    Ok(())
}
