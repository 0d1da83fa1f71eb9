//! Processes: telling one from a later one with the same pid, and ending a whole tree.
//!
//! Invariants:
//! - Only a process whose pid *and* start time match the record is signalled. Signals go through a pidfd
//!   opened before the start time is compared, so a pid that is reused in between cannot be hit.
//! - Alive, gone and unknown are three values; a zombie is gone.
//! - [`end_tree`] returns `Ok` only once a fresh look at `/proc` finds no member of the tree.

use super::proc_table::{ProcTable, Stat};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::Timespec;
use shopfloor_core::effect::ProcessId;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    Gone,
    Unknown,
}

/// The kernel's start time of a process (a zombie has one too). `None`: there is no such process.
pub fn start_time(pid: u32) -> io::Result<Option<u64>> {
    Ok(Stat::read(pid)?.map(|stat| stat.id.start))
}

/// The identity of a running process.
pub fn identify(pid: u32) -> Option<ProcessId> {
    Stat::read(pid).ok().flatten().filter(|stat| !stat.ended).map(|stat| stat.id)
}

/// Whether that process runs, and what `/proc/PID/stat` once said was said of it.
pub fn is_of(pid: u32, stat: &[u8]) -> bool {
    identify(pid).is_some_and(|known| Stat::was(pid, stat).is_some_and(|was| was.id == known))
}

/// A process as its parent sees it.
pub(crate) enum Child {
    Running(ProcessId),
    /// Not reaped yet: the exit code, or 128 + the signal.
    Ended(Option<i32>),
    /// Reaped, or never `parent`'s child.
    Gone,
}

/// What became of a child of `parent`. As long as `parent` has not reaped the child, the pid is its own.
pub(crate) fn child(pid: u32, parent: u32) -> Child {
    match Stat::read(pid) {
        Ok(Some(stat)) if stat.parent == parent && stat.ended => Child::Ended(stat.status),
        Ok(Some(stat)) if stat.parent == parent => Child::Running(stat.id),
        _ => Child::Gone,
    }
}

/// Whether that process runs, and not a later one with its pid.
pub fn is_same(process: ProcessId) -> Liveness {
    match Stat::read(process.pid) {
        Ok(Some(stat)) if stat.id == process && !stat.ended => Liveness::Alive,
        Ok(_) => Liveness::Gone,
        Err(_) => Liveness::Unknown,
    }
}

/// The terminal that a process reads from, if it is one.
pub fn terminal(process: ProcessId) -> Option<PathBuf> {
    let input = std::fs::read_link(format!("/proc/{}/fd/0", process.pid)).ok()?;
    let is_terminal = input.starts_with("/dev/pts") && input.exists();
    (is_terminal && is_same(process) == Liveness::Alive).then_some(input)
}

/// A descriptor for exactly that process, or `None` if it is gone.
pub(crate) fn open(process: ProcessId) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
    let fd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => fd,
        Err(Errno::SRCH) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    // Compared only now: the descriptor pins whoever had the pid when it was opened.
    match Stat::read(process.pid)? {
        Some(stat) if stat.id == process && !stat.ended => Ok(Some(fd)),
        _ => Ok(None),
    }
}

/// Waits until every process ended, at most until `deadline`; returns whether they all did.
fn wait_all<'a>(fds: impl Iterator<Item = &'a OwnedFd>, deadline: Instant) -> io::Result<bool> {
    let mut waiting: Vec<&OwnedFd> = fds.collect();
    while !waiting.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let mut polled: Vec<PollFd<'_>> =
            waiting.iter().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let ended: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ended = ended.into_iter();
        waiting.retain(|_| !ended.next().unwrap_or(false));
    }
    Ok(true)
}

pub fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 })
}

/// The processes below `pid`: its descendants, and the members of sessions and process groups that it or they
/// lead. Without `pid` itself and without zombies.
pub fn descendants(pid: u32) -> io::Result<Vec<ProcessId>> {
    let members = ProcTable::read()?.closure(&BTreeSet::from([pid]), &BTreeSet::new());
    Ok(members.iter().filter(|stat| !stat.ended && stat.id.pid != pid).map(|stat| stat.id).collect())
}

/// What [`end_tree`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndReport {
    /// Processes that were asked to end (SIGTERM).
    pub asked: u32,
    /// Processes that had to be killed (SIGKILL).
    pub killed: u32,
}

/// How often `/proc` is searched for processes that were forked while the others were killed.
const KILL_ROUNDS_MAX: u32 = 20;
const KILL_WAIT: Duration = Duration::from_secs(2);

/// Ends `root` and everything that belongs to it: SIGTERM, up to `grace` to obey, SIGKILL for the rest, and
/// again for whatever was forked meanwhile. If `root` is already gone, nothing is signalled: whatever now has
/// its pid, group or session is not known to be ours (see [`end_marked_tree`]).
pub fn end_tree(root: ProcessId, grace: Duration) -> io::Result<EndReport> {
    Descendants { root: Some(root), ..Descendants::default() }.end(grace)
}

/// What marks a process in its environment: `NAME=value`.
pub fn marker(name: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut marker = OsString::from(name);
    marker.push("=");
    marker.push(value);
    marker
}

/// Like [`end_tree`], but also ends processes whose environment holds `marker` (`NAME=value`), which must be
/// unique to what is to be ended. This finds daemons that left the tree (own session, parent gone), and works
/// when `root` is gone or was never recorded.
pub fn end_marked_tree(root: Option<ProcessId>, marker: &[u8], grace: Duration) -> io::Result<EndReport> {
    Descendants { root, marker: Some(marker), ..Descendants::default() }.end(grace)
}

#[derive(Default)]
struct Descendants<'a> {
    root: Option<ProcessId>,
    marker: Option<&'a [u8]>,
    /// Members seen alive. While a member of a session or group lives, the number of that session or group is
    /// not given to a new process, so during one ending these still name what they named.
    leaders: BTreeSet<u32>,
    /// Processes that were seen without the marker, and are not of the tree. What joins it later is started by one of
    /// its members, so these are not asked for their environments again.
    others: BTreeSet<ProcessId>,
    /// The last look.
    table: Option<ProcTable>,
}

impl Descendants<'_> {
    /// Whether no process has been started since the last look that it does not show.
    fn looked_at_all(&self) -> io::Result<bool> {
        self.table.as_ref().map_or(Ok(false), ProcTable::has_all)
    }

    fn end(mut self, grace: Duration) -> io::Result<EndReport> {
        let mut report = EndReport::default();
        let mut asked: BTreeMap<u32, OwnedFd> = BTreeMap::new();
        let members = self.members()?;
        if members.is_empty() && self.looked_at_all()? {
            return Ok(report);
        }
        for process in members {
            if let Some(fd) = open(process)? {
                send(&fd, Signal::TERM)?;
                // A stopped process sees the SIGTERM only when it continues.
                send(&fd, Signal::CONT)?;
                report.asked += 1;
                asked.insert(process.pid, fd);
            }
        }
        wait_all(asked.values(), Instant::now() + grace)?;
        drop(asked);

        for _ in 0..KILL_ROUNDS_MAX {
            let members = self.members()?;
            if members.is_empty() {
                return Ok(report);
            }
            let mut killed = Vec::new();
            for process in members {
                if let Some(fd) = open(process)? {
                    send(&fd, Signal::KILL)?;
                    report.killed += 1;
                    killed.push(fd);
                }
            }
            if !wait_all(killed.iter(), Instant::now() + KILL_WAIT)? {
                break;
            }
        }
        let left = self.members()?;
        if left.is_empty() {
            return Ok(report);
        }
        let pids: Vec<String> = left.iter().map(|process| process.pid.to_string()).collect();
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("still alive after SIGKILL: {} (see `ps -o pid,stat,wchan,args`)", pids.join(", ")),
        ))
    }

    /// Which members of the tree are alive, by a fresh look.
    fn members(&mut self) -> io::Result<Vec<ProcessId>> {
        let table = self.table.insert(ProcTable::read()?);
        let mut seeds: BTreeSet<u32> = match self.marker {
            Some(marker) => table.marked(marker, &mut self.others),
            None => BTreeSet::new(),
        };
        if let Some(root) = self.root
            && table.get(root.pid).is_some_and(|stat| stat.id == root)
        {
            seeds.insert(root.pid);
        }
        // This process and init must never be ended, whatever the links say.
        let us = std::process::id();
        let members: Vec<ProcessId> = table
            .closure(&seeds, &self.leaders)
            .into_iter()
            .filter(|stat| !stat.ended && stat.id.pid > 1 && stat.id.pid != us)
            .map(|stat| stat.id)
            .collect();
        self.leaders.extend(members.iter().map(|process| process.pid));
        for member in &members {
            self.others.remove(member);
        }
        Ok(members)
    }
}

fn send(fd: &OwnedFd, signal: Signal) -> io::Result<()> {
    match pidfd_send_signal(fd, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::proc_table::looks;
    use super::*;

    /// Other programs start processes all the time; then a second look is needed. Sooner or later none does.
    #[test]
    fn where_nothing_is_left_one_look_is_enough() {
        let marker = b"SHOPFLOOR_TEST_MARKER=nobody has it";
        let looked = || {
            looks::take();
            assert_eq!(end_marked_tree(None, marker, Duration::ZERO).unwrap(), EndReport::default());
            looks::take()
        };
        while looked() > 1 {}
    }

    #[test]
    fn a_process_that_was_not_read_asks_for_another_look() {
        let table = ProcTable::read().unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(!table.has_all().unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
