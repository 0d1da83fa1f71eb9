//! Agents in tmux: what a session is started with, and how it is found again.
//!
//! A session's folder (`sessions/eN`) holds its prompt, its inbox bell and a reviewer's result. Its name in
//! tmux follows from its assignment and its epoch, so whatever runs is found again after any crash.

mod badge;
mod check;
pub mod client;
pub mod codex;
pub mod hooks;
mod jailed;
mod json_file;
mod key;
mod launch;
mod mcp;
pub mod prompt;
mod result;
mod rules;
pub mod seal;
pub mod settings;
pub mod spool;
pub mod templates;
pub mod through;
pub mod transcript;
pub mod trust;

pub use badge::Badge;
pub(crate) use badge::random;
pub use check::files as mending_files;
pub use key::{KeyCommand, known as known_keys};
pub use mcp::Mcp;

use crate::host::atomic::write_atomic;
use crate::host::prune;
use crate::jail::{Isolation, Jail, Network};
use crate::layout::{Layout, own_part};
use crate::phase_file;
use crate::terminal::tmux::{Probe, SpawnSpec, Tmux, TmuxError};
use launch::Launcher;
use shopfloor_core::allow::Allowed;
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{ProcessId, Review, StartSession, Tidy};
use shopfloor_core::ids::{Assignment, Epoch, MessageId, ProjectName, Role, Sha, tmux_name};
use shopfloor_core::redact::Redactor;
use shopfloor_core::runtime::{DeliveryMode, RuntimeSpec, Values};
use shopfloor_core::text::{neutralise, tail};
use shopfloor_engine::ports::{Agents, Briefing, Final, Owner, PortError, PortResult, Started, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use templates::Templates;

/// How a role's agent is run in a project.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    pub spec: Arc<RuntimeSpec>,
    /// The project's values for the runtime's placeholders: `command`, `model`, `permission_mode`.
    pub values: Values,
    /// Its whole environment, except for what the factory adds.
    pub env: Vec<(OsString, OsString)>,
    pub primary_branch: String,
    pub redactor: Redactor,
    /// The project's files that sessions are begun with, as they were accepted, by their path below its root.
    pub files: BTreeMap<String, String>,
    /// What its client need not ask about.
    pub allow: Allowed,
    pub mcp: Mcp,
    /// The template of its prompt, if it is not its role's own.
    pub prompt: Option<String>,
    /// A program that prints its key.
    pub key: Option<KeyCommand>,
    /// Variables that the configuration passes on but that are not set.
    pub unset: Vec<String>,
    pub isolation: Arc<Isolation>,
}

pub type AgentConfigs = Arc<dyn Fn(&ProjectName, Role) -> Option<AgentConfig> + Send + Sync>;

pub struct TmuxAgents {
    pub layout: Layout,
    pub tmux: Tmux,
    /// Where phase files are.
    pub phase_dir: PathBuf,
    pub configs: AgentConfigs,
}

/// How much of a screen a diagnosis gets.
const OUTPUT_LINES: u32 = 200;
const OUTPUT_BYTES_MAX: usize = 8 * 1024;

impl TmuxAgents {
    fn redactor(&self, project: &ProjectName, role: Role) -> Redactor {
        (self.configs)(project, role).map_or_else(Redactor::blind, |c| c.redactor)
    }

    /// What is reported about a running session. Its prompt is read from its file, so it is the same after a
    /// crash.
    fn started(&self, start: &StartSession, tmux: String, process: ProcessId) -> PortResult<Started> {
        let config = (self.configs)(&start.project, start.role);
        let spec = config.map(|config| config.spec);
        let typed = spec.as_ref().is_some_and(|spec| spec.capabilities.delivery == DeliveryMode::Paste);
        let file = prompt_file(&self.layout.session(start.epoch));
        let prompt = match typed {
            true => {
                Some(prompt::to_type(&std::fs::read_to_string(&file).map_err(PortError::transient)?, &file))
            }
            false => None,
        };
        let phase_file = self.phase_file(start).display().to_string();
        Ok(Started {
            tmux,
            process,
            phase_file,
            runtime: spec.map(|s| s.name.clone()).unwrap_or_default(),
            prompt,
        })
    }

    fn templates(&self, config: &AgentConfig) -> Templates {
        Templates::new(&config.files, self.layout.prompts(), config.prompt.clone())
    }

    /// The path that the protocol names, or one of the floor's own if another floor has that. Once chosen, it
    /// stays.
    fn phase_file(&self, start: &StartSession) -> PathBuf {
        let own = own_part(&self.layout.session(start.epoch)).join("phase");
        // In a jail there is no other folder that a file could be replaced in.
        let jailed = (self.configs)(&start.project, start.role).is_some_and(|c| c.isolation.is_on());
        let path = phase_file::path(&self.phase_dir, start.role, &start.project, start.assignment);
        if jailed || own.exists() || !phase_file::claim(&path, self.layout.root()) { own } else { path }
    }

    /// Agents call `shopfloor`, so it is on their PATH, whatever else is.
    fn path(&self, config: &AgentConfig) -> OsString {
        let mut full = self.layout.bin().into_os_string();
        if let Some(path) = client::variable(&config.env, "PATH") {
            full.push(":");
            full.push(path);
        }
        full
    }

    fn environment(
        &self,
        start: &StartSession,
        config: &AgentConfig,
        briefing: &Briefing,
        phase_file: &Path,
    ) -> Vec<(OsString, OsString)> {
        let folder = self.layout.session(start.epoch);
        let mut env = config.env.clone();
        if config.isolation.is_on() {
            Jail::adjust(&mut env);
        }
        let mut set = |name: &str, value: OsString| {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value));
        };
        set("PATH", self.path(config));
        set("SHOPFLOOR_HOME", self.layout.root().into());
        set("SHOPFLOOR_DOOR", self.layout.door_socket().into());
        set("SHOPFLOOR_SESSION", start.epoch.to_string().into());
        set("SHOPFLOOR_ROLE", start.role.as_str().into());
        set("SHOPFLOOR_BRANCH", (&start.branch).into());
        set("SHOPFLOOR_PRIMARY_BRANCH", (&config.primary_branch).into());
        set("SHOPFLOOR_PROMPT_FILE", prompt_file(&folder).into());
        set("SHOPFLOOR_WORKTREE", (&briefing.worktree).into());
        if config.spec.capabilities.hooks {
            // For files that may be deleted without asking: see the guard.
            set("TMPDIR", scratch(&self.layout, start.epoch).into());
        }
        // The names that the scripts of the seeds' agents use.
        set("PRIMARY_BRANCH", (&config.primary_branch).into());
        set("PROJECT_REPO_ROOT", (&briefing.worktree).into());
        set("PROJECT_NAME", start.project.as_str().into());
        if let Some(issue) = start.assignment.issue() {
            set("ISSUE", issue.to_string().into());
        }
        if let Some(task) = &start.task {
            set("SHOPFLOOR_RUN", task.run.to_string().into());
        }
        set("PHASE_FILE", phase_file.into());
        if let Some(port) = briefing.port {
            set("SHOPFLOOR_PORT", port.to_string().into());
        }
        if let Some(pr) = start.pr {
            set("SHOPFLOOR_PR", pr.to_string().into());
        }
        if start.role.reviews() {
            set("SHOPFLOOR_RESULT_FILE", result_file(&self.layout, start.epoch).into());
        }
        if let Some(head) = start.head.as_ref().filter(|_| start.role.reviews()) {
            set("SHOPFLOOR_COMMIT", head.as_str().into());
        }
        env
    }

    fn launch(&self, start: &StartSession, briefing: &Briefing) -> PortResult<Started> {
        let mut config = (self.configs)(&start.project, start.role).ok_or_else(|| {
            PortError::permanent(
                Final::Config,
                format!("project {} has no {} agent configured", start.project, start.role),
            )
        })?;
        if let Some(target) = &start.target {
            target.branch().clone_into(&mut config.primary_branch);
        }
        let name = tmux_name(start.role, &start.project, start.assignment, start.epoch);
        let folder = self.layout.session(start.epoch);
        make_folder(&scratch(&self.layout, start.epoch)).map_err(PortError::transient)?;
        Badge::give(&self.layout, start.epoch, &start.project, start.role, start.assignment)
            .map_err(PortError::transient)?;
        let phase_file = self.phase_file(start);
        let cwd = PathBuf::from(&briefing.worktree);
        // Numbers restart with a new store: what an earlier session of this number left is not this one's
        // result.
        remove(&result_file(&self.layout, start.epoch)).map_err(PortError::transient)?;
        let mut env = self.environment(start, &config, briefing, &phase_file);
        if let Some(wanted) = &config.key {
            let key = key::ask(wanted, &env).map_err(PortError::transient)?;
            env.retain(|(name, _)| *name != *wanted.variable);
            env.push((wanted.variable.clone().into(), key.into()));
        }
        let launch =
            Launcher { layout: &self.layout, start, config: &config, cwd: &cwd, phase_file: &phase_file };
        let argv = launch.prepare(&mut env)?;
        let jail = self.jail(start, &config)?;
        let jail = jailed::move_in(jail, config.spec.setup, &cwd, &mut env).map_err(PortError::transient)?;
        let argv = jail.wrap(&cwd, argv).map_err(PortError::transient)?;
        let templates = self.templates(&config);
        let (primary, delivery) = (&config.primary_branch, config.spec.capabilities.delivery);
        let prompt = prompt::render(start, briefing, primary, delivery, &templates)
            .map_err(|why| PortError::permanent(Final::Config, why))?;
        let protocol = prompt::protocol(start, primary, delivery, &templates)
            .map_err(|why| PortError::permanent(Final::Config, why))?;
        // A client that asks before it writes a file outside the worktree knows that file only by its path.
        let named = start.role.reviews().then(|| {
            let file = result_file(&self.layout, start.epoch);
            format!("\n`$SHOPFLOOR_RESULT_FILE` is {}: write it by that path.\n", file.display())
        });
        let named = named.unwrap_or_default();
        let word = seal::renew(&folder).map_err(PortError::transient)?;
        let named = format!("{named}{}", prompt::sealed(&seal::line(&word)));
        let protocol = format!("{protocol}{named}");
        let prompt = config.redactor.redact(&format!("{}{named}", prompt.whole()));
        write_atomic(&prompt_file(&folder), prompt.as_bytes(), 0o600).map_err(PortError::transient)?;
        write_atomic(&spool::protocol_file(&folder), protocol.as_bytes(), 0o600)
            .map_err(PortError::transient)?;
        // A predecessor's phase is not this session's.
        phase_file::reset(&phase_file).map_err(|e| {
            PortError::transient(format!("the phase file {} cannot be used: {e}", phase_file.display()))
        })?;
        let spec = SpawnSpec { name: name.clone(), cwd, argv, env };
        let process = self.tmux.spawn(&spec).map_err(port_error)?;
        self.started(start, name, process)
    }

    /// Leaves nothing in the folder that others use. A file that cannot be removed is in nobody's way.
    fn give_up_phase_file(&self, role: Role, project: &ProjectName, assignment: Assignment) {
        let path = phase_file::path(&self.phase_dir, role, project, assignment);
        let _ = phase_file::release(&path, self.layout.root());
    }
}

impl TmuxAgents {
    /// What the session can reach besides its tree: its folder, to read, and the part of it that it writes.
    fn jail<'c>(&self, start: &StartSession, config: &'c AgentConfig) -> PortResult<Jail<'c>> {
        let tree = Tree::of_job(&start.project, start.role, start.assignment);
        let jail = Jail::of_tree(&config.isolation, &self.layout, &tree).map_err(PortError::transient)?;
        let own = [Some(self.layout.session_own(start.epoch)), jail.home()];
        let jail = jail.at_a_terminal().network(Network::Hosts).read(self.layout.session(start.epoch));
        Ok(own.into_iter().flatten().fold(jail, Jail::write))
    }
}

fn scratch(layout: &Layout, epoch: Epoch) -> PathBuf {
    layout.session_own(epoch).join("tmp")
}

fn prompt_file(folder: &Path) -> PathBuf {
    folder.join("prompt.md")
}

/// Where a reviewer leaves its verdict.
pub fn result_file(layout: &Layout, epoch: Epoch) -> PathBuf {
    own_part(&layout.session(epoch)).join("result.json")
}

/// Written whenever a message waits; its content does not matter.
pub fn bell_file(layout: &Layout, epoch: Epoch) -> PathBuf {
    layout.session(epoch).join("bell")
}

impl Agents for TmuxAgents {
    fn trouble(&self, project: &ProjectName, role: Role) -> PortResult<Option<String>> {
        let Some(config) = (self.configs)(project, role) else { return Ok(None) };
        let mut env = config.env.clone();
        env.retain(|(name, _)| name != "PATH");
        env.push(("PATH".into(), self.path(&config)));
        Ok(check::trouble(&config, &env))
    }

    fn unset(&self, project: &ProjectName) -> Vec<String> {
        let roles = Role::STAFF.into_iter();
        let unset = roles.filter_map(|role| (self.configs)(project, role)).flat_map(|config| config.unset);
        unset.collect::<BTreeSet<String>>().into_iter().collect()
    }

    fn adopt(&self, start: &StartSession) -> PortResult<Option<Started>> {
        let name = tmux_name(start.role, &start.project, start.assignment, start.epoch);
        let process = match self.tmux.probe(&name).map_err(port_error)? {
            Probe::Alive(process) => process,
            // Known to be gone: whoever watches this process learns that at once.
            Probe::Dead { .. } => ProcessId { pid: 0, start: 0 },
            Probe::Absent => return Ok(None),
        };
        self.started(start, name, process).map(Some)
    }

    fn start(&self, start: &StartSession, briefing: &Briefing) -> PortResult<Started> {
        self.launch(start, briefing).inspect_err(|_| {
            // It may never be tried again.
            let name = tmux_name(start.role, &start.project, start.assignment, start.epoch);
            if matches!(self.tmux.probe(&name), Ok(Probe::Absent)) {
                self.give_up_phase_file(start.role, &start.project, start.assignment);
            }
        })
    }

    fn last_output(&self, tree: &Tree, epoch: Epoch) -> PortResult<String> {
        let name = tree.session(epoch);
        if self.tmux.probe(&name).map_err(port_error)? == Probe::Absent {
            return Ok(String::new());
        }
        let screen = self.tmux.capture(&name, OUTPUT_LINES).map_err(port_error)?;
        // A hand session has no role, and the secrets of its project all the same.
        let redactor = self.redactor(&tree.project, tree.role().unwrap_or(Role::DEV));
        Ok(tail(redactor.redact(&neutralise(&screen)).trim(), OUTPUT_BYTES_MAX))
    }

    fn end(&self, tree: &Tree, epoch: Epoch) -> PortResult<()> {
        self.tmux.end(&tree.session(epoch)).map_err(port_error)?;
        Badge::take_back(&self.layout, epoch).map_err(PortError::transient)?;
        // Nobody is left to write it, and a successor begins with an empty one. Another floor with a project
        // of that name may have taken its place.
        if let Owner::Agent { role, assignment } = tree.owner {
            self.give_up_phase_file(role, &tree.project, assignment);
        }
        Ok(())
    }

    fn ring(&self, epoch: Epoch, message: MessageId) -> PortResult<()> {
        let folder = self.layout.session(epoch);
        make_folder(&folder).map_err(PortError::transient)?;
        write_atomic(&bell_file(&self.layout, epoch), message.to_string().as_bytes(), 0o600)
            .map_err(PortError::transient)
    }

    fn review_result(
        &self,
        project: &ProjectName,
        epoch: Epoch,
        head: &Sha,
        moved: bool,
    ) -> PortResult<Result<Review, String>> {
        let file = result_file(&self.layout, epoch);
        result::read(&file, head, moved, &self.redactor(project, Role::REVIEW))
    }

    fn begin_review(
        &self,
        project: &ProjectName,
        epoch: Epoch,
        reviewed: &Sha,
        news: &str,
    ) -> PortResult<String> {
        let file = result_file(&self.layout, epoch);
        let away = file.with_file_name(format!("result-{}.json", reviewed.short()));
        unless_absent(std::fs::rename(&file, away)).map_err(PortError::transient)?;
        Ok(self.redactor(project, Role::REVIEW).redact(news))
    }

    fn prune(&self, tidy: &Tidy) -> PortResult<Amount> {
        let may_go = |n: u64| n <= tidy.sessions_upto.0 && !tidy.sessions_kept.contains(&Epoch(n));
        prune::numbered(&self.layout.sessions(), "e", tidy.sessions_before, tidy.dry_run, may_go)
            .map_err(PortError::transient)
    }
}

/// The path may be missing.
fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        // Whatever made it a folder, it must not be in the way.
        Ok(meta) if meta.is_dir() => crate::host::remove::tree(path),
        _ => unless_absent(std::fs::remove_file(path)),
    }
}

fn unless_absent(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn port_error(error: TmuxError) -> PortError {
    match error {
        // The request cannot be fulfilled: the floor's own folder, or the command, is unsuitable.
        TmuxError::Refused(why) => PortError::permanent(Final::Config, why),
        other => PortError::transient(other),
    }
}
