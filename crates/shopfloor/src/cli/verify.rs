//! `shopfloor verify`: whether a step's work is there, by the project's own checks.

use super::session::{StateFile, project_config, redactor};
use super::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::git::repos;
use shopfloor_adapters::host::env::clean_env;
use shopfloor_adapters::verify::{Check, Reason, Verifier};
use shopfloor_core::hand::key::StoryKey;
use shopfloor_core::state::Project;
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
    /// Exit with 0 if it is not verified, too, for scripts with `set -e`
    #[arg(long)]
    exit_zero: bool,
}

/// What the checks said.
#[derive(Serialize)]
pub struct Answer {
    pub verified: bool,
    step: String,
    key: String,
    reasons: Vec<ReasonView>,
}

#[derive(Serialize)]
struct ReasonView {
    check: String,
    ok: bool,
    why: String,
}

impl Answer {
    /// The first check that did not hold.
    pub fn missing(&self) -> Option<String> {
        self.reasons
            .iter()
            .find(|reason| !reason.ok)
            .map(|reason| format!("{}: {}", reason.check, reason.why))
    }
}

/// A step's checks, ready to be made.
pub struct Verification {
    verifier: Verifier,
    checks: Vec<Check>,
    step: String,
    key: StoryKey,
}

impl Verification {
    /// `folder` is in the worktree that is looked at.
    pub fn new(
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
        let verifier =
            Verifier { root, git, env, redactor: redactor(context, Some(&project.name)), state_file };
        Ok(Verification { verifier, checks, step: step.to_owned(), key })
    }

    pub fn answer(&self) -> Answer {
        let reasons = self.verifier.reasons(&self.checks, &self.key);
        Answer {
            verified: reasons.iter().all(|reason| reason.ok),
            step: self.step.clone(),
            key: self.key.to_string(),
            reasons: reasons
                .into_iter()
                .map(|Reason { check, ok, why }| ReasonView { check, ok, why })
                .collect(),
        }
    }
}

pub fn run(context: &Context, args: VerifyArgs) -> CliResult<Exit> {
    let folder = args.cwd.unwrap_or(PathBuf::from("."));
    let folder = std::path::absolute(folder)?;
    let (project, state_file) = (context.project()?, args.state_file.path()?);
    let answer = Verification::new(context, &project, &args.step, args.key, &folder, state_file)?.answer();
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
