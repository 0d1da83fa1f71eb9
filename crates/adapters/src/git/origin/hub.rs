//! The floor's own hub as origin: a bare repository on this machine, which is its own near repository. Where
//! its branches are is read from its files, nothing has to be fetched, and its files tell when a branch
//! moves.
//!
//! What the merge queue built goes there as links ([`super::hand_over`]) and a ref transaction. Then the disk
//! is waited for: once for the branch and once for its folder. On a journalling file system that includes
//! what was written and linked before. Whatever is interrupted leaves objects that nobody refers to, and is
//! repeated.

use super::hand_over::hand_over;
use super::{Move, Origin, PINS, Push, answered};
use crate::agent::random;
use crate::git::repos::FACTORY;
use crate::git::run::{Git, GitError, GitResult, RECEIVE, Repo};
use crate::git::transfer;
use crate::git::{locks, refs};
use crate::host::atomic::write_atomic;
use crate::host::theirs;
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::PortResult;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

pub(super) struct Hub(Repo);

impl Hub {
    pub(super) fn new(git: &Git, dir: &Path) -> Self {
        Hub(git.bare(dir))
    }
}

/// In the environment of a push that the factory makes in its person's name: the word that permits it.
pub const PERMIT: &str = "SHOPFLOOR_PERMIT";

const PERMIT_BYTES_MAX: u64 = 64 * 1024;
const NOWHERE: &str = "-";

/// Lets the hub's hook know that push from others that descend from the daemon: for as long as it lives.
struct Permit {
    word: String,
    file: PathBuf,
}

impl Permit {
    /// For these moves, while this process lives.
    fn give(hub: &Path, moves: &[Move]) -> io::Result<Permit> {
        let word = random()?;
        let file = permit_file(hub, &word);
        let at = |commit: &Option<Sha>| commit.as_ref().map_or_else(|| NOWHERE.to_owned(), Sha::to_string);
        let lines = moves.iter().map(|m| format!("{} {} {}\n", m.name, at(&m.old), at(&m.new)));
        let text: String = [format!("{}\n", std::process::id())].into_iter().chain(lines).collect();
        write_atomic(&file, text.as_bytes(), 0o600)?;
        Ok(Permit { word, file })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

fn permit_file(hub: &Path, word: &str) -> PathBuf {
    hub.join(format!("shopfloor-permit-{word}"))
}

/// Whether that word permits this move at that hub, in the name of that process, which lives.
pub fn permits(hub: &Path, word: &str, giver: u32, [name, old, new]: [&str; 3]) -> bool {
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return false;
    }
    let at = |commit: &str| match commit.bytes().all(|byte| byte == b'0') {
        true => NOWHERE.to_owned(),
        false => commit.to_owned(),
    };
    let wanted = format!("{name} {} {}", at(old), at(new));
    let text = theirs::read_to_string(&permit_file(hub, word), PERMIT_BYTES_MAX).unwrap_or_default();
    let mut lines = text.lines();
    lines.next() == Some(giver.to_string().as_str()) && lines.any(|line| line == wanted)
}

impl Origin for Hub {
    fn url(&self) -> &OsStr {
        self.0.path().as_os_str()
    }

    fn near(&self) -> &Repo {
        &self.0
    }

    fn look(&self) -> PortResult<()> {
        Ok(())
    }

    fn refs(&self, names: &[&str]) -> PortResult<Vec<Option<Sha>>> {
        Ok(self.0.refs(names)?)
    }

    fn send(&self, push: &Push<'_>) -> PortResult<()> {
        if push.from.is_scratch() {
            for wanted in push.moves {
                hand_over(push.from, &self.0, wanted, push.forward)?;
            }
            return Ok(self.swap(push)?);
        }
        push.check_forward(push.from)?;
        if push.from.path() == self.0.path() {
            return Ok(self.swap(push)?);
        }
        if push.from.borrows_from(self.0.path()) {
            self.take_in(push)?;
            return Ok(self.swap(push)?);
        }
        // Through git's own transport, which finds out what is missing here, and runs the hooks.
        let call = push.from.call("push");
        // The user's commits are pushed in the user's name; what else goes this way lands nowhere.
        let in_their_name =
            push.from.is_somebodys().then(|| Permit::give(self.0.path(), push.moves)).transpose();
        let in_their_name = in_their_name.map_err(|e| GitError::io("permitting a push", e))?;
        let call = match &in_their_name {
            Some(permit) => call.env(PERMIT, &permit.word),
            None => call.env(FACTORY, "1"),
        };
        call.pushing(self.url(), push, Some(RECEIVE)).run().map(drop).map_err(answered)
    }

    fn has_made(&self, push: &Push<'_>) -> PortResult<bool> {
        for Move { name, old, new } in push.moves {
            let (Some(old), Some(new)) = (old, new) else { continue };
            let path = self.0.path().join("logs").join(name);
            let log = tail(&path).map_err(|e| GitError::io(format!("reading {}", path.display()), e))?;
            let (begin, end) = (format!("{old} {new} "), format!("\t{}", push.why));
            // Git writes the line before it moves the branch, and may die in between. Whoever took the commit
            // off found the branch there: that is the next line.
            let lines: Vec<&str> = log.lines().collect();
            let made = |line: &str| line.starts_with(&begin) && line.ends_with(&end);
            if !lines.windows(2).any(|pair| made(pair[0]) && pair[1].starts_with(new.as_str())) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn tells(&self) -> bool {
        true
    }

    fn records(&self) -> bool {
        true
    }
}

impl Hub {
    /// Copies what is missing here from a repository of the floor's, and has git look whether all of it has arrived:
    /// what its transport would do, with half the processes. Every object is named anew by its content as it comes in.
    fn take_in(&self, push: &Push<'_>) -> GitResult<()> {
        let tips: Vec<&Sha> = push.moves.iter().filter_map(|wanted| wanted.new.as_ref()).collect();
        if tips.is_empty() {
            return Ok(());
        }
        let here = (self as &dyn Origin).branches();
        let here: Vec<&Sha> = here.values().collect();
        transfer::transfer(push.from, &self.0, &tips, &here)?;
        transfer::check(&self.0, &tips, &here)
    }

    /// One transaction: the refs move only if each of them, and each ref that has to stand, is where it was.
    fn swap(&self, push: &Push<'_>) -> GitResult<()> {
        // What is pinned has nothing to do with any other ref, and no log.
        if let ([Move { name, old: None, new: Some(new) }], []) = (push.moves, push.standing)
            && PINS.iter().any(|pins| name.starts_with(pins))
            && refs::create(self.0.path(), name, new)
        {
            return Ok(());
        }
        let mut lines = String::new();
        for (name, at) in push.standing {
            lines.push_str(&format!("verify {name}\0{at}\0"));
        }
        for Move { name, old, new } in push.moves {
            lines.push_str(&match (old, new) {
                (Some(old), Some(new)) => format!("update {name}\0{new}\0{old}\0"),
                (None, Some(new)) => format!("create {name}\0{new}\0"),
                (Some(old), None) => format!("delete {name}\0{old}\0"),
                (None, None) => format!("verify {name}\0\0"),
            });
        }
        // Locks left by a git that was killed while it moved a branch.
        let names = push.moves.iter().map(|wanted| wanted.name.as_str());
        for name in names.chain(["HEAD", "packed-refs"]) {
            locks::remove_stale(&self.0.path().join(format!("{name}.lock")), locks::STALE_AFTER);
        }
        self.0.update_refs(push.why, lines)?;
        for Move { name, .. } in push.moves.iter().filter(|wanted| wanted.new.is_some()) {
            let folder = self.0.path().join(name);
            let folder = folder.parent().unwrap_or(self.0.path());
            let synced = fs::File::open(folder).and_then(|f| f.sync_all());
            synced.map_err(|e| GitError::io(format!("syncing {}", folder.display()), e))?;
        }
        Ok(())
    }
}

/// How much of a log is read: more moves than fit between a publication and its answer.
const LOG_BYTES_MAX: u64 = 256 * 1024;

/// The end of a file; a missing file counts as empty.
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
