//! How commands get to the tmux server: over the connection if there is one, else by a `tmux`
//! process per batch.
//!
//! Invariants:
//! - A question that changes nothing is asked again by a process when the connection is lost. One that types
//!   or starts something is not: whether it was done is unknown, and that is the error.
//! - Neither way starts a server, except for [`Transport::fork`] with a command that does.
//! - A word is taken literally, both ways.

use super::control::connection::{AskError, ControlClient};
use super::control::gate::Gate;
use super::tmux::{MARKER, SERVER, TmuxError, TmuxResult};
use crate::host::command;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The server ends with its last session, and leaves clients it had let in by then unanswered. The next
/// question finds no server, or a new one.
const ENDING_TRIES: u32 = 20;
/// A tmux process cannot pass on more than 16 KB at once.
const FORK_BYTES_MAX: usize = 12 * 1024;

/// A command and its arguments.
pub(super) type Words<'a> = Vec<&'a OsStr>;

pub(super) fn words<'a>(words: &[&'a str]) -> Words<'a> {
    words.iter().map(|word| OsStr::new(*word)).collect()
}

/// What tmux said to a batch of commands.
pub(super) struct Answer {
    pub(super) ok: bool,
    /// Everything that was said, one command after another.
    pub(super) stdout: String,
    /// What the first failing command said.
    pub(super) stderr: String,
}

#[derive(Clone)]
pub(super) struct Transport {
    pub(super) socket: PathBuf,
    /// The `PATH` that tmux is found on.
    pub(super) path: OsString,
    pub(super) connection: Option<Arc<ControlClient>>,
    pub(super) gate: Gate,
}

impl Transport {
    /// For commands that change nothing, or whose repetition changes nothing more.
    pub(super) fn query(&self, commands: &[Words<'_>]) -> TmuxResult<Answer> {
        match self.ask(commands) {
            None | Some(Err(AskError::NotConnected | AskError::Lost)) => self.forks(commands),
            Some(Ok(answer)) => Ok(answer),
            Some(Err(e)) => Err(asking(e)),
        }
    }

    /// For commands that must not be repeated.
    pub(super) fn act(&self, commands: &[Words<'_>]) -> TmuxResult<Answer> {
        match self.ask(commands) {
            None | Some(Err(AskError::NotConnected)) => self.forks(commands),
            Some(Ok(answer)) => Ok(answer),
            Some(Err(e)) => Err(asking(e)),
        }
    }

    /// The server is there: get a connection, if possible.
    pub(super) fn want(&self) {
        if let Some(connection) = &self.connection {
            connection.want();
        }
    }

    fn ask(&self, commands: &[Words<'_>]) -> Option<Result<Answer, AskError>> {
        let connection = self.connection.as_ref()?;
        let commands: Vec<Vec<&[u8]>> =
            commands.iter().map(|words| words.iter().map(|word| word.as_bytes()).collect()).collect();
        Some(connection.ask(&commands, ANSWER_TIMEOUT).map(|replies| {
            let mut answer = Answer { ok: true, stdout: String::new(), stderr: String::new() };
            for reply in replies {
                let text = String::from_utf8_lossy(&reply.bytes);
                if reply.ok {
                    answer.stdout.push_str(&text);
                } else if answer.ok {
                    answer.ok = false;
                    answer.stderr = text.into_owned();
                }
            }
            answer
        }))
    }

    fn forks(&self, commands: &[Words<'_>]) -> TmuxResult<Answer> {
        let mut all = Answer { ok: true, stdout: String::new(), stderr: String::new() };
        let mut rest = commands;
        while !rest.is_empty() && all.ok {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|words| {
                bytes += words.iter().map(|word| word.len() + 2).sum::<usize>() + 2;
                bytes <= FORK_BYTES_MAX
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            let answer = self.fork(now)?;
            all.ok = answer.ok;
            all.stdout.push_str(&answer.stdout);
            all.stderr = answer.stderr;
            rest = later;
        }
        if all.ok {
            self.want();
        }
        Ok(all)
    }

    /// Runs them in a process of their own. After a command that fails, the others are not executed.
    pub(super) fn fork(&self, commands: &[Words<'_>]) -> TmuxResult<Answer> {
        let mut args: Vec<OsString> = Vec::new();
        for (number, command) in commands.iter().enumerate() {
            if number > 0 {
                args.push(";".into());
            }
            args.extend(command.iter().map(|word| as_it_is(word)));
        }
        for attempt in 1.. {
            let mut tmux = self.command();
            let _open = self.gate.pass();
            let output = command::run(tmux.args(&args), ANSWER_TIMEOUT).map_err(|e| match e.kind() {
                io::ErrorKind::NotFound => TmuxError::Missing,
                _ => TmuxError::Io { what: "run tmux".to_owned(), source: e },
            })?;
            let ok = output.status.success();
            if ok || attempt == ENDING_TRIES || !is_ending(&output.stderr) {
                return Ok(Answer { ok, stdout: output.stdout, stderr: output.stderr });
            }
        }
        unreachable!("the loop returns")
    }

    fn command(&self) -> Command {
        tmux_command(&self.path, &self.socket)
    }
}

/// The program, on the socket, without the user's configuration.
pub(super) fn tmux_command(path: &OsStr, socket: &std::path::Path) -> Command {
    let mut tmux = command::named("tmux", path);
    // The environment of the first call becomes the server's.
    // What the server itself is made to run is no person's.
    let mut server = socket.as_os_str().to_owned();
    server.push(":");
    server.push(SERVER);
    tmux.env_clear().env("PATH", path).env(MARKER, server).current_dir("/").arg("-u").arg("-S").arg(socket);
    tmux.args(["-f", "/dev/null"]);
    tmux
}

/// tmux takes a `;` at the end of an argument for a separator, unless a `\` precedes it.
fn as_it_is(word: &OsStr) -> OsString {
    let Some(before) = word.as_bytes().strip_suffix(b";") else { return word.to_owned() };
    let mut escaped = OsStr::from_bytes(before).to_owned();
    escaped.push("\\;");
    escaped
}

fn asking(e: AskError) -> TmuxError {
    match e {
        AskError::Unspeakable => TmuxError::Refused(e.to_string()),
        AskError::TimedOut => {
            TmuxError::Io { what: "ask tmux".to_owned(), source: io::Error::new(io::ErrorKind::TimedOut, e) }
        }
        AskError::NotConnected | AskError::Busy | AskError::Lost => TmuxError::Io {
            what: "ask tmux".to_owned(),
            source: io::Error::new(io::ErrorKind::ConnectionAborted, e),
        },
    }
}

/// Whether the server's answer, or the lack of a server, says that there is no such session.
pub(super) fn is_absent(stderr: &str) -> bool {
    let no_server = stderr.contains("no server running on")
        || stderr.contains("error connecting to") && stderr.contains("(No such file or directory)");
    // The last two come from a server without any session.
    let signs = ["can't find session", "can't find pane", "no current target", "no sessions"];
    no_server || signs.iter().any(|sign| stderr.contains(sign))
}

fn is_ending(stderr: &str) -> bool {
    ["server exited", "lost server"].iter().any(|sign| stderr.contains(sign))
}
