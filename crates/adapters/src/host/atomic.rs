//! Writing a file so that a reader, or a crash, sees the old content or the new, never a part.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The suffix of a temporary file.
const SUFFIX: &str = ".tmp";
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Replaces the file's content, durably: temporary file in the same folder, fsync, rename, fsync of
/// the folder. A symbolic link at `path` is replaced, not followed.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (folder, temporary) = temporary_beside(path)?;
    let synced = |file: File| file.sync_all();
    rename_if_written(write_new(&temporary, bytes, mode).and_then(synced), &temporary, path)?;
    File::open(folder)?.sync_all()
}

/// Like [`write_atomic`] but without waiting for the disk: for what is rewritten soon anyway.
pub fn write_replacing(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (_, temporary) = temporary_beside(path)?;
    rename_if_written(write_new(&temporary, bytes, mode).map(drop), &temporary, path)
}

/// Removes what writers that died midway left in a folder that nobody writes to now.
pub fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(SUFFIX)) {
            fs::remove_file(folder.join(name))?;
        }
    }
    Ok(())
}

fn rename_if_written(written: io::Result<()>, temporary: &Path, path: &Path) -> io::Result<()> {
    let renamed = written.and_then(|()| fs::rename(temporary, path));
    if renamed.is_err() {
        let _ = fs::remove_file(temporary);
    }
    renamed
}

fn temporary_beside(path: &Path) -> io::Result<(&Path, PathBuf)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display()));
    let name = path.file_name().ok_or_else(no_name)?;
    let folder = path.parent().ok_or_else(no_name)?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    temporary.push(format!(".{}-{count}{SUFFIX}", std::process::id()));
    Ok((folder, folder.join(temporary)))
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<File> {
    let open = || OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let mut file = match open() {
        // Left by a process that had our pid and died here.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            open()?
        }
        other => other?,
    };
    // The mode asked for, whatever the umask.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(bytes)?;
    Ok(file)
}
