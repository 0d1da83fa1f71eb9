//! `shopfloor session lead` (hidden): what runs in a hand session's terminal, around the program.
//!
//! The kernel throws away what a terminal's reader has not read yet when the leader of its session ends. A
//! program that prints its answer and ends at once would lose the end of it. So the leader is this: it
//! waits for the program, then until tmux has read everything (it asks for the cursor's position, and the
//! answer comes after all that was printed before), and ends as the program did.

use crate::cli::{CliResult, Exit};
use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use rustix::time::Timespec;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

#[derive(Args)]
pub struct LeadArgs {
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

/// A terminal that nobody reads does not answer; the program's status is worth more than its last words.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// The words before those of a program that is to be led.
pub(super) fn argv() -> io::Result<Vec<OsString>> {
    let mut argv = vec![std::env::current_exe()?.into_os_string()];
    argv.extend(["session", "lead", "--"].map(OsString::from));
    Ok(argv)
}

pub fn run(args: &LeadArgs) -> CliResult<Exit> {
    // Keys and requests to end are the program's to answer. Caught, not ignored: a program would inherit that.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let status = match Command::new(&args.argv[0]).args(&args.argv[1..]).status() {
        // As shells have it.
        Ok(status) => status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        Err(e) => {
            let missing = e.kind() == io::ErrorKind::NotFound;
            let why = if missing { "not found".to_owned() } else { e.to_string() };
            eprintln!("{}: {why}", shopfloor_core::text::one_line(&args.argv[0], 200));
            if missing { 127 } else { 126 }
        }
    };
    // Whoever cannot be asked has no more to say.
    let _ = settle();
    std::process::exit(status)
}

/// Returns when everything that was printed was read, with the cursor at the beginning of a line.
fn settle() -> io::Result<()> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let mut raw = tcgetattr(&terminal)?;
    raw.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &raw)?;
    tcflush(&terminal, QueueSelector::IFlush)?;
    let deadline = Instant::now() + ANSWER_MAX;
    if column(&mut terminal, deadline)? != 1 {
        terminal.write_all(b"\r\n")?;
        column(&mut terminal, deadline)?;
    }
    Ok(())
}

/// The cursor's column, by the answer `ESC [ row ; column R`.
fn column(terminal: &mut File, deadline: Instant) -> io::Result<u32> {
    terminal.write_all(b"\x1b[6n")?;
    let mut answer = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| io::ErrorKind::TimedOut)?;
        let mut polled = [PollFd::new(terminal, PollFlags::IN)];
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
        let mut byte = [0];
        if terminal.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match byte[0] {
            // Keys that somebody pressed may come before.
            0x1b => answer.clear(),
            b'R' => {
                let text = String::from_utf8_lossy(&answer).into_owned();
                if let Some((_, column)) = text.strip_prefix('[').and_then(|rest| rest.split_once(';'))
                    && let Ok(column) = column.parse()
                {
                    return Ok(column);
                }
            }
            other if answer.len() < 32 => answer.push(other),
            _ => {}
        }
    }
}
