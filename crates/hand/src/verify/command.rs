//! A verifier's program: run without a shell, bounded in time, with nothing left behind.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use shopfloor_adapters::host::process::{self, end_marked_tree, timespec};
use shopfloor_core::effect::ProcessId;
use shopfloor_core::text::neutralise;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Marks the program's processes, so that even those that left its group are ended.
const MARKER: &str = "SHOPFLOOR_VERIFY";
const END_GRACE: Duration = Duration::from_secs(1);
/// How long its last words may take after every process that could print them was ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
const TAIL_BYTES: usize = 4 * 1024;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Whether the program ended with status 0, and what it said last. `Err`: it could not be run.
pub(super) fn run(
    folder: &Path,
    argv: &[String],
    env: &[(OsString, OsString)],
    timeout: Duration,
) -> Result<(bool, String), String> {
    let Some((program, arguments)) = argv.split_first() else { return Err("it names no program".to_owned()) };
    let us = std::process::id();
    let start = process::start_time(us).ok().flatten().unwrap_or(0);
    let marker = format!("{us}-{start}-{}", COUNTER.fetch_add(1, Ordering::Relaxed));
    let failed = |e: io::Error| format!("{program} cannot be run: {e}");
    let (output, theirs) = io::pipe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    command.env(MARKER, &marker).current_dir(folder).process_group(0).stdin(Stdio::null());
    command.stdout(theirs.try_clone().map_err(failed)?).stderr(theirs);
    let mut child = command.spawn().map_err(failed)?;
    // The command holds the other end of the pipe.
    drop(command);
    let root =
        process::start_time(child.id()).ok().flatten().map(|start| ProcessId { pid: child.id(), start });
    let (told, words) = channel();
    std::thread::spawn(move || told.send(tail(output)));
    let ended = wait(&child, timeout);
    let swept = end_marked_tree(root, format!("{MARKER}={marker}").as_bytes(), END_GRACE);
    if let Err(e) = swept {
        let _ = child.try_wait();
        return Err(format!("what {program} started cannot be ended: {e}"));
    }
    let status = child.wait().map_err(failed)?;
    let said = words.recv_timeout(LAST_WORDS).unwrap_or_default();
    let last = neutralise(&said).lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").to_owned();
    let with_words = |what: String| if last.is_empty() { what } else { format!("{what}: {last}") };
    if !ended.map_err(failed)? {
        return Ok((false, with_words(format!("it did not end within {}s", timeout.as_secs()))));
    }
    Ok(match (status.code(), status.signal()) {
        (Some(0), _) => (true, "exit status 0".to_owned()),
        (Some(code), _) => (false, with_words(format!("exit status {code}"))),
        (None, signal) => (false, with_words(format!("ended by signal {}", signal.unwrap_or(0)))),
    })
}

/// Whether the program ended in time.
fn wait(child: &Child, timeout: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + timeout;
    let exit = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut polled = [PollFd::new(&exit, PollFlags::IN)];
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Reads to the end and keeps the last of it.
fn tail(mut output: impl Read) -> String {
    let mut kept: VecDeque<u8> = VecDeque::new();
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = output.read(&mut buffer) {
        kept.extend(&buffer[..read]);
        let surplus = kept.len().saturating_sub(TAIL_BYTES);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}
