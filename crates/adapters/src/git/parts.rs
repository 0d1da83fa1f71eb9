//! What a tree's repository holds besides HEAD and the files: stashes, branches and tags that origin does not
//! have, and commits made in submodules that their own origins do not have.
//!
//! All of it is found by reading git's files. A process is started only for a repository nested in the
//! worktree, to ask which of its commits its own remotes have.

use super::commit::Commit;
use super::jailed::is_within;
use super::refs::{self, Head};
use super::run::{Git, GitResult, Repo, WITH_SUBMODULES};
use super::site::Site;
use super::worktree::{Worktree, git_dir_of};
use shopfloor_core::ids::Sha;
use shopfloor_core::text::{head, neutralise, one_line};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const NAME_CHARS_MAX: usize = 160;
/// How many parts of each kind a successor is told about.
const TOLD_MAX: usize = 5;
/// How deeply repositories may be nested in a git directory.
const DEPTH_MAX: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    Stash,
    Branch,
    Tag,
    Submodule,
}

impl PartKind {
    const ALL: [PartKind; 4] = [PartKind::Stash, PartKind::Branch, PartKind::Tag, PartKind::Submodule];

    pub fn as_str(self) -> &'static str {
        match self {
            PartKind::Stash => "stash",
            PartKind::Branch => "branch",
            PartKind::Tag => "tag",
            PartKind::Submodule => "submodule",
        }
    }
}

/// A commit that a rescue ref keeps besides the worktree's files and HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    /// A stash's message, a branch's or tag's name, or a submodule's path (and which part of it).
    pub name: String,
    pub commit: Sha,
}

impl Part {
    fn new(kind: PartKind, name: &str, commit: Sha) -> Part {
        Part { kind, name: one_line(name, NAME_CHARS_MAX), commit }
    }

    /// As a line of a snapshot's message.
    pub(super) fn line(&self) -> String {
        format!("{} {} {}\n", self.kind.as_str(), self.commit, self.name)
    }

    pub(super) fn parse(line: &str) -> Option<Part> {
        let (kind, rest) = line.split_once(' ')?;
        let kind = PartKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
        let (commit, name) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(Part { kind, name: name.to_owned(), commit: commit.parse().ok()? })
    }
}

/// The parts, and the object stores they are in besides the tree's own.
#[derive(Default)]
pub(super) struct Found {
    pub parts: Vec<Part>,
    pub stores: Vec<PathBuf>,
}

/// `nested`: folders in the worktree that are repositories themselves.
pub(super) fn of(
    git: &Git,
    site: &Site,
    worktree: &Worktree,
    head: Option<&Sha>,
    nested: &[PathBuf],
) -> GitResult<Found> {
    let mut found = Found::default();
    // A worktree of the clone shares these with the keeper, where they stay.
    if !worktree.is_linked() {
        found.parts = own(site, worktree, head)?;
    }
    let mut dirs = Vec::new();
    modules(&worktree.git_dir.join("modules"), "", 0, &mut dirs);
    for folder in nested {
        let Some(dir) = git_dir_of(folder).and_then(|dir| dir.canonicalize().ok()) else { continue };
        // What it names elsewhere is not this tree's.
        if !is_within(&dir, &[&worktree.path, &worktree.git_dir]) {
            continue;
        }
        let name = folder.strip_prefix(&worktree.path).unwrap_or(folder).to_string_lossy().into_owned();
        match dirs.iter_mut().find(|(known, _)| *known == dir) {
            // Its path says more than its name.
            Some(known) => known.1 = name,
            None => dirs.push((dir, name)),
        }
    }
    for (dir, name) in dirs {
        let parts = unpublished(git, &dir, &name)?;
        if !parts.is_empty() {
            found.parts.extend(parts);
            found.stores.push(dir.join("objects"));
        }
    }
    Ok(found)
}

/// What a successor is told about the parts, at most about that long; empty if there are none.
pub(super) fn told(parts: &[Part], look: &Repo, bytes_max: usize) -> GitResult<String> {
    let mut all = String::new();
    for (kind, title) in [
        (PartKind::Stash, "Stashed (`git stash list` shows them, `git stash pop` takes the newest back)"),
        (PartKind::Branch, "On other branches, and not published"),
        (PartKind::Tag, "Tagged, and not published"),
        (PartKind::Submodule, "Committed in submodules, and not published there"),
    ] {
        let of_kind: Vec<&Part> = parts.iter().filter(|part| part.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        all.push_str(&format!("{title}:\n"));
        for (at, part) in of_kind.iter().enumerate() {
            if at == TOLD_MAX {
                all.push_str(&format!("and {} more\n", of_kind.len() - TOLD_MAX));
                break;
            }
            let label = match kind {
                PartKind::Stash => format!("stash@{{{at}}}: "),
                _ => String::new(),
            };
            all.push_str(&format!("{label}{} ({})\n", part.name, part.commit.short()));
            if kind == PartKind::Stash {
                all.push_str(&neutralise(&stat(look, &part.commit, bytes_max)?));
            }
        }
        all.push('\n');
    }
    Ok(head(&all, bytes_max))
}

/// Which files a stash has, including untracked ones.
fn stat(look: &Repo, stash: &Sha, bytes_max: usize) -> GitResult<String> {
    const HOW: [&str; 8] = [
        "-r",
        "--root",
        "--no-commit-id",
        "--stat=100",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        WITH_SUBMODULES,
    ];
    let show = |args: &[&str]| look.call("diff-tree").args(HOW).args(args).arg("--").beginning(bytes_max);
    // The parents: what it was made on, its index, and the untracked files as a commit of their own.
    let made_of = Commit::read(look, stash)?.parents;
    let mut all = match made_of.first() {
        Some(base) => show(&[base.as_str(), stash.as_str()])?,
        None => show(&[stash.as_str()])?,
    };
    if let Some(untracked) = made_of.get(2) {
        all.push_str(&show(&[untracked.as_str()])?);
    }
    Ok(all)
}

fn stashed(dir: &Path, kind: PartKind, of: &str) -> Vec<Part> {
    let log = refs::log(dir, "refs/stash");
    let mut all: Vec<Part> =
        log.into_iter().map(|entry| Part::new(kind, &format!("{of}{}", entry.message), entry.new)).collect();
    // The log is only a log: what the ref itself names counts even if the log lacks it.
    if let Some(top) = refs::read(dir, "refs/stash")
        && !all.iter().any(|part| part.commit == top)
    {
        all.insert(0, Part::new(kind, of, top));
    }
    all
}

fn own(site: &Site, worktree: &Worktree, head: Option<&Sha>) -> GitResult<Vec<Part>> {
    let dir = &worktree.git_dir;
    let mut parts = stashed(dir, PartKind::Stash, "");
    let mut published: BTreeSet<Sha> = site.origin.branches().into_values().collect();
    published.extend(head.cloned());
    for (name, commit) in refs::list(dir, "refs/heads/") {
        if !published.contains(&commit) {
            parts.push(Part::new(PartKind::Branch, &name["refs/heads/".len()..], commit));
        }
    }
    for (name, object) in refs::list(dir, "refs/tags/") {
        if published.contains(&object) || site.on_origin(&name).as_ref() == Some(&object) {
            continue;
        }
        // It may be an annotated tag, which stands for a commit.
        if let Some(commit) = worktree.repo.commit(&name)?.filter(|commit| !published.contains(commit)) {
            parts.push(Part::new(PartKind::Tag, &name["refs/tags/".len()..], commit));
        }
    }
    Ok(parts)
}

/// The git directories of submodules, and their names.
fn modules(folder: &Path, above: &str, depth: u32, all: &mut Vec<(PathBuf, String)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let (path, name) = (entry.path(), format!("{above}{}", entry.file_name().to_string_lossy()));
        if depth > DEPTH_MAX {
            continue;
        }
        if path.join("HEAD").exists() && path.join("objects").is_dir() {
            modules(&path.join("modules"), &format!("{name}/"), depth + 1, all);
            all.push((path.canonicalize().unwrap_or(path), name));
        } else {
            // A name with slashes in it.
            modules(&path, &format!("{name}/"), depth + 1, all);
        }
    }
}

/// What a nested repository has and, as far as is known, none of its remotes has.
fn unpublished(git: &Git, dir: &Path, name: &str) -> GitResult<Vec<Part>> {
    let kind = PartKind::Submodule;
    let mut tips = Vec::new();
    match refs::head(dir) {
        Some(Head::Detached(commit)) => tips.push(Part::new(kind, name, commit)),
        Some(Head::On(branch)) => tips.extend(refs::read(dir, &branch).map(|c| Part::new(kind, name, c))),
        None => {}
    }
    for (branch, commit) in refs::list(dir, "refs/heads/") {
        if !tips.iter().any(|tip| tip.commit == commit) {
            tips.push(Part::new(kind, &format!("{name} branch {}", &branch["refs/heads/".len()..]), commit));
        }
    }
    tips.extend(stashed(dir, kind, &format!("{name} stash ")));
    let theirs: BTreeSet<Sha> = refs::list(dir, "refs/remotes/").into_values().collect();
    tips.retain(|tip| !theirs.contains(&tip.commit));
    if tips.is_empty() {
        return Ok(tips);
    }
    let mut asked: String = tips.iter().map(|tip| format!("{}\n", tip.commit)).collect();
    asked.extend(theirs.iter().map(|known| format!("^{known}\n")));
    let lacking = git.others_nested(dir, dir, dir).call("rev-list").arg("--stdin").stdin(asked).text()?;
    let lacking: BTreeSet<&str> = lacking.lines().collect();
    tips.retain(|tip| lacking.contains(tip.commit.as_str()));
    Ok(tips)
}
