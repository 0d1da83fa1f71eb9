//! A log kept within a bound.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where the previous part goes.
pub fn previous(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// The log, opened for appending, and its length. If it has more than `bytes_max` bytes, it becomes
/// [`previous`], and a new one is begun. Whoever has the old one open keeps writing to it, and loses nothing.
pub fn open(log: &Path, bytes_max: u64) -> io::Result<(File, u64)> {
    let begin = || OpenOptions::new().create(true).append(true).mode(0o600).open(log);
    let file = begin()?;
    let length = file.metadata()?.len();
    if length <= bytes_max {
        return Ok((file, length));
    }
    std::fs::rename(log, previous(log))?;
    Ok((begin()?, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_log_that_has_grown_begins_anew_and_nothing_is_lost() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("daemon.log");
        let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        for (text, before, length) in [("1234", "", 0), ("5", "", 4), ("6", "12345", 0)] {
            let (mut file, found) = open(&log, 4).expect("a log");
            assert_eq!((read(&previous(&log)).as_str(), found), (before, length), "{text}");
            file.write_all(text.as_bytes()).expect("written");
        }
        assert_eq!(read(&log), "6");
    }
}
