//! Reports when a file was written or replaced: one thread sleeps in `poll` on an inotify descriptor that
//! watches the files themselves, not the folders they are in (which may be as busy as `/tmp`).
//!
//! Invariants:
//! - Level-triggered: a report says "read it now", not what happened. Each (re)arming of a watch is
//!   followed by a report, so nothing written before or during it is missed; many writes may give
//!   one report.
//! - A file that is watched to be read as a whole is reported when its writer has closed it; if it is held
//!   open, when it has been left alone for a while. Whoever reads it may ask to be called again later, and is
//!   called sooner if something happens.
//! - A file that is replaced by a rename, or deleted and made again, is followed to its new inode.
//!   While there is none, the nearest existing folder above it is watched for it to appear.
//! - A folder that is watched is reported when something in it appears, goes or is written.
//! - Symbolic links are not followed.
//! - The callback runs on the watcher's thread, with no lock held.

use super::wake::Wake;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub struct FileWatcher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    inotify: OwnedFd,
    wake: Wake,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    watches: BTreeMap<u64, Watch>,
    /// Keys to report.
    due: BTreeSet<u64>,
    /// Keys to report at a certain time, unless they are reported before.
    later: BTreeMap<u64, Instant>,
    stop: bool,
}

struct Watch {
    path: PathBuf,
    when: When,
    armed: Armed,
}

/// Which part of a file's writing is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Each change.
    Changed,
    /// When a writer is done with it.
    Written,
}

/// How long a file that is held open has to be left alone before it counts as written.
const LEFT_ALONE: Duration = Duration::from_millis(500);

#[derive(Clone, PartialEq, Eq)]
enum Armed {
    /// On the file's own inode.
    File(i32),
    /// On a folder above it, where an entry of this name is expected to appear.
    Folder { wd: i32, name: PathBuf },
    /// Could not be armed; tried again whenever the thread wakes.
    No,
}

impl Armed {
    fn wd(&self) -> Option<i32> {
        match self {
            Armed::File(wd) | Armed::Folder { wd, .. } => Some(*wd),
            Armed::No => None,
        }
    }
}

const WRITTEN: ReadFlags = ReadFlags::CLOSE_WRITE.union(ReadFlags::MODIFY);

impl FileWatcher {
    /// Starts the thread. `changed` is called with the key of a file that is to be read.
    pub fn spawn(mut changed: impl FnMut(u64) + Send + 'static) -> io::Result<Self> {
        Self::spawn_patient(move |key| {
            changed(key);
            None
        })
    }

    /// The same; `changed` may say when it wants to be called again if nothing else happens.
    pub fn spawn_patient(changed: impl FnMut(u64) -> Option<Duration> + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            inotify: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            wake: Wake::new()?,
            state: Mutex::default(),
        });
        let thread = std::thread::Builder::new().name("file-watch".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || run(&shared, changed)
        })?;
        Ok(FileWatcher { shared, thread: Some(thread) })
    }

    /// Watches a file, which need not exist yet, under `key`, instead of what was watched under that key
    /// before. The path must be absolute.
    pub fn watch(&self, key: u64, path: impl Into<PathBuf>) -> io::Result<()> {
        self.watch_when(key, path, When::Changed)
    }

    pub fn watch_when(&self, key: u64, path: impl Into<PathBuf>, when: When) -> io::Result<()> {
        let path = path.into();
        if !path.is_absolute() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a watched path must be absolute"));
        }
        let mut state = self.shared.state();
        state.forget(&self.shared.inotify, key);
        let mut tried = Vec::new();
        let armed = arm(&self.shared.inotify, &path, &mut tried);
        if let Ok(armed) = &armed {
            state.watches.insert(key, Watch { path, when, armed: armed.clone() });
        }
        state.release(&self.shared.inotify, tried);
        armed?;
        state.due.insert(key);
        drop(state);
        self.shared.wake.signal();
        Ok(())
    }

    /// No report for `key` begins after this; one may be under way.
    pub fn unwatch(&self, key: u64) {
        let mut state = self.shared.state();
        state.forget(&self.shared.inotify, key);
        state.due.remove(&key);
        state.later.remove(&key);
    }
}

impl Drop for FileWatcher {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.wake.signal();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget(&mut self, inotify: &OwnedFd, key: u64) {
        if let Some(watch) = self.watches.remove(&key) {
            self.release(inotify, watch.armed.wd());
        }
    }

    /// Gives watches back to the kernel, unless a key still uses them.
    fn release(&self, inotify: &OwnedFd, wds: impl IntoIterator<Item = i32>) {
        for wd in wds {
            if !self.watches.values().any(|watch| watch.armed.wd() == Some(wd)) {
                // It may already be gone, with its inode.
                let _ = inotify::remove_watch(inotify, wd);
            }
        }
    }

    /// Points the key's watch at what its path names now, and reports it.
    fn rearm(&mut self, inotify: &OwnedFd, key: u64) {
        let Some(watch) = self.watches.get_mut(&key) else { return };
        let mut tried: Vec<i32> = watch.armed.wd().into_iter().collect();
        watch.armed = arm(inotify, &watch.path, &mut tried).unwrap_or(Armed::No);
        self.release(inotify, tried);
        self.due.insert(key);
    }

    fn take_in(&mut self, inotify: &OwnedFd, wd: i32, events: ReadFlags, name: Option<&OsStr>) {
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            // Anything may have been missed.
            for key in self.watches.keys().copied().collect::<Vec<_>>() {
                self.rearm(inotify, key);
            }
            return;
        }
        let keys: Vec<u64> = self
            .watches
            .iter()
            .filter(|(_, watch)| match &watch.armed {
                Armed::File(file) => *file == wd,
                // An event without a name is about the folder itself.
                Armed::Folder { wd: folder, name: awaited } => {
                    *folder == wd && name.is_none_or(|name| name == awaited.as_os_str())
                }
                Armed::No => false,
            })
            .map(|(key, _)| *key)
            .collect();
        for key in keys {
            let open = !events.contains(ReadFlags::CLOSE_WRITE);
            if WRITTEN.contains(events) && open && self.watches[&key].when == When::Written {
                self.later.insert(key, Instant::now() + LEFT_ALONE);
            } else if WRITTEN.contains(events) {
                self.due.insert(key);
            } else {
                // The inode lost a link, was moved or is gone, or the awaited name appeared.
                self.rearm(inotify, key);
            }
        }
    }
}

/// Arms a watch on the file or, while it does not exist, on the nearest folder above it. `tried` gets the
/// folders that were watched on the way, for the caller to release.
fn arm(inotify: &OwnedFd, path: &Path, tried: &mut Vec<i32>) -> io::Result<Armed> {
    // The last two say something of folders only: what is in them.
    let on_file = WatchFlags::CLOSE_WRITE
        | WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::DONT_FOLLOW
        | WatchFlags::CREATE
        | WatchFlags::MOVE;
    let on_folder = WatchFlags::CREATE
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    let mut waiting: Option<Armed> = None;
    loop {
        match inotify::add_watch(inotify, path, on_file) {
            Ok(wd) => return Ok(Armed::File(wd)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
            Err(e) => return Err(e.into()),
        }
        let mut awaited = path;
        let folder = loop {
            let folder = awaited.parent().ok_or_else(|| io::Error::from(Errno::NOENT))?;
            match inotify::add_watch(inotify, folder, on_folder) {
                Ok(wd) => {
                    tried.push(wd);
                    let name = awaited.file_name().unwrap_or_default().into();
                    break Armed::Folder { wd, name };
                }
                Err(Errno::NOENT | Errno::NOTDIR) => awaited = folder,
                Err(e) => return Err(e.into()),
            }
        };
        // What was awaited may have appeared before the folder was watched: done only when a second look,
        // with the watch in place, finds the same nearest folder.
        if waiting.as_ref() == Some(&folder) {
            return Ok(folder);
        }
        waiting = Some(folder);
    }
}

fn run(shared: &Shared, mut changed: impl FnMut(u64) -> Option<Duration>) {
    loop {
        let due = {
            let mut state = shared.state();
            if state.stop {
                return;
            }
            let now = Instant::now();
            let come: Vec<u64> = state.later.iter().filter(|(_, at)| **at <= now).map(|(k, _)| *k).collect();
            let mut due = std::mem::take(&mut state.due);
            due.extend(come);
            state.later.retain(|key, _| !due.contains(key));
            due
        };
        for key in due {
            // No longer watched: no report.
            if !shared.state().watches.contains_key(&key) {
                continue;
            }
            if let Some(after) = changed(key) {
                let mut state = shared.state();
                if state.watches.contains_key(&key) {
                    state.later.insert(key, Instant::now() + after);
                }
            }
        }
        let mut polled =
            [PollFd::new(&shared.inotify, PollFlags::IN), PollFd::new(&shared.wake, PollFlags::IN)];
        let next = shared.state().later.values().min().copied();
        let timeout = next.map(|at| timespec(at.saturating_duration_since(Instant::now())));
        // An error is an interruption: the descriptors are valid. Both are drained either way.
        let _ = poll(&mut polled, timeout.as_ref());
        shared.wake.drain();
        drain(shared);
    }
}

fn timespec(span: Duration) -> Timespec {
    Timespec { tv_sec: span.as_secs() as i64, tv_nsec: span.subsec_nanos().into() }
}

/// Takes in all pending events.
fn drain(shared: &Shared) {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(&shared.inotify, &mut buffer);
    let mut state = shared.state();
    // WOULDBLOCK ends it; so does an interruption, after which poll returns at once.
    while let Ok(event) = reader.next() {
        let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
        state.take_in(&shared.inotify, event.wd(), event.events(), name);
    }
    let unarmed: Vec<u64> =
        state.watches.iter().filter(|(_, watch)| watch.armed == Armed::No).map(|(key, _)| *key).collect();
    for key in unarmed {
        state.rearm(&shared.inotify, key);
    }
}
