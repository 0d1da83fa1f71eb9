//! What every command needs: the desk of the floor that is meant, and the project. The only place that
//! reads the environment for them.

use super::error::{CliError, CliResult};
use crate::asker::ASKER;
use crate::asker::{self, Inside, Who};
use crate::config::runtimes::Catalogue;
use crate::config::{self, FloorConfig};
use crate::projects::Projects;
use shopfloor_adapters::git::Git;
use shopfloor_adapters::git::origin::{self, Origin};
use shopfloor_adapters::host::clock;
use shopfloor_adapters::host::user;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ids::{Epoch, ProjectName};
use shopfloor_core::redact::Redactor;
use shopfloor_core::state::Project;
use shopfloor_core::text::one_line;
use shopfloor_desk::Desk;
use shopfloor_desk::command::Asking;
use std::cell::OnceCell;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The desk, and what the command line adds to it.
pub struct Context {
    pub desk: Desk,
    pub json: bool,
    /// The session that this is run for at the door, as the daemon says.
    pub(super) caller: Option<Epoch>,
    project: Option<String>,
    inside: OnceCell<Option<Inside>>,
}

impl Deref for Context {
    type Target = Desk;
    fn deref(&self) -> &Desk {
        &self.desk
    }
}

impl Context {
    pub fn from_environment(home: Option<PathBuf>, project: Option<String>, json: bool) -> CliResult<Self> {
        let home = match home {
            Some(home) => std::path::absolute(home)?,
            None => default_home()?,
        };
        // Anybody could read through a link, whose mode says nothing.
        let home = if home.is_symlink() { home.canonicalize()? } else { home };
        let layout = Layout::new(home);
        clock::set_by(&layout.clock());
        Ok(Context { desk: Desk::new(layout), json, caller: None, project, inside: OnceCell::new() })
    }

    /// The runtimes, with what the user puts over them.
    pub fn runtimes(&self) -> CliResult<Catalogue> {
        Ok(Catalogue::load(&self.layout.runtimes())?)
    }

    pub fn floor_config(&self) -> CliResult<FloorConfig> {
        Ok(config::load::floor(&self.layout.config())?)
    }

    pub fn git(&self) -> CliResult<Git> {
        Ok(config::load::git(&self.floor_config()?)?)
    }

    /// Where a project's branches live.
    pub fn origin(&self, project: &ProjectName) -> CliResult<Arc<dyn Origin>> {
        Ok(origin::of(&self.git()?, &self.layout, project))
    }

    /// What is asked of a project's branches from here.
    pub fn asking(&self, project: Project) -> Asking<'_> {
        let by = self.author();
        let name = project.name.clone();
        Asking { project, by, origin: Box::new(move || self.origin(&name)) }
    }

    /// What of the floor's own is asking; `None`: a person. A variable can only make less of somebody.
    pub fn inside(&self) -> Option<&Inside> {
        let find = || {
            if let Some(epoch) = self.caller {
                return Some(Inside::agent(&self.layout, epoch));
            }
            match asker::inside(std::process::id(), &self.layout) {
                Ok(None) => {
                    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
                    let named = variable(ASKER).or_else(|| variable("SHOPFLOOR_SESSION"))?;
                    Some(match named.parse() {
                        Ok(epoch) => Inside::agent(&self.layout, epoch),
                        Err(_) => Inside::other("a process with a session's variables"),
                    })
                }
                Ok(inside) => inside,
                Err(_) => Some(Inside::other("a process whose parents are not to be known")),
            }
        };
        self.inside.get_or_init(find).as_ref()
    }

    /// The agent's session that is asking.
    pub fn session(&self) -> CliResult<Epoch> {
        match self.inside().map(|inside| &inside.who) {
            Some(Who::Agent(epoch)) => Ok(*epoch),
            _ => Err(CliError::usage("this is not an agent's session")
                .hint("the factory gives messages to the agents it starts")),
        }
    }

    /// The same, if it is one.
    pub fn agent(&self) -> Option<Epoch> {
        self.session().ok()
    }

    /// Who says it: the agent if this is its session, else the user, as the system knows them.
    pub fn author(&self) -> String {
        let named = match self.inside() {
            Some(inside) if inside.who != Who::Daemon => inside.who.to_string(),
            // What the daemon itself does, it does for its person.
            _ => person(&user::name(), std::env::var("USER").ok()),
        };
        one_line(&named, 80)
    }

    /// The project named by `--project` or, in an agent's session, by `PROJECT_NAME`; else the one
    /// of this folder; else the only one.
    pub fn project(&self) -> CliResult<Project> {
        let projects = self.projects()?;
        // An agent's session is for one project; what a hand session's variables say is its person's own.
        let session = self.inside().map(|inside| match &inside.project {
            Some(project) => Some(project.to_string()),
            None => std::env::var("PROJECT_NAME").ok(),
        });
        let named = self.project.clone().or(session.flatten());
        if let Some(name) = named {
            let name: ProjectName = name.parse()?;
            let known = || projects.iter().map(|p| p.name.to_string()).collect::<Vec<_>>().join(", ");
            return projects.iter().find(|p| p.name == name).cloned().ok_or_else(|| {
                CliError::no_such(format!("there is no project {name} on this floor"))
                    .hint(format!("known projects: {}", known()))
            });
        }
        let here = std::env::current_dir()?;
        // What git would answer, without starting it for every command.
        let checkout = here.ancestors().find(|folder| folder.join(".git").exists());
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

    /// The project given with `--project`, for commands that otherwise show all of them. What the factory started for a
    /// project sees no other.
    pub fn named_project(&self) -> CliResult<Option<ProjectName>> {
        let is_bound = self.inside().is_some_and(|inside| inside.project.is_some());
        if is_bound || self.names_a_project() { self.project().map(|p| Some(p.name)) } else { Ok(None) }
    }

    /// Hides the project's secrets in what is about to be published. Without them nothing is published.
    pub fn redactor(&self) -> CliResult<Redactor> {
        let checkout = self.project()?.checkout;
        Projects::redactor(&self.floor_config()?, &self.pins()?, Path::new(&checkout))
    }

    /// The project given with `--project`.
    pub fn named(&self) -> Option<&str> {
        self.project.as_deref()
    }

    pub fn names_a_project(&self) -> bool {
        self.project.is_some()
    }
}

/// A person by the name that the system knows; what they call themselves besides is added.
fn person(system: &str, own: Option<String>) -> String {
    match own.filter(|own| !own.is_empty() && own != system) {
        Some(own) => format!("{system} ({own})"),
        None => system.to_owned(),
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
