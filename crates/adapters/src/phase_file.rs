//! The phase file on disk: where an agent says what it waits for.
//!
//! It is in a folder that others may write to (`/tmp`, by the protocol), so nothing there is trusted: a
//! symbolic link is never followed, a file that is not ours is neither read nor written, and a pipe planted
//! there cannot block us. Invariant: what [`read`] returns was in a regular file of this user.

use crate::host::atomic::write_atomic;
use rustix::fs::{
    CWD, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, ftruncate, open, renameat_with,
};
use rustix::io::Errno;
use shopfloor_core::digest::Digest;
use shopfloor_core::ids::{Assignment, ProjectName, Role, short_name};
use shopfloor_core::phase::{PHASE_FILE_BYTES_MAX, PhaseReport};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const OWNER_ONLY: u32 = 0o600;

/// `{dir}/dev-session-{project}-{issue}.phase`, or `review-session-…` for a reviewer.
pub fn path(dir: &Path, role: Role, project: &ProjectName, assignment: Assignment) -> PathBuf {
    dir.join(format!("{role}-session-{}.phase", short_name(project, assignment)))
}

/// The file that says which floor owns the path.
fn mark_of(path: &Path) -> PathBuf {
    let mut mark = path.as_os_str().to_owned();
    mark.push(".floor");
    PathBuf::from(mark)
}

/// Claims the path for a floor: false if another floor that still exists owns it, or if something is there
/// that is not ours to use. The protocol's path names the project and the issue, and two floors may have both
/// in common.
pub fn claim(path: &Path, floor: &Path) -> bool {
    // Anybody may put something into that folder. It must not keep us from working.
    if read(path).is_err() {
        return false;
    }
    let mark = mark_of(path);
    let name = floor.display().to_string();
    match read(&mark) {
        Ok(Some((_, owner))) if owner == name => true,
        Ok(Some((_, owner))) if Path::new(&owner).is_dir() => false,
        Ok(Some(_)) => write(&mark, &name).is_ok(),
        Ok(None) => {
            // Complete or not at all, and not over what somebody else put there meanwhile.
            let mut draft = mark.as_os_str().to_owned();
            draft.push(format!(".{}", std::process::id()));
            let draft = PathBuf::from(draft);
            if write(&draft, &name).is_ok() {
                let _ = renameat_with(CWD, &draft, CWD, &mark, RenameFlags::NOREPLACE);
                let _ = std::fs::remove_file(&draft);
            }
            matches!(read(&mark), Ok(Some((_, owner))) if owner == name)
        }
        // Another user's, or planted.
        Err(_) => false,
    }
}

/// Gives up the path and what is there, if this floor owns it. Repeating it does nothing.
pub fn release(path: &Path, floor: &Path) -> io::Result<()> {
    let mark = mark_of(path);
    match read(&mark) {
        Ok(Some((_, owner))) if owner == floor.display().to_string() => {}
        // Another floor's, or planted.
        _ => return Ok(()),
    }
    // The mark goes last: until then nobody else takes the path.
    for file in [path, &mark] {
        match std::fs::remove_file(file) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// Makes the file, or empties it, so that a predecessor's phase is not taken for the new session's.
pub fn reset(path: &Path) -> io::Result<()> {
    // Not O_TRUNC: nothing is changed before the file is known to be ours.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(OWNER_ONLY);
    let fd = open(path, flags, mode).map_err(|e| explain(path, e))?;
    check(path, &fd)?;
    ftruncate(&fd, 0)?;
    fchmod(&fd, mode)?;
    Ok(())
}

/// When the content with that stamp of [`read`] was written, in milliseconds.
pub fn written_at(stamp: &str) -> Option<u64> {
    let (seconds, nanos) = stamp.split('-').nth(1)?.split_once('.')?;
    Some(u64::from_str_radix(seconds, 16).ok()? * 1000 + nanos.parse::<u64>().ok()? / 1_000_000)
}

/// A stamp that changes whenever the file is written or replaced, and the file's content, at most
/// [`PHASE_FILE_BYTES_MAX`] bytes of it. `None`: there is no file.
pub fn read(path: &Path) -> io::Result<Option<(String, String)>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = match open(path, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(e) => return Err(explain(path, e)),
    };
    let stat = check(path, &fd)?;
    let mut bytes = Vec::new();
    File::from(fd).take(PHASE_FILE_BYTES_MAX as u64).read_to_end(&mut bytes)?;
    let digest = Digest::new().field(&bytes).finish();
    let stamp = format!("{:x}-{:x}.{:09}-{digest:016x}", stat.st_ino, stat.st_mtime, stat.st_mtime_nsec);
    Ok(Some((stamp, String::from_utf8_lossy(&bytes).into_owned())))
}

/// Reads a phase file that anybody may write, in any number of steps, and reports each version of it once,
/// complete.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// The newest version that was reported.
    stamp: Option<String>,
    half: Option<Half>,
}

/// What may be an incomplete version.
#[derive(Clone, Debug)]
struct Half {
    stamp: String,
    /// Since when it has had this stamp, and since when there has been an incomplete one.
    since: Instant,
    first: Instant,
}

/// What a look at a phase file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing new.
    Nothing,
    /// It may be incomplete: look again after that time.
    Half(Duration),
    Whole {
        stamp: String,
        content: String,
    },
}

/// A file that is written to all the time is read as it is after this long.
const SETTLE_MAX: Duration = Duration::from_secs(10);

impl Reader {
    /// A reader that has reported the version with that stamp.
    pub fn after(stamp: Option<String>) -> Reader {
        Reader { stamp, half: None }
    }

    /// `is_final`: nobody is left to write more.
    pub fn look(&mut self, path: &Path, is_final: bool, now: Instant) -> io::Result<Look> {
        let Some((stamp, content)) = read(path)? else { return Ok(Look::Nothing) };
        if self.stamp.as_ref() == Some(&stamp) {
            return Ok(Look::Nothing);
        }
        let before = self.half.take();
        let first = before.as_ref().map_or(now, |half| half.first);
        let since = before.filter(|half| half.stamp == stamp).map_or(now, |half| half.since);
        let until = (since + PhaseReport::settles_in(&content)).min(first + SETTLE_MAX);
        let wait = until.saturating_duration_since(now);
        if !is_final && !wait.is_zero() {
            self.half = Some(Half { stamp, since, first });
            return Ok(Look::Half(wait));
        }
        self.stamp = Some(stamp.clone());
        Ok(Look::Whole { stamp, content })
    }
}

/// Replaces the file's content in one step: a reader sees the old or the new.
pub fn write(path: &Path, content: &str) -> io::Result<()> {
    write_atomic(path, content.as_bytes(), OWNER_ONLY)
}

fn check(path: &Path, fd: &OwnedFd) -> io::Result<Stat> {
    let stat = fstat(fd)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(refused(path, "is not a regular file"));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(refused(path, "belongs to another user"));
    }
    // No link at all: it was replaced after it was opened, which is what `write` does.
    if stat.st_nlink > 1 {
        return Err(refused(path, "has a second name (a hard link)"));
    }
    Ok(stat)
}

fn explain(path: &Path, errno: Errno) -> io::Error {
    match errno {
        Errno::LOOP => refused(path, "is a symbolic link"),
        Errno::ISDIR => refused(path, "is a folder"),
        Errno::NXIO => refused(path, "is not a regular file"),
        // The kernel answers this for another user's file in a folder like /tmp, too.
        Errno::ACCESS | Errno::PERM => refused(path, "belongs to another user or is not writable"),
        other => io::Error::from(other),
    }
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "the phase file {} {why}; look at who made it (`ls -l`), remove it, and try again, or set \
             another folder for phase files",
            path.display()
        ),
    )
}
