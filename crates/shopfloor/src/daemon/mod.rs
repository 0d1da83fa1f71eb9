//! The daemon: everything that keeps a floor going. `up` runs it in the foreground or detached;
//! there is one to a floor, and all that it knows is in the store.

mod caller;
mod checkouts;
mod hubs;
mod mending;
mod numbers;
mod orphans;
mod panes;
mod people;
mod projects;
mod seed_files;
mod signs;
mod socket;
mod surroundings;
mod watches;

pub use projects::{Accepted, Projects, Unusable};
pub use socket::{Socket, VARIABLES};
pub use watches::FloorWatches;

use crate::cli::{CliError, CliResult, Context, Exit};
use crate::config::{FILE_NAME, FloorConfig};
use panes::PaneListener;
use seed_files::{SeedCi, SeedWatch};
use shopfloor_adapters::agent::TmuxAgents;
use shopfloor_adapters::ci::local::{CiProgress, LocalCi};
use shopfloor_adapters::escalations::EscalationFiles;
use shopfloor_adapters::forge::local::LocalForge;
use shopfloor_adapters::git::{Git, GitMerger, GitWorkspace, hub, repos};
use shopfloor_adapters::host::lock::{self, FileLock};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::notices::Commands;
use shopfloor_adapters::seed_files::SeedFiles;
use shopfloor_adapters::setup::WorktreeSetup;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::event::Event;
use shopfloor_core::policy::Policy;
use shopfloor_engine::ports::Ports;
use shopfloor_engine::{Capacity, Handle, Input, Runner, RunnerOptions, Until};
use shopfloor_store::ci::{CiDb, CiStep, NewRun};
use shopfloor_store::sqlite::SqliteStore;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Effects at once. Each is a thread that mostly waits for git, tmux or the disk.
const TASKS_MAX: usize = 32;

/// Between two tries to write to a store that cannot be written to.
const STORE_PAUSE: Duration = Duration::from_secs(5);

/// How long one try waits for whoever holds the store. Short: meanwhile nothing else is heard.
const STORE_PATIENCE: Duration = Duration::from_secs(5);

/// How long a daemon may hold the floor without answering: it is starting, or ending.
const SILENT_HOLDER: Duration = Duration::from_secs(60);

/// Reads a project's file as its primary branch has it.
fn accepted(git: &Git, layout: &Layout) -> Accepted {
    let (git, layout) = (git.clone(), layout.clone());
    Arc::new(move |project| {
        let hub = layout.hub(&project.name);
        hub::file(&git, &hub, &project.primary_branch, FILE_NAME).map_err(|e| e.to_string())
    })
}

/// A floor that is taken and ready to run.
pub struct Daemon {
    pub runner: Runner<SqliteStore, FloorWatches>,
    tmux: Tmux,
    /// Held until the daemon ends, whichever way.
    _lock: FileLock,
    _socket: Socket,
}

impl Daemon {
    /// Takes the floor: lock, lease, configuration, repositories, socket.
    pub fn take(context: &Context, until: Until) -> CliResult<Daemon> {
        let mut engine = context.engine()?;
        let lock = take_lock(context)?;
        let git = context.git()?;
        // Wherever it was started: that folder may go. The floor's own does not while the floor is there.
        std::env::set_current_dir(context.layout.root())?;
        engine.store().set_patience(STORE_PATIENCE)?;
        engine.take_lease()?;
        numbers::pass_over(context, &mut engine)?;
        install_self(context)?;

        let floor_config = context.floor_config()?;
        let (projects, mut unusable) = Projects::load(&floor_config, context.runtimes()?, engine.floor());
        for project in projects.all() {
            let project = project.git();
            repos::ensure(&git, &context.layout, &project)
                .map_err(|e| CliError::failed(format!("the repositories of {}: {e}", project.name)))?;
        }
        let (projects, refused) = projects.with_accepted(accepted(&git, &context.layout));
        unusable.extend(refused);
        for Unusable { project, error } in &unusable {
            eprintln!("warning: nothing new is begun in {project}: {}", error.message);
            let event = Event::ProjectPaused { project: project.clone(), why: error.message.clone() };
            let told = engine.floor().projects.get(project).and_then(|p| p.paused.as_ref());
            if told != Some(&error.message) {
                engine.submit(crate::cli::now(), &event)?;
            }
        }
        if let Some(last) = unusable.into_iter().next_back().filter(|_| projects.all().is_empty()) {
            return Err(last.error);
        }
        // What the configuration says now is what the floor decides by.
        for event in &projects.events(engine.floor()) {
            engine.submit(crate::cli::now(), event)?;
        }

        // What was committed in a checkout meanwhile is taken in before anything is said to be done.
        for event in checkouts::touched(context, &git, engine.floor()) {
            engine.submit(crate::cli::now(), &event)?;
        }

        let path = std::env::var_os("PATH").unwrap_or_default();
        let panes = PaneListener::default();
        let tmux = Tmux::new(context.layout.tmux_socket(), path)
            .connect(panes.callback())
            .map_err(|e| CliError::failed(e.to_string()))?;
        let phase_dir = std::path::PathBuf::from(&floor_config.sessions.phase_dir);
        let seeds =
            floor_config.compat.seed_files.then(|| SeedFiles::new(phase_dir.clone(), context.layout.root()));
        let mut ports = ports(context, &projects, &git, &tmux, phase_dir)?;
        if let Some(seeds) = seeds.clone() {
            ports.ci = Arc::new(SeedCi { inner: ports.ci, seeds });
        }
        orphans::end(engine.floor(), &ports, &tmux);
        let options = RunnerOptions {
            capacity: Capacity { checks: projects.check_slots(), tasks: TASKS_MAX },
            until,
            clock: crate::cli::now,
            warn: |why| eprintln!("warning: {why}"),
            store_pause: STORE_PAUSE,
        };
        let runner = Runner::new(engine, ports, options, |handle| {
            let seeds = seeds.map(|seeds| SeedWatch::start(seeds, projects.clone(), handle.clone()));
            let watches = FloorWatches::new(
                context.layout.clone(),
                git.clone(),
                tmux.clone(),
                projects.clone(),
                handle,
                &panes,
            );
            seeds.transpose().and_then(|seeds| Ok(watches?.with_seeds(seeds))).map_err(|e| {
                CliError::failed(format!("the kernel's file and process events are not to be had: {e}"))
            })
        })?;
        stop_on_signals(runner.handle())?;
        let socket = Socket::listen(&context.layout.daemon_socket(), runner.handle(), projects)?;
        Ok(Daemon { runner, tmux, _lock: lock, _socket: socket })
    }
}

/// Takes the floor, or says who has it. Whoever holds it and does not answer is dying, or just starting: that
/// is waited for.
fn take_lock(context: &Context) -> CliResult<FileLock> {
    let path = context.layout.daemon_lock();
    let began = Instant::now();
    loop {
        if let Some(lock) = FileLock::exclusive(&path)? {
            return Ok(lock);
        }
        let answers = context.ask_daemon("ping")?.is_some();
        if answers || began.elapsed() > SILENT_HOLDER {
            let who = lock::holder(&path).map(|pid| format!(" (pid {pid})")).unwrap_or_default();
            let what = if answers { "" } else { " and does not answer" };
            return Err(CliError::new(Exit::Busy, format!("a daemon runs on this floor already{who}{what}"))
                .hint("`shopfloor status` shows what it does, `shopfloor down` ends it"));
        }
        // No event tells that a lock is free.
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Daemon {
    /// Before the lock is released: the next daemon finds no connection of this one. Agents' sessions
    /// live on.
    fn drop(&mut self) {
        self.tmux.close();
    }
}

fn ports(
    context: &Context,
    projects: &Projects,
    git: &shopfloor_adapters::git::Git,
    tmux: &Tmux,
    phase_dir: std::path::PathBuf,
) -> CliResult<Ports> {
    let layout = &context.layout;
    let lookup = projects.git_lookup();
    let agents = TmuxAgents {
        layout: layout.clone(),
        tmux: tmux.clone(),
        phase_dir,
        configs: projects.agent_lookup(),
    };
    let ci = LocalCi::new(layout.clone(), projects.ci_lookup(), Some(recorder(context.ci()?)));
    Ok(Ports {
        workspace: Arc::new(GitWorkspace::new(git.clone(), layout.clone(), lookup.clone())),
        setup: Arc::new(WorktreeSetup::new(git.clone(), layout.clone(), projects.setup_lookup())),
        merger: Arc::new(GitMerger::new(git.clone(), layout.clone(), lookup)),
        ci: Arc::new(ci),
        forge: Arc::new(LocalForge::new(context.forge()?)),
        agents: Arc::new(agents),
        escalations: Arc::new(EscalationFiles {
            layout: layout.clone(),
            moment: crate::cli::output::moment,
            redactor: projects.redactor_lookup(),
        }),
        notices: Arc::new(Commands { layout: layout.clone(), configs: projects.notice_lookup() }),
    })
}

/// Writes down what the checks do, for `shopfloor ci`. The verdict the factory acts on comes with
/// the effect's outcome; a record that cannot be written holds nothing up.
fn recorder(db: CiDb) -> shopfloor_adapters::ci::local::CiObserver {
    let db = Mutex::new(db);
    Arc::new(move |progress| {
        let mut db = db.lock().unwrap_or_else(|broken| broken.into_inner());
        let now = crate::cli::now();
        let written = match progress {
            CiProgress::Started { run, .. } => db.started(
                &NewRun {
                    run: run.run,
                    project: run.project.clone(),
                    issue: run.issue,
                    commit: run.commit.clone(),
                    source: run.source,
                },
                now,
            ),
            CiProgress::StepEnded { run, step, exit, duration_ms } => {
                db.step(run.run, &CiStep { name: step.clone(), exit: *exit, duration_ms: *duration_ms })
            }
            CiProgress::Finished { run, report } => {
                db.finished(run.run, report.verdict, report.step.as_deref(), &report.log, now)
            }
        };
        if let Err(e) = written {
            eprintln!("warning: a CI run could not be recorded: {e}");
        }
    })
}

/// Agents call `shopfloor`: the one that runs the floor.
fn install_self(context: &Context) -> CliResult<()> {
    let bin = context.layout.bin();
    std::fs::create_dir_all(&bin)?;
    let link = bin.join("shopfloor");
    let fresh = bin.join(format!(".shopfloor.{}", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    std::os::unix::fs::symlink(std::env::current_exe()?, &fresh)?;
    std::fs::rename(&fresh, &link)?;
    Ok(())
}

fn stop_on_signals(handle: Handle) -> CliResult<()> {
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

/// A project's event for the core.
fn project_event(project: &projects::Loaded, floor: &FloorConfig) -> Event {
    Event::ProjectSet {
        project: project.config.project.name.clone(),
        checkout: project.checkout.display().to_string(),
        policy: policy(project, floor),
    }
}

/// What the core decides by: the project's own settings and the floor's limit.
fn policy(project: &projects::Loaded, floor: &FloorConfig) -> Policy {
    Policy { floor_max_jobs: floor.limits.max_jobs.map(|n| n as usize), ..project.config.policy() }
}
