//! Moving the hub's primary branch to what the queue built.
//!
//! First git lists what the new commit has and the old one has not. Each of these objects is the hub's
//! already or a file in the queue's repository; the files never change, and are linked into the hub's store,
//! as git itself does with what was pushed. (If some may be elsewhere, in a pack, git says whether the hub
//! has all by itself, and else they are sent.) Only then the branch moves, by compare-and-swap, in one transaction
//! with the branches that land: if one of them was moved or deleted by then, nothing lands. Then the disk
//! is waited for: once for the branch and once for its folder. On a journalling file system that takes along
//! what was written and linked before. Whatever is interrupted leaves objects that nobody refers to, and is
//! repeated.

use super::commit::Commit;
use super::locks;
use super::merger::Queue;
use super::run::{GitError, GitResult, branch_ref};
use shopfloor_core::effect::{EntryBranch, MovedBranch};
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_engine::ports::{Final, NotPublished, PortError, PortResult, PublishRequest};
use std::fs;
use std::io::{self, Read, Seek};
use std::path::Path;

pub(super) fn publish(queue: &Queue, request: &PublishRequest<'_>) -> PortResult<Result<(), NotPublished>> {
    let PublishRequest { old, new, tested, branches, entries, .. } = *request;
    if tested != new && old != new {
        let read = Commit::read_all(&queue.repo, &[tested, new])?;
        if read[0].tree != read[1].tree {
            return Err(PortError::permanent(
                Final::Refused,
                format!("{} was checked, but {} has other files", tested.short(), new.short()),
            ));
        }
    }
    if new == old {
        return queue.landed(new);
    }
    if queue.was_made(old, new, entries)? {
        return Ok(Ok(()));
    }
    if !hand_over(queue, old, new)? {
        let (new, old) = (new.short(), old.short());
        return Err(PortError::permanent(
            Final::Rejected,
            format!("{new} does not contain {old}: publishing it would drop commits"),
        ));
    }
    if has_packs(&queue.repo.path().join("objects/pack")) && !queue.hub_has_all(old, new)? {
        queue.send(new)?;
    }
    let Err(error) = queue.swap(request) else { return Ok(Ok(())) };
    // Refused, done before or cut off: where the branches are now tells which.
    if queue.primary_now()?.as_ref() != Some(old) {
        return queue.landed(new);
    }
    match queue.moved(branches)? {
        moved if moved.is_empty() => Err(error),
        moved => Ok(Err(NotPublished::Branches(moved))),
    }
}

impl Queue {
    /// Whether the primary branch has `new`; else where it is.
    fn landed(&self, new: &Sha) -> PortResult<Result<(), NotPublished>> {
        let Some(actual) = self.primary_now()? else { return Ok(Err(NotPublished::Primary(None))) };
        Ok(if self.has(new, &actual)? { Ok(()) } else { Err(NotPublished::Primary(Some(actual))) })
    }

    fn moved(&self, branches: &[EntryBranch]) -> PortResult<Vec<MovedBranch>> {
        let names = branches.iter().map(|e| branch_ref(&e.branch)).collect::<Result<Vec<String>, _>>()?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let heads = self.hub.refs(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let left = heads.into_iter().zip(branches).filter(|(head, e)| head.as_ref() != Some(&e.head));
        Ok(left.map(|(head, e)| MovedBranch { entry: e.entry, head }).collect())
    }

    /// Whether `new` is in the history of `actual`, the hub's primary branch.
    fn has(&self, new: &Sha, actual: &Sha) -> PortResult<bool> {
        if new == actual {
            return Ok(true);
        }
        // What the hub does not have cannot be in its branch.
        Ok(self.hub.commit(new.as_str())?.is_some() && self.hub.is_ancestor(new, actual)?)
    }

    /// Whether the hub by itself has everything that is new.
    fn hub_has_all(&self, old: &Sha, new: &Sha) -> GitResult<bool> {
        let call = self.hub.call("rev-list").args(["--objects", "--quiet"]);
        // It dies of an object that is not there.
        Ok(call.args([new.as_str(), &format!("^{old}"), "--"]).ending(&[0, 128])?.code == 0)
    }

    /// The long way, through git's own transport. The ref it needs there is gone afterwards.
    fn send(&self, new: &Sha) -> GitResult<()> {
        let landing = format!("refs/shopfloor/landing/{}", new.short());
        let call = self.repo.call("push").args(["--quiet", "--force", "--"]);
        call.arg(self.hub.path()).arg(format!("{new}:{landing}")).run()?;
        self.hub.call("update-ref").args(["-d", &landing]).run()?;
        Ok(())
    }

    /// Whether the branch's log has this very publication. Whoever asks for it again, since its answer was cut off, must
    /// not make it again if somebody took it off the branch meanwhile.
    fn was_made(&self, old: &Sha, new: &Sha, entries: &[EntryId]) -> GitResult<bool> {
        let path = self.hub.path().join("logs").join(&self.primary);
        let log = tail(&path).map_err(|e| GitError::io(format!("reading {}", path.display()), e))?;
        let (begin, end) = (format!("{old} {new} "), format!("\t{}", message(entries)));
        // Git writes the line before it moves the branch, and may die between. Whoever took it off found it there: that
        // is the next line.
        let lines: Vec<&str> = log.lines().collect();
        let made = |line: &str| line.starts_with(&begin) && line.ends_with(&end);
        Ok(lines.windows(2).any(|pair| made(pair[0]) && pair[1].starts_with(new.as_str())))
    }

    /// One transaction: the primary branch moves if each of the branches is where it was.
    fn swap(&self, request: &PublishRequest<'_>) -> PortResult<()> {
        let PublishRequest { old, new, branches, entries, .. } = *request;
        let mut lines = String::new();
        for EntryBranch { branch, head, .. } in branches {
            lines.push_str(&format!("verify {}\0{head}\0", branch_ref(branch)?));
        }
        lines.push_str(&format!("update {}\0{new}\0{old}\0", self.primary));
        // What a git that was killed while it moved the branch has left.
        for name in ["HEAD", self.primary.as_str(), "packed-refs"] {
            let lock = self.hub.path().join(format!("{name}.lock"));
            locks::remove_stale(&lock, locks::STALE_AFTER);
        }
        let call = self.hub.call("update-ref").args(["-m", &message(entries), "-z", "--stdin"]);
        call.stdin(lines).run()?;
        let folder = self.hub.path().join(&self.primary);
        let folder = folder.parent().expect("a branch is in a folder");
        let synced = fs::File::open(folder).and_then(|f| f.sync_all());
        Ok(synced.map_err(|e| GitError::io(format!("syncing {}", folder.display()), e))?)
    }
}

/// What the branch's log says of a publication.
fn message(entries: &[EntryId]) -> String {
    let entries: Vec<String> = entries.iter().map(EntryId::to_string).collect();
    format!("shopfloor: merge queue, entries {}", entries.join(" "))
}

/// Of a log that is read: more moves than there are between a publication and its answer.
const LOG_BYTES_MAX: u64 = 256 * 1024;

/// The end of a file; one that is not there is empty.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = match fs::File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        file => file?,
    };
    let length = file.metadata()?.len();
    file.seek(io::SeekFrom::Start(length.saturating_sub(LOG_BYTES_MAX)))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Gives the hub the objects of `new` that `old` does not have and that are files of the queue's. False:
/// `new` does not go on from `old`.
fn hand_over(queue: &Queue, old: &Sha, new: &Sha) -> GitResult<bool> {
    let call = queue.repo.call("rev-list").args(["--objects", "--no-object-names", "--boundary"]);
    let listed = call.args([new.as_str(), &format!("^{old}"), "--"]).text()?;
    // The last commits that both have are listed with a sign; `old` is one if `new` goes on from it.
    if !listed.lines().any(|line| line.strip_prefix('-') == Some(old.as_str())) {
        return Ok(false);
    }
    let (ours, theirs) = (queue.repo.path().join("objects"), queue.hub.path().join("objects"));
    for name in listed.lines().filter(|line| !line.starts_with('-')) {
        link(&ours, &theirs, name)
            .map_err(|e| GitError::io(format!("handing object {name} over to the hub"), e))?;
    }
    Ok(true)
}

/// A folder that cannot be read may have some.
fn has_packs(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            entries.any(|e| e.is_ok_and(|e| e.path().extension().is_some_and(|x| x == "pack")))
        }
        Err(e) => e.kind() != io::ErrorKind::NotFound,
    }
}

fn link(ours: &Path, theirs: &Path, name: &str) -> io::Result<()> {
    let Some((folder, file)) = name.split_at_checked(2) else { return Ok(()) };
    let (from, folder) = (ours.join(folder).join(file), theirs.join(folder));
    // One that is not a file here is the hub's, or packed.
    if !from.is_file() {
        return Ok(());
    }
    let exists = |e: &io::Error| e.kind() == io::ErrorKind::AlreadyExists;
    fs::create_dir(&folder).or_else(|e| if exists(&e) { Ok(()) } else { Err(e) })?;
    let to = folder.join(file);
    match fs::hard_link(&from, &to) {
        // Objects are named by their content: it is the same.
        Err(e) if exists(&e) => Ok(()),
        // Where links are not to be had.
        Err(_) => copy(&from, &to),
        Ok(()) => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let new = to.with_file_name(format!("tmp_obj_shopfloor_{}", std::process::id()));
    fs::copy(from, &new)?;
    fs::File::open(&new)?.sync_all()?;
    fs::rename(&new, to)
}
