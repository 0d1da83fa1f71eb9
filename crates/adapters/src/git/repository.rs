//! Making and removing the repository of one tree.
//!
//! It has refs, HEAD, index, configuration, stash and logs of its own, and borrows origin's objects
//! (`objects/info/alternates`). Nothing that anybody does in it is seen in another. What git would write with
//! `init` and `fetch` is written as files: there are only a few, and every tree needs them.
//!
//! It is made beside its place and renamed into it, and renamed away before it is deleted: it is there
//! completely or not at all. A mark beside it says that its folder and then the repository itself are to go, so
//! whoever looks next finishes a removal that was cut short.

use super::repos::{MANAGED, borrow, common_config, write_if_different};
use super::run::{GitError, GitResult, IDENTITY_EMAIL, IDENTITY_NAME, quoted};
use super::worktree::{READY, put_back_mark};
use super::{refs, site::Site};
use crate::host::atomic::write_atomic;
use crate::host::{clock, remove};
use shopfloor_core::ids::Sha;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const SPARSE: &str = "info/sparse-checkout";

/// What a reviewer's tree does not have: Codex runs what is in there, whoever wrote it, in a folder that it is not to ask
/// about. (Claude Code is told on its command line to leave its own folder alone.) It is reviewed in the change itself.
const NOT_FOR_REVIEWERS: &str = "/*\n!/.codex\n";

/// What a new repository begins with.
pub(crate) struct Beginning<'a> {
    pub commit: &'a Sha,
    /// The full name of the branch that is checked out; `None`: HEAD is detached.
    pub branch: Option<&'a str>,
    /// Set if the folder is to get back what a snapshot holds.
    pub put_back: Option<&'a Sha>,
}

/// Makes the repository at `dir`. `fill` gets the place where it is being made, to add objects that origin
/// does not have.
pub(crate) fn make(
    site: &Site,
    dir: &Path,
    begin: &Beginning<'_>,
    fill: impl FnOnce(&Path) -> GitResult<()>,
) -> GitResult<()> {
    let io = |e| GitError::io(format!("making {}", dir.display()), e);
    sweep(dir).map_err(io)?;
    let new = beside(dir, "new");
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        fs::create_dir_all(new.join(folder)).map_err(io)?;
    }
    set_up(site, &new)?;
    let write = |name: &str, text: &str| write_synced(&new.join(name), text.as_bytes()).map_err(io);
    if begin.branch.is_none() {
        write(SPARSE, NOT_FOR_REVIEWERS)?;
    }
    write("config", &config(site, &new))?;
    let head = begin.branch.map_or_else(|| format!("{}\n", begin.commit), |name| format!("ref: {name}\n"));
    write("HEAD", &head)?;
    let now = clock::since_epoch().as_secs();
    let nothing = "0".repeat(begin.commit.as_str().len());
    let logged = format!(
        "{nothing} {} {IDENTITY_NAME} <{IDENTITY_EMAIL}> {now} +0000\tshopfloor: begun\n",
        begin.commit
    );
    write("logs/HEAD", &logged)?;
    if let Some(name) = begin.branch {
        write(name, &format!("{}\n", begin.commit))?;
        write(&format!("logs/{name}"), &logged)?;
    }
    write("packed-refs", &tracking(site))?;
    if begin.put_back.is_some() {
        write(READY, &put_back_mark(begin.put_back))?;
    }
    fill(&new)?;
    fs::rename(&new, dir).map_err(io)
}

/// Brings the factory's part of its settings up to date, and where it borrows objects from.
pub(crate) fn set_up(site: &Site, dir: &Path) -> GitResult<()> {
    let managed = format!(
        "{}[push]\n\tdefault = current\n[core]\n\talternateRefsPrefixes = refs/heads/\n",
        common_config()
    );
    write_if_different(&dir.join(MANAGED), managed.as_bytes(), 0o644)?;
    borrow(dir, site.near().path())
}

/// Its own configuration, which whoever works in it may change.
fn config(site: &Site, dir: &Path) -> String {
    let theirs = fs::read_to_string(site.near().path().join("config")).unwrap_or_default();
    let (version, format) = match theirs.to_ascii_lowercase().contains("objectformat = sha256") {
        true => (1, "[extensions]\n\tobjectformat = sha256\n"),
        false => (0, ""),
    };
    let url = String::from_utf8_lossy(&quoted(site.origin.url())).into_owned();
    let sparse = if dir.join(SPARSE).exists() { "\tsparseCheckout = true\n" } else { "" };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n{sparse}{format}\
         [include]\n\tpath = {MANAGED}\n\
         [remote \"origin\"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
    )
}

/// Puts a configuration that git can no longer read aside, and writes a new one.
pub(crate) fn mend_config(site: &Site, dir: &Path) -> GitResult<()> {
    let (file, aside) = (dir.join("config"), dir.join("config.broken"));
    let io = |e| GitError::io(format!("mending {}", file.display()), e);
    fs::rename(&file, aside).map_err(io)?;
    write_synced(&file, config(site, dir).as_bytes()).map_err(io)
}

/// Origin's branches as the tree's repository is to see them.
fn tracking(site: &Site) -> String {
    let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for (name, commit) in site.origin.branches() {
        text.push_str(&format!("{commit} refs/remotes/origin/{}\n", &name["refs/heads/".len()..]));
    }
    text
}

/// Whether the repository knows origin's branches as they are.
pub(crate) fn is_current(site: &Site, dir: &Path) -> bool {
    let ours = refs::list(dir, "refs/remotes/origin/");
    let ours = ours.iter().filter(|(name, _)| *name != "refs/remotes/origin/HEAD");
    let theirs = site.origin.branches();
    ours.map(|(name, commit)| (&name["refs/remotes/origin/".len()..], commit))
        .eq(theirs.iter().map(|(name, commit)| (&name["refs/heads/".len()..], commit)))
}

/// Deletes the folder, whatever is in it, and then the repository.
pub(crate) fn remove(dir: &Path, folder: &Path) -> GitResult<()> {
    mark(&removing(dir)).map_err(|e| GitError::io(format!("removing {}", dir.display()), e))?;
    finish_removal(dir, folder)
}

/// What says everything by being there needs no temporary file, which a crash would leave beside it.
fn mark(file: &Path) -> std::io::Result<()> {
    match fs::File::create_new(file) {
        Ok(made) => made.sync_all()?,
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    file.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
}

/// Finishes a removal that was cut short.
pub(crate) fn finish_removal(dir: &Path, folder: &Path) -> GitResult<()> {
    let mark = removing(dir);
    if !mark.exists() {
        return Ok(());
    }
    let io = |e| GitError::io(format!("removing {}", folder.display()), e);
    remove_all(folder).map_err(io)?;
    match fs::rename(dir, beside(dir, "old")) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(e)),
        _ => {}
    }
    sweep(dir).map_err(io)?;
    fs::remove_file(mark).map_err(io)
}

/// The mark of a removal. Beside the repository, whose agent must not be able to make it.
fn removing(dir: &Path) -> PathBuf {
    dir.with_extension("removing")
}

/// Deletes what earlier attempts to make this repository left beside it.
fn sweep(dir: &Path) -> std::io::Result<()> {
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else { return Ok(()) };
    let entries = match fs::read_dir(parent) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries.flatten() {
        let other = entry.file_name();
        let rest = other.as_bytes().strip_prefix(name.as_bytes());
        if rest.is_some_and(|rest| rest.starts_with(b".new-") || rest.starts_with(b".old-")) {
            remove_all(&entry.path())?;
        }
    }
    Ok(())
}

pub(crate) fn remove_all(folder: &Path) -> std::io::Result<()> {
    remove::tree(folder)
}

fn beside(dir: &Path, why: &str) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(format!(".{why}-{}", std::process::id()));
    PathBuf::from(name)
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_atomic(path, bytes, 0o644)
}
