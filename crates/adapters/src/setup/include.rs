//! Copies ignored files from the user's checkout into a worktree: local settings without which the project
//! does not run.
//!
//! Invariants: only files that git ignores both there and in the worktree are copied, so that nobody commits
//! them by accident and no snapshot holds them; no symbolic link is followed on either side; what is already
//! there stays as it is; the total is bounded.

use super::SetupConfig;
use crate::ci::log::RunLog;
use crate::git::Git;
use crate::git::run::Repo;
use crate::git::worktree::Worktree;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, mkdirat, open, openat};
use rustix::io::Errno;
use shopfloor_core::text::one_line;
use shopfloor_engine::ports::{PortError, PortResult};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

const LIST_BYTES_MAX: usize = 1024 * 1024;
const FILES_MAX: usize = 1_000;
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How many of the files that were not copied an agent is told about.
const NOTES_MAX: usize = 5;
const TEMPORARY: &str = "shopfloor-copy";

/// What is to be copied.
pub(super) fn patterns(config: &SetupConfig) -> String {
    config.include.iter().map(|pattern| format!("{pattern}\n")).collect()
}

/// Copies what the patterns name; returns what was left out, and why. `list` is a file of ours for the
/// patterns.
pub(super) fn copy(
    git: &Git,
    config: &SetupConfig,
    worktree: &Worktree,
    patterns: &str,
    list: &Path,
    log: &mut RunLog,
) -> PortResult<Vec<String>> {
    if patterns.is_empty() {
        return Ok(Vec::new());
    }
    let io = |e: io::Error| PortError::transient(format!("copying into {}: {e}", worktree.path.display()));
    fs::write(list, patterns).map_err(io)?;
    let checkout = git.tree(&config.checkout);
    let mut option = OsString::from("--exclude-from=");
    option.push(list);
    let call = checkout.call("ls-files").args(["--others", "--ignored", "-z"]).arg(option);
    let mut bytes = call.first_bytes(LIST_BYTES_MAX)?;
    let mut left_out = Vec::new();
    if bytes.len() >= LIST_BYTES_MAX {
        // The last name may be incomplete.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == 0).map_or(0, |end| end + 1));
        left_out.push("more files match than can be looked at".to_owned());
    }
    let (files, plain) = ignored(&checkout, names(&bytes))?;
    // Git would not even say whether such a file is ignored.
    let behind_a_link = |name: &OsString| {
        let above = Path::new(name).parent().unwrap_or(Path::new(""));
        matches!(folder(&worktree.path, above, false), Ok(None))
    };
    let (linked, files): (Vec<_>, Vec<_>) = files.into_iter().partition(behind_a_link);
    left_out.extend(linked.iter().map(|name| format!("{}: behind a symbolic link", shown(name))));
    let (files, exposed) = ignored(&worktree.repo, files)?;
    for name in plain.iter().chain(&exposed) {
        left_out.push(format!("{}: git does not ignore it", shown(name)));
    }
    let mut copier = Copier {
        from: &config.checkout,
        to: &worktree.path,
        temporary: worktree.git_dir.join(TEMPORARY),
        room: BYTES_MAX,
    };
    log.note(&format!("== copied from {} ==", config.checkout.display())).map_err(io)?;
    for (number, name) in files.iter().enumerate() {
        let copied = if number < FILES_MAX { copier.copy(name) } else { Ok(Some("too many files")) };
        match copied {
            Ok(None) => log.note(&shown(name)).map_err(io)?,
            Ok(Some(why)) => left_out.push(format!("{}: {why}", shown(name))),
            Err(e) => left_out.push(format!("{}: {e}", shown(name))),
        }
    }
    for line in &left_out {
        log.note(&format!("not copied: {line}")).map_err(io)?;
    }
    let more = left_out.len().saturating_sub(NOTES_MAX);
    left_out.truncate(NOTES_MAX);
    let mut notes: Vec<String> =
        left_out.iter().map(|line| format!("not copied from the checkout: {line}")).collect();
    if more > 0 {
        notes.push(format!("{more} more were not copied from the checkout"));
    }
    Ok(notes)
}

fn shown(name: &OsStr) -> String {
    one_line(&name.to_string_lossy(), 200)
}

/// The files in a list made by git; a name that ends with a slash is a repository of its own.
fn names(bytes: &[u8]) -> Vec<OsString> {
    let all = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty() && !name.ends_with(b"/"));
    all.map(|name| OsString::from_vec(name.to_vec())).collect()
}

/// The files that git ignores there, and those that it does not.
fn ignored(repo: &Repo, files: Vec<OsString>) -> PortResult<(Vec<OsString>, Vec<OsString>)> {
    if files.is_empty() {
        return Ok(Default::default());
    }
    let list = files.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect::<Vec<u8>>();
    let output = repo.call("check-ignore").args(["-z", "--stdin"]).stdin(list).ending(&[0, 1])?;
    let ignored = names(&output.stdout);
    Ok(files.into_iter().partition(|name| ignored.contains(name)))
}

struct Copier<'a> {
    from: &'a Path,
    to: &'a Path,
    /// Beside the worktree, so that nobody sees half a file in it.
    temporary: std::path::PathBuf,
    room: u64,
}

impl Copier<'_> {
    /// Copies a file, unless there is one already; returns why not.
    fn copy(&mut self, name: &OsStr) -> io::Result<Option<&'static str>> {
        let path = Path::new(name);
        let (Some(file), Some(above)) = (path.file_name(), path.parent()) else {
            return Ok(Some("not a file's name"));
        };
        let Some(from) = folder(self.from, above, false)? else { return Ok(Some("behind a symbolic link")) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut source = match openat(&from, file, flags, Mode::empty()) {
            Ok(source) => File::from(source),
            Err(Errno::LOOP) => return Ok(Some("a symbolic link")),
            Err(Errno::NOENT) => return Ok(Some("it is gone")),
            Err(e) => return Err(e.into()),
        };
        let meta = source.metadata()?;
        if !meta.is_file() {
            return Ok(Some("not a file"));
        }
        if meta.len() > self.room {
            return Ok(Some("too large"));
        }
        let Some(to) = folder(self.to, above, true)? else { return Ok(Some("behind a symbolic link")) };
        // Left over from a copy that was cut short.
        let _ = fs::remove_file(&self.temporary);
        let mode = meta.mode() & 0o777;
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(mode).open(&self.temporary)?;
        self.room -= io::copy(&mut Read::by_ref(&mut source).take(meta.len()), &mut copy)?;
        let linked = linkat(CWD, &self.temporary, &to, file, AtFlags::empty());
        fs::remove_file(&self.temporary)?;
        match linked {
            Ok(()) | Err(Errno::EXIST) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}

/// A folder below `root`, reached without following a symbolic link; `None`: one is in the way.
fn folder(root: &Path, below: &Path, make: bool) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = open(root, flags, Mode::empty())?;
    for part in below {
        if make {
            match mkdirat(&at, part, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
        at = match openat(&at, part, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
    }
    Ok(Some(at))
}
