//! A log that others write to, kept within a bound.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where the part before goes.
pub fn previous(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// When the log has more than `bytes_max` bytes, copies it to [`previous`] and begins it anew; whether
/// it did. Whoever writes to it must append. What is written in that instant may be lost.
pub fn rotate(log: &Path, bytes_max: u64) -> io::Result<bool> {
    let mut file = match File::open(log) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        other => other?,
    };
    if file.metadata()?.len() <= bytes_max {
        return Ok(false);
    }
    let new = log.with_extension(format!("new-{}", std::process::id()));
    let mut copy = OpenOptions::new().write(true).create(true).truncate(true).open(&new)?;
    copy.set_permissions(file.metadata()?.permissions())?;
    io::copy(&mut file, &mut copy)?;
    std::fs::rename(&new, previous(log))?;
    OpenOptions::new().write(true).open(log)?.set_len(0)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_log_that_is_written_to_begins_anew() {
        let dir = tempfile::tempdir().expect("a folder");
        let log = dir.path().join("daemon.log");
        assert!(!rotate(&log, 4).expect("no log yet"));
        let mut writer = OpenOptions::new().create(true).append(true).open(&log).expect("a log");
        for (text, rotated) in [("1234", false), ("5", true), ("6", false), ("78901", true)] {
            writer.write_all(text.as_bytes()).expect("written");
            assert_eq!(rotate(&log, 4).expect("looked at"), rotated, "{text}");
        }
        assert_eq!(std::fs::read_to_string(previous(&log)).expect("kept"), "678901");
        writer.write_all(b"end").expect("written");
        assert_eq!(std::fs::read_to_string(&log).expect("anew"), "end");
    }
}
