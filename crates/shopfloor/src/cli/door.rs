//! A command in a jail: the floor is not there to be read, so the daemon is asked at its door to run it.

use super::authority::{self, ELSEWHERE, Needed};
use super::{Cli, CliError, CliResult, Command, Exit};
use crate::asker::ASKER;
use crate::door::{Reply, Request};
use crate::projects::Surroundings;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{
    DumpableBehavior, Signal, getppid, set_dumpable_behavior, set_parent_process_death_signal,
};
use shopfloor_adapters::agent::Badge;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ids::Epoch;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Where the door is: set for whatever the factory starts.
const DOOR: &str = "SHOPFLOOR_DOOR";
/// How soon a command that waits asks again, at first and at last.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The options of commands that read a text from a file.
const FILES: [&str; 2] = ["--body-file", "--payload"];

/// Where to ask, if this is in a jail and the command is about the floor.
pub(super) fn of(cli: &Cli) -> Option<PathBuf> {
    let local = matches!(authority::needed(&cli.command), Needed::Nothing);
    let door = std::env::var_os(DOOR).map(PathBuf::from).filter(|door| door.is_absolute())?;
    let floor = door.parent()?.parent()?;
    // It may be seen and not be read.
    (!local && File::open(Layout::new(floor).database()).is_err()).then_some(door)
}

/// Has the command run at the door.
pub(super) fn ask(door: &Path, cli: &Cli) -> CliResult<Exit> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let file = cli.command.file().filter(|file| *file != Path::new("-"));
    // The command reads no file outside, so it gets this one as its input.
    let file = file.map(|file| open(file, &mut args)).transpose()?;
    let request = serde_json::to_string(&Request { token: token(door), args, surroundings: false })
        .unwrap_or_default()
        + "\n";
    let patient = matches!(cli.command, Command::Inbox(_));
    let (ring, rung) = channel();
    let watcher = FileWatcher::spawn(move |_| {
        // Nobody listens any more once there is an answer.
        let _ = ring.send(());
    })?;
    // Watched before it is tried, so nothing falls in between.
    watcher.watch(0, door.to_owned())?;
    let mut pause = PAUSE_MIN;
    loop {
        let reply = UnixStream::connect(door).and_then(|stream| exchange(&stream, &request, file.as_ref()));
        match reply {
            Ok(Reply { exit, error: None, .. }) => return Ok(Exit::of(exit)),
            Ok(Reply { exit, error: Some(why), .. }) => {
                return Err(CliError::new(Exit::of(exit), why).hint(ELSEWHERE));
            }
            // The next daemon opens it again; or there was no room, of which nothing tells.
            Err(_) if patient => match rung.recv_timeout(pause) {
                Ok(()) => pause = PAUSE_MIN,
                Err(RecvTimeoutError::Timeout) => pause = (pause * 2).min(PAUSE_MAX),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CliError::failed("the factory's door cannot be watched"));
                }
            },
            Err(e) => {
                return Err(CliError::new(Exit::Busy, format!("the factory does not answer: {e}"))
                    .hint("it does not run just now; signalling a phase works all the same"));
            }
        }
    }
}

fn open(file: &Path, args: &mut [String]) -> CliResult<File> {
    let opened =
        File::open(file).map_err(|e| CliError::usage(format!("{} cannot be read: {e}", file.display())))?;
    let named = file.to_str().unwrap_or_default();
    for option in FILES {
        let joined = format!("{option}={named}");
        for at in 0..args.len() {
            if args[at] == joined {
                args[at] = format!("{option}=-");
            } else if args[at] == option && args.get(at + 1).is_some_and(|value| value == named) {
                args[at + 1] = "-".to_owned();
            }
        }
    }
    Ok(opened)
}

/// This session's, if it is one.
fn token(door: &Path) -> Option<String> {
    let epoch: Epoch = std::env::var("SHOPFLOOR_SESSION").ok()?.parse().ok()?;
    let badge = Badge::of(&Layout::new(door.parent()?.parent()?), epoch)?;
    Some(badge.token().to_owned())
}

fn exchange(stream: &UnixStream, request: &str, input: Option<&File>) -> io::Result<Reply> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let input = input.map_or(stdin.as_fd(), AsFd::as_fd);
    let streams: [BorrowedFd<'_>; 3] = [input, stdout.as_fd(), stderr.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&streams));
    let sent = sendmsg(stream, &[IoSlice::new(request.as_bytes())], &mut control, SendFlags::empty())?;
    (&*stream).write_all(&request.as_bytes()[sent..])?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|_| io::ErrorKind::ConnectionAborted.into())
}

/// For a command that is run at the door: it ends with the daemon, since its output is another's, who asks again; and it
/// is told the projects' secrets once nobody can look into it any more. Returns the session that it is run for. That it
/// is one, the daemon says, which knows its number: anybody can set the variable.
pub(super) fn begin(home: Option<&Path>) -> io::Result<Option<Epoch>> {
    let named = std::env::var(ASKER).ok().and_then(|named| named.parse().ok());
    let (Some(epoch), Some(home)) = (named, home) else { return Ok(None) };
    let before = getppid();
    set_parent_process_death_signal(Some(Signal::TERM))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // It may have died before that.
    if before.is_none() || getppid() != before {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let told = surroundings(home)?;
    Ok(told.map(|told| {
        Surroundings::give(told);
        epoch
    }))
}

/// `None`: this is not run at the door.
fn surroundings(home: &Path) -> io::Result<Option<BTreeMap<String, String>>> {
    let mut stream = UnixStream::connect(Layout::new(home).door_socket())?;
    let request = Request { token: None, args: Vec::new(), surroundings: true };
    stream.write_all(format!("{}\n", serde_json::to_string(&request)?).as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let reply = serde_json::from_str::<Reply>(&line)?;
    Ok(reply.error.is_none().then_some(reply.surroundings))
}
