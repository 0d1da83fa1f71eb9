//! Moving the hub's primary branch to what the queue built.
//!
//! First the hub gets the new objects: the queue's are files that never change, so they are linked into
//! the hub's store, as git itself does with what was pushed. Then git says whether the hub, by itself,
//! holds everything that the new commit has and the old one has not. Only then the branch moves, by
//! compare-and-swap. Whatever is interrupted leaves objects that nobody refers to, and is repeated.

use super::commit::Commit;
use super::locks;
use super::merger::Queue;
use super::run::{GitError, GitResult};
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::{PortError, PortResult, PublishRequest};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `Ok(Err(actual))`: the branch was not at `old`, and what it is at does not have `new`.
pub(super) fn publish(queue: &Queue, request: &PublishRequest<'_>) -> PortResult<Result<(), Sha>> {
    let PublishRequest { old, new, tested, .. } = *request;
    if tested != new && old != new {
        let read = Commit::read_all(&queue.repo, &[tested, new])?;
        if read[0].tree != read[1].tree {
            return Err(PortError::permanent(format!(
                "{} was checked, but {} has other files",
                tested.short(),
                new.short()
            )));
        }
    }
    if new == old {
        let actual = queue.primary_now()?;
        return Ok(if queue.has(new, &actual)? { Ok(()) } else { Err(actual) });
    }
    hand_over(queue, old, new)?;
    match queue.contains_all(old, new) {
        Ok(true) => {}
        Ok(false) => {
            let (new, old) = (new.short(), old.short());
            return Err(PortError::permanent(format!(
                "{new} does not contain {old}: publishing it would drop commits"
            )));
        }
        // Not all of it could be linked: it is sent.
        Err(error) if !error.is_transient() => queue.send(new)?,
        Err(error) => return Err(error.into()),
    }
    let Err(error) = queue.swap(old, new) else { return Ok(Ok(())) };
    // Refused, done before or cut off: where the branch is now tells which.
    let actual = queue.primary_now()?;
    if &actual == old {
        return Err(error.into());
    }
    Ok(if queue.has(new, &actual)? { Ok(()) } else { Err(actual) })
}

impl Queue {
    /// Whether `new` is in the history of `actual`, the hub's primary branch.
    fn has(&self, new: &Sha, actual: &Sha) -> PortResult<bool> {
        if new == actual {
            return Ok(true);
        }
        // What the hub does not have cannot be in its branch.
        Ok(self.hub.commit(new.as_str())?.is_some() && self.hub.is_ancestor(new, actual)?)
    }

    /// Whether `new` goes on from `old`. An error if the hub lacks anything that is new in it.
    fn contains_all(&self, old: &Sha, new: &Sha) -> GitResult<bool> {
        let call = self.hub.call("rev-list").args(["--objects", "--no-object-names", "--boundary"]);
        let listed = call.args([new.as_str(), &format!("^{old}"), "--"]).text()?;
        // The last commits that both have are listed with a sign; `old` is one if `new` goes on from it.
        Ok(listed.lines().any(|line| line.strip_prefix('-') == Some(old.as_str())))
    }

    /// The long way, through git's own transport. The ref it needs there is gone afterwards.
    fn send(&self, new: &Sha) -> GitResult<()> {
        let landing = format!("refs/shopfloor/landing/{}", new.short());
        let call = self.repo.call("push").args(["--quiet", "--force", "--"]);
        call.arg(self.hub.path()).arg(format!("{new}:{landing}")).run()?;
        self.hub.call("update-ref").args(["-d", &landing]).run()?;
        Ok(())
    }

    fn swap(&self, old: &Sha, new: &Sha) -> GitResult<()> {
        // What a git that was killed while it moved the branch has left.
        for name in ["HEAD", self.primary.as_str(), "packed-refs"] {
            let lock = self.hub.path().join(format!("{name}.lock"));
            locks::remove_stale(&lock, locks::STALE_AFTER);
        }
        let call = self.hub.call("update-ref").args(["-m", "shopfloor: merge queue", &self.primary]);
        call.args([new.as_str(), old.as_str()]).run()?;
        Ok(())
    }
}

/// Gives the hub the objects of `new` that `old` does not have and that are the queue's own.
fn hand_over(queue: &Queue, old: &Sha, new: &Sha) -> GitResult<()> {
    let call = queue.repo.call("rev-list").args(["--objects", "--no-object-names"]);
    let listed = call.args([new.as_str(), &format!("^{old}"), "--"]).text()?;
    let (ours, theirs) = (queue.repo.path().join("objects"), queue.hub.path().join("objects"));
    let mut touched = BTreeSet::new();
    for name in listed.lines() {
        link(&ours, &theirs, name, &mut touched)
            .map_err(|e| GitError::io(format!("handing object {name} over to the hub"), e))?;
    }
    for folder in touched {
        let synced = fs::File::open(&folder).and_then(|f| f.sync_all());
        synced.map_err(|e| GitError::io(format!("syncing {}", folder.display()), e))?;
    }
    Ok(())
}

fn link(ours: &Path, theirs: &Path, name: &str, touched: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let Some((folder, file)) = name.split_at_checked(2) else { return Ok(()) };
    let (from, folder) = (ours.join(folder).join(file), theirs.join(folder));
    // One that is not a file here is the hub's, or packed.
    if !from.is_file() {
        return Ok(());
    }
    match fs::create_dir(&folder) {
        Ok(()) => {
            touched.insert(theirs.to_owned());
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    let to = folder.join(file);
    match fs::hard_link(&from, &to) {
        Ok(()) => {
            touched.insert(folder);
            Ok(())
        }
        // Objects are named by their content: it is the same.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => copy(&from, &to, touched),
    }
}

/// Where links are not to be had.
fn copy(from: &Path, to: &Path, touched: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let folder = to.parent().expect("objects are in folders").to_owned();
    let new = folder.join(format!("tmp_obj_shopfloor_{}", std::process::id()));
    fs::copy(from, &new)?;
    fs::File::open(&new)?.sync_all()?;
    fs::rename(&new, to)?;
    touched.insert(folder);
    Ok(())
}
