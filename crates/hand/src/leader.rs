//! What runs in a hand session's terminal, around the program.
//!
//! When the leader of a terminal's session ends, the kernel throws away what the terminal's reader has not
//! read yet. A program that prints its answer and ends at once would lose the end of it. So this is the
//! leader: it waits for the program, then until tmux has read everything (it asks for the cursor's position,
//! and the answer comes after everything printed before), and ends as the program did.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use rustix::time::Timespec;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// A terminal that nobody reads does not answer; the program's status is worth more than its last words.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Runs the program and returns its status, in a shell's notation.
pub fn run(program: &str, args: &[String]) -> io::Result<i32> {
    let status = Command::new(program).args(args).status()?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Returns when everything printed has been read, with the cursor at the beginning of a line.
pub fn settle() -> io::Result<()> {
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
            // Keys that somebody pressed may come before the answer.
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
