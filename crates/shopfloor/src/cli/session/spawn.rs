//! `shopfloor session spawn`: start a program in a terminal of its own.

use super::{PartArgs, build_cmd};
use crate::cli::{CliError, CliResult, Context, Exit, now, output};
use clap::Args;
use shopfloor_adapters::hand::{Record, Spawn, Stand};
use shopfloor_adapters::host::env::clean_env;
use shopfloor_adapters::host::process::identify;
use shopfloor_core::state::Project;
use std::ffi::OsString;
use std::path::PathBuf;

/// Start a program in a session of its own, and print the session's name
///
/// It gets a clean environment, a terminal of 200x50, and a process group of its own. What it runs is
/// `--command`, or the words after `--`, or else what `[steps.STEP]` in shopfloor.toml says.
#[derive(Args)]
pub struct SpawnArgs {
    #[command(flatten)]
    parts: PartArgs,
    /// A command line for `sh -c`
    #[arg(long, value_name = "LINE", conflicts_with = "argv", allow_hyphen_values = true)]
    command: Option<String>,
    /// The folder to run in [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Whose screens it shows: claude, codex, or generic for any other program
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// The program and its arguments, without a shell
    #[arg(last = true)]
    argv: Vec<String>,
}

pub fn run(context: &Context, args: SpawnArgs) -> CliResult<Exit> {
    let project = context.project()?;
    let (argv, configured) = command(context, &args, &project)?;
    let runtime = args.runtime.or(configured).unwrap_or_else(|| "generic".to_owned());
    super::runtime(&runtime)?;
    let cwd = args.cwd.unwrap_or(PathBuf::from("."));
    let cwd = std::fs::canonicalize(&cwd)
        .ok()
        .filter(|cwd| cwd.is_dir())
        .ok_or_else(|| CliError::usage(format!("{} is not a folder", cwd.display())))?;
    let by = identify(std::process::id()).ok_or_else(|| CliError::failed("/proc cannot be read"))?;
    let record = super::sessions(context).spawn(Spawn {
        parts: args.parts.parts(&project.name),
        runtime: &runtime,
        cwd: &cwd,
        argv,
        leader: super::leader::argv()?,
        env: environment(context),
        now: now(),
        by,
    })?;
    show(context, &record);
    Ok(Exit::Fine)
}

/// What to run, and the step's runtime if the configuration has it.
fn command(
    context: &Context,
    args: &SpawnArgs,
    project: &Project,
) -> CliResult<(Vec<String>, Option<String>)> {
    // What is said here stands, also where the configuration is wrong or missing.
    let runtime = || {
        let config = super::project_config(context, project).ok()?;
        config.steps.get(&args.parts.step).map(|step| step.runtime.clone())
    };
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
    let argv = build_cmd::argv(step, &args.parts.step, &args.parts.story, "")?;
    Ok((argv, Some(step.runtime.clone())))
}

/// Clean, with `shopfloor` on the PATH and this floor as its home.
fn environment(context: &Context) -> Vec<(OsString, OsString)> {
    let mut env = clean_env(std::env::vars_os(), &[]);
    if let Some((_, path)) = env.iter_mut().find(|(name, _)| name == "PATH") {
        let mut full = context.layout.bin().into_os_string();
        full.push(":");
        full.push(&path);
        *path = full;
    }
    env.push(("SHOPFLOOR_HOME".into(), context.layout.root().into()));
    env
}

fn show(context: &Context, record: &Record) {
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
        "pid": process.map(|process| process.pid),
    }));
}
