//! Which process is a session's first: its launch file says so before anything else of the session runs, in a folder that
//! nobody in a jail can write to. What a process's environment says of itself is compared with that.
//!
//! Invariant: a record is of one process. Another with the same number was started at another time.

use super::tmux::{check_name, own_folder};
use crate::host::atomic::write_atomic;
use crate::host::{process, theirs};
use shopfloor_core::effect::ProcessId;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const BYTES_MAX: u64 = 4096;

/// What the kernel said of the process, as in `/proc/PID/stat`.
pub(super) fn file(socket: &Path, name: &str) -> PathBuf {
    folder(socket).join(name)
}

fn folder(socket: &Path) -> PathBuf {
    socket.with_extension("known")
}

/// Whether that process is the first of the session on that socket.
pub fn is_session(socket: &Path, name: &str, pid: u32) -> bool {
    let known = check_name(name).ok().and_then(|()| theirs::read(&file(socket, name), BYTES_MAX).ok());
    known.is_some_and(|stat| process::is_of(pid, &stat))
}

/// Puts a session on record that an earlier build started, which did not.
pub fn keep(socket: &Path, name: &str, process: ProcessId) -> io::Result<()> {
    check_name(name).map_err(io::Error::other)?;
    let file = file(socket, name);
    let stat = fs::read(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    // It may have ended, and its number be another's.
    if file.exists() || process::identify(process.pid) != Some(process) {
        return Ok(());
    }
    own_folder(&folder(socket))?;
    write_atomic(&file, &stat, 0o600)
}

/// Removes what is on record of processes that have ended.
pub fn forget_ended(socket: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder(socket)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries.flatten() {
        let stat = theirs::read_to_string(&entry.path(), BYTES_MAX).unwrap_or_default();
        // One that says nothing is just being written.
        let pid = stat.split(' ').next().and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !process::is_of(pid, stat.as_bytes())) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_of_one_process_for_as_long_as_it_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("tmux.sock");
        let me = process::identify(std::process::id()).expect("it runs");
        keep(&socket, "dev-sample-1-e1", me).expect("kept");
        let is_me = |name| is_session(&socket, name, me.pid);
        assert!(
            is_me("dev-sample-1-e1") && !is_me("dev-sample-1-e2") && !is_me("../tmux.known/dev-sample-1-e1")
        );
        let parent = std::os::unix::process::parent_id();
        assert!(!is_session(&socket, "dev-sample-1-e1", parent), "that is another");
        // Of the same number, at another time.
        let stat = fs::read_to_string(file(&socket, "dev-sample-1-e1")).expect("read");
        let (before, after) = stat.rsplit_once(')').expect("a name");
        let mut fields: Vec<&str> = after.split(' ').collect();
        fields[20] = "1";
        let earlier = format!("{before}){}", fields.join(" "));
        fs::write(file(&socket, "dev-sample-1-e2"), earlier).expect("written");
        fs::write(file(&socket, "dev-sample-1-e3"), "").expect("written");
        assert!(!is_me("dev-sample-1-e2") && !is_me("dev-sample-1-e3"));
        forget_ended(&socket).expect("forgotten");
        let left = ["e1", "e2", "e3"].map(|epoch| file(&socket, &format!("dev-sample-1-{epoch}")).exists());
        assert_eq!(left, [true, false, true]);
    }
}
