//! Learning from the kernel that somebody wrote. No thread, no polling.
//!
//! Whoever has committed touches the store's file ([`ring`]): only then can others read what was written.
//! SQLite's log is written before that, so a write to the log says that a commit is under way. If nobody
//! rings within [`RING_TIME`], the writer may have died in between, and it is worth a look.

use super::connect_read_only;
use crate::{StoreError, StoreResult, Watch};
use rusqlite::Connection;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{AtFlags, CWD, Timestamps, UTIME_NOW, utimensat};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const RING_TIME: Duration = Duration::from_secs(1);

/// Announces a commit. Whoever misses this learns of the commit a little later, so a failure does not matter.
pub(super) fn ring(store: &Path) {
    let now = || Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let _ =
        utimensat(CWD, store, &Timestamps { last_access: now(), last_modification: now() }, AtFlags::empty());
}

pub(super) struct FileWatch {
    inotify: OwnedFd,
    store: PathBuf,
    /// When to look even if nobody has rung.
    look_at: Option<Instant>,
    /// While this connection is open, SQLite keeps the log where it is watched.
    _conn: Connection,
}

/// What the kernel has reported.
#[derive(Clone, Copy, Default)]
struct Seen {
    rung: bool,
    written: bool,
    gone: bool,
}

impl FileWatch {
    pub(super) fn new(store: &Path) -> StoreResult<Self> {
        let conn = connect_read_only(store)?;
        // The first read makes SQLite create the log, if there is none.
        conn.query_row("SELECT max(seq) FROM journal", [], |_| Ok(()))?;
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(failed)?;
        let watch = FileWatch { inotify, store: store.to_owned(), look_at: None, _conn: conn };
        watch.arm()?;
        Ok(watch)
    }

    fn arm(&self) -> StoreResult<()> {
        let rung = WatchFlags::ATTRIB | WatchFlags::MOVE_SELF;
        inotify::add_watch(&self.inotify, &self.store, rung).map_err(failed)?;
        let mut log = self.store.as_os_str().to_owned();
        log.push("-wal");
        match inotify::add_watch(&self.inotify, PathBuf::from(log), WatchFlags::MODIFY) {
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(failed(e)),
        }
    }

    /// What the kernel reported since the last call.
    fn take(&self) -> StoreResult<Seen> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut told = Seen::default();
        loop {
            match reader.next() {
                Ok(event) => {
                    told.written |= event.events().contains(ReadFlags::MODIFY);
                    told.rung |= event.events().contains(ReadFlags::ATTRIB);
                    told.gone |= event.events().intersects(ReadFlags::IGNORED | ReadFlags::MOVE_SELF);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(told),
                Err(e) => return Err(failed(e)),
            }
        }
    }
}

impl Watch for FileWatch {
    fn wait(&mut self, at_most: Duration) -> StoreResult<bool> {
        // `None`: wait for ever.
        let until = Instant::now().checked_add(at_most);
        loop {
            let told = self.take()?;
            if told.gone {
                // Whoever looks will find out what became of the file.
                self.arm()?;
            }
            let now = Instant::now();
            if told.rung || told.gone || self.look_at.is_some_and(|at| at <= now) {
                // Another commit may be under way already.
                self.look_at = told.written.then_some(now + RING_TIME);
                return Ok(true);
            }
            if told.written {
                self.look_at = Some(now + RING_TIME);
            }
            if until.is_some_and(|until| until <= now) {
                return Ok(false);
            }
            let next = [until, self.look_at].into_iter().flatten().min();
            let left = next.and_then(|at| Timespec::try_from(at.saturating_duration_since(now)).ok());
            match poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], left.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }
}

fn failed(e: Errno) -> StoreError {
    StoreError::Io(format!("the store cannot be watched: {e}"))
}
