//! One port for each worktree, unique on the floor, for the servers that its agent runs while trying out its
//! work. It is noted in the worktree's setup folder before anybody uses it, and kept as long as the worktree.

use crate::host::atomic::write_atomic;
use crate::host::lock::FileLock;
use crate::layout::Layout;
use shopfloor_engine::ports::{PortError, PortResult};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

const FILE: &str = "port";
/// The lock is held only for moments.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The port recorded in a setup folder.
pub(super) fn of(folder: &Path) -> Option<u16> {
    fs::read_to_string(folder.join(FILE)).ok()?.trim().parse().ok()
}

/// The folder's port: the one it has, if that is in the range, else one that no other folder has and nobody
/// listens on.
pub(super) fn give(layout: &Layout, folder: &Path, range: &RangeInclusive<u16>) -> PortResult<u16> {
    // One at a time on the whole floor: the daemon and people's commands hand ports out.
    let lock = layout.ports_lock();
    let _alone = FileLock::wait(&lock, LOCK_WAIT)
        .and_then(|lock| lock.ok_or_else(|| io::Error::from(io::ErrorKind::WouldBlock)))
        .map_err(|e| PortError::transient(format!("{}: {e}", lock.display())))?;
    // Not checked for a listener: that may be its own agent's.
    if let Some(port) = of(folder).filter(|port| range.contains(port)) {
        return Ok(port);
    }
    let given = given(layout).map_err(PortError::transient)?;
    let free = range.clone().find(|port| !given.contains(port) && is_free(*port)).ok_or_else(|| {
        let (first, last) = (range.start(), range.end());
        PortError::transient(format!(
            "no port of {first}-{last} is free: widen `ports` in [worktree] of shopfloor.toml"
        ))
    })?;
    let write = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        write_atomic(&folder.join(FILE), free.to_string().as_bytes(), 0o600)
    };
    write().map_err(PortError::transient)?;
    Ok(free)
}

pub(super) fn take_back(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(FILE)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The ports of all worktrees of the floor.
fn given(layout: &Layout) -> io::Result<BTreeSet<u16>> {
    let mut ports = BTreeSet::new();
    for project in entries(&layout.projects())? {
        for folder in entries(&project.join("setup"))? {
            ports.extend(of(&folder));
        }
    }
    Ok(ports)
}

fn entries(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    match fs::read_dir(folder) {
        Ok(all) => all.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
