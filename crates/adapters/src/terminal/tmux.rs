//! Agents' terminals: tmux sessions on a private socket.
//!
//! Invariants:
//! - Only the server on our own socket is talked to, without the user's configuration.
//! - Neither tmux nor a shell interprets anything in a command, its environment or its folder: they reach the
//!   program through a launch file of single-quoted words. (Given directly, tmux would take an argument that
//!   ends in `;` for a separator and expand `#(…)` in a folder's name, and it refuses commands longer than 16
//!   KB.)
//! - The program's environment is exactly the one asked for, plus [`MARKER`] (by which we find what a session
//!   leaves behind) and a `TERM`; never the server's, nor `TMUX`.
//! - An error means that nothing is known; only the server's answer, or the lack of a server, makes a session
//!   absent.
//! - With [`Tmux::connect`] everything but starting a session goes over one connection; without it, and while
//!   it is down, each question is a process. The answers are the same.
//! - A pane whose program ended stays, with its exit status and its screen, until [`Tmux::end`]. (tmux may
//!   lose what a program prints at the very moment it ends: it does not read on.)

use super::control::gate::Gate;
use super::control::sightings::PaneEvent;
use super::events::{self, HOUSEKEEPING};
use super::known;
use super::launch;
use super::pane::{Pane, printed};
use super::transport::{Answer, Transport, Words, is_absent, words};
use crate::host::process;
use shopfloor_core::effect::ProcessId;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The variable that marks a session's processes: its value names the socket and the session.
pub const MARKER: &str = "SHOPFLOOR_PANE";

/// In the place of a session's name: what the server itself is made to run.
pub const SERVER: &str = "tmux";
const END_GRACE: Duration = Duration::from_secs(3);
const HISTORY_LINES: &str = "5000";
/// The longest path a Unix socket can have is 107 bytes.
const SOCKET_BYTES_MAX: usize = 107;
/// How often tmux is asked whether it has read what a program printed before it ended. There is nothing to
/// wait on; each question lets the server's event loop go round, and on a busy machine it takes a while until
/// it learns of the end.
const SETTLE_TRIES: u32 = 200;
const SETTLE_PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    #[error(
        "tmux is not installed (or not on the PATH): install it with your package manager, \
         such as `apt install tmux` or `brew install tmux`"
    )]
    Missing,
    /// The request cannot be fulfilled, now or later.
    #[error("{0}")]
    Refused(String),
    #[error("tmux {command} failed: {stderr}")]
    Failed { command: String, stderr: String },
    #[error("{what}: {source}")]
    Io {
        what: String,
        #[source]
        source: io::Error,
    },
}

impl TmuxError {
    fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> TmuxError {
        let what = what.into();
        move |source| TmuxError::Io { what, source }
    }

    /// Whether trying again may help.
    pub fn is_transient(&self) -> bool {
        matches!(self, TmuxError::Failed { .. } | TmuxError::Io { .. })
    }
}

pub type TmuxResult<T> = Result<T, TmuxError>;

/// What to run in a session.
#[derive(Clone, Debug)]
pub struct SpawnSpec {
    /// Made of `A-Z a-z 0-9 - _`.
    pub name: String,
    pub cwd: PathBuf,
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    Alive(ProcessId),
    /// The program ended. `status` is its exit code, or 128 + the signal that ended it.
    Dead {
        status: Option<i32>,
    },
    Absent,
}

#[derive(Clone)]
pub struct Tmux {
    transport: Transport,
}

impl std::fmt::Debug for Tmux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tmux").field("socket", &self.transport.socket).finish_non_exhaustive()
    }
}

impl Tmux {
    /// `path` is the `PATH` on which tmux itself is found.
    pub fn new(socket: impl Into<PathBuf>, path: impl Into<OsString>) -> Self {
        let (socket, path) = (socket.into(), path.into());
        Tmux { transport: Transport { socket, path, connection: None, gate: Gate::default() } }
    }

    /// The same, with one connection for it and all its clones, made when there is a session and remade when
    /// it is lost. `on_event` is called for every session on the socket, within a second or so, on a thread
    /// of its own. It must not hold this `Tmux`, or the connection lasts until [`Tmux::close`].
    pub fn connect(&self, on_event: impl FnMut(PaneEvent) + Send + 'static) -> TmuxResult<Tmux> {
        let Transport { socket, path, gate, .. } = self.transport.clone();
        let connection = events::connection(path.clone(), socket.clone(), gate.clone(), on_event)
            .map_err(TmuxError::io("prepare a connection to tmux"))?;
        Ok(Tmux { transport: Transport { socket, path, connection: Some(Arc::new(connection)), gate } })
    }

    /// There is a session that was not started here: connect for it too, if possible.
    pub fn want_connection(&self) {
        self.transport.want();
    }

    pub fn is_connected(&self) -> bool {
        self.transport.connection.as_ref().is_some_and(|connection| connection.is_connected())
    }

    /// Ends the connection for good, and with it the server if it has no agents. Sessions live on.
    pub fn close(&self) {
        if let Some(connection) = &self.transport.connection {
            connection.close();
        }
    }

    pub fn socket(&self) -> &Path {
        &self.transport.socket
    }

    pub(super) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Starts a session, or adopts the one of that name; returns the process in its pane. If the program
    /// ended before we looked, the process has start time 0, which no process has: it counts as gone.
    pub fn spawn(&self, spec: &SpawnSpec) -> TmuxResult<ProcessId> {
        check_name(&spec.name)?;
        self.check_folder()?;
        if let Some(process) = self.adopt(&spec.name)? {
            return Ok(process);
        }
        let mut env = spec.env.clone();
        env.push((MARKER.into(), self.marker_value(&spec.name)));
        let known = known::file(self.socket(), &spec.name);
        let script = launch::script(&spec.cwd, &spec.argv, &env, &known).map_err(TmuxError::Refused)?;
        let file = self.launch_file(&spec.name);
        launch::write(&file, &script).map_err(TmuxError::io(format!("write {}", file.display())))?;

        // Options first, in the same call: a program that ends at once must find them set.
        let mut session =
            words(&["new-session", "-d", "-x", "200", "-y", "50", "-P", "-F", "#{pane_pid}", "-s"]);
        session.push(spec.name.as_ref());
        // Several words after the options are executed as they are, without a shell.
        session.extend(words(&["--", "env", "-i", "/bin/sh"]));
        session.push(file.as_os_str());
        let output = self.transport.fork(&[
            words(&["start-server"]),
            words(&["set-option", "-wg", "remain-on-exit", "on"]),
            words(&["set-option", "-g", "history-limit", HISTORY_LINES]),
            words(&["set-option", "-g", "default-terminal", launch::TERM]),
            words(&["set-option", "-g", "status", "off"]),
            // Nobody looks at window names, and a control client would be told about each change.
            words(&["set-option", "-wg", "automatic-rename", "off"]),
            words(&["set-option", "-wg", "allow-rename", "off"]),
            session,
        ])?;
        if output.ok {
            self.transport.want();
            let pid = output.stdout.trim().parse().map_err(|_| failed("new-session", &output.stdout))?;
            // We do not know its parent, but it was started a moment ago.
            return Ok(process::identify(pid).unwrap_or(ProcessId { pid, start: 0 }));
        }
        // Somebody else was faster.
        if output.stderr.contains("duplicate session")
            && let Some(process) = self.adopt(&spec.name)?
        {
            return Ok(process);
        }
        Err(failed("new-session", &output.stderr))
    }

    fn adopt(&self, name: &str) -> TmuxResult<Option<ProcessId>> {
        Ok(self.pane(name)?.map(|pane| match pane.probe() {
            Probe::Alive(process) => process,
            _ => ProcessId { pid: pane.pid, start: 0 },
        }))
    }

    pub fn probe(&self, name: &str) -> TmuxResult<Probe> {
        check_name(name)?;
        let look = || Ok(self.pane(name)?.map_or(Probe::Absent, |pane| pane.probe()));
        match look()? {
            // tmux reaped it between its answer and our look: now it knows the status.
            Probe::Dead { status: None } => look(),
            known => Ok(known),
        }
    }

    /// All sessions on the socket, except the connection's own.
    pub fn list(&self) -> TmuxResult<Vec<(String, Probe)>> {
        let panes = self.panes(&["-a"])?;
        let agents = panes.into_iter().filter(|pane| pane.session != HOUSEKEEPING);
        Ok(agents.map(|pane| (pane.session.clone(), pane.probe())).collect())
    }

    /// The end of what the session printed, at most `lines` lines, without escape sequences. Empty
    /// if there is no such session.
    pub fn capture(&self, name: &str, lines: u32) -> TmuxResult<String> {
        check_name(name)?;
        let target = pane_target(name);
        let start = format!("-{lines}");
        let commands = [
            words(&["list-panes", "-s", "-t", &target, "-F", Pane::FORMAT]),
            words(&["capture-pane", "-p", "-J", "-S", &start, "-t", &target]),
        ];
        for attempt in 1.. {
            let output = self.transport.query(&commands)?;
            if !output.ok {
                return if is_absent(&output.stderr) {
                    Ok(String::new())
                } else {
                    Err(failed("capture-pane", &output.stderr))
                };
            }
            let (pane, screen) = output.stdout.split_once('\n').unwrap_or((&output.stdout, ""));
            let pane = Pane::parse(pane).ok_or_else(|| failed("list-panes", pane))?;
            // tmux reads a program's last words only after it ended, and is about to.
            if pane.closed || attempt == SETTLE_TRIES || matches!(pane.probe(), Probe::Alive(_)) {
                return Ok(printed(screen, lines as usize));
            }
            std::thread::sleep(SETTLE_PAUSE);
        }
        unreachable!("the loop returns")
    }

    /// What the session's terminal shows now, row by row. `None` if there is no such session.
    pub fn screen(&self, name: &str) -> TmuxResult<Option<String>> {
        check_name(name)?;
        let target = pane_target(name);
        let answer = self.query(words(&["capture-pane", "-p", "-t", &target]))?;
        match answer.ok {
            true => Ok(Some(answer.stdout)),
            false if is_absent(&answer.stderr) => Ok(None),
            false => Err(failed("capture-pane", &answer.stderr)),
        }
    }

    /// Ends all of the session's processes, including those that left its process group or terminal, removes
    /// the session, and verifies both. A session that is already gone is fine.
    pub fn end(&self, name: &str) -> TmuxResult<()> {
        check_name(name)?;
        let root = match self.probe(name)? {
            Probe::Alive(process) => Some(process),
            Probe::Dead { .. } | Probe::Absent => None,
        };
        let marker = process::marker(MARKER, self.marker_value(name));
        process::end_marked_tree(root, marker.as_bytes(), END_GRACE)
            .map_err(TmuxError::io(format!("end session {name}")))?;

        let target = format!("={name}");
        let output = self.query(words(&["kill-session", "-t", &target]))?;
        if !output.ok && !is_absent(&output.stderr) {
            return Err(failed("kill-session", &output.stderr));
        }
        if self.pane(name)?.is_some() {
            return Err(failed("kill-session", "the session is still there"));
        }
        for file in [self.launch_file(name), known::file(self.socket(), name)] {
            match fs::remove_file(&file) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(TmuxError::io(format!("remove {}", file.display()))(e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The value of [`MARKER`]: no other session, of this floor or another, has it.
    fn marker_value(&self, name: &str) -> OsString {
        let mut value = self.socket().to_owned().into_os_string();
        value.push(":");
        value.push(name);
        value
    }

    fn launch_file(&self, name: &str) -> PathBuf {
        self.socket().with_extension("launch").join(name)
    }

    /// The socket's folder must be ours alone: whoever reaches the socket controls the agents.
    fn check_folder(&self) -> TmuxResult<()> {
        if !self.socket().is_absolute() || self.socket().as_os_str().len() > SOCKET_BYTES_MAX {
            return Err(TmuxError::Refused(format!(
                "{} can not be a tmux socket: the path must be absolute and at most {SOCKET_BYTES_MAX} bytes \
                 long; choose a shorter home for the floor",
                self.socket().display()
            )));
        }
        let folder = self.socket().parent().unwrap_or(Path::new("/"));
        let [launch, known] = ["launch", "known"].map(|kind| self.socket().with_extension(kind));
        for made in [folder, &launch, &known] {
            own_folder(made).map_err(TmuxError::io(format!("make {}", made.display())))?;
        }
        let meta = fs::symlink_metadata(folder).map_err(TmuxError::io(folder.display().to_string()))?;
        if meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o077 != 0 {
            let folder = folder.display();
            return Err(TmuxError::Refused(format!(
                "{folder} is open to other users, who could control the agents in it: run `chmod 700 {folder}` \
                 as its owner"
            )));
        }
        Ok(())
    }

    fn pane(&self, name: &str) -> TmuxResult<Option<Pane>> {
        let panes = self.panes(&["-s", "-t", &pane_target(name)])?;
        Ok(panes.into_iter().find(|pane| pane.session == name))
    }

    fn panes(&self, which: &[&str]) -> TmuxResult<Vec<Pane>> {
        let mut args = words(&["list-panes", "-F", Pane::FORMAT]);
        args.extend(words(which));
        let output = self.query(args)?;
        if output.ok {
            let parse = |line| Pane::parse(line).ok_or_else(|| failed("list-panes", line));
            output.stdout.lines().map(parse).collect()
        } else if is_absent(&output.stderr) {
            Ok(Vec::new())
        } else {
            Err(failed("list-panes", &output.stderr))
        }
    }

    fn query(&self, command: Words<'_>) -> TmuxResult<Answer> {
        self.transport.query(&[command])
    }
}

/// Exactly that session; without the colon tmux would also match a window's name or a prefix.
pub(super) fn pane_target(name: &str) -> String {
    format!("={name}:")
}

pub(super) fn own_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn check_name(name: &str) -> TmuxResult<()> {
    if name == HOUSEKEEPING {
        return Err(TmuxError::Refused(format!("{name:?} is not the name of an agent's session")));
    }
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if !name.is_empty() && name.len() <= 200 && !name.starts_with('-') && name.bytes().all(good) {
        return Ok(());
    }
    Err(TmuxError::Refused(format!("{name:?} can not name a session: use letters, digits, '-' and '_'")))
}

pub(super) fn failed(command: &str, stderr: &str) -> TmuxError {
    TmuxError::Failed { command: command.to_owned(), stderr: stderr.trim().to_owned() }
}
