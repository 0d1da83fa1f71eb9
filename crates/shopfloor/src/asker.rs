//! Who is asking: a person, or something that the floor itself started. The kernel says so, not the environment of
//! whoever asks: what a session, a check, a setup or a notice starts descends from a process whose environment, as the
//! kernel has it, names the floor.
//!
//! Invariants:
//! - Removing a variable makes nobody a person; setting one makes nobody more than they are.
//! - A floor is known by its folder, whatever path leads there. What another floor started is nobody's to this one, so
//!   that a floor can be tried in a session of another.
//!
//! A process that removes its variables and gets itself adopted by the system is not detected: that takes isolation.

use shopfloor_adapters::{ci, notices, setup, terminal};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A person has no longer chain of parents.
const PARENTS_MAX: usize = 64;
/// A parent may end while it is looked at.
const LOOKS_MAX: usize = 3;

/// What marks the processes that a floor starts, and what they are then. Each value is a path in the floor's home.
const MARKERS: [(&str, &str); 4] = [
    (terminal::tmux::MARKER, "a session"),
    (ci::local::MARKER, "a check"),
    (setup::MARKER, "a setup"),
    (notices::MARKER, "a notice"),
];

/// What the floor in that folder started that this process belongs to; `None`: nothing, so a person is asking.
pub fn inside(pid: u32, root: &Path) -> io::Result<Option<String>> {
    let mut look = 1;
    loop {
        match ancestors(pid, root) {
            Err(e) if look < LOOKS_MAX && e.kind() == io::ErrorKind::NotFound => look += 1,
            known => return known,
        }
    }
}

fn ancestors(mut pid: u32, root: &Path) -> io::Result<Option<String>> {
    for _ in 0..PARENTS_MAX {
        match std::fs::read(format!("/proc/{pid}/environ")) {
            Ok(environment) => {
                if let Some(what) = marked(&environment, root) {
                    return Ok(Some(what));
                }
            }
            // Somebody else's, such as the system's first; its parents may still be ours.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
            Err(e) => return Err(e),
        }
        // `pid (name) state ppid …`; the name may hold anything.
        let stat = std::fs::read(format!("/proc/{pid}/stat"))?;
        let stat = String::from_utf8_lossy(&stat);
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        match parent {
            Some(parent) if parent > 1 => pid = parent,
            _ => return Ok(None),
        }
    }
    Ok(Some("a process with too many parents".to_owned()))
}

fn marked(environment: &[u8], root: &Path) -> Option<String> {
    environment.split(|byte| *byte == 0).find_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&entry[..at], &entry[at + 1..]);
        let (_, what) = MARKERS.iter().find(|(marker, _)| marker.as_bytes() == name)?;
        if !is_in(Path::new(OsStr::from_bytes(value)), root) {
            return None;
        }
        // A session's is `SOCKET:NAME`, and an agent's name ends in its number.
        let value = String::from_utf8_lossy(value);
        let session = value.rsplit_once(':').filter(|_| name == terminal::tmux::MARKER.as_bytes());
        Some(match session.map(|(_, name)| (name, name.rsplit_once("-e"))) {
            Some((_, Some((_, epoch)))) if epoch.parse::<u64>().is_ok() => format!("agent {epoch}"),
            Some((name, _)) => format!("session {name}"),
            None => (*what).to_owned(),
        })
    })
}

/// Whether it is below that folder, by whatever name.
fn is_in(path: &Path, root: &Path) -> bool {
    let Ok(root) = std::fs::metadata(root) else { return false };
    path.ancestors().skip(1).any(|above| {
        std::fs::metadata(above).is_ok_and(|above| (above.dev(), above.ino()) == (root.dev(), root.ino()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    /// What a process is found to be that a shell with that mark started, without it.
    fn found(mark: Option<(&str, &str)>, root: &Path) -> Option<String> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "env -i sh -c 'echo $$; exec cat'; true"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        shell.envs(mark);
        let mut shell = shell.spawn().expect("it runs");
        // In the middle of an exec a process has no environment.
        let mut out = std::io::BufReader::new(shell.stdout.take().expect("piped"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).expect("its number");
        let inside = inside(line.trim().parse().expect("a number"), root).expect("known");
        drop(shell.stdin.take());
        out.read_to_string(&mut line).expect("its end");
        shell.wait().expect("it ends");
        inside
    }

    #[test]
    fn what_a_floor_started_is_known_without_its_variables() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, other) = (folder.path().join("floor"), folder.path().join("other"));
        let link = folder.path().join("link");
        for made in [&root, &other] {
            std::fs::create_dir(made).expect("made");
        }
        std::os::unix::fs::symlink(&root, &link).expect("linked");
        let at = |name: &str| format!("{}/{name}", root.display());
        let session = at("tmux.sock:dev-sample-1-e7");
        let by_hand = at("tmux.sock:hand-sample-dev-1-2-h3");
        let check = at("projects/sample/ci/run-1");
        assert_eq!(found(None, &root), None);
        for (mark, value, who) in [
            (terminal::tmux::MARKER, &session, "agent 7"),
            (terminal::tmux::MARKER, &by_hand, "session hand-sample-dev-1-2-h3"),
            (ci::local::MARKER, &check, "a check"),
            (setup::MARKER, &check, "a setup"),
            (notices::MARKER, &check, "a notice"),
        ] {
            assert_eq!(found(Some((mark, value)), &root).as_deref(), Some(who));
            assert_eq!(found(Some((mark, value)), &link).as_deref(), Some(who), "by another path");
            assert_eq!(found(Some((mark, value)), &other), None, "of another floor");
        }
    }
}
