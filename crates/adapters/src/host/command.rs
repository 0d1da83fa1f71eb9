//! Running a helper program (tmux, git) to its end: bounded in time and output.
//!
//! A program that gets an environment of its own is looked up here, by [`named`], and not by the system: for
//! a name without a path, the standard library would fork the whole daemon to look for it in the child.
//! Copying a daemon's page tables for every git call costs more than the git call.

use super::process::timespec;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Output beyond this is read and dropped.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Where a program is found on that PATH.
pub fn on_path(program: impl AsRef<Path>, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(&program)).find(|file| is_executable(file))
}

pub fn is_executable(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A command by its name, looked up on `path` now; or by its path. It sees itself called by that name. If it
/// is not found, starting it says so.
pub fn named(program: impl AsRef<OsStr>, path: &OsStr) -> Command {
    let program = program.as_ref();
    let is_name = !program.as_encoded_bytes().contains(&b'/');
    match on_path(program, path).filter(|file| is_name && file.is_absolute()) {
        Some(file) => {
            let mut command = Command::new(file);
            command.arg0(program);
            command
        }
        None => Command::new(program),
    }
}

/// Runs the command without input, in its own process group. At the deadline it is killed and the
/// error is `TimedOut`.
pub fn run(command: &mut Command, timeout: Duration) -> io::Result<Finished> {
    command.stdin(Stdio::null());
    finish(start(command)?, &[], Instant::now() + timeout)
}

/// The same with input. It does not matter if not all of it is read.
pub fn run_with(command: &mut Command, input: &[u8], timeout: Duration) -> io::Result<Finished> {
    command.stdin(Stdio::piped());
    finish(start(command)?, input, Instant::now() + timeout)
}

fn start(command: &mut Command) -> io::Result<Child> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()
}

fn finish(mut child: Child, input: &[u8], deadline: Instant) -> io::Result<Finished> {
    let keep = Keep { stdout: OUTPUT_BYTES_MAX, stderr: OUTPUT_BYTES_MAX, all_is_read: true };
    match talk(&mut child, input, &keep, deadline) {
        Ok((stdout, stderr)) => {
            let status = child.wait()?;
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            Ok(Finished { status, stdout: text(stdout), stderr: text(stderr) })
        }
        Err(e) => {
            // Not reaped yet, so its pid and group are still its own.
            let group = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            child.wait()?;
            Err(e)
        }
    }
}

/// How much is kept of what a program says.
pub(crate) struct Keep {
    pub stdout: usize,
    pub stderr: usize,
    /// What is more is read and dropped. Otherwise nobody reads any more of its standard output, which ends it.
    pub all_is_read: bool,
}

/// Gives a program its input and reads what it says, until it closes both its outputs. All of that at once and without
/// a thread: a full pipe never blocks the program, and one that hangs blocks us until the deadline at most, when the
/// error is `TimedOut`. It does not matter if not all of the input is read: its exit says what that means.
pub(crate) fn talk(
    child: &mut Child,
    input: &[u8],
    keep: &Keep,
    deadline: Instant,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    // Closed at once if there is nothing to say: it must not wait for more.
    let mut stdin = child.stdin.take().filter(|_| !input.is_empty());
    if let Some(pipe) = &stdin {
        fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
    }
    let (mut out, mut err, mut rest) = (Vec::new(), Vec::new(), input);
    let mut buffer = vec![0; 64 * 1024];
    while stdout.is_some() || stderr.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"));
        }
        let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(3);
        polled.extend(stdin.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        polled.extend(stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        polled.extend(stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
        let mut ready = polled.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let mut is_ready = |is_open: bool| is_open && ready.next() == Some(true);
        let [writable, says, complains] =
            [stdin.is_some(), stdout.is_some(), stderr.is_some()].map(&mut is_ready);
        if writable && !write_some(stdin.as_mut(), &mut rest) {
            stdin = None;
        }
        if says {
            let more = read_some(stdout.as_mut(), &mut buffer, &mut out, keep.stdout);
            if !more || (!keep.all_is_read && out.len() >= keep.stdout) {
                stdout = None;
            }
        }
        if complains && !read_some(stderr.as_mut(), &mut buffer, &mut err, keep.stderr) {
            stderr = None;
        }
    }
    Ok((out, err))
}

/// Returns whether there is more to write, and somebody who reads it.
fn write_some(pipe: Option<&mut impl Write>, rest: &mut &[u8]) -> bool {
    match pipe.map(|pipe| pipe.write(rest)) {
        Some(Ok(written)) => {
            *rest = &rest[written..];
            !rest.is_empty()
        }
        Some(Err(e)) => matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        None => false,
    }
}

/// Returns whether there may be more. What was read before an error is still what the program said.
fn read_some(pipe: Option<&mut impl Read>, buffer: &mut [u8], into: &mut Vec<u8>, max: usize) -> bool {
    match pipe.map(|pipe| pipe.read(buffer)) {
        Some(Ok(read)) => {
            let room = max.saturating_sub(into.len());
            into.extend_from_slice(&buffer[..read.min(room)]);
            read > 0
        }
        Some(Err(e)) => e.kind() == io::ErrorKind::Interrupted,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_on_its_path_and_kept_as_the_name() {
        let path = OsStr::new("relative:/nowhere:/usr/bin:/bin");
        let found = named("sh", path);
        assert!(Path::new(found.get_program()).is_absolute(), "{found:?}");
        let said = run(named("sh", path).args(["-c", "echo $0"]), Duration::from_secs(60)).expect("it runs");
        assert_eq!(said.stdout, "sh\n");
        for as_it_is in ["no-such-program", "./sh", "/bin/sh"] {
            assert_eq!(named(as_it_is, path).get_program(), as_it_is);
        }
    }
}
