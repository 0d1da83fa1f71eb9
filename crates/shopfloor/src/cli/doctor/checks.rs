//! The machine and the floor's home folder.

use super::super::{CliError, Context};
use super::Check;
use crate::ports;
use shopfloor_adapters::host::resources;
use shopfloor_engine::Engine;
use shopfloor_store::Store;
use shopfloor_store::StoreError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const MIB: u64 = 1024 * 1024;
const DISK_FREE_MIN: u64 = 1024 * MIB;
const MEMORY_MIN: u64 = 500 * MIB;
/// The longest path a Unix socket can have.
const SOCKET_BYTES_MAX: usize = 107;
/// The byte of the shared-memory file that SQLite locks while somebody writes (its file format).
const WAL_WRITE_LOCK: u64 = 120;

pub fn home(context: &Context) -> Vec<Check> {
    let root = context.layout.root();
    let name = "home";
    let meta = match std::fs::metadata(root) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return vec![
                Check::ok(name, format!("{} is not there yet", root.display()))
                    .hint("`shopfloor init` in a git repository makes it"),
            ];
        }
        Err(e) => return vec![Check::fail(name, format!("{}: {e}", root.display()))],
    };
    if !meta.is_dir() {
        return vec![Check::fail(name, format!("{} is not a folder", root.display()))];
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return vec![
            Check::fail(name, format!("{} belongs to another user", root.display()))
                .hint("set SHOPFLOOR_HOME to a folder of your own"),
        ];
    }
    if meta.mode() & 0o077 != 0 {
        let mode = meta.mode() & 0o777;
        return vec![
            Check::warn(name, format!("{} is open to others (mode {mode:o})", root.display()))
                .hint(format!("chmod 700 {}", root.display())),
        ];
    }
    vec![Check::ok(name, root.display().to_string())]
}

pub fn disk(context: &Context) -> Check {
    // Before there is a home, the file system it would be made on counts.
    let place = context.layout.root().ancestors().find(|p| p.exists()).unwrap_or(Path::new("/"));
    match resources::disk_free(place) {
        Ok(free) if free < DISK_FREE_MIN => {
            Check::warn("disk", format!("only {} MiB free for {}", free / MIB, place.display()))
                .hint("make room: worktrees and CI checkouts need it")
        }
        Ok(free) => Check::ok("disk", format!("{:.1} GiB free", free as f64 / (1024 * MIB) as f64)),
        Err(e) => Check::warn("disk", format!("free space is not known: {e}")),
    }
}

pub fn memory() -> Check {
    match resources::memory_available() {
        Ok(free) if free < MEMORY_MIN => Check::warn("memory", format!("only {} MiB available", free / MIB))
            .hint("lower [limits] max_jobs, or end other programs"),
        Ok(free) => Check::ok("memory", format!("{:.1} GiB available", free as f64 / (1024 * MIB) as f64)),
        Err(e) => Check::warn("memory", format!("not known: {e}")),
    }
}

pub fn sockets(context: &Context) -> Check {
    let paths = [context.layout.tmux_socket(), context.layout.daemon_socket()];
    let longest = paths.iter().map(|p| p.as_os_str().len()).max().unwrap_or(0);
    let detail = format!("the longest socket path has {longest} of at most {SOCKET_BYTES_MAX} bytes");
    if longest > SOCKET_BYTES_MAX {
        Check::fail("sockets", detail).hint("set SHOPFLOOR_HOME to a shorter path")
    } else {
        Check::ok("sockets", detail)
    }
}

/// What agents and checks are kept from, found out anew.
pub fn isolation(context: &Context) -> Check {
    let name = "isolation";
    let found = context.floor_config().and_then(|config| ports::isolation(&config));
    match found {
        Ok(isolation) if isolation.is_on() && isolation.missing().is_none() => {
            Check::ok(name, isolation.note())
        }
        Ok(isolation) if isolation.is_on() => {
            Check::warn(name, isolation.note()).hint("what such rules do not keep back: docs/security.md")
        }
        Ok(isolation) => Check::warn(name, isolation.note())
            .hint("run it as a user, or on a machine, that can afford to lose everything: docs/security.md"),
        Err(e) => Check::fail(name, e.message).hint(e.hint.unwrap_or_default()),
    }
}

pub fn daemon(context: &Context) -> Check {
    match context.daemon() {
        Ok(daemon) if daemon.running => {
            Check::ok("daemon", daemon.pid.map_or("runs".to_owned(), |pid| format!("runs, pid {pid}")))
        }
        Ok(_) => Check::warn("daemon", "does not run").hint("`shopfloor up` starts it"),
        Err(e) => Check::fail("daemon", e.message)
            .hint(format!("look into {}, then `shopfloor down`", context.layout.daemon_log().display())),
    }
}

/// The store's checks, and the floor in it if it can be read.
pub fn store(context: &Context) -> (Vec<Check>, Option<Engine<Box<dyn Store>>>) {
    let name = "store";
    let mut store = match context.probe_store() {
        Ok(Some(store)) => store,
        Ok(None) => return (vec![Check::ok(name, "there is none yet")], None),
        Err(e) => return (vec![broken(name, e)], None),
    };
    // Looked at twice, with a reading of the whole file in between: whoever still holds it then
    // is more than a writer passing by.
    let before = writer(context);
    if let Err(e) = store.verify() {
        return (vec![broken(name, e)], None);
    }
    let after = writer(context);
    let mut checks = vec![Check::ok(name, "sound")];
    match after.filter(|pid| before == Some(*pid)) {
        Some(pid) => {
            let who = resources::process_name(pid).unwrap_or_else(|| "?".into());
            checks.push(
                Check::warn("store lock", format!("process {pid} ({who}) holds the store for writing"))
                    .hint("if that lasts, nothing else can commit: see what that process does"),
            );
        }
        None => checks.push(Check::ok("store lock", "nobody holds the store")),
    }
    match Engine::open(store) {
        Ok(engine) => (checks, Some(engine)),
        Err(e) => {
            checks.push(broken("state", e));
            (checks, None)
        }
    }
}

fn broken(name: &str, error: StoreError) -> Check {
    if let StoreError::Older { .. } = error {
        return Check::warn(name, error.to_string()).hint("`shopfloor status` does, after making a copy");
    }
    let error = CliError::from(error);
    let check = Check::fail(name, error.message);
    match error.hint {
        Some(hint) => check.hint(hint),
        None => check,
    }
}

fn writer(context: &Context) -> Option<u32> {
    let mut shared = context.layout.database().into_os_string();
    shared.push("-shm");
    resources::lock_holder(&PathBuf::from(shared), WAL_WRITE_LOCK).ok().flatten()
}
