//! `shopfloor session spawn`: start a program in a terminal of its own.

use super::state_file::{self, StateFile};
use super::{PartArgs, build_cmd};
use crate::cli::{CliError, CliResult, Context, Exit, now, output};
use clap::Args;
use shopfloor_adapters::agent::trust;
use shopfloor_adapters::git::hub::{self, BranchProblem};
use shopfloor_adapters::git::{GitWorkspace, repos};
use shopfloor_adapters::hand::{Hand, HandSessions, Record, Spawn, Stand};
use shopfloor_adapters::host::env::clean_env;
use shopfloor_adapters::host::process::identify;
use shopfloor_adapters::setup::WorktreeSetup;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::ids::Role;
use shopfloor_core::runtime::{RuntimeSpec, Setup};
use shopfloor_core::state::Project;
use shopfloor_core::text::one_line;
use shopfloor_engine::ports::{Setup as _, Tree, Workspace};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Start a program in a session of its own, and print the session's name
///
/// It gets a clean environment, a terminal of 200x50, and a process group of its own. What it runs is
/// `--command`, or the words after `--`, or else what `[steps.STEP]` in shopfloor.toml says. Of this environment it
/// also gets what `pass_env` of the step, or else of `[agents.dev]`, names. A worktree is made ready as a job's is:
/// what `[worktree]` in shopfloor.toml asks for is done first, and Claude Code is told that the folder can be trusted.
#[derive(Args)]
pub struct SpawnArgs {
    #[command(flatten)]
    parts: PartArgs,
    /// A command line for `sh -c`
    #[arg(long, value_name = "LINE", conflicts_with = "argv", allow_hyphen_values = true)]
    command: Option<String>,
    /// The folder to run in [default: this one]
    #[arg(long, value_name = "DIR", conflicts_with = "worktree")]
    cwd: Option<PathBuf>,
    /// In a worktree of its own, on a branch of its own; `session finish` ends it
    #[arg(long)]
    worktree: bool,
    /// That worktree's branch: one that the hub has, or a new one [default: hand/ and the session's name]
    #[arg(long, value_name = "BRANCH", requires = "worktree")]
    branch: Option<String>,
    /// Whose screens it shows: claude, codex, or generic for any other program
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// A variable of this environment that it gets, beside those of `pass_env` in shopfloor.toml; may be repeated
    #[arg(long, value_name = "VARIABLE")]
    pass_env: Vec<String>,
    #[command(flatten)]
    state_file: StateFile,
    /// The program and its arguments, without a shell
    #[arg(last = true)]
    argv: Vec<String>,
}

pub fn run(context: &Context, args: SpawnArgs) -> CliResult<Exit> {
    let project = context.project()?;
    let state_file = args.state_file.path()?;
    let (argv, configured) = command(context, &args, &project, state_file.as_deref())?;
    let runtime = args.runtime.or(configured).unwrap_or_else(|| "generic".to_owned());
    let spec = super::runtime(context, &runtime)?;
    let cwd = args.cwd.unwrap_or(PathBuf::from("."));
    let cwd = std::fs::canonicalize(&cwd)
        .ok()
        .filter(|cwd| cwd.is_dir())
        .ok_or_else(|| CliError::usage(format!("{} is not a folder", cwd.display())))?;
    let passed = pass_env(context, &project, &args.parts.step, args.pass_env);
    let hands = super::sessions(context);
    let branch = match (args.worktree, args.branch) {
        (false, _) => None,
        (true, None) => Some(String::new()),
        (true, Some(branch)) => Some(check_branch(context, &hands, &project, branch)?),
    };
    let taken_over = branch.as_ref().is_some_and(|branch| is_on_hub(context, &project, branch));
    let env = environment(context, &project, &cwd, passed, state_file);
    let spawn = Spawn {
        parts: args.parts.parts(&project.name),
        runtime: &runtime,
        cwd: &cwd,
        branch: branch.as_deref(),
        taken_over,
        forked_from: None,
        argv,
        leader: super::leader::argv()?,
        env: env.clone(),
        now: now(),
        by: this_process()?,
    };
    let record = match branch.is_some() {
        false => hands.spawn(spawn)?,
        true => {
            let place =
                Place { workspace: super::workspace(context)?, setup: super::setup(context)?, spec, env };
            hands.spawn_in(spawn, |name, branch| {
                place.prepare(&Tree::of_hand(&project.name, name.clone()), branch)
            })?
        }
    };
    show(context, &record);
    Ok(Exit::Fine)
}

type Environment = Vec<(OsString, OsString)>;

/// What a worktree is made ready by, as a job's is.
struct Place {
    workspace: GitWorkspace,
    setup: WorktreeSetup,
    spec: Arc<RuntimeSpec>,
    env: Environment,
}

impl Place {
    /// The files, what the project wants done to them, and nothing left for the client to ask about the folder.
    /// What the session's environment gets of that.
    fn prepare(&self, tree: &Tree, branch: &str) -> Result<Environment, String> {
        let made = self.workspace.prepare(tree, branch, None).map_err(|e| e.to_string())?;
        let outfit = match self.setup.set_up(tree).map_err(|e| e.to_string())? {
            Ok(outfit) => outfit,
            Err(failure) => return Err(format!("its setup failed: {}", failure.why)),
        };
        for note in made.notes.iter().chain(&outfit.notes) {
            eprintln!("note: {}", one_line(note, 300));
        }
        if self.spec.setup == Setup::Claude
            && let Err(why) = trust::settle(&self.env, Path::new(&made.path), false)
        {
            // Then it asks whoever is there.
            eprintln!("warning: {why}");
        }
        Ok(outfit.port.map(|port| ("SHOPFLOOR_PORT".into(), port.to_string().into())).into_iter().collect())
    }
}

pub(super) fn this_process() -> CliResult<ProcessId> {
    identify(std::process::id()).ok_or_else(|| CliError::failed("/proc cannot be read"))
}

/// Whether the hub has a branch of that name, whatever is in it.
fn is_on_hub(context: &Context, project: &Project, branch: &str) -> bool {
    let Ok(git) = context.git() else { return true };
    let found = hub::branch(&git, &context.layout.hub(&project.name), &project.policy.primary_branch, branch);
    !branch.is_empty() && !matches!(found, Err(BranchProblem::Unknown(_) | BranchProblem::BadName(_)))
}

/// A branch that somebody else works on, or that only the merge queue moves, is not for a hand session.
fn check_branch(
    context: &Context,
    hands: &HandSessions,
    project: &Project,
    branch: String,
) -> CliResult<String> {
    let refuse = |why: String| Err(CliError::usage(format!("{} {why}", one_line(&branch, 80))));
    if project.policy.is_landed_on(&branch) {
        return refuse("is what work lands on: only the merge queue moves it".to_owned());
    }
    if let Some(job) = context.engine()?.floor().live_jobs(&project.name).find(|job| job.branch == branch) {
        return refuse(format!("is what the agent of issue #{} works on", job.issue));
    }
    let same = |hand: &Hand| {
        hand.record.as_ref().is_some_and(|record| {
            record.has_tree() && record.project == project.name && record.branch.as_ref() == Some(&branch)
        })
    };
    if let Some(other) = hands.recorded()?.iter().find(|hand| same(hand)) {
        return refuse(format!("is the branch of {}, which is not finished", other.name));
    }
    Ok(branch)
}

/// What to run, and the step's runtime if the configuration has it.
fn command(
    context: &Context,
    args: &SpawnArgs,
    project: &Project,
    state_file: Option<&str>,
) -> CliResult<(Vec<String>, Option<String>)> {
    // What is said here stands, also where the configuration is wrong or missing.
    let runtime = || {
        let config = super::project_config(context, project).ok()?;
        config.steps.get(&args.parts.step).map(|step| step.runtime.clone())
    };
    let first = args.command.as_deref().or(args.argv.first().map(String::as_str));
    if first.is_some_and(|word| word.trim().is_empty()) {
        return Err(CliError::usage("the command is empty")
            .hint("say what to run; without --command it is what [steps.STEP] in shopfloor.toml says"));
    }
    if let Some(line) = &args.command {
        return Ok((["sh", "-c", line].map(str::to_owned).to_vec(), runtime()));
    }
    if !args.argv.is_empty() {
        return Ok((args.argv.clone(), runtime()));
    }
    let config = super::project_config(context, project)?;
    let step = build_cmd::step(&config, &args.parts.step).map_err(|e| {
        let more = e.hint.clone().unwrap_or_default();
        e.hint(format!("say what to run with --command or after `--`; or {more}"))
    })?;
    let PartArgs { step: name, story, .. } = &args.parts;
    let argv = build_cmd::argv(step, &build_cmd::Fill { step: name, story, extra: "", state_file })?;
    Ok((argv, Some(step.runtime.clone())))
}

/// The names of the variables that it may see. Who reads shopfloor.toml's names and finds one unset is told.
pub(super) fn pass_env(
    context: &Context,
    project: &Project,
    step: &str,
    mut asked: Vec<String>,
) -> Vec<String> {
    match super::project_config(context, project) {
        Ok(config) => {
            let of_step = config.steps.get(step).and_then(|step| step.pass_env.clone());
            let of_agent = || config.agent(Role::Dev).map(|agent| agent.pass_env.clone());
            asked.extend(of_step.or_else(of_agent).unwrap_or_default());
        }
        Err(e) => eprintln!("warning: no variables are passed on: {}", e.message),
    }
    for name in asked.iter().filter(|name| std::env::var_os(name).is_none()) {
        eprintln!("warning: {} is to be passed on and is not set", one_line(name, 80));
    }
    asked
}

/// Clean, with `shopfloor` on the PATH and this floor as its home.
pub(super) fn environment(
    context: &Context,
    project: &Project,
    cwd: &Path,
    passed: Vec<String>,
    state_file: Option<String>,
) -> Environment {
    let mut env = clean_env(std::env::vars_os(), &passed);
    if let Some((_, path)) = env.iter_mut().find(|(name, _)| name == "PATH") {
        let mut full = context.layout.bin().into_os_string();
        full.push(":");
        full.push(&path);
        *path = full;
    }
    let root = context.git().ok().and_then(|git| repos::find_checkout(&git, cwd).ok());
    let mut set = |name: &str, value: OsString| {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value));
    };
    set("SHOPFLOOR_HOME", context.layout.root().into());
    set("PROJECT_NAME", project.name.as_str().into());
    set("PRIMARY_BRANCH", (&project.policy.primary_branch).into());
    set("PROJECT_REPO_ROOT", root.unwrap_or_else(|| PathBuf::from(&project.checkout)).into());
    if let Some(file) = state_file {
        set(state_file::VARIABLE, file.into());
    }
    env
}

pub(super) fn show(context: &Context, record: &Record) {
    if !context.json {
        return output::line(&record.name);
    }
    let process = match record.stand {
        Stand::Started { process } => Some(process),
        _ => None,
    };
    output::json(&serde_json::json!({
        "name": record.name,
        "project": record.project,
        "step": record.step,
        "epic": record.epic,
        "story": record.story,
        "cycle": record.cycle,
        "runtime": record.runtime,
        "cwd": record.cwd,
        "branch": record.branch,
        "forked_from": record.forked_from,
        "pid": process.map(|process| process.pid),
    }));
}
