//! How much of a folder a snapshot takes in: at most so much of each file, and so much in all.
//!
//! A file that is larger is left out, and if the rest is still too much, the largest of it are. Whatever is left out
//! is said in the snapshot, and so are ignored files of that size. Whoever removes a folder asks what its snapshot
//! left out, and keeps it. Sizes come from the kernel, so a file's size costs nothing.
//!
//! What is committed or stashed is kept whole, whatever its size: whoever committed it has paid for it.

use super::capture::TemporaryIndex;
use super::run::{GitResult, Repo};
use shopfloor_core::text::one_line;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The largest file that a snapshot takes in, and how much all of them may have, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    pub file: u64,
    pub total: u64,
}

impl Caps {
    pub const fn of_mib(file: u64, total: u64) -> Caps {
        Caps { file: file << 20, total: total << 20 }
    }
}

impl Default for Caps {
    fn default() -> Self {
        Caps::of_mib(100, 1000)
    }
}

/// With more files than this, git is asked at once, and ignored files are not looked at.
const WALK_MAX: usize = 100_000;

/// How many of the files that were left out are named. The last says how many more there were.
const NAMED_MAX: usize = 100;

const PATH_CHARS_MAX: usize = 300;

const LEFT_OUT: &str = "left out ";
const IGNORED: &str = "ignored ";

/// A file that is not in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub bytes: u64,
    /// Below the worktree's folder; or how many more there were.
    pub path: String,
    /// No snapshot would hold it, and it goes with its worktree.
    pub ignored: bool,
}

impl Left {
    /// As a line of a snapshot's message.
    pub(super) fn line(&self) -> String {
        let how = if self.ignored { IGNORED } else { LEFT_OUT };
        format!("{how}{} {}\n", self.bytes, self.path)
    }

    pub(super) fn parse(line: &str) -> Option<Left> {
        let (ignored, rest) = match line.strip_prefix(LEFT_OUT) {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix(IGNORED)?),
        };
        let (bytes, path) = rest.split_once(' ')?;
        Some(Left { bytes: bytes.parse().ok()?, path: path.to_owned(), ignored })
    }
}

/// The largest first, and no more of each kind than can be read.
pub(super) fn named(all: Vec<Left>) -> Vec<Left> {
    let (ignored, left): (Vec<Left>, Vec<Left>) = all.into_iter().partition(|left| left.ignored);
    let mut named = Vec::new();
    for mut all in [left, ignored] {
        all.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
        if all.len() > NAMED_MAX {
            let more = all.split_off(NAMED_MAX);
            let bytes = more.iter().map(|left| left.bytes).sum();
            all.push(Left { bytes, path: format!("(and {} more)", more.len()), ignored: more[0].ignored });
        }
        named.extend(all);
    }
    named
}

/// What may be added to a snapshot of a folder.
pub(super) enum Fits {
    /// Everything, and everything in the repositories inside it.
    All,
    /// Everything but what is ignored, which is said.
    AllBut(Vec<Left>),
    /// Only these files. `nested`: the folders that are repositories, which are looked at by themselves.
    Some { add: Vec<u8>, nested: Vec<OsString>, left: Vec<Left> },
}

/// Looks at the sizes of what is in `folder`. `room`: how much more may be taken in; less by what is.
pub(super) fn fits(
    folder: &Repo,
    top: &Path,
    index: &TemporaryIndex,
    caps: Caps,
    room: &mut u64,
) -> GitResult<Fits> {
    let walked = walk(folder.path(), caps.file);
    if let Some(walked) = &walked
        && walked.large.is_empty()
        && walked.total <= *room
    {
        return Ok(Fits::All);
    }
    // Everything that git knows of or would add, and which of it is not as it is in the index.
    let asked = ["-z", "-t", "--cached", "--others", "--modified", "--exclude-standard"];
    let listing = index.call(folder, "ls-files").args(asked).run()?;
    let (mut known, mut fresh, mut nested) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for entry in listing.split(|byte| *byte == 0).filter(|entry| entry.len() > 2) {
        let (tag, path) = (entry[0], &entry[2..]);
        match path.strip_suffix(b"/") {
            Some(repository) => nested.push(OsStr::from_bytes(repository).to_owned()),
            None if matches!(tag, b'?' | b'C' | b'R' | b'M') => drop(fresh.insert(path)),
            None => drop(known.insert(path)),
        }
    }
    let size = |path: &[u8]| {
        let meta = std::fs::symlink_metadata(folder.path().join(OsStr::from_bytes(path)));
        meta.ok().filter(std::fs::Metadata::is_file).map_or(0, |meta| meta.len())
    };
    let mut sized: Vec<(u64, &[u8])> = fresh.iter().map(|path| (size(path), *path)).collect();
    // The small ones first: as many files as possible.
    sized.sort_unstable();
    let (mut add, mut left) = (Vec::new(), Vec::new());
    for (bytes, path) in sized {
        if bytes > caps.file || bytes > *room {
            left.push(left_of(folder, top, path, bytes, false));
            continue;
        }
        *room -= bytes;
        add.extend_from_slice(path);
        add.push(0);
    }
    let unknown = |path: &Path| {
        let path = path.as_os_str().as_bytes();
        let inside = |folder: &OsString| {
            path.strip_prefix(folder.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
        };
        !known.contains(path) && !fresh.contains(path) && !nested.iter().any(inside)
    };
    let large = walked.map_or_else(Vec::new, |walked| walked.large);
    let ignored = large.into_iter().filter(|(path, _)| unknown(path));
    let ignored: Vec<Left> =
        ignored.map(|(path, bytes)| left_of(folder, top, path.as_os_str().as_bytes(), bytes, true)).collect();
    if left.is_empty() {
        return Ok(Fits::AllBut(ignored));
    }
    left.extend(ignored);
    Ok(Fits::Some { add, nested, left })
}

fn left_of(folder: &Repo, top: &Path, path: &[u8], bytes: u64, ignored: bool) -> Left {
    let full = folder.path().join(OsStr::from_bytes(path));
    let path = full.strip_prefix(top).unwrap_or(&full).to_string_lossy();
    Left { bytes, path: one_line(&path, PATH_CHARS_MAX), ignored }
}

struct Walked {
    total: u64,
    /// Files above the limit, with their sizes; the paths are below the folder.
    large: Vec<(PathBuf, u64)>,
}

/// Everything in the folder but git's own. `None`: there is too much.
fn walk(top: &Path, file_max: u64) -> Option<Walked> {
    let mut walked = Walked { total: 0, large: Vec::new() };
    let (mut folders, mut entries) = (vec![top.to_owned()], 0usize);
    while let Some(folder) = folders.pop() {
        // What cannot be read, or is gone by now, cannot be taken in either: git says so.
        let Ok(listed) = std::fs::read_dir(&folder) else { continue };
        for entry in listed.flatten().filter(|entry| entry.file_name() != ".git") {
            entries += 1;
            if entries > WALK_MAX {
                return None;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file()
                && let Ok(meta) = entry.metadata()
            {
                walked.total = walked.total.saturating_add(meta.len());
                if meta.len() > file_max
                    && let Ok(path) = entry.path().strip_prefix(top)
                {
                    walked.large.push((path.to_owned(), meta.len()));
                }
            }
        }
    }
    Some(walked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_is_read_back_as_it_was_written() {
        let all = [
            Left { bytes: 3 << 30, path: "a file with spaces".into(), ignored: false },
            Left { bytes: 7, path: "target/x".into(), ignored: true },
        ];
        for left in &all {
            assert_eq!(Left::parse(left.line().trim_end()).as_ref(), Some(left));
        }
        for other in ["", "left out", "left out x y", "HEAD 0", "stash 1 2"] {
            assert_eq!(Left::parse(other), None, "{other}");
        }
    }

    #[test]
    fn only_so_many_are_named_and_the_rest_is_counted() {
        let one = |bytes| Left { bytes, path: format!("f{bytes}"), ignored: false };
        let named = named((0..NAMED_MAX as u64 + 5).map(one).collect());
        assert_eq!(named.len(), NAMED_MAX + 1);
        assert_eq!(named[0].path, format!("f{}", NAMED_MAX + 4));
        assert_eq!(named[NAMED_MAX].path, "(and 5 more)");
        assert_eq!(named[NAMED_MAX].bytes, 10);
    }
}
