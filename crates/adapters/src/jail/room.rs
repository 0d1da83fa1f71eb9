//! Places in what a jail has of its own, where something is to be written or shown from outside. Whatever was in the jail
//! before could write there, and may have left something else: a link above all, through which we would write, or make a
//! mount point, elsewhere.

use crate::host::remove;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Whatever is at that place and is no folder, or no file, goes. A folder is made.
pub fn make_room(at: &Path, for_folder: bool) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(meta) if meta.is_symlink() => fs::remove_file(at)?,
        Ok(meta) if meta.is_dir() && !for_folder => remove::tree(at)?,
        Ok(meta) if !meta.is_dir() && for_folder => fs::remove_file(at)?,
        Ok(meta) if meta.is_dir() || meta.is_file() => return Ok(()),
        Ok(_) => fs::remove_file(at)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    if for_folder { DirBuilder::new().mode(0o700).create(at) } else { Ok(()) }
}

/// The same for a place below `top`, with every folder on the way there.
pub(super) fn make_way(top: &Path, inside: &Path, for_folder: bool) -> io::Result<()> {
    let mut at = top.to_owned();
    let mut parts = inside.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        make_room(&at, for_folder || parts.peek().is_some())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_predecessor_left_in_the_way_is_not_written_through() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("elsewhere")).expect("made");
        fs::write(at("elsewhere/.claude.json"), "theirs").expect("written");
        std::os::unix::fs::symlink("elsewhere", at("link")).expect("linked");
        fs::create_dir_all(at("folder/deep")).expect("made");
        fs::write(at("file"), "").expect("written");
        for (name, for_folder) in
            [("link", true), ("folder", false), ("file", true), ("nothing", true), ("none", false)]
        {
            make_room(&at(name), for_folder).expect(name);
            let is_folder = fs::symlink_metadata(at(name)).is_ok_and(|meta| meta.is_dir());
            assert_eq!(is_folder, for_folder, "{name}");
        }
        assert_eq!(fs::read_to_string(at("elsewhere/.claude.json")).expect("still there"), "theirs");
        // What is as it should be stays.
        fs::write(at("link/kept"), "").expect("written");
        make_room(&at("link"), true).expect("there");
        assert!(at("link/kept").exists());
    }

    #[test]
    fn the_way_to_a_place_has_no_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("elsewhere/deep")).expect("made");
        fs::create_dir(at("home")).expect("made");
        std::os::unix::fs::symlink("../elsewhere", at("home/.cargo")).expect("linked");
        make_way(&at("home"), Path::new(".cargo/bin"), true).expect("made");
        make_way(&at("home"), Path::new(".config/git/config"), false).expect("made");
        assert!(at("home/.cargo/bin").is_dir() && !at("home/.cargo").is_symlink());
        assert!(at("home/.config/git").is_dir() && !at("elsewhere/bin").exists());
    }
}
