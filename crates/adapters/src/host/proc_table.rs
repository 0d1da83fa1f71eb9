//! `/proc` as a table: one reading of it, and which process belongs to which.

use shopfloor_core::digest::Digest;
use shopfloor_core::effect::ProcessId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;
use std::{fs, io};

/// What `/proc/PID/stat` says about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) id: ProcessId,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// A zombie has ended; only its exit status is left. (One with threads still running has not.)
    pub(crate) ended: bool,
    /// One of the kernel's own threads: it has no environment, and nobody started it.
    kernel: bool,
    /// For a process that ended and was not reaped: its exit code, or 128 + the signal.
    pub(crate) status: Option<i32>,
}

impl Stat {
    /// What was said about it since the machine started.
    pub(crate) fn was(pid: u32, said: &[u8]) -> Option<Stat> {
        let own = said.strip_prefix(pid.to_string().as_bytes()).is_some_and(|rest| rest.starts_with(b" ("));
        let mut stat = Stat::parse(pid, said).filter(|_| own)?;
        stat.id.start = in_boot(stat.id.start, boot());
        Some(stat)
    }

    /// `Ok(None)`: there is no such process.
    pub(crate) fn read(pid: u32) -> io::Result<Option<Stat>> {
        match said(pid, "stat") {
            Ok(bytes) => match Stat::was(pid, &bytes) {
                Some(stat) => Ok(Some(stat)),
                None => Err(io::Error::other(format!("/proc/{pid}/stat is not as expected"))),
            },
            // ESRCH: it ended between opening and reading.
            Err(e) if e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(3) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The command's name is in parentheses and may hold anything, even `)` and spaces: what follows the last
    /// `)` is the third field.
    fn parse(pid: u32, bytes: &[u8]) -> Option<Stat> {
        let end = bytes.iter().rposition(|b| *b == b')')?;
        let rest = std::str::from_utf8(&bytes[end + 1..]).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let threads: u32 = field(20)?.parse().ok()?;
        let ended = match field(3)? {
            "Z" => threads <= 1,
            "X" | "x" => true,
            _ => false,
        };
        Some(Stat {
            id: ProcessId { pid, start: field(22)?.parse().ok()? },
            parent: field(4)?.parse().ok()?,
            // -1 for a process without one.
            group: field(5)?.parse().unwrap_or(0),
            session: field(6)?.parse().unwrap_or(0),
            ended,
            kernel: field(9)?.parse::<u64>().is_ok_and(|flags| flags & KERNEL_THREAD != 0),
            status: field(52).and_then(|code| code.parse().ok()).filter(|_| ended).map(status),
        })
    }
}

/// The flag of a kernel thread, as Linux has always numbered it (`PF_KTHREAD`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Ticks count from the machine's start, and pids restart then, so after a reboot the same pair may occur
/// again. Few enough bits for a JSON number, whoever reads it.
fn in_boot(ticks: u64, boot: &str) -> u64 {
    let boot = Digest::new().field(boot.as_bytes()).finish() % (1 << 18);
    ticks.wrapping_add(boot << 34)
}

/// The kernel's id for the current boot.
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default())
}

/// A wait status in a shell's notation.
fn status(wait: i32) -> i32 {
    match wait & 0x7f {
        0 => (wait >> 8) & 0xff,
        signal => 128 + signal,
    }
}

/// How often `/proc` was read on this thread: a test bounds it.
#[cfg(test)]
pub(crate) mod looks {
    use std::cell::Cell;

    thread_local! {
        static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn one() {
        LOOKS.set(LOOKS.get() + 1);
    }

    /// How often since the last call.
    pub(crate) fn take() -> usize {
        LOOKS.take()
    }
}

/// One reading of `/proc`.
pub(crate) struct ProcTable {
    processes: BTreeMap<u32, Stat>,
}

impl ProcTable {
    pub(crate) fn read() -> io::Result<Self> {
        #[cfg(test)]
        looks::one();
        let mut processes = BTreeMap::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            // One unreadable process must not hide the others.
            if let Ok(Some(stat)) = Stat::read(pid) {
                processes.insert(pid, stat);
            }
        }
        Ok(ProcTable { processes })
    }

    /// Whether there is no process now that was not read: what was read is then all there is of whatever those started.
    /// (A number is not given again so soon.)
    pub(crate) fn has_all(&self) -> io::Result<bool> {
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            if name
                .to_str()
                .and_then(|name| name.parse().ok())
                .is_some_and(|pid| !self.processes.contains_key(&pid))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn get(&self, pid: u32) -> Option<&Stat> {
        self.processes.get(&pid)
    }

    /// Processes whose environment, as it was when they were started, holds the entry `marker`
    /// (`NAME=value`). Other users' processes cannot be read, and are not ours. `others` are not asked: those seen
    /// without it before, to which those are added that are seen without it now.
    pub(crate) fn marked(&self, marker: &[u8], others: &mut BTreeSet<ProcessId>) -> BTreeSet<u32> {
        let mut marked = BTreeSet::new();
        for Stat { id, .. } in self.processes.values().filter(|stat| !stat.kernel) {
            if others.contains(id) {
                continue;
            }
            match environment(id.pid) {
                Ok(environment) if environment.split(|b| *b == 0).any(|entry| entry == marker) => {
                    marked.insert(id.pid);
                }
                // An empty one may be that of a program that is just beginning.
                Ok(environment) if !environment.is_empty() => drop(others.insert(*id)),
                _ => {}
            }
        }
        marked
    }

    /// `seeds` and everything that belongs to them: children of members, and members of a session or process
    /// group that a member leads or one of `leaders` led. The latter finds grandchildren whose parent ended
    /// and that the kernel gave to another parent.
    pub(crate) fn closure(&self, seeds: &BTreeSet<u32>, leaders: &BTreeSet<u32>) -> Vec<Stat> {
        let mut members: BTreeSet<u32> =
            seeds.iter().copied().filter(|pid| self.processes.contains_key(pid)).collect();
        loop {
            let before = members.len();
            for stat in self.processes.values() {
                let leads = |id: &u32| *id > 1 && (members.contains(id) || leaders.contains(id));
                if members.contains(&stat.parent) || leads(&stat.group) || leads(&stat.session) {
                    members.insert(stat.id.pid);
                }
            }
            if members.len() == before {
                return members.iter().map(|pid| self.processes[pid]).collect();
            }
        }
    }
}

/// What `/proc` says of a process. Its files claim to be empty, so the standard library would feel its way into each, a
/// few bytes at a time; and there are a few for every process of the machine.
fn said(pid: u32, name: &str) -> io::Result<Vec<u8>> {
    const ROOM: usize = 8 * 1024;
    let mut file = File::open(format!("/proc/{pid}/{name}"))?;
    let mut bytes = Vec::new();
    loop {
        let end = bytes.len();
        bytes.resize(end + ROOM, 0);
        let read = match file.read(&mut bytes[end..]) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => None,
            read => Some(read?),
        };
        bytes.truncate(end + read.unwrap_or(0));
        if read == Some(0) {
            return Ok(bytes);
        }
    }
}

/// How often an environment that reads as empty is read again.
const LOOKS_MAX: u32 = 20;

/// The environment a process was started with. In the middle of an `exec` the kernel shows none for a moment,
/// and no arguments either: a program (a kernel thread has no file) is then looked at again. A process that
/// has arguments was started without an environment, and is not waited for.
fn environment(pid: u32) -> std::io::Result<Vec<u8>> {
    let read = |name: &str| said(pid, name);
    let mut looks = 1;
    loop {
        let environment = read("environ")?;
        if !environment.is_empty() {
            return Ok(environment);
        }
        if !read("cmdline")?.is_empty() {
            // Whatever was under way a moment ago is done.
            return read("environ");
        }
        if looks == LOOKS_MAX || fs::read_link(format!("/proc/{pid}/exe")).is_err() {
            return Ok(environment);
        }
        looks += 1;
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_may_hold_anything() {
        let tail = " S 1 20 30 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 3 0 12345 0 0";
        for name in ["sh", "a) R 9 9", "tmux: server", ")", ""] {
            let stat = Stat::parse(7, format!("7 ({name}){tail}").as_bytes()).expect("parses");
            assert_eq!((stat.parent, stat.group, stat.session, stat.id.start), (1, 20, 30, 12345));
            assert!(!stat.ended && !stat.kernel);
        }
        let thread = Stat::parse(2, b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0");
        assert!(thread.expect("parses").kernel);
        assert_eq!(Stat::parse(7, b"7 (sh) S 1"), None);
    }

    #[test]
    fn the_same_ticks_after_another_start_of_the_machine_are_another_process() {
        let (before, after) = (in_boot(12_345, "one boot\n"), in_boot(12_345, "another boot\n"));
        assert_ne!(before, after);
        assert!(before.max(after) < 1 << 53);
        let own = std::process::id();
        let read = |_| Stat::read(own).expect("read").expect("it runs").id;
        assert_eq!(read(1), read(2));
    }
}
