//! Files that others write, where they may put anything: a link to somebody's key, a pipe that nobody writes to, a file
//! without an end.
//!
//! Invariant: what is read is a regular file at that very place, and no more of it than is asked for; nothing blocks.

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The file, if it is one.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let fd = openat(CWD, path, flags, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
        FileType::RegularFile => Ok(File::from(fd)),
        FileType::Directory => Err(ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(ErrorKind::InvalidData, format!("{} is not a file", path.display()))),
    }
}

/// All of it; one that is longer is an error.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let what = format!("{} has more than {bytes_max} bytes", path.display());
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

/// The same as text.
pub fn read_to_string(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read(path, bytes_max)?).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_file_is_read_and_only_so_much_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").expect("written");
        std::os::unix::fs::symlink("file", at("link")).expect("linked");
        rustix::fs::mkfifoat(CWD, at("pipe"), Mode::RWXU).expect("made");
        assert_eq!(read_to_string(&at("file"), 4).expect("it is one"), "text");
        assert_eq!(read(&at("file"), 3).expect_err("too long").kind(), ErrorKind::InvalidData);
        assert_eq!(read(&at("none"), 3).expect_err("none").kind(), ErrorKind::NotFound);
        assert_eq!(read(folder.path(), 3).expect_err("a folder").kind(), ErrorKind::IsADirectory);
        for other in ["link", "pipe"] {
            assert!(read(&at(other), 100).is_err(), "{other}");
        }
        assert!(read(Path::new("/dev/zero"), 100).is_err());
    }
}
