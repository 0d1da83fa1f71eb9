//! What `monitor` sees of a session: events of the kernel that wake it, and looks.
//!
//! A death is told by a pidfd at once, a phase by inotify. There is no connection to tmux here: a floor has
//! one, and it is its daemon's. Each of the watches may fail; then what it would have told is looked
//! for directly, and the result says so.

use crate::cli::{now, utc_offset};
use shopfloor_adapters::git::{Git, facts};
use shopfloor_adapters::hand::{Hand, HandSessions};
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_adapters::phase_file;
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::digest::Digest;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::hand::name::HandName;
use shopfloor_core::hand::watch::Look;
use shopfloor_core::liveness::Process;
use shopfloor_core::phase::{Phase, PhaseReport};
use shopfloor_core::runtime::RuntimeSpec;
use shopfloor_core::runtime::screen::{read, read_title};
use shopfloor_core::time::Time;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

const LOOK_LINES: u32 = 60;

enum Signal {
    Exit,
    Phase,
}

pub(super) struct Watcher<'a> {
    hands: &'a HandSessions,
    name: HandName,
    spec: &'a RuntimeSpec,
    process: Option<ProcessId>,
    /// Where work can be seen, if it is a git worktree.
    tree: Option<(Git, PathBuf)>,
    signals: Receiver<Signal>,
    /// Kept, so that waiting never fails for want of a sender.
    _sender: Sender<Signal>,
    _exits: Option<ExitWatcher>,
    _files: Option<FileWatcher>,
    /// What could not be watched or asked, and was looked at directly instead.
    pub(super) fell_back: Vec<String>,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        hands: &'a HandSessions,
        hand: &Hand,
        spec: &'a RuntimeSpec,
        tree: Option<(Git, PathBuf)>,
    ) -> Watcher<'a> {
        let (sender, signals) = channel();
        let (for_exit, for_phase) = (sender.clone(), sender.clone());
        let process = hand.process();
        let mut fell_back = Vec::new();
        let exits = process.map(|process| {
            // Nobody listens any more: there is nothing left to tell.
            let watcher = ExitWatcher::spawn(move |_| drop(for_exit.send(Signal::Exit)))?;
            watcher.watch(0, process).map(|()| watcher)
        });
        let files = FileWatcher::spawn(move |_| drop(for_phase.send(Signal::Phase)))
            .and_then(|watcher| watcher.watch(0, hands.phase_file(&hand.name)).map(|()| watcher));
        let mut kept = |what: &str, error: std::io::Error| fell_back.push(format!("{what}: {error}"));
        let exits = exits.and_then(|exits| exits.map_err(|e| kept("its process cannot be watched", e)).ok());
        let files = files.map_err(|e| kept("its phase file cannot be watched", e)).ok();
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
            fell_back,
        }
    }

    /// Sleeps until something happened, or that time.
    pub(super) fn wait(&self, until: Time) {
        loop {
            match self.signals.recv_timeout(until.since(now())) {
                // Said once for a file that is not there.
                Ok(Signal::Phase) if self.phase().is_none() => {}
                Ok(_) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    pub(super) fn look(&mut self) -> Look {
        let (process, vanished) = self.process();
        let mut look =
            Look { at: now(), process, vanished, phase: self.phase(), screen: None, title: None, git: None };
        if look.process == Process::Alive && !self.spec.screen.rules.is_empty() {
            let name = self.name.to_string();
            let screen = self.hands.tmux.capture(&name, LOOK_LINES).ok();
            look.screen = screen.map(|screen| {
                let digest = Digest::new().field(screen.as_bytes()).finish();
                (read(self.spec, &screen, look.at, utc_offset()), digest)
            });
            let title = self.hands.tmux.pane_title(&name).ok().flatten();
            look.title = title.map(|title| {
                let claim = read_title(self.spec, &title);
                (title, claim)
            });
            look.git = self.tree.as_ref().and_then(|(git, tree)| facts::progress(git, tree).ok());
        }
        look
    }

    /// By tmux, which knows how a program ended; if it does not answer, by the process itself.
    fn process(&mut self) -> (Process, bool) {
        let directly = self.process.map(is_same);
        let gone = || Process::Gone { status: None, signal: None };
        match self.hands.tmux.probe(&self.name.to_string()) {
            Ok(Probe::Alive(_)) => (Process::Alive, false),
            Ok(Probe::Dead { status }) => (Process::Gone { status, signal: None }, false),
            Ok(Probe::Absent) => match directly {
                Some(Liveness::Alive) => (Process::Alive, true),
                Some(Liveness::Unknown) => (Process::Unknown { why: "/proc cannot be read".into() }, true),
                Some(Liveness::Gone) | None => (gone(), true),
            },
            Err(e) => {
                let why = e.to_string();
                let note = format!("tmux does not answer, its process was asked instead ({why})");
                if !self.fell_back.contains(&note) {
                    self.fell_back.push(note);
                }
                match directly {
                    Some(Liveness::Alive) => (Process::Alive, false),
                    Some(Liveness::Gone) => (gone(), false),
                    Some(Liveness::Unknown) | None => (Process::Unknown { why }, false),
                }
            }
        }
    }

    fn phase(&self) -> Option<Phase> {
        let (_, content) = phase_file::read(&self.hands.phase_file(&self.name)).ok().flatten()?;
        PhaseReport::parse(&content).ok().flatten().map(|report| report.phase)
    }
}
