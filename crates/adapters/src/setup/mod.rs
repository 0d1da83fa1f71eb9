//! What a project wants done to the worktrees its issues are implemented in: files copied from the user's
//! checkout, commands run, a port of their own.
//!
//! Invariants:
//! - The setup is done once in a worktree, before its agent's first session: a marker in the worktree's own
//!   git directory says so, and disappears with it. If it is cut short or fails, it is repeated from the
//!   beginning; if the project asks for something else, it is done anew.
//! - Commands get a clean environment, their own process group and limited time. Nothing of them keeps
//!   running when they end, even if the daemon died in the middle: their processes are known by a variable in
//!   their environment that names the folder of their log.
//! - Only one of them runs in a worktree at a time.

mod include;
mod port;

use crate::ci::local::CiStep;
use crate::ci::log::RunLog;
use crate::ci::record;
use crate::ci::step::{self, StepEnd, StepPlace};
use crate::git::Git;
use crate::git::worktree::Worktree;
use crate::host::atomic::write_atomic;
use crate::host::process::{self, end_marked_tree};
use crate::host::theirs;
use crate::jail::{Isolation, Jail, Network};
use crate::layout::Layout;
use shopfloor_core::ci::infra_reason;
use shopfloor_core::digest::Digest;
use shopfloor_core::ids::{Assignment, ProjectName};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::one_line;
use shopfloor_engine::ports::{Outfit, PortError, PortResult, Setup, SetupFailure, Tree};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// In the environment of the commands: the folder of their log. The hub's hook knows this variable, too.
pub const MARKER: &str = "SHOPFLOOR_SETUP";
/// In a worktree's git directory: a digest of what it was set up for.
const DONE: &str = "shopfloor-setup";
const LOG: &str = "log";
const LOG_BYTES_MAX: usize = 1024 * 1024;
const END_GRACE: Duration = Duration::from_secs(2);

/// How a project's worktrees are set up.
#[derive(Clone, Debug)]
pub struct SetupConfig {
    /// Run with `sh -euc`, one after another.
    pub setup: Vec<String>,
    pub teardown: Vec<String>,
    /// For all commands of one kind together.
    pub timeout: Duration,
    /// Patterns, as in a `.gitignore`; one may be several lines.
    pub include: Vec<String>,
    pub ports: RangeInclusive<u16>,
    pub env: Vec<(OsString, OsString)>,
    pub redactor: Redactor,
    /// The user's own checkout.
    pub checkout: PathBuf,
    pub isolation: Arc<Isolation>,
    /// What the commands have of it where isolation takes it away.
    pub network: Network,
}

/// A project's configuration, or `None` for a project this floor does not have.
pub type SetupConfigs = Arc<dyn Fn(&ProjectName) -> Option<SetupConfig> + Send + Sync>;

pub struct WorktreeSetup {
    git: Git,
    layout: Layout,
    configs: SetupConfigs,
    busy: Mutex<BTreeMap<Tree, Arc<Mutex<()>>>>,
}

/// How the commands went: what failed and how, with the end of its output.
type Ran = io::Result<Option<SetupFailure>>;

impl WorktreeSetup {
    pub fn new(git: Git, layout: Layout, configs: SetupConfigs) -> Self {
        WorktreeSetup { git, layout, configs, busy: Mutex::default() }
    }

    fn config(&self, project: &ProjectName) -> PortResult<SetupConfig> {
        (self.configs)(project).ok_or_else(|| {
            PortError::transient(format!("the configuration of project {project} is not to be had"))
        })
    }

    fn turn(&self, tree: &Tree) -> Arc<Mutex<()>> {
        let mut all = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(tree.clone()).or_default().clone()
    }

    fn folder(&self, tree: &Tree) -> PathBuf {
        self.layout.setup(tree)
    }

    fn worktree(&self, tree: &Tree) -> PortResult<Option<Worktree>> {
        Ok(Worktree::find(&self.git, &self.layout, tree)?.open())
    }

    fn environment(&self, tree: &Tree, config: &SetupConfig, port: Option<u16>) -> Vec<(OsString, OsString)> {
        let worktree = self.layout.tree(tree);
        let ours = [
            ("PROJECT_NAME", OsString::from(tree.project.as_str())),
            ("SHOPFLOOR_WORKTREE", worktree.into()),
            ("SHOPFLOOR_CHECKOUT", config.checkout.clone().into()),
            (MARKER, self.folder(tree).into()),
        ];
        let port = port.map(|port| ("SHOPFLOOR_PORT", OsString::from(port.to_string())));
        let issue = tree
            .assignment()
            .and_then(Assignment::issue)
            .map(|issue| ("ISSUE", OsString::from(issue.to_string())));
        let ours =
            ours.into_iter().chain(issue).chain(port).map(|(name, value)| (OsString::from(name), value));
        config.env.iter().cloned().chain(ours).collect()
    }

    /// The commands share their home with the agent that works in the worktree after them. Their scripts may be an
    /// agent's, so they see no more of the person's files than an agent does.
    fn jail<'c>(&self, tree: &Tree, config: &'c SetupConfig) -> io::Result<Jail<'c>> {
        let jail = Jail::of_tree(&config.isolation, &self.layout, tree)?;
        Ok(jail.network(config.network))
    }

    /// Runs the commands up to the first that fails, or all of them.
    fn run(
        &self,
        tree: &Tree,
        config: &SetupConfig,
        commands: &[String],
        port: Option<u16>,
        log: &mut RunLog,
        all: bool,
    ) -> Ran {
        let folder = self.folder(tree);
        let path = self.layout.tree(tree);
        let mut env = self.environment(tree, config, port);
        if config.isolation.is_on() {
            Jail::adjust(&mut env);
        }
        let marker = process::marker(MARKER, &folder);
        let jail = self.jail(tree, config)?;
        let marker = marker.as_encoded_bytes();
        let place = StepPlace { folder: &folder, tree: &path, env: &env, marker, jail: Some(&jail) };
        let began = Instant::now();
        let mut failed = None;
        for command in commands {
            let shown = config.redactor.redact(&one_line(command, 80));
            let timeout = config.timeout.saturating_sub(began.elapsed());
            let step = CiStep { name: shown.clone(), run: command.clone(), timeout };
            log.begin_step(&shown)?;
            let (how, code) = match step::run(&place, &step, log)? {
                StepEnd::Passed => continue,
                StepEnd::Failed(code) => (format!("exit code {code}"), Some(code)),
                StepEnd::Killed => ("killed".to_owned(), None),
                StepEnd::TimedOut => (format!("not done within {:?}", config.timeout), None),
                StepEnd::Cancelled => ("cancelled".to_owned(), None),
            };
            log.write(format!("\n[{how}]").as_bytes())?;
            let why = format!("`{shown}`: {how}; the whole output is in {}", folder.join(LOG).display());
            let weather = code.and_then(|code| infra_reason(&shown, code, &log.excerpt().ok()?, &[]));
            if let Some(weather) = weather.filter(|_| !all) {
                // A server that is down says nothing about the project: the setup is tried again.
                return Err(io::Error::other(format!("{why} ({weather})")));
            }
            failed.get_or_insert(SetupFailure { why, excerpt: log.excerpt()? });
            if !all {
                break;
            }
        }
        Ok(failed)
    }

    /// A fresh log, after ending whatever is left of the last one's writers.
    fn begin(&self, tree: &Tree, config: &SetupConfig) -> io::Result<RunLog> {
        let folder = self.folder(tree);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        end_left(&folder)?;
        RunLog::create(&folder.join(LOG), LOG_BYTES_MAX, config.redactor.clone())
    }

    /// Copies and runs what the project asks for; returns what the agent should know.
    fn fit_out(
        &self,
        tree: &Tree,
        worktree: &Worktree,
        config: &SetupConfig,
        patterns: &str,
        port: Option<u16>,
    ) -> PortResult<Result<Vec<String>, SetupFailure>> {
        let mut log = self.begin(tree, config).map_err(|e| trouble("set up", worktree, &e))?;
        let list = self.folder(tree).join("include");
        let notes = include::copy(&self.git, config, worktree, patterns, &list, &mut log)?;
        let ran = self.run(tree, config, &config.setup, port, &mut log, false);
        let ended = log.finish();
        let failed =
            ran.and_then(|failed| ended.map(|()| failed)).map_err(|e| trouble("set up", worktree, &e))?;
        Ok(failed.map_or(Ok(notes), Err))
    }
}

impl Setup for WorktreeSetup {
    fn set_up(&self, tree: &Tree) -> PortResult<Result<Outfit, SetupFailure>> {
        let config = self.config(&tree.project)?;
        let turn = self.turn(tree);
        let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let worktree = self.worktree(tree)?.ok_or_else(|| {
            let path = self.layout.tree(tree);
            PortError::transient(format!("there is no worktree {}", path.display()))
        })?;
        let port = port::give(&self.layout, &self.folder(tree), &config.ports)?;
        let patterns = include::patterns(&config);
        let wanted = digest(&config, &patterns);
        let done = worktree.git_dir.join(DONE);
        if wanted.is_empty()
            || theirs::read(&done, wanted.len() as u64).is_ok_and(|known| known == wanted.as_bytes())
        {
            return Ok(Ok(Outfit { port: Some(port), notes: Vec::new() }));
        }
        Ok(match self.fit_out(tree, &worktree, &config, &patterns, Some(port))? {
            Ok(notes) => {
                write_atomic(&done, wanted.as_bytes(), 0o600)
                    .map_err(|e| trouble("set up", &worktree, &e))?;
                Ok(Outfit { port: Some(port), notes })
            }
            Err(failure) => Err(failure),
        })
    }

    fn tear_down(&self, tree: &Tree, keep: &dyn Fn() -> PortResult<()>) -> PortResult<Option<String>> {
        let config = self.config(&tree.project)?;
        let turn = self.turn(tree);
        let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder(tree);
        let port = port::of(&folder);
        let mut failed = None;
        if folder.exists() {
            // A setup that was cut short may still be running.
            end_left(&folder).map_err(|e| PortError::transient(format!("{}: {e}", folder.display())))?;
        }
        if let Some(worktree) = self.worktree(tree)?
            && !config.teardown.is_empty()
        {
            keep()?;
            let run = || -> Ran {
                let mut log = self.begin(tree, &config)?;
                let failed = self.run(tree, &config, &config.teardown, port, &mut log, true)?;
                log.finish()?;
                Ok(failed)
            };
            failed = run().map_err(|e| trouble("torn down", &worktree, &e))?;
        }
        // The log of a failure is kept; the port is free either way.
        let gone = if failed.is_some() { port::take_back(&folder) } else { remove(&folder) };
        gone.map_err(|e| PortError::transient(format!("{}: {e}", folder.display())))?;
        Ok(failed.map(|failed| format!("its teardown failed: {}", failed.why)))
    }
}

/// Identifies what is asked for; empty if that is nothing.
fn digest(config: &SetupConfig, patterns: &str) -> String {
    if config.setup.is_empty() && patterns.is_empty() {
        return String::new();
    }
    let commands = config.setup.iter().fold(Digest::new(), |digest, run| digest.field(run.as_bytes()));
    format!("{:016x}", commands.field(patterns.as_bytes()).finish())
}

/// Ends what is left of the last commands. They begin with their log: without one, none was ever run.
fn end_left(folder: &Path) -> io::Result<()> {
    if !folder.join(LOG).exists() {
        return Ok(());
    }
    end_marked_tree(
        record::load_process(folder)?,
        process::marker(MARKER, folder).as_encoded_bytes(),
        END_GRACE,
    )?;
    record::remove_process(folder)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn trouble(what: &str, worktree: &Worktree, error: &io::Error) -> PortError {
    PortError::transient(format!("{} cannot be {what}: {error}", worktree.path.display()))
}
