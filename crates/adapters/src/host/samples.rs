//! How the machine was, now and then: measured when something happens anyway, kept in a small file.
//!
//! Invariants:
//! - At most one an hour is kept, and only the newest: the file does not grow.
//! - Nothing depends on them. A file that cannot be read is begun anew, and one that cannot be written is nobody's trouble.

use super::atomic::write_replacing;
use super::machine;
use shopfloor_core::time::Time;
use shopfloor_core::trends::MachineSample;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(3600);
/// A little more than the longest period that anybody can ask for.
const KEPT_MAX: usize = 100 * 24;
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Oldest first.
pub fn read(file: &Path) -> Vec<MachineSample> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Adds one of the machine that the folder is on, unless the last is young.
pub fn take(file: &Path, folder: &Path, now: Time) -> io::Result<()> {
    let mut all = read(file);
    // After a clock that was wrong, too.
    if all.last().is_some_and(|last| last.at <= now && now.since(last.at) < EVERY) {
        return Ok(());
    }
    all.retain(|sample| sample.at <= now);
    let disk_free = machine::disk(folder).map(|(free, _)| free);
    all.push(MachineSample { at: now, memory_available: machine::memory().available, disk_free });
    let newest = &all[all.len().saturating_sub(KEPT_MAX)..];
    write_replacing(file, &serde_json::to_vec(newest)?, 0o600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_an_hour_is_kept_and_only_the_newest() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("machine.json");
        let hour = |n: u64| Time(n * 3_600_000);
        assert_eq!(read(&file), []);
        for at in [hour(10), hour(10) + Duration::from_secs(60), hour(11)] {
            take(&file, folder.path(), at).expect("written");
        }
        let kept: Vec<Time> = read(&file).iter().map(|sample| sample.at).collect();
        assert_eq!(kept, [hour(10), hour(11)]);
        assert!(read(&file)[0].disk_free.is_some_and(|free| free > 0));
        // The clock was wrong, and is right again.
        take(&file, folder.path(), hour(5)).expect("written");
        assert_eq!(read(&file).len(), 1);
        let full: Vec<MachineSample> = (0..KEPT_MAX as u64)
            .map(|n| MachineSample { at: hour(n), memory_available: None, disk_free: Some(n) })
            .collect();
        std::fs::write(&file, serde_json::to_vec(&full).expect("text")).expect("written");
        take(&file, folder.path(), hour(KEPT_MAX as u64)).expect("written");
        let kept = read(&file);
        assert_eq!((kept.len(), kept[0].at), (KEPT_MAX, hour(1)));
        std::fs::write(&file, "[{]").expect("written");
        take(&file, folder.path(), hour(1)).expect("written");
        assert_eq!(read(&file).len(), 1, "what cannot be read is begun anew");
    }
}
