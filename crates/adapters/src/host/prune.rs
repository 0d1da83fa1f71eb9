//! Numbered folders that nobody needs any more.

use super::remove;
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::time::Time;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Removes the folders `{prefix}{number}` in `dir` whose number `may_go` and that nothing was put into or
/// taken out of since `before`, or (`dry_run`) only counts them. Links are not followed.
pub fn numbered(
    dir: &Path,
    prefix: &str,
    before: Time,
    dry_run: bool,
    may_go: impl Fn(u64) -> bool,
) -> io::Result<Amount> {
    let mut removed = Amount::default();
    let entries = match std::fs::read_dir(dir) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(removed),
        other => other?,
    };
    let limit = UNIX_EPOCH + Duration::from_millis(before.0);
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        let meta = match entry.metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            other => other?,
        };
        if number.is_some_and(&may_go) && meta.is_dir() && meta.modified()? < limit {
            removed += Amount { count: 1, bytes: size(&entry.path()) };
            if !dry_run {
                remove::tree(&entry.path())?;
            }
        }
    }
    Ok(removed)
}

/// How large the files in a folder are, as far as they can be seen.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// The highest number of a folder `{prefix}{number}` in `dir`; 0 if there is none.
pub fn highest(dir: &Path, prefix: &str) -> io::Result<u64> {
    let entries = match std::fs::read_dir(dir) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    let mut highest = 0;
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        highest = highest.max(number.unwrap_or(0));
    }
    Ok(highest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn only_old_folders_that_may_go_are_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let make = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).expect("a folder");
            std::fs::write(path.join("log"), "x").expect("a file");
        };
        assert_eq!(highest(&dir.path().join("none"), "e").expect("read"), 0);
        ["e1", "e2", "e3", "ex", "other"].into_iter().for_each(make);
        assert_eq!(highest(dir.path(), "e").expect("read"), 3);
        std::os::unix::fs::symlink("other", dir.path().join("e4")).expect("a link");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64;
        let prune = |before: u64, dry_run: bool| {
            numbered(dir.path(), "e", Time(before), dry_run, |n| n != 2).expect("pruned")
        };
        assert_eq!(prune(now - 60_000, false), Amount::default(), "too young");
        assert_eq!(prune(now + 60_000, true), Amount { count: 2, bytes: 2 });
        assert_eq!(prune(now + 60_000, false), Amount { count: 2, bytes: 2 });
        let mut left: Vec<_> =
            std::fs::read_dir(dir.path()).expect("read").flatten().map(|e| e.file_name()).collect();
        left.sort();
        assert_eq!(left, ["e2", "e4", "ex", "other"]);
        let none = numbered(&dir.path().join("none"), "e", Time(0), false, |_| true).expect("nothing there");
        assert_eq!(none, Amount::default());
    }
}
