//! The projects' configurations as they are in force: what people accepted of what executes or grants, and for the
//! rest the file in the checkout. A file that changes is read again; one that has become wrong is reported and the last
//! good one stays.

pub mod pins;
mod surroundings;

use crate::attend::Runtimes;
use crate::config::needs::{named_variables, unset};
use crate::config::runtimes::Catalogue;
use crate::config::{self, Case, FloorConfig, McpServers, ProjectConfig, SignWith, pinned, secrets};
use pins::Pins;
use shopfloor_adapters::agent::templates::embedded_prompts;
use shopfloor_adapters::agent::{AgentConfig, AgentConfigs, KeyCommand, Mcp, known_keys};
use shopfloor_adapters::ci::local::{CiConfig, CiConfigs};
use shopfloor_adapters::ci::own::OwnSteps;
use shopfloor_adapters::git::branches::{self, OriginFile};
use shopfloor_adapters::git::sign::{SignatureFormat, Signing};
use shopfloor_adapters::git::{self, Git, GitProject, origin};
use shopfloor_adapters::host::env::clean_env;
use shopfloor_adapters::jail::{Isolation, Network};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::notices::{NoticeConfig, NoticeConfigs};
use shopfloor_adapters::setup::{SetupConfig, SetupConfigs};
use shopfloor_adapters::steps::Verifiers;
use shopfloor_adapters::vault::{VaultConfig, VaultConfigs};
use shopfloor_core::allow::Allowed;
use shopfloor_core::ci::SkipPaths;
use shopfloor_core::effect::VerifyStep;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Role, ScheduleName};
use shopfloor_core::policy::Policy;
use shopfloor_core::redact::Redactor;
use shopfloor_core::runtime::Values;
use shopfloor_core::state::{Floor, Pin, SchedulePlan};
use shopfloor_desk::Error;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
pub use surroundings::Surroundings;

/// One project, loaded.
#[derive(Clone)]
pub struct Loaded {
    pub config: ProjectConfig,
    /// The files beside it that sessions are begun with.
    pub files: pinned::Files,
    pub checkout: PathBuf,
    /// What its `pass_env` names and the floor does not grant.
    pub withheld: Vec<String>,
    pub redactor: Redactor,
    /// What the redactor hides.
    hidden: Vec<String>,
}

impl Loaded {
    pub fn git(&self) -> GitProject {
        git_project(&self.config, &self.checkout)
    }

    /// With what the commits that land are signed.
    fn signing(&self, around: &Surroundings) -> Option<Signing> {
        /// Where the user's keys are, and the agents that hold them.
        const KEYS: [&str; 3] = ["SSH_AUTH_SOCK", "GNUPGHOME", "GPG_AGENT_INFO"];
        let chosen = self.config.merge.signing.as_ref()?;
        let (format, key) = match chosen.format {
            SignWith::Ssh => (SignatureFormat::Ssh, self.checkout.join(&chosen.key).into_os_string()),
            SignWith::Openpgp => (SignatureFormat::OpenPgp, (&chosen.key).into()),
        };
        let keys: Vec<String> = KEYS.iter().map(|name| (*name).to_owned()).collect();
        Some(Signing { format, key, env: clean_env(around.all(), &keys) })
    }
}

fn git_project(config: &ProjectConfig, checkout: &Path) -> GitProject {
    GitProject {
        name: config.project.name.clone(),
        primary_branch: config.project.primary_branch.clone(),
        checkout: checkout.to_owned(),
        push_rescues: config.rescue.push,
        caps: config.rescue.caps(),
        secrets: Redactor::default(),
        signing: None,
        targets: config.merge.targets().into_iter().map(|target| target.branch).collect(),
        origin: config.project.origin.clone(),
    }
}

/// A file of a project as its primary branch has it.
pub type PrimaryFile = Arc<dyn Fn(&GitProject, &str) -> Result<OriginFile, String> + Send + Sync>;

/// Reads files of projects from their primary branches.
pub fn primary_file(git: &Git, layout: &Layout) -> PrimaryFile {
    let (git, layout) = (git.clone(), layout.clone());
    Arc::new(move |project, path| {
        let origin = origin::of(&git, &layout, &project.name);
        branches::file(&*origin, &project.primary_branch, path).map_err(|e| e.to_string())
    })
}

/// Former values of secrets that are still hidden.
const HIDDEN_MAX: usize = 200;

#[derive(Clone, Default)]
pub struct Projects {
    loaded: Arc<RwLock<BTreeMap<ProjectName, Loaded>>>,
    floor: Arc<FloorConfig>,
    runtimes: Arc<Catalogue>,
    around: Surroundings,
    /// What whatever is started can reach.
    isolation: Arc<Isolation>,
    /// How to get at primary branches' files; none for whoever only looks.
    primary: Option<PrimaryFile>,
    pins: Pins,
    /// Where the floor's own file is, if it is read again when it changes.
    floor_file: Option<PathBuf>,
    /// Where each is, also of those that cannot be read.
    checkouts: Arc<RwLock<BTreeMap<ProjectName, PathBuf>>>,
}

/// A project that is not begun, and why.
pub struct Unusable {
    pub project: ProjectName,
    pub error: Error,
}

impl Projects {
    /// Every project of the floor whose configuration can be read and whose secrets are to be had, and why
    /// not of the others. They must not hold up the rest.
    pub fn load(floor_config: &FloorConfig, runtimes: Catalogue, floor: &Floor) -> (Self, Vec<Unusable>) {
        let projects = Projects {
            floor: Arc::new(floor_config.clone()),
            runtimes: Arc::new(runtimes),
            ..Projects::default()
        };
        projects.pins.follow(floor.pins.iter());
        let mut unusable = Vec::new();
        for project in floor.projects.iter() {
            projects.is_at(&project.name, Path::new(&project.checkout));
            match projects.read(Path::new(&project.checkout)) {
                Ok(loaded) => projects.put(loaded),
                Err(error) => unusable.push(Unusable { project: project.name.clone(), error }),
            }
        }
        (projects, unusable)
    }

    /// The same for whoever only looks: an error if there is none at all.
    pub fn usable(floor_config: &FloorConfig, runtimes: Catalogue, floor: &Floor) -> Result<Self, Error> {
        let (projects, unusable) = Projects::load(floor_config, runtimes, floor);
        match unusable.into_iter().next_back() {
            Some(last) if projects.all().is_empty() => Err(last.error),
            _ => Ok(projects),
        }
    }

    /// From now on that is what agents, checks and setup commands can reach. Nothing is started before.
    pub fn isolated(self, isolation: Isolation) -> Self {
        Projects { isolation: Arc::new(isolation), ..self }
    }

    /// What whatever is started gets its variables from.
    pub fn surroundings(&self) -> BTreeMap<OsString, OsString> {
        self.around.all()
    }

    pub fn isolation(&self) -> &Arc<Isolation> {
        &self.isolation
    }

    /// From now on it is also seen what projects' files say, on their primary branches too, and what the floor's own
    /// file grants.
    pub fn looking(self, primary: PrimaryFile, floor_file: PathBuf) -> Self {
        Projects { primary: Some(primary), floor_file: Some(floor_file), ..self }
    }

    /// What the core has to know of what the files of all say. The projects whose files cannot be used are not
    /// begun.
    pub fn look(&self) -> (Vec<Event>, Vec<Unusable>) {
        let (mut events, mut unusable) = (Vec::new(), Vec::new());
        for project in self.all() {
            let name = project.config.project.name;
            match self.looked_at(&name, &project.checkout) {
                Ok(event) => events.extend(event),
                Err(error) => unusable.push(self.drop(name, error)),
            }
        }
        (events, unusable)
    }

    /// Takes over what is accepted now. The projects for which that cannot be used are not begun.
    pub fn begin_with(&self, floor: &Floor) -> Vec<Unusable> {
        self.pins.follow(floor.pins.iter());
        let mut unusable = Vec::new();
        for project in self.all() {
            match self.read(&project.checkout) {
                Ok(loaded) => self.put(loaded),
                Err(error) => unusable.push(self.drop(project.config.project.name, error)),
            }
        }
        unusable
    }

    fn drop(&self, project: ProjectName, error: Error) -> Unusable {
        let mut all = self.loaded.write().unwrap_or_else(|broken| broken.into_inner());
        all.remove(&project);
        Unusable { project, error }
    }

    /// What follows from what the floor says is accepted now.
    pub fn follow(&self, floor: &Floor) -> Vec<Event> {
        let mut events = Vec::new();
        for name in self.pins.follow(floor.pins.iter()) {
            let Some(checkout) = floor.projects.get(&name).map(|project| PathBuf::from(&project.checkout))
            else {
                continue;
            };
            match self.reload(&name, &checkout) {
                Ok(more) => events.extend(more),
                Err(why) => events.push(Event::ProjectPaused { project: name, why }),
            }
        }
        events
    }

    /// The floor's configuration, with what it grants, and has in its vault, now.
    fn floor(&self) -> Result<Cow<'_, FloorConfig>, Error> {
        let Some(file) = &self.floor_file else { return Ok(Cow::Borrowed(&self.floor)) };
        let FloorConfig { config, grants, vault, .. } = config::load::floor(file)?;
        Ok(Cow::Owned(FloorConfig { config, grants, vault, ..(*self.floor).clone() }))
    }

    fn is_at(&self, project: &ProjectName, checkout: &Path) {
        let mut all = self.checkouts.write().unwrap_or_else(|broken| broken.into_inner());
        all.insert(project.clone(), checkout.to_owned());
    }

    /// A project's configuration as it is in force.
    pub fn in_force(
        floor_config: &FloorConfig,
        floor: &Floor,
        checkout: &Path,
    ) -> Result<ProjectConfig, Error> {
        Projects::files_in_force(floor_config, floor.pins.iter(), checkout).map(|(config, _)| config)
    }

    /// The same, with the files beside it.
    pub fn files_in_force<'a>(
        floor_config: &FloorConfig,
        pins: impl IntoIterator<Item = &'a Pin>,
        checkout: &Path,
    ) -> Result<(ProjectConfig, pinned::Files), Error> {
        let projects = Projects { floor: Arc::new(floor_config.clone()), ..Projects::default() };
        projects.pins.follow(pins);
        let (config, files, _) = projects.settled(checkout)?;
        Ok((config, files))
    }

    /// What hides a project's secrets. An error if they are not known here: then nothing can be hidden.
    pub fn redactor(floor_config: &FloorConfig, pins: &[Pin], checkout: &Path) -> Result<Redactor, Error> {
        let projects = Projects { floor: Arc::new(floor_config.clone()), ..Projects::default() };
        projects.pins.follow(pins);
        Ok(projects.read(checkout)?.redactor)
    }

    fn put(&self, project: Loaded) {
        let mut all = self.loaded.write().unwrap_or_else(|broken| broken.into_inner());
        all.insert(project.config.project.name.clone(), project);
    }

    /// A project's configuration as it is in force, its files, and what is withheld from it.
    fn settled(&self, checkout: &Path) -> Result<(ProjectConfig, pinned::Files, Vec<String>), Error> {
        let floor = self.floor()?;
        let own = config::load::project(&checkout.join(config::FILE_NAME), &floor)?;
        let (mut config, files) = match self.pins.get(&own.project.name) {
            Some(pin) => pinned::in_force(&pin.accepted.text, &own, &floor)?,
            // Only on a floor whose daemon has not been started since acceptance was introduced.
            None => {
                let files = pinned::files(checkout, &own.agents);
                (own, files.map_err(|(path, e)| Error::failed(format!("{path} cannot be read: {e}")))?)
            }
        };
        let withheld = floor.withhold(&mut config);
        Ok((config, files, withheld))
    }

    fn read(&self, checkout: &Path) -> Result<Loaded, Error> {
        let (config, files, withheld) = self.settled(checkout)?;
        let secrets = secrets::resolve(&config, checkout, &|name| self.around.text(name)).map_err(|e| {
            Error::usage(e.to_string())
                .hint("set it, and run `shopfloor up` again: a daemon that runs is told")
        })?;
        let mut hidden: Vec<String> = secrets.iter().map(|(_, value)| value.to_owned()).collect();
        hidden.extend(self.passed_secrets(&config));
        let vault = self.floor()?.vault_secrets();
        hidden.extend(vault.iter().filter_map(|name| self.around.text(name)));
        // What was passed on before is still on screens.
        hidden
            .extend(self.known(&config.project.name).into_iter().flat_map(|old| old.hidden).take(HIDDEN_MAX));
        hidden.sort_unstable();
        hidden.dedup();
        let (redactor, checkout) = (Redactor::new(hidden.clone()), checkout.to_owned());
        Ok(Loaded { redactor, config, files, checkout, withheld, hidden })
    }

    /// Reads a project's files, again or for the first time: events if what the core decides by has changed, or if
    /// it does not know what they say.
    pub fn reload(&self, name: &ProjectName, checkout: &Path) -> Result<Vec<Event>, String> {
        let new = self.read(checkout).map_err(|e| e.message)?;
        if new.config.project.name != *name {
            return Err(format!("{} names another project: {}", config::FILE_NAME, new.config.project.name));
        }
        self.is_at(name, checkout);
        let known = self.known(name);
        // A project that was not to be had is paused until it is set again; other agents are looked at.
        let changed = known.is_none_or(|old| {
            old.config.policy() != new.config.policy()
                || old.config.agents != new.config.agents
                || old.config.schedules != new.config.schedules
                || old.withheld != new.withheld
        });
        let events = project_events(&new, &self.floor);
        self.put(new);
        let seen = self.looked_at(name, checkout).map_err(|e| e.message)?;
        Ok(events.into_iter().filter(|_| changed).chain(seen).collect())
    }

    /// Takes over variables of somebody who may say so; others than the projects name are left alone. The
    /// names of those that differ, and what follows.
    pub fn told(&self, mut variables: BTreeMap<String, Option<String>>) -> (Vec<String>, Vec<Event>) {
        let checkouts = self.checkouts.read().unwrap_or_else(|broken| broken.into_inner()).clone();
        // What the vault gets counts as the floor's file has it now.
        let floor = self.floor().unwrap_or(Cow::Borrowed(&*self.floor));
        let named: BTreeSet<String> =
            checkouts.values().flat_map(|checkout| named_variables(checkout, &floor)).collect();
        variables.retain(|name, _| named.contains(name));
        let changed = self.around.change(variables);
        let mut events = Vec::new();
        for (name, checkout) in &checkouts {
            match self.reload(name, checkout) {
                Ok(event) => events.extend(event),
                Err(why) => events.push(Event::ProjectPaused { project: name.clone(), why }),
            }
        }
        events.push(Event::StaffTouched { project: None });
        (changed, events)
    }

    fn known(&self, name: &ProjectName) -> Option<Loaded> {
        self.loaded.read().unwrap_or_else(|broken| broken.into_inner()).get(name).cloned()
    }

    pub fn get(&self, name: &ProjectName) -> Option<Loaded> {
        let mut loaded = self.known(name)?;
        if loaded.config.agents.values().any(|agent| agent.key_command.is_some()) {
            loaded.redactor = Redactor::new(loaded.hidden.iter().cloned().chain(known_keys()));
        }
        Some(loaded)
    }

    /// Values of variables that are let through to agents and checks and whose name says secret: what
    /// those print is redacted too.
    fn passed_secrets(&self, config: &ProjectConfig) -> Vec<String> {
        const WORDS: [&str; 6] = ["TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL", "AUTH"];
        let steps = config.steps.values().filter_map(|step| step.pass_env.as_ref()).flatten();
        let names = config.agents.values().flat_map(|a| &a.pass_env).chain(&config.ci.pass_env).chain(steps);
        names
            .filter(|name| WORDS.iter().any(|word| name.to_uppercase().contains(word)))
            .filter_map(|name| self.around.text(name))
            .collect()
    }

    /// The names that a project's own prompts may have.
    pub fn prompts(&self, name: &ProjectName) -> Vec<String> {
        let all = self.loaded.read().unwrap_or_else(|broken| broken.into_inner());
        let agents = all.get(name).into_iter().flat_map(|project| project.config.agents.values());
        let chosen = agents.filter_map(|agent| agent.prompt.as_ref());
        let chosen = chosen.flat_map(|name| ["", "-protocol", "-people"].map(|part| format!("{name}{part}")));
        embedded_prompts().map(str::to_owned).chain(chosen).collect()
    }

    pub fn all(&self) -> Vec<Loaded> {
        self.loaded.read().unwrap_or_else(|broken| broken.into_inner()).values().cloned().collect()
    }

    /// Events for what differs from what the floor knows.
    pub fn events(&self, floor: &Floor) -> Vec<Event> {
        let differs = |p: &Loaded| {
            let name = &p.config.project.name;
            let mine = floor.schedules.iter().filter(|schedule| schedule.project == *name);
            let planned: BTreeMap<_, _> = mine.map(|s| (s.name.clone(), s.plan.clone())).collect();
            let known = floor.projects.get(name);
            known.is_none_or(|known| known.policy != policy(p, &self.floor) || known.paused.is_some())
                || planned != plans(p)
        };
        self.all().iter().filter(|p| differs(p)).flat_map(|p| project_events(p, &self.floor)).collect()
    }

    pub fn git_lookup(&self) -> git::Projects {
        let projects = self.clone();
        Arc::new(move |name| {
            let project = projects.get(name)?;
            let (signing, secrets) = (project.signing(&projects.around), project.redactor.clone());
            Some(GitProject { signing, secrets, ..project.git() })
        })
    }

    pub fn redactor_lookup(&self) -> Arc<dyn Fn(&ProjectName) -> Redactor + Send + Sync> {
        let projects = self.clone();
        Arc::new(move |name| projects.get(name).map_or_else(Redactor::blind, |p| p.redactor))
    }

    pub fn ci_lookup(&self) -> CiConfigs {
        let projects = self.clone();
        Arc::new(move |name| {
            let project = projects.get(name)?;
            let ci = &project.config.ci;
            Some(CiConfig {
                steps: project.config.ci_steps(),
                timeout: ci.timeout.0,
                env: clean_env(projects.around.all(), &ci.pass_env),
                log_bytes_max: usize::try_from(ci.log_max).unwrap_or(usize::MAX),
                redactor: project.redactor,
                infra: ci.infra.clone(),
                // Checked when it was loaded; what cannot be read skips nothing.
                skip: SkipPaths::new(&ci.skip_paths).unwrap_or_default(),
                primary_branch: project.config.project.primary_branch.clone(),
                own: Some(projects.own_steps()),
                isolation: projects.isolation.clone(),
                network: network(ci.network),
            })
        })
    }

    /// Reads the checks of a commit's own configuration.
    fn own_steps(&self) -> OwnSteps {
        let floor = self.floor.clone();
        let read = move |text: &str| {
            let config = config::load::project_from(Path::new(config::FILE_NAME), text, &floor);
            config.map(|config| config.ci_steps()).map_err(|e| e.to_string())
        };
        OwnSteps { file: config::FILE_NAME.to_owned(), read: Arc::new(read) }
    }

    pub fn setup_lookup(&self) -> SetupConfigs {
        let projects = self.clone();
        Arc::new(move |name| {
            let project = projects.get(name)?;
            let worktree = project.config.worktree;
            Some(SetupConfig {
                setup: worktree.setup,
                teardown: worktree.teardown,
                timeout: worktree.timeout.0,
                include: worktree
                    .include
                    .into_iter()
                    .chain(project.files.get(pinned::INCLUDE).cloned())
                    .collect(),
                ports: worktree.ports.range(),
                env: clean_env(projects.around.all(), &project.config.ci.pass_env),
                redactor: project.redactor,
                checkout: project.checkout,
                isolation: projects.isolation.clone(),
                network: network(project.config.ci.network),
            })
        })
    }

    /// The verifiers that agents' steps are judged by, as they were accepted.
    pub fn verifiers(&self) -> Verifiers {
        let projects = self.clone();
        Arc::new(move |claim| {
            let VerifyStep { project, verify: verifier, run, .. } = claim;
            let project = projects.get(project).ok_or("the project is not configured")?;
            let config = project.config;
            let verify = config.verifier(verifier).ok_or_else(|| {
                format!("shopfloor.toml has no [verify.{verifier}], which a formula's step names")
            })?;
            let primary_branch = config.project.primary_branch.clone();
            Ok(Case { checks: verify.checks.clone(), key: format!("run-{run}"), primary_branch }.words())
        })
    }

    pub fn notice_lookup(&self) -> NoticeConfigs {
        let projects = self.clone();
        Arc::new(move |name| {
            let project = projects.get(name)?;
            let merge = project.config.merge;
            Some(NoticeConfig {
                on_landed: merge.on_landed.unwrap_or_default(),
                on_not_landed: merge.on_not_landed.unwrap_or_default(),
                timeout: merge.command_timeout.0,
                env: clean_env(projects.around.all(), &[]),
                redactor: project.redactor,
                checkout: project.checkout,
            })
        })
    }

    /// What the vault's fires are carried out with: as `floor.toml` and the environment have it at that moment.
    pub fn vault_lookup(&self) -> VaultConfigs {
        let projects = self.clone();
        Arc::new(move |name, of| {
            let spec = projects.floor().map_err(|e| e.message)?.vault_spec(of);
            let project = projects
                .get(name)
                .ok_or_else(|| format!("the configuration of project {name} is not to be had"))?;
            let names = spec.iter().flat_map(|spec| &spec.secrets);
            let secrets: Result<Vec<(String, String)>, String> =
                names.map(|name| Ok((name.clone(), projects.vault_secret(name)?))).collect();
            let values = secrets.iter().flatten().map(|(_, value)| value.clone());
            let hidden = project.hidden.iter().cloned().chain(known_keys()).chain(values);
            Ok(VaultConfig {
                redactor: Redactor::new(hidden),
                spec,
                secrets,
                env: clean_env(projects.around.all(), &[]),
                checkout: project.checkout,
            })
        })
    }

    fn vault_secret(&self, name: &str) -> Result<String, String> {
        let value = self.around.text(name).ok_or_else(|| {
            format!("the variable {name} is not set: set it, and run `shopfloor up` again, which tells a daemon that runs")
        })?;
        match value.chars().count() < secrets::CHARS_MIN {
            true => Err(format!(
                "{name} is shorter than {} characters, and could not be hidden",
                secrets::CHARS_MIN
            )),
            false => Ok(value),
        }
    }

    pub fn agent_lookup(&self) -> AgentConfigs {
        let projects = self.clone();
        Arc::new(move |name, role| {
            let project = projects.get(name)?;
            let agent = project.config.agent(role)?;
            let mut values = Values::new();
            values.extend(agent.command.clone().map(|command| ("command".into(), command)));
            values.extend(agent.model.clone().map(|model| ("model".into(), vec![model])));
            values.extend(agent.permission_mode.clone().map(|mode| ("permission_mode".into(), vec![mode])));
            Some(AgentConfig {
                spec: projects.runtimes.get(agent.runtime.as_str())?,
                values,
                env: clean_env(projects.around.all(), &agent.pass_env),
                primary_branch: project.config.project.primary_branch.clone(),
                redactor: project.redactor.clone(),
                files: project.files.clone(),
                // Checked when it was loaded; what cannot be read allows nothing.
                allow: Allowed::new(&agent.allow).unwrap_or_default(),
                mcp: mcp(agent.mcp, role),
                prompt: agent.prompt.clone(),
                key: agent
                    .key_command
                    .clone()
                    .zip(agent.key_variable())
                    .map(|(argv, variable)| KeyCommand { argv, variable: variable.to_owned() }),
                unset: unset(&project.config, role, &|name| projects.around.is_set(name)),
                isolation: projects.isolation.clone(),
            })
        })
    }
}

/// What checks and setup commands have where nobody has a network but by permission.
fn network(wanted: bool) -> Network {
    if wanted { Network::All } else { Network::Nothing }
}

fn mcp(chosen: Option<McpServers>, role: Role) -> Mcp {
    match chosen {
        Some(McpServers::None) => Mcp::None,
        Some(McpServers::Project) => Mcp::Project,
        Some(McpServers::User) => Mcp::User,
        None if role.profile().users_servers => Mcp::User,
        None => Mcp::None,
    }
}

impl Projects {
    pub fn runtimes(&self) -> Runtimes {
        let runtimes = self.runtimes.clone();
        Arc::new(move |name| runtimes.get(name))
    }

    /// Whether a runtime's client tells what it does, and so is attended to.
    pub fn tells(&self, runtime: &str) -> bool {
        self.runtimes.get(runtime).is_some_and(|spec| spec.capabilities.hooks)
    }
}

/// What the core is told of a project.
fn project_events(project: &Loaded, floor: &FloorConfig) -> [Event; 2] {
    let name = &project.config.project.name;
    [
        Event::ProjectSet {
            project: name.clone(),
            checkout: project.checkout.display().to_string(),
            policy: policy(project, floor),
        },
        Event::SchedulesSet { project: name.clone(), plans: plans(project) },
    ]
}

/// A loaded configuration's schedules have names that are good.
fn plans(project: &Loaded) -> BTreeMap<ScheduleName, SchedulePlan> {
    let all = project.config.schedules.iter();
    all.filter_map(|(name, schedule)| Some((name.parse().ok()?, schedule.plan()))).collect()
}

/// What the core decides by: the project's own settings and the floor's.
fn policy(project: &Loaded, floor: &FloorConfig) -> Policy {
    Policy {
        floor_max_jobs: floor.limits.max_jobs.map(|n| n as usize),
        keep_journal: floor.retention.journal.span(),
        machine: floor.health.limits(),
        withheld: project.withheld.clone(),
        ..project.config.policy()
    }
}
