//! What an earlier run left in a checkout, removed: everything that is not a file of the commit, and every file that
//! a fresh checkout would not have made in the same way. Whether the contents are the commit's is git's to say, by
//! hashing them.
//!
//! Invariants:
//! - No link is followed.
//! - Nothing that is there is believed: not an index, not an ignore file, not a time.

use crate::git::index::Index;
use crate::host::{clock, remove};
use rustix::fs::{llistxattr, lremovexattr};
use rustix::io::Errno;
use shopfloor_core::ids::Sha;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Program,
    Link,
    /// A folder that is empty in a checkout.
    Submodule,
}

/// The files of a commit, by their paths.
#[derive(Debug, Default)]
pub(super) struct Files {
    files: HashMap<PathBuf, Kind>,
    folders: HashSet<PathBuf>,
}

impl Files {
    /// What an index of a commit has; `None`: it is not that.
    pub(super) fn of(index: &Index, commit: &Sha) -> Option<Files> {
        let mut files = Files::default();
        for (path, mode) in index.files(commit)? {
            let kind = match mode {
                0o100_644 => Kind::Plain,
                0o100_755 => Kind::Program,
                0o120_000 => Kind::Link,
                0o160_000 => Kind::Submodule,
                _ => return None,
            };
            let path = PathBuf::from(OsStr::from_bytes(path));
            for above in path.ancestors().skip(1) {
                if !files.folders.insert(above.to_owned()) {
                    break;
                }
            }
            files.files.insert(path, kind);
        }
        Some(files)
    }

    /// The paths, as git reads them.
    pub(super) fn list(&self) -> Vec<u8> {
        let paths = self.files.keys().map(|path| path.as_os_str().as_bytes());
        paths.flat_map(|path| path.iter().copied().chain([0])).collect()
    }

    /// Whether a file of that name is somewhere.
    pub(super) fn has_named(&self, name: &str) -> bool {
        self.files.keys().any(|path| path.file_name() == Some(OsStr::new(name)))
    }
}

/// Removes what is not one of the files, or is not as it would have been made. `.git` in the root is left alone.
pub(super) fn clean(root: &Path, files: &Files) -> io::Result<()> {
    // What we make now has the mode that a checkout gives.
    let probe = root.with_extension("probe");
    remove_any(&probe)?;
    fs::create_dir(&probe)?;
    let mode = fs::symlink_metadata(&probe)?.mode() & 0o7777;
    fs::remove_dir(&probe)?;
    Cleaner { files, mode, now: clock::now() }.folder(root, Path::new(""))
}

/// Names of extended attributes that a user can give: notes, and lists of who else may do what, which what is made in a
/// folder inherits.
const ATTRIBUTES: [&str; 2] = ["user.", "system.posix_acl"];
const ATTRIBUTES_BYTES_MAX: usize = 4096;

/// The attributes of that file or folder that no checkout gives. More of them than anybody needs are an error.
fn attributes(at: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut names = [0; ATTRIBUTES_BYTES_MAX];
    let length = match llistxattr(at, &mut names[..]) {
        Err(Errno::OPNOTSUPP) => 0,
        length => length?,
    };
    let all = names[..length].split(|byte| *byte == 0);
    let given = |name: &&[u8]| ATTRIBUTES.iter().any(|begin| name.starts_with(begin.as_bytes()));
    Ok(all.filter(given).map(<[u8]>::to_vec).collect())
}

struct Cleaner<'a> {
    files: &'a Files,
    /// Of a folder; a program has it too, and a file has it without the right to be run.
    mode: u32,
    now: SystemTime,
}

impl Cleaner<'_> {
    fn folder(&self, at: &Path, inside: &Path) -> io::Result<()> {
        if fs::symlink_metadata(at)?.mode() & 0o7777 != self.mode {
            fs::set_permissions(at, Permissions::from_mode(self.mode))?;
        }
        for name in attributes(at)? {
            lremovexattr(at, name.as_slice())?;
        }
        for entry in fs::read_dir(at)? {
            let (name, at) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            if inside.as_os_str().is_empty() && name == ".git" {
                continue;
            }
            let path = inside.join(&name);
            let meta = fs::symlink_metadata(&at)?;
            let is_above = self.files.folders.contains(&path);
            let is_submodule = self.files.files.get(&path) == Some(&Kind::Submodule);
            if meta.is_dir() && (is_above || is_submodule) {
                self.folder(&at, &path)?;
            } else if !self.is_as_made(&path, &meta) || !attributes(&at)?.is_empty() {
                remove_one(&at, &meta)?;
            }
        }
        Ok(())
    }

    fn is_as_made(&self, path: &Path, meta: &Metadata) -> bool {
        // Another name of the file would be a way to write to it later.
        let alone = meta.nlink() == 1;
        // A time to come would make it newer than all that is made from it.
        let past = meta.modified().is_ok_and(|changed| changed <= self.now);
        let mode = meta.mode() & 0o7777;
        alone
            && past
            && match self.files.files.get(path) {
                Some(Kind::Plain) => meta.is_file() && mode == self.mode & 0o666,
                Some(Kind::Program) => meta.is_file() && mode == self.mode & 0o777,
                Some(Kind::Link) => meta.is_symlink(),
                Some(Kind::Submodule) | None => false,
            }
    }
}

fn remove_one(at: &Path, meta: &Metadata) -> io::Result<()> {
    if meta.is_dir() { remove::tree(at) } else { fs::remove_file(at) }
}

/// Removes a file or folder of that name, if there is one.
pub(super) fn remove_any(at: &Path) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(meta) => remove_one(at, &meta),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}
