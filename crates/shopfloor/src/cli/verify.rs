//! `shopfloor verify`: whether a step's work is there, by the project's own checks.

use super::session::{StateFile, project_config, redactor};
use super::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_adapters::git::repos;
use shopfloor_adapters::host::env::clean_env;
use shopfloor_core::state::Project;
use shopfloor_hand::key::StoryKey;
use shopfloor_hand::verify::{Verification, Verifier};
use std::path::{Path, PathBuf};

/// Verify a step's work by `[verify.STEP]` in shopfloor.toml
///
/// Every check must hold. They look at the git worktree that this folder is in, or --cwd. A step without
/// checks is an error, never verified. Exit codes: 0 verified, 1 not verified, 2 not configured; with --exit-zero
/// only the output says whether it is verified, as the seed's verify-step does.
#[derive(Args)]
pub struct VerifyArgs {
    step: String,
    /// The story's key; checks use it as {key}
    key: StoryKey,
    /// The folder to look at [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    state_file: StateFile,
    /// Exit with 0 even if it is not verified, for scripts with `set -e`
    #[arg(long)]
    exit_zero: bool,
}

/// A step's checks, ready to be made. `folder` is in the worktree that is looked at.
pub fn verification(
    context: &Context,
    project: &Project,
    step: &str,
    key: StoryKey,
    folder: &Path,
    state_file: Option<String>,
) -> CliResult<Verification> {
    let config = project_config(context, project)?;
    let verify = config.verify.get(step).ok_or_else(|| {
        let known: Vec<&str> = config.verify.keys().map(String::as_str).collect();
        let known =
            if known.is_empty() { String::new() } else { format!(" (configured: {})", known.join(", ")) };
        CliError::usage(format!("shopfloor.toml does not say how to verify {step:?}{known}"))
            .hint("add for example: [verify.create], checks = [{ files = \"docs/{key}-*.md\" }]")
    })?;
    let checks = verify.checks.iter().map(|check| check.check(&config.project.primary_branch));
    let checks = checks.collect::<Result<_, _>>().map_err(|(_, message, _)| CliError::usage(message))?;
    let git = context.git()?;
    let root = match repos::find_checkout(&git, folder) {
        Ok(top) => top,
        // Not in a git worktree: then the folder itself is looked at.
        Err(_) => std::fs::canonicalize(folder)
            .map_err(|e| CliError::usage(format!("{}: {e}", folder.display())))?,
    };
    let env = clean_env(std::env::vars_os(), &[]);
    let verifier = Verifier { root, git, env, redactor: redactor(context, Some(&project.name)), state_file };
    Ok(Verification { verifier, checks, step: step.to_owned(), key })
}

pub fn run(context: &Context, args: VerifyArgs) -> CliResult<Exit> {
    let folder = args.cwd.unwrap_or(PathBuf::from("."));
    let folder = std::path::absolute(folder)?;
    let (project, state_file) = (context.project()?, args.state_file.path()?);
    let answer = verification(context, &project, &args.step, args.key, &folder, state_file)?.answer();
    if context.json {
        output::json(&answer);
    } else {
        for reason in &answer.reasons {
            let word = if reason.ok { output::paint("ok", 32) } else { output::paint("no", 31) };
            output::line(format!("{word}  {}: {}", reason.check, reason.why));
        }
        output::line(if answer.verified { "verified" } else { "not verified" });
    }
    Ok(if answer.verified || args.exit_zero { Exit::Fine } else { Exit::Failed })
}
