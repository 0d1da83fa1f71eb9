//! How a session is started: where, on which branch, with what environment.

use crate::Means;
use crate::record::Record;
use crate::sessions::{Hand, Spawn};
use shopfloor_adapters::agent::trust;
use shopfloor_adapters::git::branches::{self, BranchProblem};
use shopfloor_adapters::git::{GitWorkspace, repos};
use shopfloor_adapters::setup::WorktreeSetup;
use shopfloor_core::runtime::{RuntimeSpec, Setup};
use shopfloor_core::state::Project;
use shopfloor_core::text::one_line;
use shopfloor_desk::{Error, Result};
use shopfloor_engine::ports::{Setup as _, Tree, Workspace};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// In the session's environment: the orchestrating program's state file.
pub const STATE_FILE_VARIABLE: &str = "SHOPFLOOR_STATE_FILE";

/// Starts a session; if it has a branch, in a worktree of its own, made ready like a job's.
pub fn start(means: &dyn Means, spec: &RuntimeSpec, spawn: Spawn<'_>) -> Result<Record> {
    let hands = means.sessions();
    if spawn.branch.is_none() {
        return Ok(hands.spawn(spawn)?);
    }
    let (project, env) = (spawn.parts.project, spawn.env.clone());
    let place = Place { means, workspace: means.workspace()?, setup: means.setup()?, spec, env: &env };
    Ok(hands.spawn_in(spawn, |name, branch| place.prepare(&Tree::of_hand(project, name.clone()), branch))?)
}

pub type Environment = Vec<(OsString, OsString)>;

/// What makes a worktree ready, like a job's.
struct Place<'a> {
    means: &'a dyn Means,
    workspace: GitWorkspace,
    setup: WorktreeSetup,
    spec: &'a RuntimeSpec,
    env: &'a Environment,
}

impl Place<'_> {
    /// Prepares the files, does what the project wants done to them, and leaves the client nothing to ask
    /// about the folder. Returns what this adds to the session's environment.
    fn prepare(&self, tree: &Tree, branch: &str) -> std::result::Result<Environment, String> {
        let made = self.workspace.prepare(tree, branch, None).map_err(|e| e.to_string())?;
        let outfit = match self.setup.set_up(tree).map_err(|e| e.to_string())? {
            Ok(outfit) => outfit,
            Err(failure) => return Err(format!("its setup failed: {}", failure.why)),
        };
        for note in made.notes.iter().chain(&outfit.notes) {
            self.means.remark(&format!("note: {}", one_line(note, 300)));
        }
        if self.spec.setup == Setup::Claude
            && let Err(why) = trust::settle(self.env, Path::new(&made.path), false)
        {
            // Then the client asks whoever is there.
            self.means.remark(&format!("warning: {why}"));
        }
        Ok(outfit.port.map(|port| ("SHOPFLOOR_PORT".into(), port.to_string().into())).into_iter().collect())
    }
}

/// Whether origin has a branch of that name, whatever is in it.
pub fn is_on_origin(means: &dyn Means, project: &Project, branch: &str) -> bool {
    let Ok(origin) = means.origin(&project.name) else { return true };
    let found = branches::branch(&*origin, &project.policy.primary_branch, branch);
    !branch.is_empty() && !matches!(found, Err(BranchProblem::Unknown(_) | BranchProblem::BadName(_)))
}

/// Refuses a branch that somebody else works on, or that only the merge queue moves.
pub fn check_branch(means: &dyn Means, project: &Project, branch: String) -> Result<String> {
    let refuse = |why: String| Err(Error::usage(format!("{} {why}", one_line(&branch, 80))));
    if project.policy.is_landed_on(&branch) {
        return refuse("is what work lands on: only the merge queue moves it".to_owned());
    }
    if let Some(job) =
        means.desk().engine()?.floor().live_jobs(&project.name).find(|job| job.branch == branch)
    {
        return refuse(format!("is what the agent of {} works on", job.assignment));
    }
    let same = |hand: &Hand| {
        hand.record.as_ref().is_some_and(|record| {
            record.has_tree() && record.project == project.name && record.branch.as_ref() == Some(&branch)
        })
    };
    if let Some(other) = means.sessions().recorded()?.iter().find(|hand| same(hand)) {
        return refuse(format!("is the branch of {}, which is not finished", other.name));
    }
    Ok(branch)
}

/// A clean environment, with `shopfloor` on the PATH and this floor as its home.
pub fn environment(
    means: &dyn Means,
    project: &Project,
    cwd: &Path,
    mut env: Environment,
    state_file: Option<String>,
) -> Environment {
    let layout = &means.desk().layout;
    if let Some((_, path)) = env.iter_mut().find(|(name, _)| name == "PATH") {
        let mut full = layout.bin().into_os_string();
        full.push(":");
        full.push(&path);
        *path = full;
    }
    let root = means.git().ok().and_then(|git| repos::find_checkout(&git, cwd).ok());
    let mut set = |name: &str, value: OsString| {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value));
    };
    set("SHOPFLOOR_HOME", layout.root().into());
    set("PROJECT_NAME", project.name.as_str().into());
    set("PRIMARY_BRANCH", (&project.policy.primary_branch).into());
    set("PROJECT_REPO_ROOT", root.unwrap_or_else(|| PathBuf::from(&project.checkout)).into());
    if let Some(file) = state_file {
        set(STATE_FILE_VARIABLE, file.into());
    }
    env
}
