//! What resources the machine has left, and who holds a file: for `doctor`.

use super::proc_table::Stat;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

/// Bytes of memory that can be used without swapping, by the kernel's estimate.
pub fn memory_available() -> io::Result<u64> {
    available(&fs::read_to_string("/proc/meminfo")?)
        .ok_or_else(|| io::Error::other("/proc/meminfo has no MemAvailable"))
}

fn available(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes that we may still write to the file system of `path`.
pub fn disk_free(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The process that holds a write lock on this byte of a file (POSIX locks only).
pub fn lock_holder(path: &Path, byte: u64) -> io::Result<Option<u32>> {
    let inode = fs::metadata(path)?.ino();
    Ok(holder_in(&fs::read_to_string("/proc/locks")?, inode, byte))
}

/// A line is `1: POSIX  ADVISORY  WRITE 1234 fd:00:5678 120 120`; a waiting one has `->` in second place.
/// Only the inode is compared: the device is written in more than one way.
fn holder_in(locks: &str, inode: u64, byte: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "POSIX", _, "WRITE", pid, file, start, end] = fields[..] else { return None };
        let same = file.rsplit(':').next()?.parse::<u64>().ok()? == inode;
        let from: u64 = start.parse().ok()?;
        let to = if end == "EOF" { u64::MAX } else { end.parse().ok()? };
        (same && (from..=to).contains(&byte)).then(|| pid.parse().ok())?
    })
}

/// A process's name, for people.
pub fn process_name(pid: u32) -> Option<String> {
    Stat::read(pid).ok()??;
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_among_the_others() {
        let text = "MemTotal:       4000000 kB\nMemFree:          1000 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available(text), Some(2048 * 1024));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        assert!(memory_available().unwrap() > 0);
    }

    #[test]
    fn a_lock_has_a_holder_and_a_waiter_is_none() {
        let locks = "1: POSIX  ADVISORY  READ  11 fd:00:77 120 120\n\
                     2: -> POSIX  ADVISORY  WRITE 12 fd:00:77 120 120\n\
                     3: FLOCK  ADVISORY  WRITE 13 fd:00:77 0 EOF\n\
                     4: POSIX  ADVISORY  WRITE 14 fd:00:78 120 120\n\
                     5: POSIX  ADVISORY  WRITE 15 fd:00:77 120 120\n";
        assert_eq!(holder_in(locks, 77, 120), Some(15));
        assert_eq!(holder_in(locks, 77, 121), None);
        assert_eq!(holder_in("9: POSIX ADVISORY WRITE 16 00:2a:77 0 EOF", 77, 121), Some(16));
    }

    #[test]
    fn the_disk_has_a_size_and_we_have_a_name() {
        assert!(disk_free(Path::new("/")).is_ok());
        assert!(process_name(std::process::id()).is_some());
    }
}
