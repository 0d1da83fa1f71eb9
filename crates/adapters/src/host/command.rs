//! Running a helper program (tmux, git) to its end: bounded in time and output.

use super::process::timespec;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
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

/// Runs the command without input, in its own process group. At the deadline it is killed and the
/// error is `TimedOut`.
pub fn run(command: &mut Command, timeout: Duration) -> io::Result<Finished> {
    command.stdin(Stdio::null());
    finish(start(command)?, Instant::now() + timeout)
}

/// The same with input. What it does not read of it is of no matter.
pub fn run_with(command: &mut Command, input: &[u8], timeout: Duration) -> io::Result<Finished> {
    let deadline = Instant::now() + timeout;
    command.stdin(Stdio::piped());
    let mut child = start(command)?;
    let pipe = child.stdin.take();
    std::thread::scope(|scope| {
        // It ends when all is read, or nobody is there to read.
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
            // Not waited for yet, so its pid and group are still its own.
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
