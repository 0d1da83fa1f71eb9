//! `shopfloor session spawn`: start a program in a terminal of its own.

use super::state_file::StateFile;
use super::{PartArgs, build_cmd};
use crate::cli::{CliError, CliResult, Context, Exit, now, output};
use clap::Args;
use shopfloor_adapters::host::env::clean_env;
use shopfloor_adapters::host::process::identify;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::ids::Role;
use shopfloor_core::state::Project;
use shopfloor_core::text::one_line;
use shopfloor_hand::spawn::{check_branch, environment, is_on_origin, start};
use shopfloor_hand::{Means, Record, Spawn, Stand};
use std::path::PathBuf;

/// Start a program in a session of its own, and print the session's name
///
/// It gets a clean environment, a terminal of 200x50, and a process group of its own. It runs `--command`, or
/// the words after `--`, or what `[steps.STEP]` in shopfloor.toml says. From your environment it also gets what
/// `pass_env` of the step names, or else that of `[agents.dev]`. A worktree is prepared as for a job: what
/// `[worktree]` in shopfloor.toml asks for is done first, and Claude Code is told that the folder can be
/// trusted.
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
    /// Run in a worktree and on a branch of its own; `session finish` ends that
    #[arg(long)]
    worktree: bool,
    /// That worktree's branch: one that the hub has, or a new one [default: hand/ and the session's name]
    #[arg(long, value_name = "BRANCH", requires = "worktree")]
    branch: Option<String>,
    /// Whose screens to expect: claude, codex, or generic for any other program
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// A variable of your environment to pass on, besides those in `pass_env` in shopfloor.toml; may be repeated
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
    let spec = context.runtime(&runtime)?;
    let cwd = args.cwd.unwrap_or(PathBuf::from("."));
    let cwd = std::fs::canonicalize(&cwd)
        .ok()
        .filter(|cwd| cwd.is_dir())
        .ok_or_else(|| CliError::usage(format!("{} is not a folder", cwd.display())))?;
    let passed = pass_env(context, &project, &args.parts.step, args.pass_env);
    let branch = match (args.worktree, args.branch) {
        (false, _) => None,
        (true, None) => Some(String::new()),
        (true, Some(branch)) => Some(check_branch(context, &project, branch)?),
    };
    let taken_over = branch.as_ref().is_some_and(|branch| is_on_origin(context, &project, branch));
    let env = clean_env(std::env::vars_os(), &passed);
    let spawn = Spawn {
        parts: args.parts.parts(&project.name),
        runtime: &runtime,
        cwd: &cwd,
        branch: branch.as_deref(),
        taken_over,
        forked_from: None,
        argv,
        leader: super::leader::argv()?,
        env: environment(context, &project, &cwd, env, state_file),
        now: now(),
        by: this_process()?,
    };
    let record = start(context, &spec, spawn)?;
    show(context, &record);
    Ok(Exit::Fine)
}

pub(super) fn this_process() -> CliResult<ProcessId> {
    identify(std::process::id()).ok_or_else(|| CliError::failed("/proc cannot be read"))
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
            .hint("say what to run; without --command, [steps.STEP] in shopfloor.toml does"));
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
    let argv = build_cmd::argv(step, (&args.parts.step, &args.parts.story), "", state_file)?;
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
            let of_agent = || config.agent(Role::DEV).map(|agent| agent.pass_env.clone());
            asked.extend(of_step.or_else(of_agent).unwrap_or_default());
        }
        Err(e) => eprintln!("warning: no variables are passed on: {}", e.message),
    }
    for name in asked.iter().filter(|name| std::env::var_os(name).is_none()) {
        eprintln!("warning: {} should be passed on, but is not set", one_line(name, 80));
    }
    asked
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
