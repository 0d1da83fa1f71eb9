//! Who is asking: a person, or something that the floor itself started. The kernel says so, not the environment of
//! whoever asks: what a session, a check, a setup, a notice or a fire starts descends from a process whose environment,
//! as the kernel has it, names the floor, or from the floor's daemon itself.
//!
//! Invariants:
//! - Removing a variable makes nobody a person; setting one makes nobody more than they are.
//! - A floor is known by its folder, whatever path leads there. What another floor started is nobody's to this one, so
//!   that a floor can be tried in a session of another.
//!
//! A process that removes its variables, and gets itself adopted by the system, is not detected: that takes isolation.

use shopfloor_adapters::agent::Badge;
use shopfloor_adapters::host::lock;
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::{ci, notices, setup, steps, terminal, vault};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, ProjectName};
use shopfloor_core::text::one_line;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// A person has no longer chain of parents.
const PARENTS_MAX: usize = 64;
/// A parent may end while it is looked at.
const LOOKS_MAX: usize = 3;
const NAME_CHARS_MAX: usize = 80;

/// In the environment of a command that is run at the door: the session it is run for.
pub const ASKER: &str = "SHOPFLOOR_ASKER";
/// For the journal: the command and what it is about, not the texts that follow.
const ASKED_WORDS: usize = 3;
const ASKED_CHARS_MAX: usize = 80;

/// What marks the processes that a floor starts, and what they are then. Each value is a path in the floor's home.
const MARKERS: [(&str, Kind); 6] = [
    (terminal::tmux::MARKER, Kind::Session),
    (ci::local::MARKER, Kind::Check),
    (setup::MARKER, Kind::Setup),
    (steps::MARKER, Kind::Step),
    (notices::MARKER, Kind::Notice),
    (vault::MARKER, Kind::Fire),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Session,
    Check,
    Setup,
    Step,
    Notice,
    Fire,
}

/// What of a floor's own is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    pub who: Who,
    /// The project it is for, if that can be seen.
    pub project: Option<ProjectName>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    Agent(Epoch),
    /// A hand session, by its name.
    Hand(String),
    Check,
    Setup,
    /// A command of a run.
    Step,
    Notice,
    /// What the vault carries out.
    Fire,
    /// What the daemon started, and that has removed its marks.
    Daemon,
    /// Something else, that may do nothing.
    Other(&'static str),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Agent(epoch) => write!(f, "agent {epoch}"),
            Who::Hand(name) => write!(f, "session {name}"),
            Who::Check => f.write_str("a check"),
            Who::Setup => f.write_str("a setup"),
            Who::Step => f.write_str("a run's command"),
            Who::Notice => f.write_str("a notice"),
            Who::Fire => f.write_str("what the vault carries out"),
            Who::Daemon => f.write_str("what the daemon started"),
            Who::Other(what) => f.write_str(what),
        }
    }
}

impl Inside {
    pub fn agent(layout: &Layout, epoch: Epoch) -> Inside {
        Inside { who: Who::Agent(epoch), project: Badge::of(layout, epoch).map(|badge| badge.project) }
    }

    pub fn other(what: &'static str) -> Inside {
        Inside { who: Who::Other(what), project: None }
    }
}

/// What the floor in that folder started that this process belongs to; `None`: nothing, so a person is asking.
pub fn inside(pid: u32, layout: &Layout) -> io::Result<Option<Inside>> {
    let mut look = 1;
    loop {
        match ancestors(pid, layout) {
            Err(e) if look < LOOKS_MAX && e.kind() == io::ErrorKind::NotFound => look += 1,
            known => return known,
        }
    }
}

/// The same of whoever is at the other end.
pub fn at(stream: &UnixStream, layout: &Layout) -> io::Result<Option<Inside>> {
    let caller = rustix::net::sockopt::socket_peercred(stream)?;
    inside(caller.pid.as_raw_nonzero().get().unsigned_abs(), layout)
}

fn ancestors(asking: u32, layout: &Layout) -> io::Result<Option<Inside>> {
    let daemon = lock::holder(&layout.daemon_lock());
    let mut pid = asking;
    for _ in 0..PARENTS_MAX {
        if pid != asking && Some(pid) == daemon {
            return Ok(Some(Inside { who: Who::Daemon, project: None }));
        }
        match std::fs::read(format!("/proc/{pid}/environ")) {
            Ok(environment) => {
                if let Some(inside) = marked(&environment, layout) {
                    return Ok(Some(inside));
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
    Ok(Some(Inside::other("a process with too many parents")))
}

fn marked(environment: &[u8], layout: &Layout) -> Option<Inside> {
    environment.split(|byte| *byte == 0).find_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&entry[..at], &entry[at + 1..]);
        let (_, kind) = MARKERS.iter().find(|(marker, _)| marker.as_bytes() == name)?;
        let below = below(Path::new(OsStr::from_bytes(value)), layout.root())?;
        let who = match kind {
            Kind::Session => return Some(session(&below, layout)),
            Kind::Check => Who::Check,
            Kind::Setup => Who::Setup,
            Kind::Step => Who::Step,
            Kind::Notice => Who::Notice,
            Kind::Fire => Who::Fire,
        };
        let mut parts = below.iter().map(OsStr::to_str);
        let project = match (parts.next(), parts.next()) {
            (Some(Some("projects")), Some(Some(name))) => name.parse().ok(),
            _ => None,
        };
        Some(Inside { who, project })
    })
}

/// A session's mark is `SOCKET:NAME`, and an agent's name ends in its number.
fn session(below: &Path, layout: &Layout) -> Inside {
    let below = below.to_string_lossy();
    let name = below.rsplit_once(':').map_or("", |(_, name)| name);
    match name.rsplit_once("-e").map(|(_, epoch)| epoch.parse()) {
        Some(Ok(epoch)) => Inside::agent(layout, epoch),
        _ if name.starts_with("hand-") => {
            Inside { who: Who::Hand(one_line(name, NAME_CHARS_MAX)), project: None }
        }
        _ => Inside::other("the floor's tmux"),
    }
}

/// Where it is below that folder, by whatever name.
fn below(path: &Path, root: &Path) -> Option<PathBuf> {
    let root = std::fs::metadata(root).ok()?;
    let above = path.ancestors().skip(1).find(|above| {
        std::fs::metadata(above).is_ok_and(|above| (above.dev(), above.ino()) == (root.dev(), root.ino()))
    })?;
    path.strip_prefix(above).ok().map(Path::to_owned)
}

/// What is put on record of somebody who asked for what only a person may do.
pub fn refused(project: ProjectName, who: &Who, args: impl Iterator<Item = String>) -> Event {
    Event::PersonNeeded { project, by: who.to_string(), asked: one_line(&asked(args), ASKED_CHARS_MAX) }
}

/// The command's words, without options and without the values of those that every command has.
fn asked(args: impl Iterator<Item = String>) -> String {
    let mut is_value = false;
    let words = args.filter(|word| {
        let skipped = std::mem::replace(&mut is_value, word == "--project" || word == "--home");
        !skipped && !word.starts_with('-')
    });
    words.take(ASKED_WORDS).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    /// What a process is found to be that a shell with that mark started, without it.
    fn found(mark: Option<(&str, &str)>, root: &Path) -> Option<(String, Option<String>)> {
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
        let inside = inside(line.trim().parse().expect("a number"), &Layout::new(root)).expect("known");
        drop(shell.stdin.take());
        out.read_to_string(&mut line).expect("its end");
        shell.wait().expect("it ends");
        inside.map(|inside| (inside.who.to_string(), inside.project.map(|project| project.to_string())))
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
        let tmux = at("tmux.sock:tmux");
        for (mark, value, who, project) in [
            (terminal::tmux::MARKER, &session, "agent 7", None),
            (terminal::tmux::MARKER, &by_hand, "session hand-sample-dev-1-2-h3", None),
            (terminal::tmux::MARKER, &tmux, "the floor's tmux", None),
            (ci::local::MARKER, &check, "a check", Some("sample")),
            (setup::MARKER, &check, "a setup", Some("sample")),
            (steps::MARKER, &check, "a run's command", Some("sample")),
            (notices::MARKER, &check, "a notice", Some("sample")),
            (vault::MARKER, &check, "what the vault carries out", Some("sample")),
        ] {
            let expected = Some((who.to_owned(), project.map(str::to_owned)));
            assert_eq!(found(Some((mark, value)), &root), expected);
            assert_eq!(found(Some((mark, value)), &link), expected, "by another path");
            assert_eq!(found(Some((mark, value)), &other), None, "of another floor");
        }
    }
}
