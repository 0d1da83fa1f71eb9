//! Hands objects that the merge queue made over to the hub without copying them.
//!
//! First git lists what the new commit has and the old one does not. Each of these objects is already in the
//! hub or is a file in the queue's repository; such files never change, so they are linked into the hub's
//! store, as git itself does with what was pushed. (If some may be elsewhere, in a pack, git says whether the
//! hub alone has them all; if not, they are sent.)

use super::{Move, drops};
use crate::git::run::{GitError, GitResult, Repo};
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::PortResult;
use std::fs;
use std::io;
use std::path::Path;

/// Makes sure that the hub holds everything that `new` has and `old` does not.
pub(super) fn hand_over(queue: &Repo, hub: &Repo, wanted: &Move, forward: bool) -> PortResult<()> {
    let (old, Some(new)) = (wanted.old.as_ref(), &wanted.new) else { return Ok(()) };
    let without: Vec<String> = old.iter().map(|old| format!("^{old}")).collect();
    let call = queue.call("rev-list").args(["--objects", "--no-object-names", "--boundary", new.as_str()]);
    let listed = call.args(&without).arg("--").text()?;
    // The last commits that both have are listed with a leading dash; `old` is among them if `new` continues
    // from it.
    let on_from = |old: &&Sha| listed.lines().any(|line| line.strip_prefix('-') == Some(old.as_str()));
    if let Some(old) = old.filter(|old| forward && !on_from(old)) {
        return Err(drops(old, new));
    }
    if let Some(old) = old.filter(on_from) {
        hub.know_ancestor(old, new);
    }
    let (ours, theirs) = (queue.path().join("objects"), hub.path().join("objects"));
    for name in listed.lines().filter(|line| !line.starts_with('-')) {
        link(&ours, &theirs, name)
            .map_err(|e| GitError::io(format!("handing object {name} over to the hub"), e))?;
    }
    if has_packs(&ours.join("pack")) && !has_all(hub, &without, new)? {
        hub.take_from(queue, new)?;
    }
    Ok(())
}

/// Whether the hub alone has everything that is new.
fn has_all(hub: &Repo, without: &[String], new: &Sha) -> GitResult<bool> {
    let call = hub.call("rev-list").args(["--objects", "--quiet", new.as_str()]);
    // Git dies on a missing object.
    Ok(call.args(without).arg("--").ending(&[0, 128])?.code == 0)
}

/// An unreadable folder may have some.
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
    // An object that is not a file here is in the hub, or packed.
    if !from.is_file() {
        return Ok(());
    }
    let exists = |e: &io::Error| e.kind() == io::ErrorKind::AlreadyExists;
    fs::create_dir(&folder).or_else(|e| if exists(&e) { Ok(()) } else { Err(e) })?;
    let to = folder.join(file);
    match fs::hard_link(&from, &to) {
        // Objects are named by their content, so it is the same one.
        Err(e) if exists(&e) => Ok(()),
        // Hard links are not possible here.
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
