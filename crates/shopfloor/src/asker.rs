//! Who is asking: a person, or something that the floor itself started. The kernel says so, not the environment of
//! whoever asks: what a session, a check, a setup, a notice or a fire starts descends from a process whose environment,
//! as the kernel has it, names the floor, or from the floor's daemon itself.
//!
//! Invariants:
//! - Removing a variable makes nobody a person; setting one makes nobody more than they are: the outermost process with a
//!   mark counts, the one that the floor started, and what gives rights is on record for that very process.
//! - A floor is known by its folder, whatever path leads there. What another floor started is nobody's to this one, so
//!   that a floor can be tried in a session of another.
//!
//! A process that removes its variables, and gets itself adopted by the system, is not detected: that takes isolation.

use shopfloor_adapters::agent::Badge;
use shopfloor_adapters::host::{lock, process};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::{ci, notices, setup, steps, terminal, vault};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, ProjectName};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::one_line;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// A person has no longer chain of parents.
const PARENTS_MAX: usize = 64;
/// A parent may end while it is looked at.
const LOOKS_MAX: usize = 3;
const NAME_CHARS_MAX: usize = 80;
/// How long a command that was just started may not be on record yet.
const WAIT: Duration = Duration::from_millis(10);
const WAITS_MAX: usize = 100;
const NOT_ON_RECORD: &str = "a process that is on record for nothing";

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
    for _ in 0..WAITS_MAX {
        match look(pid, layout)? {
            // A command's first process may ask before it is on record.
            Some(Inside { who: Who::Other(NOT_ON_RECORD), .. }) => std::thread::sleep(WAIT),
            known => return Ok(known),
        }
    }
    look(pid, layout)
}

/// The same of whoever is at the other end, as it is known now.
pub fn at(stream: &UnixStream, layout: &Layout) -> io::Result<Option<Inside>> {
    let caller = rustix::net::sockopt::socket_peercred(stream)?;
    look(caller.pid.as_raw_nonzero().get().unsigned_abs(), layout)
}

fn look(pid: u32, layout: &Layout) -> io::Result<Option<Inside>> {
    let mut look = 1;
    loop {
        match ancestors(pid, layout) {
            Err(e) if look < LOOKS_MAX && e.kind() == io::ErrorKind::NotFound => look += 1,
            known => return known,
        }
    }
}

fn ancestors(asking: u32, layout: &Layout) -> io::Result<Option<Inside>> {
    let daemon = lock::holder(&layout.daemon_lock());
    let mut marks = Vec::new();
    let mut pid = asking;
    for _ in 0..PARENTS_MAX {
        if pid != asking && Some(pid) == daemon {
            return Ok(started(&marks, layout).or(Some(Inside { who: Who::Daemon, project: None })));
        }
        match std::fs::read(format!("/proc/{pid}/environ")) {
            Ok(environment) => marks.extend(marked(pid, &environment, layout)),
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
            _ => return Ok(started(&marks, layout)),
        }
    }
    Ok(Some(Inside::other("a process with too many parents")))
}

/// What a process's environment, as the kernel has it, says that it is.
struct Mark {
    pid: u32,
    kind: Kind,
    /// Where in the floor's home.
    below: PathBuf,
}

fn marked(pid: u32, environment: &[u8], layout: &Layout) -> Vec<Mark> {
    let marks = environment.split(|byte| *byte == 0).filter_map(|entry| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&entry[..at], &entry[at + 1..]);
        let (_, kind) = MARKERS.iter().find(|(marker, _)| marker.as_bytes() == name)?;
        let below = below(Path::new(OsStr::from_bytes(value)), layout.root())?;
        Some(Mark { pid, kind: *kind, below })
    });
    marks.collect()
}

/// The outermost process with a mark is the one that the floor started: all the others had their environments from it.
/// It may itself have become another program with another environment, so a mark that gives rights has to be on record
/// for that very process. Marks further in that say something else are nobody's.
fn started(marks: &[Mark], layout: &Layout) -> Option<Inside> {
    // What runs in a terminal descends from the terminals' server, which has a mark, too.
    let mut outside_in = marks.iter().rev().skip_while(|mark| mark.is_the_server());
    let Some(first) = outside_in.next() else {
        return (!marks.is_empty()).then(|| Inside::other("the floor's tmux"));
    };
    let inside = first.inside(layout);
    let agree = |mark: &Mark| mark.kind == first.kind && mark.below == first.below;
    match outside_in.all(agree) {
        true => Some(inside),
        false => Some(Inside { who: Who::Other("a process that says it is another"), ..inside }),
    }
}

impl Mark {
    /// A session's mark is `SOCKET:NAME`.
    fn session(&self) -> Option<Cow<'_, str>> {
        let below = self.below.to_str().filter(|_| self.kind == Kind::Session)?;
        below.rsplit_once(':').map(|(_, name)| name.into())
    }

    fn is_the_server(&self) -> bool {
        self.session().is_some_and(|name| name == terminal::tmux::SERVER)
    }

    fn inside(&self, layout: &Layout) -> Inside {
        let mut parts = self.below.iter().map(OsStr::to_str);
        let project = match (parts.next(), parts.next()) {
            (Some(Some("projects")), Some(Some(name))) => name.parse().ok(),
            _ => None,
        };
        let on_record = |who| match self.is_on_record(layout) {
            true => who,
            false => Who::Other(NOT_ON_RECORD),
        };
        let who = match self.kind {
            Kind::Session => return self.of_session(layout),
            // These may do nothing.
            Kind::Check => Who::Check,
            Kind::Setup => Who::Setup,
            Kind::Step => on_record(Who::Step),
            Kind::Notice => on_record(Who::Notice),
            Kind::Fire => on_record(Who::Fire),
        };
        Inside { who, project }
    }

    /// An agent's session's name ends in its number.
    fn of_session(&self, layout: &Layout) -> Inside {
        let name = self.session().unwrap_or_default();
        let epoch = name.rsplit_once("-e").map(|(_, epoch)| epoch.parse::<Epoch>());
        let known = terminal::known::is_session(&layout.tmux_socket(), &name, self.pid);
        match epoch {
            Some(Ok(epoch)) if known => Inside::agent(layout, epoch),
            _ if known && name.starts_with("hand-") => {
                Inside { who: Who::Hand(one_line(&name, NAME_CHARS_MAX)), project: None }
            }
            _ => Inside::other("a process that says it is a session"),
        }
    }

    /// Whether that process was started for that folder, which is one of its kind.
    fn is_on_record(&self, layout: &Layout) -> bool {
        let parts: Vec<&str> = self.below.iter().filter_map(OsStr::to_str).collect();
        let fits = match self.kind {
            Kind::Step => matches!(parts[..], ["projects", _, "setup", _, "steps", _]),
            Kind::Notice => matches!(parts[..], ["projects", _, "told", _]),
            Kind::Fire => matches!(parts[..], ["projects", _, "vault", _, _]),
            Kind::Session | Kind::Check | Kind::Setup => false,
        };
        if !fits {
            return false;
        }
        let on_record = ci::load_process(&layout.root().join(&self.below)).ok().flatten();
        on_record.is_some_and(|known| process::identify(self.pid) == Some(known))
    }
}

/// Where it is below that folder, by whatever name, and without a way out of it again.
fn below(path: &Path, root: &Path) -> Option<PathBuf> {
    let root = std::fs::metadata(root).ok()?;
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let above = path.ancestors().skip(1).find(|above| {
        std::fs::metadata(above).is_ok_and(|above| (above.dev(), above.ino()) == (root.dev(), root.ino()))
    })?;
    path.strip_prefix(above).ok().map(Path::to_owned)
}

/// What is put on record of somebody who asked for what only a person may do: if what to hide is not known, only the
/// command.
pub fn refused(
    project: ProjectName,
    who: &Who,
    args: impl Iterator<Item = String>,
    redactor: &Redactor,
) -> Event {
    let words = asked(args);
    let shown = match redactor.is_blind() {
        true => words.split(' ').next().unwrap_or_default().to_owned(),
        false => redactor.redact(&words),
    };
    Event::PersonNeeded { project, by: who.to_string(), asked: one_line(&shown, ASKED_CHARS_MAX) }
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

    /// What a process is found to be that a shell with that mark started, without it, and with another mark if there is
    /// one. The shell is on record as what its mark says, if it is to be.
    fn found(mark: Option<(&str, &str)>, other: Option<(&str, &str)>, root: &Path, known: bool) -> Found {
        let mut shell = Command::new("sh");
        let other = other.map(|(name, value)| format!("{name}={value}")).unwrap_or_default();
        shell
            .args(["-c", "env -i $OTHER sh -c 'echo $$; read -r _; true'; true"])
            .env("OTHER", other)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        shell.envs(mark);
        let mut shell = shell.spawn().expect("it runs");
        if let Some((_, value)) = mark.filter(|_| known) {
            put_on_record(shell.id(), value, root);
        }
        // In the middle of an exec a process has no environment.
        let mut out = std::io::BufReader::new(shell.stdout.take().expect("piped"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).expect("its number");
        let inside = look(line.trim().parse().expect("a number"), &Layout::new(root)).expect("known");
        drop(shell.stdin.take());
        out.read_to_string(&mut line).expect("its end");
        shell.wait().expect("it ends");
        inside.map(|inside| (inside.who.to_string(), inside.project.map(|project| project.to_string())))
    }

    type Found = Option<(String, Option<String>)>;

    fn put_on_record(pid: u32, mark: &str, root: &Path) {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).expect("it runs");
        match mark.rsplit_once("tmux.sock:") {
            Some((_, name)) => {
                std::fs::create_dir_all(root.join("tmux.known")).expect("a folder");
                std::fs::write(root.join("tmux.known").join(name), stat).expect("written");
            }
            None => {
                let id = process::identify(pid).expect("it runs");
                let folder = Path::new(mark);
                std::fs::create_dir_all(folder).expect("a folder");
                let id = format!("{{\"pid\": {}, \"start\": {}}}", id.pid, id.start);
                std::fs::write(folder.join("process.json"), id).expect("written");
            }
        }
    }

    #[test]
    fn what_a_floor_started_is_known_without_its_variables_and_with_others() {
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
        let step = at("projects/sample/setup/issue-1/steps/look-1");
        let (told, fire) = (at("projects/sample/told/entry-1"), at("projects/sample/vault/request-1/1"));
        assert_eq!(found(None, None, &root, true), None);
        let tmux = at("tmux.sock:tmux");
        let (says, nothing) = ("a process that says it is a session", NOT_ON_RECORD);
        let sample = Some("sample".to_owned());
        for (mark, value, who, project, unknown) in [
            (terminal::tmux::MARKER, &session, "agent 7", None, says),
            (terminal::tmux::MARKER, &by_hand, "session hand-sample-dev-1-2-h3", None, says),
            (terminal::tmux::MARKER, &tmux, "the floor's tmux", None, "the floor's tmux"),
            (ci::local::MARKER, &check, "a check", sample.clone(), "a check"),
            (setup::MARKER, &check, "a setup", sample.clone(), "a setup"),
            (steps::MARKER, &step, "a run's command", sample.clone(), nothing),
            (notices::MARKER, &told, "a notice", sample.clone(), nothing),
            (vault::MARKER, &fire, "what the vault carries out", sample.clone(), nothing),
            (steps::MARKER, &check, nothing, sample.clone(), nothing),
        ] {
            let expected = Some((who.to_owned(), project.clone()));
            let own = Some((mark, value.as_str()));
            assert_eq!(found(own, None, &root, true), expected);
            assert_eq!(found(own, own, &root, true), expected, "the same again");
            assert_eq!(found(own, None, &link, true), expected, "by another path");
            assert_eq!(found(own, None, &other, true), None, "of another floor");
            // Of the same name, and another process.
            assert_eq!(found(own, None, &root, false), Some((unknown.to_owned(), project.clone())));
            // What it says besides.
            let pretended = Some((terminal::tmux::MARKER, "tmux.sock:hand-x"));
            let by_hand = pretended.map(|(name, value)| (name, at(value)));
            let inner = by_hand.as_ref().map(|(name, value)| (*name, value.as_str()));
            let told = found(own, inner, &root, true);
            let expected = match value == &tmux {
                true => "a process that says it is a session",
                false => "a process that says it is another",
            };
            assert_eq!(told, Some((expected.to_owned(), project)), "{mark}={value}");
        }
        let out = at("../other/projects/sample/ci/run-1");
        assert_eq!(found(Some((steps::MARKER, &out)), None, &root, true), None, "a way out is no way in");
    }
}
