//! Rescue snapshots: everything a worktree holds, as a commit under a hidden ref of the clone.
//!
//! The snapshot's tree is made through an index of its own, so the worktree's index, HEAD and stash
//! are not touched and a lock on them does not matter. Its parent is HEAD. It holds tracked files
//! (also those marked as assumed unchanged), untracked ones that are not ignored, and the files of
//! repositories nested in the worktree and of submodules that differ from what HEAD says (not
//! their history).

use super::call::Call;
use super::commit::{Commit, Stamp, factory};
use super::run::{Git, GitError, GitResult, Repo, parse_sha};
use super::worktree::Worktree;
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::{Snapshot, Tree};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where rescue refs are.
pub(crate) const RESCUES: &str = "refs/rescue/";

/// How a snapshot's message begins.
pub(crate) const SUBJECT: &str = "rescue: what ";

const NESTING_MAX: u32 = 8;

/// A temporary index that a killed process left is removed after this long.
const INDEX_STALE_AFTER: Duration = Duration::from_secs(600);

/// What a worktree holds at a moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub tree: Sha,
    /// `None` on a branch without a commit.
    pub head: Option<Sha>,
}

impl Content {
    pub(crate) fn of(git: &Git, worktree: &Worktree) -> GitResult<Content> {
        sweep(&worktree.git_dir);
        let head = worktree.head()?;
        let tree = match capture_seeded(git, worktree, head.as_ref(), Seed::Index) {
            // The worktree's index is unreadable: HEAD's tree is the next best start.
            Err(GitError::Failed { stderr, .. }) if stderr.contains("index file") => {
                capture_seeded(git, worktree, head.as_ref(), Seed::Head)?
            }
            captured => captured?,
        };
        Ok(Content { tree, head })
    }
}

/// Keeps what the worktree holds under a rescue ref; the newest one if that holds it already.
pub(crate) fn keep(git: &Git, clone: &Repo, worktree: &Worktree, tree: &Tree) -> GitResult<Snapshot> {
    let content = Content::of(git, worktree)?;
    let kept = newest(clone, tree)?;
    if let Some(kept) = &kept
        && content_of_commit(clone, &kept.snapshot.commit)? == content
    {
        return Ok(kept.snapshot.clone());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let committed = Stamp { seconds: now.as_secs(), zone: "+0000".into() };
    let message = format!("{SUBJECT}{} held\n", worktree.path.display());
    let commit = Commit {
        tree: content.tree,
        parents: content.head.into_iter().collect(),
        author: factory(&committed),
        committed,
        encoding: None,
        message: message.into_bytes(),
    };
    let commit = commit.write(clone)?;
    let snapshot = Snapshot { reference: next_reference(tree, kept.as_ref()), commit };
    create_ref(clone, &snapshot)?;
    Ok(snapshot)
}

/// Keeps a commit itself: HEAD of a worktree whose folder is gone.
pub(crate) fn keep_commit(clone: &Repo, tree: &Tree, commit: &Sha) -> GitResult<Snapshot> {
    let kept = newest(clone, tree)?;
    if let Some(kept) = &kept
        && clone.is_ancestor(commit, &kept.snapshot.commit)?
    {
        return Ok(kept.snapshot.clone());
    }
    let snapshot = Snapshot { reference: next_reference(tree, kept.as_ref()), commit: commit.clone() };
    create_ref(clone, &snapshot)?;
    Ok(snapshot)
}

/// Whether the snapshot is there and, if the worktree is, holds what that holds.
pub(crate) fn holds(
    git: &Git,
    clone: &Repo,
    worktree: Option<&Worktree>,
    snapshot: &Snapshot,
) -> GitResult<bool> {
    if clone.commit(&snapshot.reference)?.as_ref() != Some(&snapshot.commit) {
        return Ok(false);
    }
    match worktree {
        None => Ok(true),
        Some(worktree) => Ok(content_of_commit(clone, &snapshot.commit)? == Content::of(git, worktree)?),
    }
}

fn content_of_commit(clone: &Repo, commit: &Sha) -> GitResult<Content> {
    let commit = Commit::read(clone, commit)?;
    Ok(Content { tree: commit.tree, head: commit.parents.into_iter().next() })
}

/// What a rescued commit stands for: a snapshot for what the worktree held, any other for itself.
pub(crate) fn held_by(clone: &Repo, id: &Sha) -> GitResult<Content> {
    let commit = Commit::read(clone, id)?;
    let head = match commit.message.starts_with(SUBJECT.as_bytes()) {
        true => commit.parents.into_iter().next(),
        false => Some(id.clone()),
    };
    Ok(Content { tree: commit.tree, head })
}

pub(crate) struct Kept {
    pub number: u64,
    pub snapshot: Snapshot,
}

fn prefix(tree: &Tree) -> String {
    format!("{RESCUES}{}/", tree.agent())
}

pub(crate) fn newest(clone: &Repo, tree: &Tree) -> GitResult<Option<Kept>> {
    let prefix = prefix(tree);
    let call = clone.call("for-each-ref").args(["--format=%(objectname) %(refname)", &prefix]);
    let text = call.text()?;
    let kept = text.lines().filter_map(|line| {
        let (commit, reference) = line.split_once(' ')?;
        let number = reference.strip_prefix(&prefix)?.parse().ok()?;
        let snapshot = Snapshot { reference: reference.to_owned(), commit: commit.parse().ok()? };
        Some(Kept { number, snapshot })
    });
    Ok(kept.max_by_key(|kept| kept.number))
}

fn next_reference(tree: &Tree, kept: Option<&Kept>) -> String {
    format!("{}{}", prefix(tree), kept.map_or(1, |kept| kept.number + 1))
}

/// The ref must be new: nothing that was rescued is ever moved over.
fn create_ref(clone: &Repo, snapshot: &Snapshot) -> GitResult<()> {
    let lines = format!("create {}\0{}\0", snapshot.reference, snapshot.commit);
    clone.call("update-ref").args(["-z", "--stdin"]).stdin(lines).run()?;
    Ok(())
}

enum Seed {
    Index,
    Head,
}

fn capture_seeded(git: &Git, worktree: &Worktree, head: Option<&Sha>, seed: Seed) -> GitResult<Sha> {
    let index = TemporaryIndex::new(&worktree.git_dir);
    match (seed, head) {
        (Seed::Index, _) => index.copy_of(&worktree.git_dir.join("index"))?,
        (Seed::Head, Some(head)) => {
            index.call(&worktree.repo, "read-tree").arg(head.as_str()).run()?;
        }
        (Seed::Head, None) => {}
    }
    capture(git, worktree, &worktree.repo, &index, head, 0)
}

/// The tree of everything in `folder`, computed through `index`.
fn capture(
    git: &Git,
    worktree: &Worktree,
    folder: &Repo,
    index: &TemporaryIndex,
    head: Option<&Sha>,
    depth: u32,
) -> GitResult<Sha> {
    let links = trust_no_flag(folder, index)?;
    let mut nested = Vec::new();
    match add_all(folder, index, &nested) {
        // A nested repository without a commit: only then they are looked for, which costs a walk.
        Err(e) if e.says("does not have a commit checked out") => {
            nested = nested_repositories(folder, index)?;
            add_all(folder, index, &nested)?;
        }
        added => added?,
    }

    // A nested repository with a commit stands in the index as that, which nobody here has.
    let mut staged = new_gitlinks(folder, index, head)?;
    // A submodule's changes are in no repository that outlives the worktree.
    for (path, commit) in links {
        if !staged.contains(&path) && is_changed(git, &folder.path().join(&path), &commit)? {
            staged.push(path);
        }
    }
    for path in &staged {
        index.call(folder, "update-index").args(["--force-remove", "--"]).arg(path).run()?;
    }
    nested.extend(staged);
    for path in nested {
        if depth == NESTING_MAX {
            let what =
                format!("repositories nested deeper than {NESTING_MAX} in {}", worktree.path.display());
            return Err(GitError::io(what, std::io::ErrorKind::Unsupported.into()));
        }
        let inner = git.folder(&worktree.git_dir, &folder.path().join(&path));
        let inner_index = TemporaryIndex::new(&worktree.git_dir);
        let tree = capture(git, worktree, &inner, &inner_index, None, depth + 1)?;
        let mut prefix = OsString::from("--prefix=");
        prefix.push(&path);
        prefix.push("/");
        index.call(folder, "read-tree").arg(prefix).arg(tree.as_str()).run()?;
    }
    index.call(folder, "write-tree").sha()
}

/// Adds everything in `folder` to the index but what is below these paths.
fn add_all(folder: &Repo, index: &TemporaryIndex, but: &[OsString]) -> GitResult<()> {
    // Sparse and unsafe line ends are no reason to leave a file out; one sync for all objects.
    let mut add = index.call(folder, "add");
    for setting in ["core.safecrlf=false", "core.fsyncMethod=batch", "advice.addEmbeddedRepo=false"] {
        add = add.set(setting);
    }
    let mut paths = b":/\0".to_vec();
    for path in but {
        paths.extend_from_slice(b":(top,exclude,literal)");
        paths.extend_from_slice(path.as_bytes());
        paths.push(0);
    }
    let add = add.args(["-A", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"]);
    add.stdin(paths).run()?;
    Ok(())
}

/// Clears the flags that tell git not to look at a file, where there is a file. The commits that
/// stand in the index for repositories, by the way.
fn trust_no_flag(folder: &Repo, index: &TemporaryIndex) -> GitResult<Vec<(OsString, Sha)>> {
    let listing = index.call(folder, "ls-files").args(["-v", "--stage", "-z"]).run()?;
    let (mut assumed, mut skipped, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for entry in listing.split(|byte| *byte == 0).filter(|entry| entry.len() > 2) {
        // `tag mode object stage`, a tab, the path.
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let (tag, path) = (entry[0], &entry[tab + 1..]);
        if let Some(rest) = entry[2..tab].strip_prefix(b"160000 ") {
            let id = String::from_utf8_lossy(rest.split(|byte| *byte == b' ').next().unwrap_or_default());
            links.push((OsStr::from_bytes(path).into(), parse_sha("git ls-files --stage", &id)?));
        }
        let there = || std::fs::symlink_metadata(folder.path().join(OsStr::from_bytes(path))).is_ok();
        let (is_assumed, is_skipped) = (tag.is_ascii_lowercase(), tag.eq_ignore_ascii_case(&b'S'));
        if (is_assumed || is_skipped) && there() {
            for (flagged, list) in [(is_assumed, &mut assumed), (is_skipped, &mut skipped)] {
                if flagged {
                    list.extend_from_slice(path);
                    list.push(0);
                }
            }
        }
    }
    for (paths, flag) in [(assumed, "--no-assume-unchanged"), (skipped, "--no-skip-worktree")] {
        if !paths.is_empty() {
            index.call(folder, "update-index").args([flag, "-z", "--stdin"]).stdin(paths).run()?;
        }
    }
    Ok(links)
}

/// Whether the submodule in that folder holds anything but the commit that is on record for it.
pub(crate) fn is_changed(git: &Git, folder: &Path, commit: &Sha) -> GitResult<bool> {
    if !folder.join(".git").exists() {
        return Ok(false);
    }
    let repo = git.tree(folder);
    if repo.commit("HEAD")?.as_ref() != Some(commit) {
        return Ok(true);
    }
    let call = repo.call("status").args(["--porcelain", "-z", "--untracked-files=all"]);
    Ok(!call.arg("--ignore-submodules=none").run()?.is_empty())
}

/// Untracked repositories: git lists one as a folder and does not look inside.
fn nested_repositories(folder: &Repo, index: &TemporaryIndex) -> GitResult<Vec<OsString>> {
    let listing = index.call(folder, "ls-files").args(["-z", "--others", "--exclude-standard"]).run()?;
    let entries = listing.split(|byte| *byte == 0);
    Ok(entries
        .filter_map(|entry| entry.strip_suffix(b"/"))
        .map(|path| OsStr::from_bytes(path).into())
        .collect())
}

/// Repositories staged since HEAD, and submodules that are at another commit than HEAD says.
fn new_gitlinks(folder: &Repo, index: &TemporaryIndex, head: Option<&Sha>) -> GitResult<Vec<OsString>> {
    let against = match head {
        Some(head) => head.clone(),
        None => folder.call("mktree").stdin("").sha()?,
    };
    let call = index.call(folder, "diff-index").args(["--cached", "--raw", "-z", "--no-renames"]);
    let listing = call.args(["--ignore-submodules=none", against.as_str(), "--"]).run()?;
    let mut fields = listing.split(|byte| *byte == 0);
    let mut paths = Vec::new();
    while let (Some(modes), Some(path)) = (fields.next(), fields.next()) {
        let path = OsStr::from_bytes(path);
        let moved = modes.starts_with(b":160000");
        // A submodule that is not checked out has nothing but its commit to keep.
        if modes.get(8..14) == Some(b"160000") && (!moved || folder.path().join(path).join(".git").exists()) {
            paths.push(path.into());
        }
    }
    Ok(paths)
}

/// An index file that exists for one computation.
pub(crate) struct TemporaryIndex {
    path: PathBuf,
}

const INDEX_PREFIX: &str = "shopfloor-index-";

impl TemporaryIndex {
    pub(crate) fn new(git_dir: &Path) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        TemporaryIndex { path: git_dir.join(format!("{INDEX_PREFIX}{}-{number}", std::process::id())) }
    }

    /// Starts from another index, which spares hashing files that did not change. Its time comes
    /// along: git takes a file for changed that is not older than the index.
    fn copy_of(&self, index: &Path) -> GitResult<()> {
        let copy = || {
            let modified = std::fs::metadata(index)?.modified()?;
            std::fs::copy(index, &self.path)?;
            std::fs::File::options().write(true).open(&self.path)?.set_modified(modified)
        };
        match copy() {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(GitError::io(format!("copying {}", index.display()), e))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn call(&self, repo: &Repo, subcommand: &str) -> Call {
        repo.call(subcommand).env("GIT_INDEX_FILE", &self.path)
    }
}

impl Drop for TemporaryIndex {
    fn drop(&mut self) {
        // What stays behind is swept later.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn sweep(git_dir: &Path) {
    let Ok(entries) = std::fs::read_dir(git_dir) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(INDEX_PREFIX.as_bytes()) {
            super::locks::remove_stale(&entry.path(), INDEX_STALE_AFTER);
        }
    }
}
