//! Runs one step of the checks: a shell in its own process group, bounded in time, with nothing left behind
//! however it ends.

use super::local::CiStep;
use super::log::RunLog;
use super::record;
use crate::host::command;
use crate::host::process::{self, end_marked_tree, timespec};
use crate::jail::Jail;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use shopfloor_core::effect::ProcessId;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long processes have to obey SIGTERM.
const END_GRACE: Duration = Duration::from_secs(2);
const SIGKILL: i32 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepEnd {
    Passed,
    /// The exit code, or 128 + the signal.
    Failed(i32),
    /// Killed, and not by us: most often the kernel, out of memory.
    Killed,
    TimedOut,
    Cancelled,
}

/// Where and how a run's steps are run.
pub(crate) struct StepPlace<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) tree: &'a Path,
    pub(crate) env: &'a [(OsString, OsString)],
    /// In the environment of every process of the run, and only there.
    pub(crate) marker: &'a [u8],
    /// What it can reach; `None`: whatever the user can.
    pub(crate) jail: Option<&'a Jail<'a>>,
}

pub(crate) fn run(place: &StepPlace<'_>, step: &CiStep, log: &mut RunLog) -> io::Result<StepEnd> {
    let path = place.env.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, path)| path);
    let words = ["sh", "-euc", &step.run];
    let shell = match place.jail.filter(|jail| jail.is_on()) {
        Some(jail) => jail.command(place.tree, words)?,
        None => {
            let mut shell = command::named(words[0], path);
            shell.args(&words[1..]);
            shell
        }
    };
    run_command(place, shell, step.timeout, log)
}

pub(crate) fn run_command(
    place: &StepPlace<'_>,
    command: Command,
    timeout: Duration,
    log: &mut RunLog,
) -> io::Result<StepEnd> {
    run_with_input(place, command, Stdio::null(), timeout, log)
}

pub(crate) fn run_with_input(
    place: &StepPlace<'_>,
    mut command: Command,
    input: Stdio,
    timeout: Duration,
    log: &mut RunLog,
) -> io::Result<StepEnd> {
    let deadline = Instant::now() + timeout;
    let (output, child_end) = pipe_with(PipeFlags::CLOEXEC)?;
    // Only our end: a child whose output is non-blocking may lose some of it.
    fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
    let mut child = command
        .env_clear()
        .envs(place.env.iter().map(|(name, value)| (name, value)))
        .current_dir(place.tree)
        .stdin(input)
        .stdout(child_end.try_clone()?)
        .stderr(child_end)
        .process_group(0)
        .spawn()?;
    // Not reaped, so the pid is the child's, running or not.
    let root = process::start_time(child.id())?.map(|start| ProcessId { pid: child.id(), start });
    let mut output = File::from(output);
    let ended = match root.map(|root| record::save_process(place.folder, root)) {
        Some(Err(e)) => Err(e),
        // Whoever cancelled before this step was started has not ended it.
        _ if record::is_cancelled(place.folder) => Ok(false),
        _ => follow(&mut child, &mut output, deadline, log),
    };
    // Whatever happened, nothing of the step may keep running: not what it started in the background before
    // it passed, and nothing at all after a timeout or an error of ours.
    let swept = end_marked_tree(root, place.marker, END_GRACE);
    // Last words of the processes just ended.
    let drained = drain(&mut output, log);
    if let Err(e) = swept {
        // Waiting could take for ever; if it did end it is reaped here, otherwise init will do it.
        let _ = child.try_wait();
        return Err(e);
    }
    let status = child.wait()?;
    drained?;
    record::remove_process(place.folder)?;
    let ended = ended?;
    if record::is_cancelled(place.folder) {
        return Ok(StepEnd::Cancelled);
    }
    Ok(if ended { outcome(status) } else { StepEnd::TimedOut })
}

fn outcome(status: ExitStatus) -> StepEnd {
    match (status.code(), status.signal()) {
        (Some(0), _) => StepEnd::Passed,
        // How a shell reports that one of its commands was killed.
        (Some(code), _) if code == 128 + SIGKILL => StepEnd::Killed,
        (Some(code), _) => StepEnd::Failed(code),
        (None, Some(SIGKILL)) => StepEnd::Killed,
        (None, signal) => StepEnd::Failed(128 + signal.unwrap_or(0)),
    }
}

/// Takes in the step's output until its shell ends; returns whether it did before the deadline. The end of
/// the output is not waited for, since a background process may hold it open for ever.
fn follow(child: &mut Child, output: &mut File, deadline: Instant, log: &mut RunLog) -> io::Result<bool> {
    let exit: OwnedFd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let mut open = true;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let mut polled = vec![PollFd::new(&exit, PollFlags::IN)];
        if open {
            polled.push(PollFd::new(output, PollFlags::IN));
        }
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
        let exited = !polled[0].revents().is_empty();
        let readable = polled.get(1).is_some_and(|fd| !fd.revents().is_empty());
        if exited {
            drain(output, log)?;
            return Ok(true);
        }
        if readable {
            open = read_some(output, log)?;
        }
    }
}

/// Takes in what is there now: at most what a pipe holds, in case a writer never pauses.
fn drain(output: &mut File, log: &mut RunLog) -> io::Result<()> {
    const READS_MAX: u32 = 32;
    for _ in 0..READS_MAX {
        match read_some(output, log) {
            Ok(true) => {}
            Ok(false) => break,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// `false` at the end of the output.
fn read_some(output: &mut File, log: &mut RunLog) -> io::Result<bool> {
    let mut buffer = [0; 64 * 1024];
    match output.read(&mut buffer) {
        Ok(0) => Ok(false),
        Ok(read) => log.write(&buffer[..read]).map(|()| true),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(e) => Err(e),
    }
}
