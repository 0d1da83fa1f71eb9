//! What every command needs: the floor's home, the project meant, the store. The only place that
//! reads the environment for them.

use super::door;
use super::error::{CliError, CliResult};
use crate::config::runtimes::Catalogue;
use crate::config::{self, FloorConfig};
use crate::daemon::Projects;
use shopfloor_adapters::git::{Git, repos};
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::event::Event;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::Project;
use shopfloor_core::text::Redactor;
use shopfloor_core::time::Time;
use shopfloor_engine::{Applied, Engine};
use shopfloor_store::StoreError;
use shopfloor_store::ci::CiDb;
use shopfloor_store::forge::ForgeDb;
use shopfloor_store::sqlite::SqliteStore;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub struct Context {
    pub layout: Layout,
    pub json: bool,
    project: Option<String>,
}

/// Sleeps until the store's log was written. No polling: the kernel tells.
pub struct StoreWatch {
    told: mpsc::Receiver<()>,
    _watcher: FileWatcher,
    _store: SqliteStore,
}

impl StoreWatch {
    /// Until something changed, or that long.
    pub fn wait(&self, at_most: Duration) -> CliResult<()> {
        match self.told.recv_timeout(at_most) {
            Ok(()) | Err(mpsc::RecvTimeoutError::Timeout) => Ok(()),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err(CliError::failed("the store can no longer be watched"))
            }
        }
    }
}

pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(since.as_millis() as u64)
}

/// Minutes east of Greenwich: clients write the times of their machine.
pub fn utc_offset() -> i32 {
    jiff::Zoned::now().offset().seconds() / 60
}

impl Context {
    pub fn from_environment(home: Option<PathBuf>, project: Option<String>, json: bool) -> CliResult<Self> {
        let home = match home {
            Some(home) => std::path::absolute(home)?,
            None => default_home()?,
        };
        Ok(Context { layout: Layout::new(home), json, project })
    }

    /// Makes the home folder if it is not there. It holds sockets and agents' work: ours alone.
    pub fn ensure_home(&self) -> CliResult<()> {
        let root = self.layout.root();
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(|e| {
            CliError::failed(format!("the floor's home {} cannot be made: {e}", root.display()))
        })?;
        let meta = std::fs::metadata(root)?;
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(CliError::failed(format!(
                "the floor's home {} belongs to another user",
                root.display()
            ))
            .hint("set SHOPFLOOR_HOME to a folder of your own"));
        }
        if meta.mode() & 0o077 != 0 {
            std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    fn existing_database(&self) -> CliResult<PathBuf> {
        let path = self.layout.database();
        if path.exists() {
            return Ok(path);
        }
        Err(CliError::no_such(format!("there is no floor in {}", self.layout.root().display()))
            .hint("run `shopfloor init` in a git repository first"))
    }

    /// The floor as it is now, without the daemon.
    pub fn engine(&self) -> CliResult<Engine<SqliteStore>> {
        Ok(Engine::open(SqliteStore::open(&self.existing_database()?)?)?)
    }

    /// The floor, made if there is none.
    pub fn new_engine(&self) -> CliResult<Engine<SqliteStore>> {
        self.ensure_home()?;
        Ok(Engine::open(SqliteStore::open(&self.layout.database())?)?)
    }

    pub fn forge(&self) -> CliResult<ForgeDb> {
        Ok(ForgeDb::open(&self.existing_database()?)?)
    }

    pub fn ci(&self) -> CliResult<CiDb> {
        Ok(CiDb::open(&self.existing_database()?)?)
    }

    /// The floor's store, for reading only.
    pub fn reader(&self) -> CliResult<SqliteStore> {
        let path = self.existing_database()?;
        match SqliteStore::open_read_only(&path) {
            // An older store is migrated by whoever opens it for writing.
            Err(StoreError::Older { .. }) => Ok(SqliteStore::open(&path)?),
            other => Ok(other?),
        }
    }

    /// Tells of changes of the store, whoever makes them.
    pub fn watch_store(&self) -> CliResult<StoreWatch> {
        // While this connection is open, SQLite keeps the log where it is watched.
        let store = self.reader()?;
        // Room for one: a second report before the first was read says nothing new.
        let (tell, told) = mpsc::sync_channel(1);
        let watcher = FileWatcher::spawn(move |_| {
            let _ = tell.try_send(());
        })?;
        let mut log = self.layout.database().into_os_string();
        log.push("-wal");
        watcher.watch(0, PathBuf::from(log))?;
        Ok(StoreWatch { told, _watcher: watcher, _store: store })
    }

    /// Commits an event and tells the daemon, if one runs.
    pub fn submit(&self, event: &Event) -> CliResult<Applied> {
        let applied = self.engine()?.submit(now(), event)?;
        self.poke();
        match applied.set_aside {
            Some(why) => Err(CliError::failed(format!("a bug in shopfloor: {why}"))
                .hint("nothing was done; `shopfloor events` has what was asked, for a report")),
            None => Ok(applied),
        }
    }

    /// The runtimes, with what the user puts over them.
    pub fn runtimes(&self) -> CliResult<Catalogue> {
        Ok(Catalogue::load(&self.layout.runtimes())?)
    }

    pub fn floor_config(&self) -> CliResult<FloorConfig> {
        Ok(config::load::floor(&self.layout.config())?)
    }

    pub fn git(&self) -> CliResult<Git> {
        let program = PathBuf::from(self.floor_config()?.git.program);
        // A name is looked for on the PATH; a path is meant from here, also once we are elsewhere.
        let path = program.components().count() > 1;
        let program = if path { std::path::absolute(program)? } else { program };
        Ok(Git::new(program, std::env::vars_os()))
    }

    /// The project named by `--project` or, in an agent's session, by `PROJECT_NAME`; else the one
    /// of this folder; else the only one.
    pub fn project(&self) -> CliResult<Project> {
        let engine = self.engine()?;
        let projects: Vec<Project> = engine.floor().projects.iter().cloned().collect();
        // An agent's session says which project it is for.
        let session = std::env::var_os("SHOPFLOOR_SESSION").and_then(|_| std::env::var("PROJECT_NAME").ok());
        let named = self.project.clone().or(session);
        if let Some(name) = named {
            let name: ProjectName = name.parse()?;
            let known = || projects.iter().map(|p| p.name.to_string()).collect::<Vec<_>>().join(", ");
            return projects.iter().find(|p| p.name == name).cloned().ok_or_else(|| {
                CliError::no_such(format!("there is no project {name} on this floor"))
                    .hint(format!("known projects: {}", known()))
            });
        }
        let here = std::env::current_dir()?;
        let checkout = repos::find_checkout(&self.git()?, &here).ok();
        if let Some(found) = checkout.and_then(|c| projects.iter().find(|p| Path::new(&p.checkout) == c)) {
            return Ok(found.clone());
        }
        match projects.as_slice() {
            [] => Err(CliError::no_such("this floor has no project")
                .hint("run `shopfloor init` in a git repository")),
            [only] => Ok(only.clone()),
            many => Err(CliError::usage("which project?").hint(format!(
                "go to its repository or pass --project, one of: {}",
                many.iter().map(|p| p.name.to_string()).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// The project given with `--project`, for commands that otherwise show all of them.
    pub fn named_project(&self) -> CliResult<Option<ProjectName>> {
        if self.names_a_project() { self.project().map(|p| Some(p.name)) } else { Ok(None) }
    }

    /// Hides the project's secrets in what is about to be published.
    pub fn redactor(&self) -> CliResult<Redactor> {
        let checkout = self.project()?.checkout;
        Ok(Projects::redactor(&self.floor_config()?, Path::new(&checkout)))
    }

    pub fn names_a_project(&self) -> bool {
        self.project.is_some()
    }

    /// Tells the daemon that something changed. Without a daemon nothing needs to be told.
    pub fn poke(&self) {
        let _ = self.ask_daemon("poke");
    }

    /// One line to the daemon, one line back; `None` if no daemon runs.
    pub fn ask_daemon(&self, request: &str) -> CliResult<Option<String>> {
        door::ask(&self.layout.daemon_socket(), request)
    }

    /// Opens the store without changing or creating it, for `doctor`.
    pub fn probe_store(&self) -> Result<Option<SqliteStore>, StoreError> {
        let path = self.layout.database();
        if !path.exists() {
            return Ok(None);
        }
        SqliteStore::open_read_only(&path).map(Some)
    }
}

fn default_home() -> CliResult<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    if let Some(state) = absolute("XDG_STATE_HOME") {
        return Ok(state.join("shopfloor"));
    }
    absolute("HOME").map(|home| home.join(".local/state/shopfloor")).ok_or_else(|| {
        CliError::usage("there is no home folder to keep the floor in")
            .hint("set HOME, or SHOPFLOOR_HOME to an absolute path")
    })
}
