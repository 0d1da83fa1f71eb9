//! What a project says in `.gitattributes` about merging (`merge=union`, `-merge`, `binary`), for merges without
//! a checkout.
//!
//! Git looks for these files in a working tree, and a bare repository has none. (`--attr-source` came with
//! git 2.41.) So the base's files are laid out in a folder of their own, and git is told that this is the
//! working tree. They are what has landed: a branch does not decide how it is merged. Merge drivers need a
//! configuration, and there is none: nothing that a committed file names is ever run.

use super::run::{GitError, GitResult, Repo};
use crate::host::clock;
use shopfloor_core::ids::Sha;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const FILE: &str = ".gitattributes";
/// More than any project has; the rest is left out.
const FILES_MAX: usize = 500;
const FILE_BYTES_MAX: usize = 1024 * 1024;
const LIST_BYTES_MAX: usize = 256 * 1024 * 1024;
/// A folder this old is not in use.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

/// For each repository, the attribute files of the tree that was last asked for: they hardly ever change from
/// one base to the next, and whether they did can be seen without reading all of a large tree.
#[derive(Default)]
pub(super) struct Attributes(Mutex<BTreeMap<PathBuf, (Sha, Files)>>);

/// Each path, with the name of its blob.
type Files = Vec<(PathBuf, String)>;

impl Attributes {
    /// The repository, set up to merge as the files of `tree` say.
    pub(super) fn of_tree(&self, repo: &Repo, tree: &Sha) -> GitResult<Repo> {
        let files = self.files(repo, tree)?;
        if files.is_empty() {
            return Ok(repo.clone());
        }
        let root = repo.path().join("attributes");
        let folder = root.join(tree.as_str());
        if !folder.is_dir() {
            lay_out(repo, &files, &root, &folder)?;
        }
        Ok(repo.seen_from(&folder))
    }

    fn files(&self, repo: &Repo, tree: &Sha) -> GitResult<Files> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known().get(repo.path()).cloned();
        let files = match last {
            Some((last, files)) if last == *tree || are_the_same(repo, &last, tree) => files,
            _ => files(repo, tree)?,
        };
        known().insert(repo.path().to_owned(), (tree.clone(), files.clone()));
        Ok(files)
    }
}

/// Whether two trees are known to have the same attribute files. Git reads only the parts that differ.
fn are_the_same(repo: &Repo, old: &Sha, new: &Sha) -> bool {
    let call = repo.call("diff-tree").args(["-r", "--quiet", old.as_str(), new.as_str(), "--"]);
    // An old tree may be gone by now.
    call.arg(format!(":(glob)**/{FILE}")).ending(&[0, 1]).is_ok_and(|end| end.code == 0)
}

/// The attribute files of a tree.
fn files(repo: &Repo, tree: &Sha) -> GitResult<Files> {
    let list =
        repo.call("ls-tree").args(["-r", "-z", "--full-tree", tree.as_str()]).first_bytes(LIST_BYTES_MAX)?;
    let entry = |line: &[u8]| {
        let (about, path) = std::str::from_utf8(line).ok()?.split_once('\t')?;
        let mut about = about.split(' ');
        let is_file = about.next()?.starts_with("100");
        let path = PathBuf::from(path);
        // A handmade tree may name anything.
        let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        let wanted = is_file && inside && path.file_name()? == FILE;
        wanted.then(|| Some((path, about.nth(1)?.to_owned())))?
    };
    let ends_so = |line: &&[u8]| line.ends_with(FILE.as_bytes());
    Ok(list.split(|byte| *byte == 0).filter(ends_so).filter_map(entry).take(FILES_MAX).collect())
}

fn lay_out(repo: &Repo, files: &[(PathBuf, String)], root: &Path, folder: &Path) -> GitResult<()> {
    let failed = |e| GitError::io(format!("laying out {}", folder.display()), e);
    fs::create_dir_all(root).map_err(failed)?;
    remove_old(root);
    let new = tempfile_in(root);
    for (path, blob) in files {
        let content = repo.call("cat-file").args(["blob", blob.as_str()]).first_bytes(FILE_BYTES_MAX)?;
        let path = new.join(path);
        fs::create_dir_all(path.parent().expect("it is in the folder")).map_err(failed)?;
        fs::write(path, content).map_err(failed)?;
    }
    match fs::rename(&new, folder) {
        // Somebody else was faster and made the same.
        Err(_) if folder.is_dir() => fs::remove_dir_all(&new).map_err(failed),
        done => done.map_err(failed),
    }
}

fn tempfile_in(root: &Path) -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let digits: String = thread.chars().filter(char::is_ascii_digit).collect();
    let new = root.join(format!("new-{}-{digits}", std::process::id()));
    // Leftovers of a killed process with the same pid.
    let _ = fs::remove_dir_all(&new);
    new
}

fn remove_old(root: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let made = entry.metadata().and_then(|meta| meta.modified());
        made.is_ok_and(|made| clock::now().duration_since(made).is_ok_and(|age| age > KEPT_FOR))
    };
    for entry in fs::read_dir(root).into_iter().flatten().flatten().filter(is_old) {
        // The next call tries again.
        let _ = fs::remove_dir_all(entry.path());
    }
}
