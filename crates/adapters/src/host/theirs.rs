//! Files that others write, where they may put anything: a link to somebody's key, a pipe that nobody writes to, a file
//! without an end.
//!
//! Invariant: what is read is a regular file at that very place, and no more of it than is asked for; nothing blocks.

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// The file, if it is one.
pub fn open(path: &Path) -> io::Result<File> {
    regular(openat(CWD, path, FLAGS, Mode::empty())?, path)
}

/// The same below a folder, to which no link leads from there.
pub fn open_in(folder: &Path, inside: &str) -> io::Result<File> {
    regular(below(folder, inside, FLAGS)?, &folder.join(inside))
}

/// Whether there is such a folder below that one, without a link on the way.
pub fn has_folder(folder: &Path, inside: &str) -> bool {
    below(folder, inside, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC).is_ok()
}

fn below(folder: &Path, inside: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let top = openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    Ok(openat2(top, inside, flags, Mode::empty(), how)?)
}

fn regular(fd: OwnedFd, path: &Path) -> io::Result<File> {
    match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
        FileType::RegularFile => Ok(File::from(fd)),
        FileType::Directory => Err(ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(ErrorKind::InvalidData, format!("{} is not a file", path.display()))),
    }
}

/// All of it; one that is longer is an error.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, bytes_max)
}

/// The same as text.
pub fn read_to_string(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read(path, bytes_max)?)
}

/// All of a file below a folder, to which no link leads from there.
pub fn read_in(folder: &Path, inside: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
    whole(open_in(folder, inside)?, bytes_max)
}

/// The same as text.
pub fn read_to_string_in(folder: &Path, inside: &str, bytes_max: u64) -> io::Result<String> {
    text(read_in(folder, inside, bytes_max)?)
}

/// What is in an open file, as text.
pub fn text_of(file: File, bytes_max: u64) -> io::Result<String> {
    text(whole(file, bytes_max)?)
}

fn whole(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let what = format!("a file has more than {bytes_max} bytes");
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))
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
        fs::create_dir(at("folder")).expect("made");
        fs::write(at("folder/inner"), "text").expect("written");
        std::os::unix::fs::symlink("folder", at("way")).expect("linked");
        assert_eq!(read_in(folder.path(), "folder/inner", 4).expect("it is one"), b"text");
        assert!(
            read_in(folder.path(), "way/inner", 4).is_err() && read_in(folder.path(), "../x", 4).is_err()
        );
        assert!(has_folder(folder.path(), "folder") && !has_folder(folder.path(), "way"));
    }
}
