//! The floor's connection: a housekeeping session in which a control client lives, and the thread that
//! reports what happened to the agents' panes.
//!
//! Invariants:
//! - The connection never starts a server: it is made only to one that has a session.
//! - The housekeeping session ends when its daemon ends, in whatever way, and a server without agents ends
//!   with it. No agent's session is touched. At a clean end the client ends its session; otherwise the
//!   program in its pane does, which waits for the end of a pipe that only the daemon holds open. (tmux's own
//!   `destroy-unattached` must not be used: up to 3.3a at least, the server crashes, with every agent in it,
//!   if a client is still on its way out of the session that is destroyed.)
//! - The client receives no output and does not affect the size of any window.
//! - Whoever is told may ask back: events are reported on a thread of their own. Unreported events are
//!   bounded, since a newer view of all panes replaces an older one.

use super::control::connection::{ControlClient, ControlEvent};
use super::control::gate::Gate;
use super::control::protocol::Notification;
use super::control::quote;
use super::control::sightings::{self, PaneEvent, Seen};
use super::transport::tmux_command;
use crate::host::process;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use shopfloor_core::effect::ProcessId;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The session that the connection lives in. No agent's session has this name.
pub const HOUSEKEEPING: &str = "shopfloor";

/// How many connections made and lost may wait to be reported.
const UNTOLD_MAX: usize = 64;

pub(super) fn connection(
    path: OsString,
    socket: PathBuf,
    gate: Gate,
    on_event: impl FnMut(PaneEvent) + Send + 'static,
) -> io::Result<ControlClient> {
    let untold = Arc::new(Untold::default());
    std::thread::Builder::new().name("tmux-events".to_owned()).spawn({
        let untold = Arc::clone(&untold);
        move || tell(&untold, on_event)
    })?;
    let target = format!("={HOUSEKEEPING}:");
    let subscription = format!("{}::{}", sightings::NAME, sightings::FORMAT);
    let greeting = [
        &["set-option", "-w", "-t", &target, "remain-on-exit", "off"][..],
        &["refresh-client", "-B", &subscription],
    ];
    let greeting = greeting.iter().filter_map(|words| quote::line(words)).collect();
    let teller = Teller { untold, record: socket.with_extension("client") };
    // Unless the subscription is removed first, tmux (3.3a) may look at the session that is gone, and crash.
    let farewell = [&["refresh-client", "-B", sightings::NAME][..], &["kill-session", "-t", &target]];
    let farewell = farewell.iter().filter_map(|words| quote::line(words)).collect();
    let mut lifeline = None;
    let record = socket.with_extension("client");
    end_stale(&record);
    let is_there = {
        let socket = socket.clone();
        // Anything other than a refusal may be a server.
        move || match UnixStream::connect(&socket) {
            Err(e) => !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused),
            Ok(_) => true,
        }
    };
    let command = move || {
        let pipe = socket.with_extension("alive");
        if lifeline.is_none() {
            lifeline = open_pipe(&pipe).ok();
        }
        let mut tmux = tmux_command(&path, &socket);
        tmux.args(["-N", "-C", "new-session", "-A", "-s", HOUSEKEEPING, "-f", "no-output,ignore-size"]);
        // It reads until the end of the pipe, in which there is nothing; then the client has a moment to
        // leave before its session ends. Without a pipe it reads from a terminal where nobody types.
        match &lifeline {
            Some(_) => tmux.args(["--", "env", "-i", "sh", "-c", "cat \"$0\"; sleep 2"]).arg(pipe),
            None => tmux.args(["--", "env", "-i", "cat"]),
        };
        tmux
    };
    ControlClient::start(gate, is_there, command, greeting, farewell, move |event| teller.take(event))
}

/// Ends the client of a daemon that died; a server may be waiting for it. The caller is the floor's only
/// daemon.
fn end_stale(record: &Path) {
    let Ok(text) = fs::read_to_string(record) else { return };
    let mut numbers = text.split(' ');
    let (pid, start) =
        (numbers.next().and_then(|n| n.parse().ok()), numbers.next().and_then(|n| n.parse().ok()));
    if let (Some(pid), Some(start)) = (pid, start) {
        // Only that very process; usually it is gone.
        let _ = process::end_tree(ProcessId { pid, start }, Duration::ZERO);
    }
    let _ = fs::remove_file(record);
}

/// Opened for reading too, so that opening succeeds at once, with or without a reader.
fn open_pipe(path: &Path) -> io::Result<File> {
    match mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(e) => return Err(e.into()),
    }
    let pipe = File::options().read(true).write(true).open(path)?;
    if pipe.metadata()?.file_type().is_fifo() { Ok(pipe) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

enum News {
    Connected,
    Disconnected,
    Seen(Seen),
}

#[derive(Default)]
struct Untold {
    news: Mutex<(VecDeque<News>, bool)>,
    came: Condvar,
}

/// The connection's end of [`Untold`]; when it is dropped, the reporting ends.
struct Teller {
    untold: Arc<Untold>,
    record: PathBuf,
}

impl Teller {
    fn take(&self, event: ControlEvent) {
        self.put(match event {
            ControlEvent::Started { pid } => {
                if let Some(process) = process::identify(pid) {
                    // Without it the next daemon cannot clean up after this one, should it have to.
                    let _ = fs::write(&self.record, format!("{} {}", process.pid, process.start));
                }
                return;
            }
            ControlEvent::Connected => News::Connected,
            ControlEvent::Disconnected => News::Disconnected,
            ControlEvent::NoServer => News::Seen(Seen::new()),
            ControlEvent::Notification(Notification::SubscriptionChanged { name, value })
                if name == sightings::NAME =>
            {
                let Some(mut seen) = sightings::parse(&value) else { return };
                seen.remove(HOUSEKEEPING);
                News::Seen(seen)
            }
            ControlEvent::Notification(_) => return,
        });
    }

    fn put(&self, news: News) {
        let mut untold = self.untold.news.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!((&news, untold.0.back()), (News::Seen(_), Some(News::Seen(_)))) {
            untold.0.pop_back();
        }
        if untold.0.len() == UNTOLD_MAX {
            untold.0.clear();
        }
        untold.0.push_back(news);
        self.untold.came.notify_one();
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.untold.news.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.untold.came.notify_one();
    }
}

fn tell(untold: &Untold, mut on_event: impl FnMut(PaneEvent)) {
    let mut known = Seen::new();
    loop {
        let waiting = untold.news.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing = |(news, ended): &mut (VecDeque<News>, bool)| news.is_empty() && !*ended;
        let mut waiting = untold.came.wait_while(waiting, nothing).unwrap_or_else(PoisonError::into_inner);
        let Some(news) = waiting.0.pop_front() else { return };
        drop(waiting);
        match news {
            News::Connected => on_event(PaneEvent::Connected),
            News::Disconnected => on_event(PaneEvent::Disconnected),
            News::Seen(seen) => {
                sightings::differences(&known, &seen).into_iter().for_each(&mut on_event);
                known = seen;
            }
        }
    }
}
