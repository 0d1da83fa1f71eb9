//! The daemon: everything that keeps a floor going. `up` runs it in the foreground or detached; a floor has
//! one, and everything it knows is in the store.

mod checkouts;
mod door;
mod mending;
mod numbers;
mod origins;
mod orphans;
mod panes;
mod people;
mod places;
mod proxy;
mod seed_files;
mod signs;
mod socket;
mod watches;

pub use door::Door;
pub use socket::{Socket, VARIABLES};
pub use watches::FloorWatches;

use crate::config;
use crate::config::runtimes::Catalogue;
use crate::ports;
use crate::projects::{Projects, Unusable, primary_file};
use panes::PaneListener;
use proxy::Proxy;
use seed_files::{SeedCi, SeedWatch};
use shopfloor_adapters::git::{Git, repos};
use shopfloor_adapters::host::lock::{self, FileLock};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::seed_files::SeedFiles;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::event::Event;
use shopfloor_desk::{Desk, Error, Exit, Result};
use shopfloor_engine::{Capacity, Handle, Input, Runner, RunnerOptions, Until};
use shopfloor_store::Store;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many effects run at once. Each is a thread that mostly waits for git, tmux or the disk.
const TASKS_MAX: usize = 32;

/// The pause between two attempts to write to a store that cannot be written to.
const STORE_PAUSE: Duration = Duration::from_secs(5);

/// How long one attempt waits for whoever holds the store. Short: nothing else is heard meanwhile.
const STORE_PATIENCE: Duration = Duration::from_secs(5);

/// How long a daemon may hold the floor without answering: it is starting, or ending.
const SILENT_HOLDER: Duration = Duration::from_secs(60);

/// A floor that has been taken and is ready to run.
pub struct Daemon {
    pub runner: Runner<Box<dyn Store>, FloorWatches>,
    tmux: Tmux,
    /// Held until the daemon ends, in whatever way.
    _lock: FileLock,
    _socket: Socket,
    _door: Door,
    _proxy: Option<Proxy>,
}

impl Daemon {
    /// Takes the floor: lock, lease, configuration, repositories, socket.
    pub fn take(desk: &Desk, until: Until) -> Result<Daemon> {
        keep_to_itself()?;
        let mut engine = desk.engine()?;
        let lock = take_lock(desk)?;
        let floor_config = config::load::floor(&desk.layout.config())?;
        let git = config::load::git(&floor_config)?;
        // The folder the daemon was started in may disappear. The floor's own does not as long as the floor
        // exists.
        std::env::set_current_dir(desk.layout.root())?;
        engine.store().set_patience(STORE_PATIENCE)?;
        engine.take_lease()?;
        numbers::pass_over(&desk.layout, &mut engine)?;
        install_self(desk)?;

        let runtimes = Catalogue::load(&desk.layout.runtimes())?;
        let (projects, mut unusable) = Projects::load(&floor_config, runtimes, engine.floor());
        for project in projects.all() {
            let project = project.git();
            repos::ensure(&git, &desk.layout, &project)
                .map_err(|e| Error::failed(format!("the repositories of {}: {e}", project.name)))?;
        }
        let isolation = ports::isolation(&floor_config)?.grouped();
        if isolation.missing().is_some() {
            tracing::warn!("isolation: {}", isolation.note());
        }
        let projects =
            projects.isolated(isolation).looking(primary_file(&git, &desk.layout), desk.layout.config());
        let (events, refused) = projects.look();
        unusable.extend(refused);
        for event in &events {
            engine.submit(shopfloor_desk::now(), event)?;
        }
        unusable.extend(projects.begin_with(engine.floor()));
        for Unusable { project, error } in &unusable {
            tracing::warn!("nothing new is started in {project}: {}", error.message);
            let event = Event::ProjectPaused { project: project.clone(), why: error.message.clone() };
            let told = engine.floor().projects.get(project).and_then(|p| p.paused.as_ref());
            if told != Some(&error.message) {
                engine.submit(shopfloor_desk::now(), &event)?;
            }
        }
        if let Some(last) = unusable.into_iter().next_back().filter(|_| projects.all().is_empty()) {
            return Err(last.error);
        }
        // The floor decides by what the configuration says now.
        for event in &projects.events(engine.floor()) {
            engine.submit(shopfloor_desk::now(), event)?;
        }

        // What was committed in a checkout meanwhile is taken in before anything is reported as done.
        for event in checkouts::touched(&desk.layout, &git, engine.floor()) {
            engine.submit(shopfloor_desk::now(), &event)?;
        }

        let path = std::env::var_os("PATH").unwrap_or_default();
        let panes = PaneListener::default();
        let tmux = Tmux::new(desk.layout.tmux_socket(), path)
            .connect(panes.callback())
            .map_err(|e| Error::failed(e.to_string()))?;
        let phase_dir = PathBuf::from(&floor_config.sessions.phase_dir);
        let seeds =
            floor_config.compat.seed_files.then(|| SeedFiles::new(phase_dir.clone(), desk.layout.root()));
        let mut ports = ports::all(desk, &projects, &git, &tmux, phase_dir)?;
        if let Some(seeds) = seeds.clone() {
            ports.ci = Arc::new(SeedCi { inner: ports.ci, seeds });
        }
        orphans::end(engine.floor(), &ports, &tmux);
        let options = RunnerOptions {
            capacity: Capacity {
                checks: floor_config.limits.checks.map(|most| most as usize),
                tasks: TASKS_MAX,
            },
            until,
            clock: shopfloor_desk::now,
            warn: |why| tracing::warn!("{why}"),
            store_pause: STORE_PAUSE,
        };
        let runner = Runner::new(engine, ports, options, |handle| {
            tell_of_tampering(&desk.layout, &git, handle.clone());
            let seeds = seeds.map(|seeds| SeedWatch::start(seeds, projects.clone(), handle.clone()));
            let watches = FloorWatches::new(
                desk.layout.clone(),
                git.clone(),
                tmux.clone(),
                projects.clone(),
                handle,
                &panes,
            );
            seeds.transpose().and_then(|seeds| Ok(watches?.with_seeds(seeds))).map_err(|e| {
                Error::failed(format!("the kernel's file and process events are not to be had: {e}"))
            })
        })?;
        stop_on_signals(runner.handle())?;
        let socket = Socket::listen(&desk.layout, runner.handle(), projects.clone())?;
        let door = Door::open(&desk.layout, runner.handle(), projects.clone())?;
        let proxy = projects.isolation().has_hosts();
        let proxy = proxy.then(|| Proxy::open(&desk.layout, runner.handle(), projects)).transpose()?;
        Ok(Daemon { runner, tmux, _lock: lock, _socket: socket, _door: door, _proxy: proxy })
    }
}

/// What is put right in the floor's own repositories is put on record.
fn tell_of_tampering(layout: &Layout, git: &Git, handle: Handle) {
    let projects = layout.projects();
    git.tell_of_tampering(move |found| {
        let inside = found.repository.strip_prefix(&projects).ok().and_then(|path| path.parent());
        let project = inside.and_then(|path| path.to_str()?.parse().ok());
        let Some(project) = project else { return };
        let repository = found.repository.display().to_string();
        tracing::warn!("{repository}: {}; it was put right", found.what);
        handle.send(Input::Event(Event::FoundChanged { project, repository, what: found.what.clone() }));
    });
}

/// What this process has in its memory and its environment is its own: projects' secrets among it. Other processes of
/// the same user cannot read it any more (`/proc/PID/environ`), and it leaves no core dump.
fn keep_to_itself() -> Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Nor is the keyring of whoever started it for what it starts. (Where the kernel has none, there is none to keep.)
    let _ = keyutils::Keyring::join_anonymous_session();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| Error::failed(format!("the daemon cannot keep its environment to itself: {e}")))
}

/// Takes the floor, or says who has it. A holder that does not answer is dying or just starting, and is
/// waited for.
fn take_lock(desk: &Desk) -> Result<FileLock> {
    let path = desk.layout.daemon_lock();
    let began = Instant::now();
    loop {
        if let Some(lock) = FileLock::exclusive(&path)? {
            return Ok(lock);
        }
        let answers = desk.ask_daemon("ping")?.is_some();
        if answers || began.elapsed() > SILENT_HOLDER {
            let who = lock::holder(&path).map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            let what = if answers { "" } else { " and does not answer" };
            return Err(Error::new(Exit::Busy, format!("a daemon already runs on this floor{who}{what}"))
                .hint("`shopfloor status` shows what it does, `shopfloor down` ends it"));
        }
        // No event announces a free lock.
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Daemon {
    /// Before the lock is released, so that the next daemon finds no connection of this one. Agents' sessions
    /// live on.
    fn drop(&mut self) {
        self.tmux.close();
    }
}

/// Agents call `shopfloor`: they get the program that runs the floor.
fn install_self(desk: &Desk) -> Result<()> {
    let bin = desk.layout.bin();
    std::fs::create_dir_all(&bin)?;
    let link = bin.join("shopfloor");
    let fresh = bin.join(format!(".shopfloor.{}", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    std::os::unix::fs::symlink(std::env::current_exe()?, &fresh)?;
    std::fs::rename(&fresh, &link)?;
    Ok(())
}

fn stop_on_signals(handle: Handle) -> Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if !handle.send(Input::Stop) {
                return;
            }
        }
    });
    Ok(())
}
