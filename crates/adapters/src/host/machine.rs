//! How the machine is doing, read from files of the kernel alone: nothing is started, and nothing waits.
//!
//! What a control group (cgroup v2) allows counts as the machine: in a container there is no more than that.

use super::resources::{disk_free, memory_available};
use std::fs;
use std::path::{Path, PathBuf};

const CGROUPS: &str = "/sys/fs/cgroup";

/// Bytes, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What can be used without swapping, by the kernel or by the tightest control group.
    pub available: Option<u64>,
    pub swap_total: Option<u64>,
    pub swap_free: Option<u64>,
}

/// For how much of the last ten seconds, in per cent, something had to wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    pub cpu: Option<f64>,
    pub memory: Option<f64>,
    pub io: Option<f64>,
}

pub fn memory() -> Memory {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let of_group = own_group().and_then(|group| room_in(Path::new(CGROUPS), &group));
    let all = memory_available().ok();
    Memory {
        available: all.into_iter().chain(of_group).min(),
        swap_total: kibibytes(&meminfo, "SwapTotal:"),
        swap_free: kibibytes(&meminfo, "SwapFree:"),
    }
}

/// The load of the last one, five and fifteen minutes.
pub fn load() -> Option<[f64; 3]> {
    averages(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// `None`: the kernel does not keep count.
pub fn pressure() -> Option<Pressure> {
    let of = |what: &str| waited(&fs::read_to_string(format!("/proc/pressure/{what}")).ok()?);
    let found = Pressure { cpu: of("cpu"), memory: of("memory"), io: of("io") };
    (found != Pressure::default()).then_some(found)
}

/// Bytes that may still be written to the file system of `path`, and its size.
pub fn disk(path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some((disk_free(path).ok()?, stat.f_blocks.saturating_mul(stat.f_frsize)))
}

/// How many bytes of the file system of `path` are in use. What only the system's own may use is neither in use nor free.
pub fn disk_used(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_blocks.saturating_sub(stat.f_bfree).saturating_mul(stat.f_frsize))
}

fn kibibytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn averages(loadavg: &str) -> Option<[f64; 3]> {
    let mut words = loadavg.split_ascii_whitespace().map(|word| word.parse().ok());
    Some([words.next()??, words.next()??, words.next()??])
}

/// A line is `some avg10=0.12 avg60=0.05 avg300=0.01 total=12345`.
fn waited(pressure: &str) -> Option<f64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()
}

/// The control group of this process, below the root of all.
fn own_group() -> Option<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(PathBuf::from(path))
}

/// What is left in the tightest of the group and those around it. What it could drop at any time is not in use.
fn room_in(root: &Path, group: &Path) -> Option<u64> {
    let number = |folder: &Path, file: &str| -> Option<u64> {
        fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
    };
    let room = |folder: PathBuf| {
        let (max, used) = (number(&folder, "memory.max")?, number(&folder, "memory.current")?);
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let droppable =
            stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse::<u64>().ok());
        Some(max.saturating_sub(used.saturating_sub(droppable.unwrap_or(0))))
    };
    group.ancestors().map(|group| root.join(group)).filter_map(room).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_says_how_it_is() {
        let memory = memory();
        assert!(memory.available.is_some_and(|bytes| bytes > 0));
        assert!(load().is_some_and(|[one, ..]| one >= 0.0));
        let (free, size) = disk(Path::new("/")).expect("there is a disk");
        assert!(free <= size && size > 0);
        assert!(disk_used(Path::new("/")).is_some_and(|used| used + free <= size));
        assert!(disk(Path::new("/nowhere")).is_none());
    }

    #[test]
    fn what_the_kernel_writes_is_understood() {
        assert_eq!(averages("0.61 0.50 1.25 2/345 6789\n"), Some([0.61, 0.5, 1.25]));
        assert_eq!(averages(""), None);
        assert_eq!(waited("some avg10=1.50 avg60=0.10 avg300=0.00 total=9\nfull avg10=0.00\n"), Some(1.5));
        assert_eq!(waited("nonsense"), None);
        assert_eq!(kibibytes("SwapTotal:  4 kB\nSwapFree: x kB\n", "SwapTotal:"), Some(4096));
        assert_eq!(kibibytes("SwapTotal:  4 kB\nSwapFree: x kB\n", "SwapFree:"), None);
    }

    #[test]
    fn the_tightest_control_group_counts() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |group: &str, max: &str, used: &str, stat: &str| {
            let folder = root.path().join(group);
            fs::create_dir_all(&folder).expect("made");
            for (file, text) in [("memory.max", max), ("memory.current", used), ("memory.stat", stat)] {
                fs::write(folder.join(file), text).expect("written");
            }
        };
        write("a", "1000\n", "900\n", "anon 5\ninactive_file 300\n");
        write("a/b", "max\n", "10\n", "");
        write("a/b/c", "5000\n", "1\n", "");
        assert_eq!(room_in(root.path(), Path::new("a/b/c")), Some(400));
        assert_eq!(room_in(root.path(), Path::new("elsewhere")), None);
    }
}
