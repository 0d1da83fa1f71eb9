//! Running a helper program (tmux, git) to its end: bounded in time and output.
//!
//! A program that gets an environment of its own is looked up here, by [`named`], and not by the system: for
//! a name without a path, the standard library would fork the whole daemon to look for it in the child.
//! Copying a daemon's page tables for every git call costs more than the git call.

use super::process::timespec;
use rustix::event::{PollFd, PollFlags, poll};
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
    finish(start(command)?, Instant::now() + timeout)
}

/// The same with input. It does not matter if not all of it is read.
pub fn run_with(command: &mut Command, input: &[u8], timeout: Duration) -> io::Result<Finished> {
    let deadline = Instant::now() + timeout;
    command.stdin(Stdio::piped());
    let mut child = start(command)?;
    let pipe = child.stdin.take();
    std::thread::scope(|scope| {
        // Ends when everything is read, or nobody is there to read.
        scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(input)));
        finish(child, deadline)
    })
}

fn start(command: &mut Command) -> io::Result<Child> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()
}

fn finish(mut child: Child, deadline: Instant) -> io::Result<Finished> {
    match read_to_end(&mut child, deadline) {
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

fn read_to_end(child: &mut Child, deadline: Instant) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut stdout = child.stdout.take();
    let mut stderr = child.stderr.take();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 64 * 1024];
    while stdout.is_some() || stderr.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"));
        }
        let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(2);
        polled.extend(stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        polled.extend(stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
        let mut ready = polled.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let stdout_ready = stdout.is_some() && ready.next() == Some(true);
        let stderr_ready = stderr.is_some() && ready.next() == Some(true);
        if stdout_ready && read_some(stdout.as_mut(), &mut buffer, &mut out)? == 0 {
            stdout = None;
        }
        if stderr_ready && read_some(stderr.as_mut(), &mut buffer, &mut err)? == 0 {
            stderr = None;
        }
    }
    Ok((out, err))
}

fn read_some(pipe: Option<&mut impl Read>, buffer: &mut [u8], into: &mut Vec<u8>) -> io::Result<usize> {
    let Some(pipe) = pipe else { return Ok(0) };
    let read = pipe.read(buffer)?;
    let room = OUTPUT_BYTES_MAX.saturating_sub(into.len());
    into.extend_from_slice(&buffer[..read.min(room)]);
    Ok(read)
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
