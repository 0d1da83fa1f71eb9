//! Removing what others made, however deep it is and whatever its modes are: by a loop, with two folders open at most.
//!
//! Invariant: no link is followed; nothing outside of the folder is touched.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a file, or a folder with all that is in it. One that is gone is fine.
pub fn tree(top: &Path) -> io::Result<()> {
    match fs::symlink_metadata(top) {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => return unless_gone(fs::remove_file(top)),
        Err(e) => return unless_gone(Err(e)),
    }
    let mut moved = 0;
    // Each round takes one level off: what is in the folders of `top` comes up to `top` itself.
    while !flat(top, &mut moved)? {}
    unless_gone(fs::remove_dir(top))
}

/// False if there is another round to be made.
fn flat(top: &Path, moved: &mut u64) -> io::Result<bool> {
    let mut done = true;
    for entry in read(top)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            unless_gone(fs::remove_file(entry.path()))?;
            continue;
        }
        let folder = entry.path();
        for inner in read(&folder)? {
            let inner = inner?;
            if inner.file_type()?.is_dir() {
                bring_up(&inner.path(), top, moved)?;
                done = false;
            } else {
                unless_gone(fs::remove_file(inner.path()))?;
            }
        }
        unless_gone(fs::remove_dir(folder))?;
    }
    Ok(done)
}

fn bring_up(folder: &Path, top: &Path, moved: &mut u64) -> io::Result<()> {
    // To move a folder is to write to it: it has another parent then.
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    loop {
        *moved += 1;
        match renameat_with(CWD, folder, CWD, top.join(format!(".{moved}")), RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Err(Errno::NOENT) => return Ok(()),
            done => return Ok(done?),
        }
    }
}

/// What is in a folder, which may be closed to its owner.
fn read(folder: &Path) -> io::Result<fs::ReadDir> {
    let open = fs::symlink_metadata(folder)?.permissions().mode() & 0o700 == 0o700;
    if !open {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    fs::read_dir(folder)
}

fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_deep_closed_or_linked_goes_and_what_links_lead_to_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let (top, kept) = (folder.path().join("top"), folder.path().join("kept"));
        for made in [top.join("a/b/c"), kept.clone()] {
            fs::create_dir_all(made).expect("made");
        }
        fs::write(kept.join("file"), "").expect("written");
        fs::write(top.join("a/b/file"), "").expect("written");
        fs::create_dir(top.join(".1")).expect("made");
        symlink(&kept, top.join("a/link")).expect("linked");
        symlink(&kept, top.join("link")).expect("linked");
        // Deeper than any path is long.
        let mut at = openat(CWD, &top, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("opened");
        for _ in 0..3_000 {
            mkdirat(&at, "d", Mode::RWXU).expect("made");
            at = openat(&at, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("opened");
        }
        drop(at);
        for closed in ["a/b", "a"] {
            fs::set_permissions(top.join(closed), Permissions::from_mode(0o000)).expect("closed");
        }
        tree(&top).expect("removed");
        assert!(!top.exists() && kept.join("file").exists());
        tree(&top).expect("it is gone");
        symlink(&kept, &top).expect("linked");
        tree(&top).expect("removed");
        assert!(!top.is_symlink() && kept.join("file").exists());
    }
}
