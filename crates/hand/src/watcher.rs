//! What `monitor` sees of a session: kernel events that wake it, and looks.
//!
//! A pidfd reports a death at once, inotify reports a phase and that something was written to the session's
//! terminal: then, and only then, there is something new to read. There is no connection to tmux here: a
//! floor has one, and it belongs to the daemon. Each of the watches may fail; then what it would have
//! reported is looked up directly, and the result says so.

use crate::sessions::{Hand, HandSessions};
use crate::watch::{Look, Watch};
use shopfloor_adapters::git::{Git, facts};
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::host::process::{Liveness, is_same, terminal};
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::digest::Digest;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::ids::HandName;
use shopfloor_core::liveness::Process;
use shopfloor_core::runtime::RuntimeSpec;
use shopfloor_core::runtime::screen::{read, read_title};
use shopfloor_desk::now;
use shopfloor_desk::time::utc_offset;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

const LOOK_LINES: u32 = 60;
/// A flooded terminal does not wake us for every line.
const DRAWN_PAUSE: Duration = Duration::from_millis(200);

enum Signal {
    Exit,
    Phase,
    Drawn,
}

pub(crate) struct Watcher<'a> {
    hands: &'a HandSessions,
    name: HandName,
    spec: &'a RuntimeSpec,
    process: Option<ProcessId>,
    /// Where work can be seen, if that is a git worktree.
    tree: Option<(Git, PathBuf)>,
    signals: Receiver<Signal>,
    /// Kept, so that waiting never fails for lack of a sender.
    _sender: Sender<Signal>,
    _exits: Option<ExitWatcher>,
    _files: Option<FileWatcher>,
    _screen: Option<ScreenWatcher>,
    /// What could not be watched or asked, and was looked up directly instead.
    pub(crate) fell_back: Vec<String>,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(
        hands: &'a HandSessions,
        hand: &Hand,
        spec: &'a RuntimeSpec,
        tree: Option<(Git, PathBuf)>,
        watch: &mut Watch,
    ) -> Watcher<'a> {
        let (sender, signals) = channel();
        let (for_exit, for_phase) = (sender.clone(), sender.clone());
        let process = hand.process();
        let mut fell_back = Vec::new();
        let exits = process.map(|process| {
            // If nobody listens any more, there is nothing left to report.
            let watcher = ExitWatcher::spawn(move |_| drop(for_exit.send(Signal::Exit)))?;
            watcher.watch(0, process).map(|()| watcher)
        });
        let files = FileWatcher::spawn(move |_| drop(for_phase.send(Signal::Phase)))
            .and_then(|watcher| watcher.watch(0, hands.phase_file(&hand.name)).map(|()| watcher));
        let mut kept = |what: &str, error: std::io::Error| fell_back.push(format!("{what}: {error}"));
        let exits = exits.and_then(|exits| exits.map_err(|e| kept("its process cannot be watched", e)).ok());
        let files = files.map_err(|e| kept("its phase file cannot be watched", e)).ok();
        let screen = process.filter(|_| watch.reads_screens()).map(|p| ScreenWatcher::new(p, &sender));
        let screen = screen.and_then(|screen| {
            screen
                .map_err(|e| {
                    watch.cannot_see_drawing();
                    kept("its terminal cannot be watched", e);
                })
                .ok()
        });
        Watcher {
            hands,
            name: hand.name.clone(),
            spec,
            process,
            tree,
            signals,
            _sender: sender,
            _exits: exits,
            _files: files,
            _screen: screen,
            fell_back,
        }
    }

    /// Sleeps until there is something to look at.
    pub(crate) fn wait(&self, watch: &mut Watch) {
        loop {
            match self.signals.recv_timeout(watch.next_look().since(now())) {
                // Reported once for a missing file.
                Ok(Signal::Phase) if self.hands.phase(&self.name).is_none() => {}
                Ok(Signal::Drawn) => watch.drew(now()),
                Ok(_) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    pub(crate) fn look(&mut self) -> Look {
        let (process, vanished) = self.process();
        let mut look = sight(self.hands, &self.name, self.spec, process);
        look.vanished = vanished;
        if look.screen.is_some() {
            look.git = self.tree.as_ref().and_then(|(git, tree)| facts::progress(git, tree).ok());
        }
        look
    }

    /// The process itself says whether it lives, tmux how it ended. If tmux does not answer, that is unknown.
    fn process(&mut self) -> (Process, bool) {
        let directly = self.process.map(is_same);
        if directly == Some(Liveness::Alive) {
            return (Process::Alive, false);
        }
        let gone = || Process::Gone { status: None, signal: None };
        match self.hands.tmux.probe(&self.name.to_string()) {
            Ok(Probe::Alive(_)) => (Process::Alive, false),
            Ok(Probe::Dead { status }) => (Process::Gone { status, signal: None }, false),
            Ok(Probe::Absent) => match directly {
                Some(Liveness::Unknown) => (Process::Unknown { why: "/proc cannot be read".into() }, true),
                _ => (gone(), true),
            },
            Err(e) => {
                let why = e.to_string();
                let note = format!("tmux does not answer, its process was asked instead ({why})");
                if !self.fell_back.contains(&note) {
                    self.fell_back.push(note);
                }
                match directly {
                    Some(Liveness::Gone) => (gone(), false),
                    _ => (Process::Unknown { why }, false),
                }
            }
        }
    }
}

/// One look at a session, without watching anything.
pub(crate) fn once(hands: &HandSessions, hand: &Hand, spec: &RuntimeSpec) -> Look {
    let process = match &hand.probe {
        Ok(Probe::Alive(_)) => Process::Alive,
        Ok(Probe::Dead { status }) => Process::Gone { status: *status, signal: None },
        Ok(Probe::Absent) => Process::Gone { status: None, signal: None },
        Err(why) => Process::Unknown { why: why.clone() },
    };
    sight(hands, &hand.name, spec, process)
}

/// What a session shows, given its process.
fn sight(hands: &HandSessions, name: &HandName, spec: &RuntimeSpec, process: Process) -> Look {
    let phase = hands.phase(name);
    let mut look = Look { at: now(), process, vanished: false, phase, screen: None, title: None, git: None };
    if look.process == Process::Alive && !spec.screen.rules.is_empty() {
        let name = name.to_string();
        let screen = hands.tmux.capture(&name, LOOK_LINES).ok();
        look.screen = screen.map(|screen| {
            let digest = Digest::new().field(screen.as_bytes()).finish();
            (read(spec, &screen, look.at, utc_offset()), digest)
        });
        let title = hands.tmux.pane_title(&name).ok().flatten();
        look.title = title.map(|title| {
            let claim = read_title(spec, &title);
            (title, claim)
        });
    }
    look
}

/// Reports when a process's terminal is written to, at most a few times a second.
struct ScreenWatcher {
    /// Dropped first: this ends the pause that the watcher's thread may be in.
    _stop: Sender<()>,
    _files: FileWatcher,
}

impl ScreenWatcher {
    fn new(process: ProcessId, tell: &Sender<Signal>) -> io::Result<ScreenWatcher> {
        let tty = terminal(process).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let (stop, stopped) = channel::<()>();
        let tell = tell.clone();
        // The first report only says that the file is watched.
        let mut armed = false;
        let files = FileWatcher::spawn(move |_| {
            if std::mem::replace(&mut armed, true) {
                let _ = tell.send(Signal::Drawn);
                let _ = stopped.recv_timeout(DRAWN_PAUSE);
            }
        })?;
        files.watch(0, tty)?;
        Ok(ScreenWatcher { _stop: stop, _files: files })
    }
}
