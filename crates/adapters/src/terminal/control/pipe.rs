//! Writing to a pipe without ever getting stuck.

use crate::host::process::timespec;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::io;
use std::process::ChildStdin;
use std::time::{Duration, Instant};

/// From now on, writing to it does not wait. The other end is not changed.
pub(super) fn unblock(stdin: &ChildStdin) -> io::Result<()> {
    let flags = fcntl_getfl(stdin)?;
    Ok(fcntl_setfl(stdin, flags | OFlags::NONBLOCK)?)
}

/// Writes everything or fails, in time. The pipe is non-blocking.
pub(super) fn write(stdin: &ChildStdin, mut bytes: &[u8], timeout: Duration) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    while !bytes.is_empty() {
        match rustix::io::write(stdin, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::AGAIN) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                let _ = poll(&mut [PollFd::new(stdin, PollFlags::OUT)], Some(&timespec(left)));
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
