//! Rescue snapshots: everything a tree holds, as a commit under a hidden ref of the keeper.
//!
//! The commit's tree is what the folder holds ([`super::capture`]). Its first parent is HEAD; the others are
//! what else the tree's repository holds ([`super::parts`]), and its message says which is which. So one ref
//! keeps all of it, and never just a part. Before the ref is made, every object reachable from it is on disk
//! in the keeper or in the hub.

use super::bounds::Left;
use super::capture::Captured;
use super::commit::{Commit, Stamp, factory};
use super::parts::{self, Part};
use super::run::{Git, GitError, GitResult, Repo};
use super::site::Site;
use super::worktree::Worktree;
use super::{refs, transfer};
use crate::host::atomic::write_atomic;
use crate::host::{clock, theirs};
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::{Snapshot, Tree};
use std::path::PathBuf;

/// Where rescue refs are.
pub(crate) const RESCUES: &str = "refs/rescue/";

/// How a snapshot's message begins.
pub(crate) const SUBJECT: &str = "rescue: what ";

/// How the message of a snapshot with parts says which commit was HEAD, if there was one.
const HEAD: &str = "HEAD ";

/// What a tree holds at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub tree: Sha,
    /// `None` on a branch without a commit.
    pub head: Option<Sha>,
    pub parts: Vec<Part>,
    /// What is in the folder and not in the tree, because it is too large.
    pub left: Vec<Left>,
}

/// The same, with the places where its objects are.
pub(crate) struct Held {
    pub content: Content,
    /// Ignored files that are too large anyway: said, but no reason for another snapshot.
    ignored: Vec<Left>,
    stores: Vec<PathBuf>,
}

impl Held {
    pub(crate) fn of(git: &Git, site: &Site, worktree: &Worktree) -> GitResult<Held> {
        Held::looked_at(git, site, worktree, false)
    }

    /// `anew`: nothing that is remembered of an earlier look counts.
    fn looked_at(git: &Git, site: &Site, worktree: &Worktree, anew: bool) -> GitResult<Held> {
        let head = worktree.head()?;
        let captured = Captured::of(git, site, worktree, head.as_ref(), anew)?;
        Held::with(git, site, worktree, head, captured)
    }

    fn with(
        git: &Git,
        site: &Site,
        worktree: &Worktree,
        head: Option<Sha>,
        captured: Captured,
    ) -> GitResult<Held> {
        let Captured { tree, nested, left, .. } = captured;
        let parts::Found { parts, mut stores } = parts::of(git, site, worktree, head.as_ref(), &nested)?;
        if !worktree.is_linked() {
            stores.insert(0, worktree.objects());
        }
        let (ignored, left) = left.into_iter().partition(|left| left.ignored);
        Ok(Held { content: Content { tree, head, parts, left }, ignored, stores })
    }

    /// The keeper, with everything that is held in sight.
    pub(crate) fn look(&self, site: &Site) -> Repo {
        site.keeper.lending(self.stores.iter().map(PathBuf::as_path))
    }
}

/// Keeps what the tree holds under a rescue ref; returns the newest ref if that holds it already.
pub(crate) fn keep(git: &Git, site: &Site, worktree: &Worktree, tree: &Tree) -> GitResult<Snapshot> {
    let held = Held::of(git, site, worktree)?;
    // What an earlier look left in the keeper may be gone: the next one begins anew.
    keep_held(site, worktree, tree, held).inspect_err(|_| git.stills.forget(&worktree.git_dir))
}

/// Keeps what a tree's repository holds although its folder is gone: HEAD's own files stand for the folder.
pub(crate) fn keep_refs(git: &Git, site: &Site, worktree: &Worktree, tree: &Tree) -> GitResult<()> {
    let Some(head) = worktree.head()? else { return Ok(()) };
    let parts::Found { parts, mut stores } = parts::of(git, site, worktree, Some(&head), &[])?;
    if parts.is_empty() {
        return keep_commit(site, Some(worktree), tree, &head).map(drop);
    }
    stores.insert(0, worktree.objects());
    let files = Commit::read(&site.looking_into(Some(worktree)), &head)?.tree;
    let content = Content { tree: files, head: Some(head), parts, left: Vec::new() };
    let held = Held { content, ignored: Vec::new(), stores };
    keep_held(site, worktree, tree, held).map(drop)
}

fn keep_held(site: &Site, worktree: &Worktree, tree: &Tree, held: Held) -> GitResult<Snapshot> {
    let from = held.look(site);
    let Held { content, ignored, .. } = held;
    let kept = newest(&site.keeper, tree);
    if let Some(kept) = &kept
        && held_by(&site.keeper, &kept.snapshot.commit)? == content
    {
        return Ok(kept.snapshot.clone());
    }
    let commit = describe(&content, &ignored, worktree).write(&from)?;
    let branch = worktree.made_for();
    bring(site, &from, &commit, kept.as_ref(), branch.as_deref())?;
    let snapshot = Snapshot { reference: next_reference(&site.keeper, tree, kept.as_ref()), commit };
    create_ref(site, &snapshot)?;
    Ok(snapshot)
}

fn describe(content: &Content, ignored: &[Left], worktree: &Worktree) -> Commit {
    let now = clock::since_epoch();
    let committed = Stamp { seconds: now.as_secs(), zone: "+0000".into() };
    let mut message = format!("{SUBJECT}{} held\n", worktree.path.display());
    let mut parents: Vec<Sha> = content.head.iter().cloned().collect();
    if !content.parts.is_empty() {
        message.push_str(&format!("\n{HEAD}{}\n", content.head.as_ref().map_or("", |head| head.as_str())));
    }
    for part in &content.parts {
        message.push_str(&part.line());
        if !parents.contains(&part.commit) {
            parents.push(part.commit.clone());
        }
    }
    // After an empty line, which ends the subject.
    if content.parts.is_empty() && !(content.left.is_empty() && ignored.is_empty()) {
        message.push('\n');
    }
    message.extend(content.left.iter().chain(ignored).map(Left::line));
    Commit {
        tree: content.tree.clone(),
        parents,
        author: factory(&committed),
        committed,
        encoding: None,
        message: message.into_bytes(),
        ours: true,
    }
}

/// Keeps a commit itself: HEAD of a tree whose folder is gone.
pub(crate) fn keep_commit(
    site: &Site,
    worktree: Option<&Worktree>,
    tree: &Tree,
    commit: &Sha,
) -> GitResult<Snapshot> {
    let kept = newest(&site.keeper, tree);
    let from = site.looking_into(worktree);
    if let Some(kept) = &kept
        && from.is_ancestor(commit, &kept.snapshot.commit)?
    {
        return Ok(kept.snapshot.clone());
    }
    bring(site, &from, commit, kept.as_ref(), None)?;
    let reference = next_reference(&site.keeper, tree, kept.as_ref());
    let snapshot = Snapshot { reference, commit: commit.clone() };
    create_ref(site, &snapshot)?;
    Ok(snapshot)
}

/// Makes sure that the keeper holds everything reachable from the commit.
fn bring(site: &Site, from: &Repo, commit: &Sha, kept: Option<&Kept>, branch: Option<&str>) -> GitResult<()> {
    let mut known = site.known(branch);
    known.extend(kept.map(|kept| kept.snapshot.commit.clone()));
    transfer::transfer(from, &site.keeper, &[commit], &known.iter().collect::<Vec<_>>())
}

/// Whether the snapshot is there and complete and, if the tree exists, holds what the tree holds.
pub(crate) fn holds(
    git: &Git,
    site: &Site,
    worktree: Option<&Worktree>,
    snapshot: &Snapshot,
) -> GitResult<bool> {
    if !is_there(site, snapshot) {
        return Ok(false);
    }
    let Some(worktree) = worktree else { return Ok(true) };
    if held_by(&site.keeper, &snapshot.commit)? != Held::looked_at(git, site, worktree, true)?.content {
        return Ok(false);
    }
    // Without the tree's own objects.
    let known = site.known(None);
    transfer::check(&site.keeper, &[&snapshot.commit], &known.iter().collect::<Vec<_>>())?;
    git.stills.prove(&worktree.git_dir, &snapshot.commit);
    Ok(true)
}

/// The same, a moment after that was found out: if nothing has been written in the tree since, git need not look at every
/// file of it again.
pub(crate) fn still_holds(
    git: &Git,
    site: &Site,
    worktree: &Worktree,
    snapshot: &Snapshot,
) -> GitResult<bool> {
    let head = worktree.head()?;
    let Some(captured) = Captured::proved(git, worktree, head.as_ref(), &snapshot.commit) else {
        return holds(git, site, Some(worktree), snapshot);
    };
    let now = Held::with(git, site, worktree, head, captured)?.content;
    Ok(is_there(site, snapshot) && held_by(&site.keeper, &snapshot.commit)? == now)
}

fn is_there(site: &Site, snapshot: &Snapshot) -> bool {
    refs::read(site.keeper.path(), &snapshot.reference).as_ref() == Some(&snapshot.commit)
}

/// What a rescued commit stands for: a snapshot stands for what the tree held, any other commit for itself.
pub(crate) fn held_by(keeper: &Repo, id: &Sha) -> GitResult<Content> {
    let commit = Commit::read(keeper, id)?;
    Ok(content_of(id, commit))
}

pub(crate) fn content_of(id: &Sha, commit: Commit) -> Content {
    if !commit.message.starts_with(SUBJECT.as_bytes()) {
        let (parts, left) = (Vec::new(), Vec::new());
        return Content { tree: commit.tree, head: Some(id.clone()), parts, left };
    }
    let message = String::from_utf8_lossy(&commit.message);
    let parts: Vec<Part> = message.lines().skip(1).filter_map(Part::parse).collect();
    let head = match message.lines().find_map(|line| line.strip_prefix(HEAD)) {
        Some(head) => head.parse().ok(),
        None => commit.parents.into_iter().next(),
    };
    let left = left_by(&message).filter(|left| !left.ignored).collect();
    Content { tree: commit.tree, head, parts, left }
}

/// What a snapshot's message says was left out, ignored files too.
pub(crate) fn left_by(message: &str) -> impl Iterator<Item = Left> {
    message.lines().skip(1).filter_map(Left::parse)
}

pub(crate) struct Kept {
    pub number: u64,
    pub snapshot: Snapshot,
}

fn prefix(tree: &Tree) -> String {
    format!("{RESCUES}{}/", tree.agent())
}

pub(crate) fn newest(keeper: &Repo, tree: &Tree) -> Option<Kept> {
    let prefix = prefix(tree);
    let kept = refs::list(keeper.path(), &prefix).into_iter().filter_map(|(reference, commit)| {
        let number = reference.strip_prefix(&prefix)?.parse().ok()?;
        Some(Kept { number, snapshot: Snapshot { reference, commit } })
    });
    kept.max_by_key(|kept| kept.number)
}

/// The number that comes next. A ref that an older job names is never another one.
fn next_reference(keeper: &Repo, tree: &Tree, kept: Option<&Kept>) -> String {
    let last = kept.map_or_else(|| given(keeper), |kept| kept.number);
    format!("{}{}", prefix(tree), last + 1)
}

/// The highest number of a ref that was its agent's last and was pruned, whichever agent's.
const GIVEN: &str = "shopfloor-rescues-given";
const GIVEN_BYTES_MAX: u64 = 20;

fn given(keeper: &Repo) -> u64 {
    let text = theirs::read_to_string(&keeper.path().join(GIVEN), GIVEN_BYTES_MAX).unwrap_or_default();
    text.trim().parse::<u32>().map_or(0, u64::from)
}

/// Before an agent's last ref goes: none of an agent without refs gets its number.
pub(crate) fn never_again(keeper: &Repo, number: u64) -> GitResult<()> {
    if number <= given(keeper) {
        return Ok(());
    }
    let file = keeper.path().join(GIVEN);
    write_atomic(&file, format!("{number}\n").as_bytes(), 0o600)
        .map_err(|e| GitError::io(format!("writing {}", file.display()), e))
}

/// The ref must be new: no rescue ref is ever overwritten.
fn create_ref(site: &Site, snapshot: &Snapshot) -> GitResult<()> {
    if refs::create(site.keeper.path(), &snapshot.reference, &snapshot.commit) {
        return Ok(());
    }
    site.keeper.update_refs("", format!("create {}\0{}\0", snapshot.reference, snapshot.commit))
}
