//! A lock that ends with its holder: `flock` on a file, which the kernel releases however the
//! process dies. The file stays; only the lock on it counts.

use super::process::{Liveness, is_same, start_time};
use shopfloor_core::effect::ProcessId;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl Drop for FileLock {
    /// Not only by closing it: a program that this process is just starting has the file open too, for a moment.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl FileLock {
    /// `Ok(None)`: somebody else holds it ([`holder`] says who).
    pub fn try_exclusive(path: &Path) -> io::Result<Option<FileLock>> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(e),
        }
        let pid = std::process::id();
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{pid} {}", start_time(pid)?.unwrap_or(0))?;
        Ok(Some(FileLock { file }))
    }
}

/// How long a dead holder's lock may outlive it.
const DEAD_HOLDER: Duration = Duration::from_secs(10);

impl FileLock {
    /// Like [`FileLock::try_exclusive`], but waits for a lock whose holder is dead: a program that the holder
    /// was just starting keeps the lock until it has started, or ends.
    pub fn exclusive(path: &Path) -> io::Result<Option<FileLock>> {
        let began = Instant::now();
        loop {
            let lock = Self::try_exclusive(path)?;
            if lock.is_some() || holder(path).is_some() || began.elapsed() > DEAD_HOLDER {
                return Ok(lock);
            }
            // No event announces a free lock; this lasts milliseconds, and happens only after a kill.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl FileLock {
    /// Waits for the lock, for at most `timeout`: for locks that are held only for moments.
    pub fn wait(path: &Path, timeout: Duration) -> io::Result<Option<FileLock>> {
        let began = Instant::now();
        loop {
            let lock = Self::try_exclusive(path)?;
            if lock.is_some() || began.elapsed() > timeout {
                return Ok(lock);
            }
            // Nothing announces a free lock, except an unbounded wait.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The pid of the process that took the lock last and still runs. For people: only
/// [`FileLock::try_exclusive`] says whether the lock is held.
pub fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(path).ok()?.take(64).read_to_string(&mut text).ok()?;
    let (pid, start) = text.trim_end().split_once(' ')?;
    let process = ProcessId { pid: pid.parse().ok()?, start: start.parse().ok()? };
    (is_same(process) == Liveness::Alive).then_some(process.pid)
}
