//! Getting back what a rescue ref holds: into a new folder, as a new branch, or into the worktree.
//!
//! Nothing is overwritten that is not kept: a folder must be new or empty, a branch new, and a worktree is
//! snapshotted first; ignored files, which no snapshot holds, are never overwritten.

use super::capture::TemporaryIndex;
use super::commit::Commit;
use super::kept::Rescued;
use super::parts::{Part, PartKind};
use super::rescue;
use super::run::{GitError, GitResult, Repo, WITH_SUBMODULES, branch_ref, parse_sha};
use super::site::Site;
use super::workspace::GitWorkspace;
use super::worktree::Worktree;
use super::{hazards, refs};
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::text;
use shopfloor_engine::ports::{Final, PortError, PortResult, Snapshot, Tree, Workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A worktree that holds again what a rescue ref held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub path: PathBuf,
    /// What it held before.
    pub before: Snapshot,
    pub head: Sha,
    /// The snapshot's own HEAD, if the worktree's could not be moved there without dropping commits.
    pub other_head: Option<Sha>,
    /// The stashes, branches and tags that are there again.
    pub parts: Vec<Part>,
}

impl GitWorkspace {
    /// Writes the files into a new or empty folder, completely or not at all.
    pub fn restore_to(&self, project: &ProjectName, rescued: &Rescued, dir: &Path) -> PortResult<()> {
        let site = self.site(project)?;
        match std::fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Ok(true) => {}
            Ok(false) => {
                return Err(PortError::permanent(Final::InTheWay, format!("{} is not empty", dir.display())));
            }
            Err(e) => {
                return Err(PortError::permanent(
                    Final::InTheWay,
                    format!("{} cannot be used: {e}", dir.display()),
                ));
            }
        }
        let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
            return Err(PortError::permanent(
                Final::Refused,
                format!("{} cannot be written to", dir.display()),
            ));
        };
        let io = |e| GitError::io(format!("writing {}", dir.display()), e);
        let mut new = OsString::from(".");
        new.push(name);
        new.push(format!(".restoring-{}", std::process::id()));
        let new = parent.join(new);
        std::fs::create_dir_all(parent).map_err(io)?;
        std::fs::create_dir(&new).map_err(io)?;
        let written = self.write_files(&site, &rescued.tree, &new);
        let moved = written.and_then(|()| Ok(std::fs::rename(&new, dir).map_err(io)?));
        if moved.is_err() {
            // It holds only what was just written.
            let _ = std::fs::remove_dir_all(&new);
        }
        moved
    }

    fn write_files(&self, site: &Site, tree: &Sha, dir: &Path) -> PortResult<()> {
        let folder = self.git.folder(site.keeper.path(), dir);
        let index = TemporaryIndex::new(&site.keeper);
        index.call(&folder, "read-tree").arg(tree.as_str()).run()?;
        index.call(&folder, "checkout-index").args(["--all", "--quiet"]).run()?;
        Ok(())
    }

    /// Makes a branch of that name on origin, with the snapshot as its newest commit.
    pub fn restore_branch(&self, project: &ProjectName, rescued: &Rescued, branch: &str) -> PortResult<()> {
        let site = self.site(project)?;
        let full = branch_ref(branch)?;
        let kept = refs::read(site.keeper.path(), &full).is_some();
        if kept || site.on_origin(&full).is_some() || self.is_worked_on(project, &full) {
            return Err(PortError::permanent(Final::InTheWay, format!("there is a branch {branch} already")));
        }
        // Expected to be absent: a branch made at this very moment is not moved.
        match site.origin.create(&site.keeper, &full, &plain(&site, rescued)?)? {
            Ok(()) => Ok(()),
            Err(_) => {
                Err(PortError::permanent(Final::InTheWay, format!("there is a branch {branch} already")))
            }
        }
    }

    /// Makes the issue's worktree hold what the snapshot holds. Only while no agent works there.
    pub fn restore_in_place(&self, tree: &Tree, branch: &str, rescued: &Rescued) -> PortResult<Restored> {
        self.prepare(tree, branch, rescued.head.as_ref())?;
        let site = self.site(&tree.project)?;
        let worktree = self.must_open(tree)?;
        if let Some(operation) = hazards::operation(&worktree) {
            return Err(PortError::permanent(
                Final::InTheWay,
                format!(
                    "{} is in progress in {}: end it first, or restore to another folder",
                    operation.what,
                    worktree.path.display()
                ),
            ));
        }
        let before = self.keep_all(&site, &worktree, tree)?;
        let now = rescue::held_by(&site.keeper, &before.commit)?.tree;
        let head = worktree.head()?;
        let mut other_head = rescued.head.clone().filter(|wanted| Some(wanted) != head.as_ref());
        if let (Some(wanted), Some(head)) = (&rescued.head, &head)
            && wanted != head
            && worktree.branch().is_some_and(|on| on == format!("refs/heads/{branch}"))
            && site.looking_into(Some(&worktree)).is_ancestor(head, wanted)?
        {
            if !worktree.is_linked() {
                site.bring(&[wanted], &worktree.repo)?;
            }
            let call = worktree.repo.call("update-ref").args(["-m", "shopfloor rescue restore", "HEAD"]);
            call.args([wanted.as_str(), head.as_str()]).run()?;
            other_head = None;
        }
        self.apply(&site, &worktree, &now, &rescued.tree)?;
        // What is restored shows up as uncommitted changes.
        worktree.repo.call("reset").args(["--quiet", "--mixed"]).run()?;
        let head = worktree
            .head()?
            .ok_or_else(|| PortError::permanent(Final::Missing, "the branch has no commit"))?;
        let parts = put_back_parts(&site, &worktree, &rescued.parts)?;
        Ok(Restored { path: worktree.path, before, head, other_head, parts })
    }

    /// Turns the worktree's files from one tree, which it is known to hold, into another.
    fn apply(&self, site: &Site, worktree: &Worktree, from: &Sha, to: &Sha) -> PortResult<()> {
        let folder = site.folder(&self.git, worktree, &worktree.path);
        let changes: BTreeMap<OsString, Change> = changes(&folder, from, to)?;
        let gone: BTreeSet<&OsString> =
            changes.iter().filter(|(_, c)| c.new_mode == ABSENT).map(|(path, _)| path).collect();
        let in_the_way: Vec<String> = changes
            .iter()
            .filter(|(path, c)| c.old_mode == ABSENT && is_in_the_way(&worktree.path, path, &gone))
            .map(|(path, _)| text::one_line(&path.to_string_lossy(), 200))
            .take(5)
            .collect();
        if !in_the_way.is_empty() {
            return Err(PortError::permanent(
                Final::InTheWay,
                format!(
                    "ignored files are in the way, which no snapshot holds: {}; move them away first",
                    in_the_way.join(", ")
                ),
            ));
        }
        for path in &gone {
            if changes[*path].old_mode != GITLINK {
                remove(&worktree.path, path)?;
            }
        }
        let mut paths = Vec::new();
        for (path, _) in changes.iter().filter(|(_, c)| c.new_mode != ABSENT && c.new_mode != GITLINK) {
            paths.extend_from_slice(path.as_bytes());
            paths.push(0);
        }
        if !paths.is_empty() {
            let index = TemporaryIndex::new(&site.keeper);
            index.call(&folder, "read-tree").arg(to.as_str()).run()?;
            let call = index.call(&folder, "checkout-index").args(["--force", "--quiet", "-z"]);
            call.arg("--stdin").stdin(paths).run()?;
        }
        Ok(())
    }

    /// Before a worktree whose folder is gone is filled again: returns the snapshot that is to be put back.
    /// If commits that were on no branch only add to the branch, the branch is moved to them.
    pub(super) fn remember(
        &self,
        site: &Site,
        tree: &Tree,
        full: &str,
        head: Option<&Sha>,
        worktree: Option<&Worktree>,
    ) -> PortResult<Option<Sha>> {
        if let (Some(head), Some(old)) = (head, site.branch(worktree, full))
            && *head != old
            && site.looking_into(worktree).is_ancestor(&old, head)?
        {
            let line = format!("update {full}\0{head}\0{old}\0");
            let own = worktree.map(|worktree| self.git.others_folderless(&worktree.common));
            own.as_ref().unwrap_or(&site.keeper).update_refs("", line)?;
        }
        Ok(rescue::newest(&site.keeper, tree).map(|kept| kept.snapshot.commit))
    }

    /// Puts what was remembered into the new worktree, beside what has been committed since.
    pub(super) fn put_back(&self, site: &Site, worktree: &Worktree) -> PortResult<Option<String>> {
        let Some(commit) = worktree.put_back() else { return Ok(None) };
        let held = rescue::held_by(&site.keeper, &commit)?;
        let folder = site.folder(&self.git, worktree, &worktree.path);
        let empty = || site.keeper.call("mktree").stdin("").sha();
        let base = held.head.clone().map_or_else(empty, Ok)?;
        let head = worktree.head()?.map_or_else(empty, Ok)?;
        let since = changes(&folder, &base, &head)?;
        let (mut entries, mut count, mut left) = (Vec::new(), 0usize, 0usize);
        for (path, change) in changes(&folder, &base, &held.tree)? {
            match since.get(&path) {
                Some(other) if (&other.new_mode, &other.new) == (&change.new_mode, &change.new) => {}
                // Another version has been committed since: that one stands.
                Some(_) => left += 1,
                None => {
                    entries.extend_from_slice(format!("{} {}\t", change.new_mode, change.new).as_bytes());
                    entries.extend_from_slice(path.as_bytes());
                    entries.push(0);
                    count += 1;
                }
            }
        }
        if count > 0 {
            let index = TemporaryIndex::new(&site.keeper);
            index.call(&folder, "read-tree").arg(head.as_str()).run()?;
            let call = index.call(&folder, "update-index").args(["-z", "--index-info"]);
            call.stdin(entries).run()?;
            let wanted = index.call(&folder, "write-tree").sha()?;
            self.apply(site, worktree, &head, &wanted)?;
        }
        let named = refs::list(site.keeper.path(), rescue::RESCUES).into_iter();
        let name =
            named.filter(|(_, at)| *at == commit).map(|(name, _)| name).next_back().unwrap_or_default();
        let mut note =
            format!("the worktree's folder was gone; it was made again, with {count} files from {name}");
        if left > 0 {
            note.push_str(&format!(" ({left} more in it differ from what was committed since)"));
        }
        Ok(Some(note))
    }

    /// Whether a tree of the project has the branch.
    fn is_worked_on(&self, project: &ProjectName, full: &str) -> bool {
        let repos = self.layout.project(project).join("repos");
        let Ok(entries) = std::fs::read_dir(repos) else { return false };
        entries.flatten().any(|entry| refs::read(&entry.path(), full).is_some())
    }
}

/// The snapshot as the newest commit of a branch: without what it keeps besides its files.
fn plain(site: &Site, rescued: &Rescued) -> GitResult<Sha> {
    if rescued.parts.is_empty() {
        return Ok(rescued.commit.clone());
    }
    let mut commit = Commit::read(&site.keeper, &rescued.commit)?;
    commit.parents = rescued.head.iter().cloned().collect();
    commit.message = format!("{}\n", commit.subject()).into_bytes();
    commit.write(&site.keeper)
}

/// Puts back stashes, branches and tags that are no longer there. A submodule's commits are not the
/// repository's own; they can be had as a branch.
fn put_back_parts(site: &Site, worktree: &Worktree, parts: &[Part]) -> PortResult<Vec<Part>> {
    let mut back = Vec::new();
    if worktree.is_linked() {
        return Ok(back);
    }
    let dir = &worktree.git_dir;
    let stashed: BTreeSet<Sha> = refs::log(dir, "refs/stash").into_iter().map(|entry| entry.new).collect();
    // Oldest first, in the order they were stashed.
    for part in parts.iter().rev() {
        let full = match part.kind {
            PartKind::Stash if !stashed.contains(&part.commit) => None,
            PartKind::Branch => Some(format!("refs/heads/{}", part.name)),
            PartKind::Tag => Some(format!("refs/tags/{}", part.name)),
            PartKind::Stash | PartKind::Submodule => continue,
        };
        if full.as_ref().is_some_and(|full| refs::read(dir, full).is_some()) {
            continue;
        }
        site.bring(&[&part.commit], &worktree.repo)?;
        match full {
            None => {
                let store = worktree.repo.call("stash").args(["store", "--quiet", "--message"]);
                store.args([part.name.as_str(), part.commit.as_str()]).run()?;
            }
            Some(full) => {
                let line = format!("create {full}\0{}\0", part.commit);
                worktree.repo.call("update-ref").args(["-z", "--stdin"]).stdin(line).run()?;
            }
        }
        back.push(part.clone());
    }
    Ok(back)
}

/// The modes of a missing file and of another repository's commit.
const ABSENT: &str = "000000";
const GITLINK: &str = "160000";

struct Change {
    old_mode: String,
    new_mode: String,
    new: Sha,
}

fn changes(repo: &Repo, from: &Sha, to: &Sha) -> GitResult<BTreeMap<OsString, Change>> {
    let call =
        repo.call("diff-tree").args(["-r", "--raw", "-z", "--no-renames", "--full-index", WITH_SUBMODULES]);
    let call = call.args([from.as_str(), to.as_str(), "--"]);
    let command = call.shown();
    let listing = call.run()?;
    let mut fields = listing.split(|byte| *byte == 0);
    let mut all = BTreeMap::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let line = String::from_utf8_lossy(head).into_owned();
        let words: Vec<&str> = line.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, _, new, _] = words[..] else {
            return Err(GitError::Answer { command, answer: text::one_line(&line, 200) });
        };
        let new = parse_sha(&command, new)?;
        let change = Change { old_mode: old_mode.to_owned(), new_mode: new_mode.to_owned(), new };
        all.insert(OsString::from_vec(path.to_vec()), change);
    }
    Ok(all)
}

/// Whether something is in the file's place that will not be removed first.
fn is_in_the_way(top: &Path, path: &OsString, gone: &BTreeSet<&OsString>) -> bool {
    let path = Path::new(path);
    let full = top.join(path);
    if std::fs::symlink_metadata(&full).is_ok() {
        // A folder may become a file once everything in it is gone; git refuses if anything is left.
        return !full.is_dir() || !gone.iter().any(|other| Path::new(other).starts_with(path));
    }
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above.into_iter().any(|above| {
        let meta = std::fs::symlink_metadata(top.join(above));
        meta.is_ok_and(|meta| !meta.is_dir()) && !gone.contains(&above.as_os_str().to_owned())
    })
}

/// Removes a file of the worktree, and the folders that this leaves empty.
fn remove(top: &Path, path: &OsString) -> GitResult<()> {
    let full = top.join(path);
    let io = |e| GitError::io(format!("removing {}", full.display()), e);
    let inside = full.parent().and_then(|parent| parent.canonicalize().ok());
    let real = top.canonicalize().map_err(io)?;
    // Reached through a link, it would be somebody else's file.
    if !inside.is_some_and(|parent| parent.starts_with(&real)) {
        return Ok(());
    }
    match std::fs::remove_file(&full) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(e)),
        _ => {}
    }
    let mut folder = full.parent();
    while let Some(at) = folder.filter(|at| *at != top) {
        if std::fs::remove_dir(at).is_err() {
            break;
        }
        folder = at.parent();
    }
    Ok(())
}
