//! Refs as read from git's own files, and made there, without starting a process.
//!
//! A ref is a file of its own (written by rename, so complete or not there at all) or a line of
//! `packed-refs`; the file wins. When git packs refs it writes the line before it removes the file, and when it
//! deletes one it removes the line first: whoever looks for the file first misses nothing. A file whose content git
//! would not have written counts as missing, but then nobody is told that the ref does not exist.

use super::packed::Packed;
use crate::host::theirs;
use shopfloor_core::ids::Sha;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Git's own are much shorter.
const REF_BYTES_MAX: u64 = 4096;
/// Of a ref's log.
const LOG_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How many refs are followed from one to the next; git itself follows five.
const HOPS_MAX: usize = 5;

/// What HEAD says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The full name of the branch that is checked out, which may have no commit.
    On(String),
    Detached(Sha),
}

pub(crate) fn head(git_dir: &Path) -> Option<Head> {
    let text = theirs::read_to_string_in(git_dir, "HEAD", REF_BYTES_MAX).ok()?;
    match text.strip_prefix("ref:") {
        Some(name) => Some(Head::On(name.trim().to_owned())),
        None => text.trim_end().parse().ok().map(Head::Detached),
    }
}

/// Where the ref of that full name is, if the files say so.
pub(crate) fn read(dir: &Path, name: &str) -> Option<Sha> {
    find(dir, &[name])?.pop()?
}

/// Where the refs of these full names are, and which of them do not exist, if the files say so for all of them.
pub(crate) fn find(dir: &Path, names: &[&str]) -> Option<Vec<Option<Sha>>> {
    // Every file is looked for before the lines are read: whatever is packed meanwhile is in one or the
    // other.
    let own: Vec<OwnFile> = names.iter().map(|name| follow(dir, name)).collect::<Option<_>>()?;
    let packed = LazyCell::new(|| Packed::of(dir));
    let found = own.into_iter().map(|own| match own {
        OwnFile::Says(commit) => Some(Some(commit)),
        OwnFile::None(name) => packed.find(&name),
    });
    found.collect()
}

/// Makes a ref that must be new, in a repository of the floor's, as git does: under its lock, and on disk when this
/// returns. Its commit has to be there; it has no log. False: only git can say whether it can be made. No other ref's
/// name may be the beginning of its own.
pub(crate) fn create(dir: &Path, name: &str, commit: &Sha) -> bool {
    let is_new = || find(dir, &[name]).is_some_and(|found| found == [None]);
    let (path, lock) = (dir.join(name), dir.join(format!("{name}.lock")));
    let (Some(folder), Some((inside, _))) = (path.parent(), name.rsplit_once('/')) else { return false };
    if !theirs::has_folder(dir, "refs") || !is_new() || std::fs::create_dir_all(folder).is_err() {
        return false;
    }
    if !theirs::has_folder(dir, inside) {
        return false;
    }
    // Somebody holds it, or died with it; or the folder was empty a moment ago, and git has removed it.
    let Ok(file) = File::create_new(&lock) else { return false };
    // Nobody else makes it now.
    let made = is_new() && put(file, commit, &lock, &path).is_ok() && sync(folder).is_ok();
    if !made {
        // If it was renamed, there is none.
        let _ = std::fs::remove_file(&lock);
    }
    made
}

fn put(mut file: File, commit: &Sha, lock: &Path, path: &Path) -> std::io::Result<()> {
    file.write_all(format!("{commit}\n").as_bytes())?;
    file.sync_all()?;
    std::fs::rename(lock, path)
}

fn sync(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// What a ref's file says.
enum OwnFile {
    Says(Sha),
    /// There is no file for the ref of that name, to which other refs may have led.
    None(String),
}

/// `None`: the file cannot be read, or holds something that git would not write.
fn follow(dir: &Path, name: &str) -> Option<OwnFile> {
    use ErrorKind::{IsADirectory, NotADirectory, NotFound};
    let mut name = name.to_owned();
    for _ in 0..HOPS_MAX {
        match theirs::read_to_string_in(dir, &name, REF_BYTES_MAX) {
            Ok(text) => match text.strip_prefix("ref:") {
                Some(next) => name = next.trim().to_owned(),
                None => return text.trim_end().parse().ok().map(OwnFile::Says),
            },
            Err(e) if matches!(e.kind(), NotFound | NotADirectory | IsADirectory) => {
                return Some(OwnFile::None(name));
            }
            Err(_) => return None,
        }
        // A file's content must not lead out of the repository.
        if !name.starts_with("refs/") || name.split('/').any(|part| part == "..") {
            return None;
        }
    }
    None
}

/// The files that are written when a branch moves.
pub(crate) fn files_of(dir: &Path, branch: &str) -> [PathBuf; 2] {
    [dir.join("refs/heads").join(branch), dir.join("packed-refs")]
}

/// All refs whose names begin with `prefix` (a folder, with its slash), by name.
pub(crate) fn list(dir: &Path, prefix: &str) -> BTreeMap<String, Sha> {
    let mut all = BTreeMap::new();
    let mut folders = vec![prefix.trim_end_matches('/').to_owned()];
    while let Some(folder) = folders.pop() {
        if !theirs::has_folder(dir, &folder) {
            continue;
        }
        let Ok(entries) = std::fs::read_dir(dir.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(name),
                Ok(kind) if kind.is_file() && !name.ends_with(".lock") => {
                    if let Some(commit) = read(dir, &name) {
                        all.insert(name, commit);
                    }
                }
                _ => {}
            }
        }
    }
    // After the files: what is packed meanwhile is in one or the other.
    for (name, commit) in Packed::of(dir).list(prefix) {
        if !all.contains_key(name) {
            all.insert(name.to_owned(), commit);
        }
    }
    all
}

/// A line of a ref's log.
pub(crate) struct Logged {
    pub new: Sha,
    pub message: String,
}

/// Where a ref has been, newest first.
pub(crate) fn log(dir: &Path, name: &str) -> Vec<Logged> {
    let bytes = theirs::read_in(dir, &format!("logs/{name}"), LOG_BYTES_MAX).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().rev().filter_map(|line| {
        let (ids, message) = line.split_once('\t').unwrap_or((line, ""));
        let new = ids.split(' ').nth(1)?.parse().ok()?;
        Some(Logged { new, message: message.to_owned() })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_win_over_packed_refs_and_nothing_leads_out() {
        let dir = tempfile::tempdir().expect("tempdir");
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, text).expect("written");
        };
        write(
            "packed-refs",
            &format!(
                "# pack-refs with: peeled\n{one} refs/heads/a\n{one} refs/heads/x/b\n^{two}\n{one} refs/tags/t\n"
            ),
        );
        write("refs/heads/a", &format!("{two}\n"));
        write("refs/heads/x/c", &format!("{two}\n"));
        write("refs/heads/x/d.lock", "");
        write("refs/heads/broken", "?");
        write("refs/heads/alias", "ref: refs/heads/x/b\n");
        write("refs/heads/out", "ref: refs/../../secret\n");
        write("HEAD", "ref: refs/heads/new\n");
        let at = |name: &str| read(dir.path(), name).map(|commit| commit.to_string());
        assert_eq!((at("refs/heads/a"), at("refs/heads/x/b")), (Some(two.clone()), Some(one.clone())));
        assert_eq!((at("refs/heads/broken"), at("refs/heads/no")), (None, None));
        assert_eq!((at("refs/heads/alias"), at("refs/heads/out")), (Some(one.clone()), None));
        let exists = |name: &str| find(dir.path(), &[name]).map(|found| found[0].is_some());
        assert_eq!((exists("refs/heads/a"), exists("refs/heads/no")), (Some(true), Some(false)));
        assert_eq!((exists("refs/heads/broken"), exists("refs/heads/x")), (None, Some(false)));
        let names: Vec<String> = list(dir.path(), "refs/heads/").into_keys().collect();
        assert_eq!(names, ["refs/heads/a", "refs/heads/alias", "refs/heads/x/b", "refs/heads/x/c"]);
        assert_eq!(head(dir.path()), Some(Head::On("refs/heads/new".into())));
        write("HEAD", &two);
        assert_eq!(head(dir.path()), Some(Head::Detached(two.parse().expect("a name"))));
        write(
            "logs/refs/stash",
            &format!("{two} {two} A <a@b> 1 +0000\tfirst\n{two} {two} A <a@b> 2 +0000\tOn x: second\n"),
        );
        let messages: Vec<String> = log(dir.path(), "refs/stash").into_iter().map(|l| l.message).collect();
        assert_eq!(messages, ["On x: second", "first"]);
        let three: Sha = "3".repeat(40).parse().expect("a name");
        assert!(create(dir.path(), "refs/pull/7/head", &three), "it is new");
        assert_eq!(at("refs/pull/7/head"), Some(three.to_string()));
        write("refs/pull/8/head.lock", "");
        for no in ["refs/pull/7/head", "refs/heads/x/b", "refs/pull/8/head", "refs/heads/a/b"] {
            let before = at(no);
            assert!(!create(dir.path(), no, &three), "{no}");
            assert_eq!(at(no), before);
        }
        assert!(dir.path().join("refs/pull/8/head.lock").exists(), "it is somebody's");
        std::os::unix::fs::symlink(dir.path(), dir.path().join("refs/out")).expect("a link");
        assert!(!create(dir.path(), "refs/out/x", &three), "nothing is written elsewhere");
        // A line that git did not write: what is not in the others may be in that one.
        write("packed-refs", &format!("{one} refs/heads/x/b\nhalf a li"));
        assert_eq!(find(dir.path(), &["refs/heads/no"]), None);
        assert!(find(dir.path(), &["refs/heads/x/b"]).is_some());
    }
}
