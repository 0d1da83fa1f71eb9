//! Origin: where a project's branches live. The floor's own hub ([`hub`]), or any git remote ([`remote`]).
//!
//! Either way, there is a repository on this machine *near* it: it has the objects of everything that was
//! seen there or sent there, and its branches and tags are where origin's were last seen. Commits are read
//! from the near repository, and all other repositories of the floor borrow its objects. For the hub, the
//! near repository is the hub itself, which is always right; a remote has to be looked at ([`Origin::look`])
//! by whoever needs to know where it is now.
//!
//! Refs move by compare-and-swap only; several move together or not at all. An origin's answer to a push is
//! not believed: where its refs are afterwards says what became of it ([`Origin::push`] on any of them). So
//! an answer that is lost, late or wrong costs one look, and whoever asks again finds the push done.

mod hand_over;
pub mod hub;
mod remote;

use super::GitError;
use super::refs;
use super::run::{Git, Repo};
use crate::host::atomic::write_atomic;
use crate::layout::Layout;
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::text;
use shopfloor_engine::ports::{Final, PortError, PortResult};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use remote::{BadUrl, checked_url};

/// Refs near origin that stay for good, and are never moved back.
pub(super) const PINS: [&str; 2] = ["refs/pull/", "refs/shopfloor/merged/"];

pub trait Origin: Send + Sync {
    /// The URL by which other repositories reach it as a remote.
    fn url(&self) -> &OsStr;

    /// The repository near it.
    fn near(&self) -> &Repo;

    /// Brings the near repository to where origin's branches and tags are now.
    fn look(&self) -> PortResult<()>;

    /// Where the refs with these full names are now. The near repository learns of it, too.
    fn refs(&self, names: &[&str]) -> PortResult<Vec<Option<Sha>>>;

    /// Asks origin to move refs. Its answer is not the last word: see `push`.
    fn send(&self, push: &Push<'_>) -> PortResult<()>;

    /// Whether origin's own log says that this very push was made before and has been taken off since.
    fn has_made(&self, push: &Push<'_>) -> PortResult<bool>;

    /// Whether the files that announce a branch are written at the moment it moves. Otherwise they are
    /// written when somebody looks, and whoever waits for news looks now and then.
    fn tells(&self) -> bool;

    /// Whether whoever pushes a branch there is put on record before it moves: see the hub's `update` hook.
    fn records(&self) -> bool;
}

/// Refs that are to move, all or none.
pub struct Push<'a> {
    /// The repository that has the objects of what is new.
    pub from: &'a Repo,
    pub moves: &'a [Move],
    /// Refs that have to stay where they are at the same moment. A remote compares them when the push begins.
    pub standing: &'a [(String, Sha)],
    /// Whether a ref may only move to a commit that contains the one it was at.
    pub forward: bool,
    /// What the refs' log says about it, where there is a log.
    pub why: &'a str,
}

/// Moves a ref from where it is (`None`: nowhere) to where it should be (`None`: deleted).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub name: String,
    pub old: Option<Sha>,
    pub new: Option<Sha>,
}

/// Where the refs of a push are, if they are not where they were expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub moves: Vec<Option<Sha>>,
    pub standing: Vec<Option<Sha>>,
}

/// A project's origin: a remote, if a person has settled on one.
pub fn of(git: &Git, layout: &Layout, project: &ProjectName) -> Arc<dyn Origin> {
    match settled(layout, project) {
        Some(url) => Arc::new(remote::Remote::new(git, &layout.mirror(project), &url, remote::PATIENCE)),
        None => Arc::new(hub::Hub::new(git, &layout.hub(project))),
    }
}

/// A remote by its URL, with an existing bare repository near it. `patience`: how long to wait for one
/// answer.
pub fn remote(git: &Git, near: &Path, url: &str, patience: Duration) -> Arc<dyn Origin> {
    Arc::new(remote::Remote::new(git, near, url, patience))
}

/// Where the repository near a project's origin is.
pub fn near(layout: &Layout, project: &ProjectName) -> PathBuf {
    if settled(layout, project).is_some() { layout.mirror(project) } else { layout.hub(project) }
}

/// The URL of the remote where a project's branches live; `None`: they live in the floor's hub.
pub fn settled(layout: &Layout, project: &ProjectName) -> Option<String> {
    std::fs::read_to_string(layout.origin_url(project)).ok().map(|url| url.trim().to_owned())
}

/// The origin that a project is to have: a new one lives where `url` says, and `settle` is still to be called.
/// That never changes later: a committed file must not lead the floor to another place.
pub(super) fn wanted(
    git: &Git,
    layout: &Layout,
    project: &ProjectName,
    url: Option<&str>,
) -> Result<Arc<dyn Origin>, GitError> {
    let known = settled(layout, project);
    let Some(url) = url.filter(|url| known.as_deref() != Some(url)) else {
        return Ok(of(git, layout, project));
    };
    if known.is_some() || layout.hub(project).exists() {
        let at = known.map_or_else(|| "the floor's own hub".to_owned(), |url| text::one_line(&url, 200));
        return Err(GitError::Settled(at));
    }
    Ok(remote(git, &layout.mirror(project), url, remote::PATIENCE))
}

/// Records where a project's branches live, once something was there: a URL that nobody ever reached can be
/// corrected.
pub(super) fn settle(layout: &Layout, project: &ProjectName, url: Option<&str>) -> Result<(), GitError> {
    let Some(url) = url.filter(|url| settled(layout, project).as_deref() != Some(url)) else { return Ok(()) };
    let file = layout.origin_url(project);
    let io = |e| GitError::io(format!("writing {}", file.display()), e);
    std::fs::create_dir_all(layout.project(project)).map_err(io)?;
    write_atomic(&file, format!("{url}\n").as_bytes(), 0o600).map_err(io)
}

impl dyn Origin + '_ {
    /// Where the ref with that full name was last seen on origin.
    pub fn seen(&self, name: &str) -> Option<Sha> {
        refs::read(self.near().path(), name)
    }

    /// Where the branch was last seen on origin.
    pub fn branch(&self, branch: &str) -> Option<Sha> {
        self.seen(&format!("refs/heads/{branch}"))
    }

    /// Every branch, by its full name, and where it was last seen.
    pub fn branches(&self) -> BTreeMap<String, Sha> {
        refs::list(self.near().path(), "refs/heads/")
    }

    /// The files that are written when the branch is seen to have moved.
    pub fn signs(&self, branch: &str) -> [PathBuf; 2] {
        refs::files_of(self.near().path(), branch)
    }

    /// Moves the refs, all or none. Only where they are afterwards counts.
    pub fn push(&self, push: &Push<'_>) -> PortResult<Result<(), Elsewhere>> {
        let said = self.send(push);
        let names: Vec<&str> = push.moves.iter().map(|m| m.name.as_str()).collect();
        let all: Vec<&str> =
            names.iter().copied().chain(push.standing.iter().map(|(name, _)| name.as_str())).collect();
        let mut moves = self.refs(&all).map_err(|unknown| {
            let answer = said.as_ref().err().map_or_else(String::new, |e| format!("{e}; "));
            PortError::transient(format!(
                "{answer}whether {} moved is not known: {unknown}",
                names.join(", ")
            ))
        })?;
        let standing = moves.split_off(names.len());
        let is = |at: fn(&Move) -> &Option<Sha>| moves.iter().zip(push.moves).all(|(now, m)| now == at(m));
        if is(|m| &m.new) || said.is_ok() && self.went_on(push, &moves)? {
            return Ok(Ok(()));
        }
        let stands = standing.iter().zip(push.standing).all(|(now, (_, at))| now.as_ref() == Some(at));
        match said {
            Ok(()) if is(|m| &m.old) => Err(PortError::transient(format!(
                "origin said that it took {}, and has it where it was",
                names.join(", ")
            ))),
            Err(error) if is(|m| &m.old) && stands => Err(error),
            _ => Ok(Err(Elsewhere { moves, standing })),
        }
    }

    /// Whether each ref is where it was meant to be, or has moved on from there.
    fn went_on(&self, push: &Push<'_>, now: &[Option<Sha>]) -> PortResult<bool> {
        if now.iter().zip(push.moves).any(|(now, m)| now.is_none() || m.new.is_none()) {
            return Ok(false);
        }
        self.look()?;
        for (now, wanted) in now.iter().zip(push.moves) {
            let (Some(now), Some(new)) = (now, &wanted.new) else { return Ok(false) };
            if now != new && !self.has(new, now)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether `commit` is in the history of `head`, as far as the near repository has both.
    pub fn has(&self, commit: &Sha, head: &Sha) -> PortResult<bool> {
        if commit == head {
            return Ok(true);
        }
        let near = self.near();
        Ok(near.has(commit)? && near.is_ancestor(commit, head)?)
    }

    /// Moves one ref from wherever it is now; only forward, if that is asked for.
    pub fn put(
        &self,
        from: &Repo,
        name: &str,
        new: &Sha,
        forward: bool,
    ) -> PortResult<Result<(), Elsewhere>> {
        let old = self.refs(&[name])?.remove(0);
        if old.as_ref() == Some(new) {
            return Ok(Ok(()));
        }
        let moves = [Move { name: name.to_owned(), old, new: Some(new.clone()) }];
        self.push(&Push { from, moves: &moves, standing: &[], forward, why: "shopfloor: put" })
    }

    /// Creates a ref that must be new.
    pub fn create(&self, from: &Repo, name: &str, new: &Sha) -> PortResult<Result<(), Elsewhere>> {
        let moves = [Move { name: name.to_owned(), old: None, new: Some(new.clone()) }];
        self.push(&Push { from, moves: &moves, standing: &[], forward: false, why: "shopfloor: made" })
    }

    /// Deletes a ref that is at `old`; a ref that is elsewhere stays.
    pub fn delete(&self, name: &str, old: &Sha) -> PortResult<Result<(), Elsewhere>> {
        let moves = [Move { name: name.to_owned(), old: Some(old.clone()), new: None }];
        let push = Push {
            from: self.near(),
            moves: &moves,
            standing: &[],
            forward: false,
            why: "shopfloor: deleted",
        };
        self.push(&push)
    }

    /// Keeps one of origin's commits, whatever becomes of its branch: near origin, and on origin itself under
    /// that ref. A server that reserves such names for itself keeps what it wants.
    pub fn pin(&self, name: &str, commit: &Sha) -> PortResult<()> {
        if self.seen(name).as_ref() == Some(commit) {
            return Ok(());
        }
        let near = self.near();
        if !near.has(commit)? {
            let why = format!("commit {} is not on origin", commit.short());
            return Err(PortError::permanent(Final::Missing, why));
        }
        match self.put(near, name, commit, false) {
            Ok(Ok(())) | Err(PortError::Permanent { cause: Final::Refused, .. }) => {}
            Ok(Err(_)) => return Err(PortError::transient(format!("{name} moved meanwhile"))),
            Err(e) => return Err(e),
        }
        // The hub has the ref by now; near a remote it still has to be made.
        if self.seen(name).as_ref() != Some(commit) {
            near.update_refs("", format!("update {name}\0{commit}\0\0"))?;
        }
        Ok(())
    }
}

impl Push<'_> {
    /// Checks that each ref moves to a commit that contains the old one, if that is asked for.
    fn check_forward(&self, repo: &Repo) -> PortResult<()> {
        for Move { old, new, .. } in self.moves.iter().filter(|_| self.forward) {
            if let (Some(old), Some(new)) = (old, new)
                && (!repo.has(old)? || !repo.is_ancestor(old, new)?)
            {
                return Err(drops(old, new));
            }
        }
        Ok(())
    }
}

/// What git's answer to a push means. That a ref is not where it was expected is not the last word: the next
/// question is where it is.
fn answered(error: GitError) -> PortError {
    if error.says("stale info") { PortError::transient(error) } else { error.into() }
}

fn drops(old: &Sha, new: &Sha) -> PortError {
    let why = format!("{} does not contain {}: publishing it would drop commits", new.short(), old.short());
    PortError::permanent(Final::Rejected, why)
}
