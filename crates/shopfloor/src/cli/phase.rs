//! `shopfloor phase`: what an agent calls to say where it is. The same as writing the phase file.

use super::ask::AskArgs;
use super::{CliError, CliResult, Exit, now};
use clap::Args;
use shopfloor_adapters::phase_file;
use shopfloor_core::ids::Epoch;
use shopfloor_core::phase::{Ask, Phase, PhaseReport};
use std::path::PathBuf;

/// Signal a phase, from inside an agent's session
#[derive(Args)]
pub struct PhaseArgs {
    /// awaiting_ci, awaiting_review, needs_human, done or failed
    phase: String,
    /// The reason, or the question
    #[arg(long, short)]
    detail: Option<String>,
    #[command(flatten, next_help_heading = "With needs_human")]
    ask: AskArgs,
}

pub fn run(args: PhaseArgs) -> CliResult<Exit> {
    let phase: Phase = args.phase.parse().map_err(|e| CliError::usage(format!("{e}")))?;
    let ask = args.ask.ask()?;
    if phase != Phase::NeedsHuman && ask != Ask::default() {
        return Err(CliError::usage(format!(
            "options, a default and a deadline belong to a question, not to {phase}"
        ))
        .hint("use them with needs_human"));
    }
    write(PhaseReport { detail: args.detail, ask, ..PhaseReport::new(phase) })?;
    Ok(Exit::Fine)
}

/// Writes the phase file of the session this process runs in.
pub fn signal(phase: Phase, detail: Option<String>) -> CliResult<()> {
    write(PhaseReport { detail, ..PhaseReport::new(phase) })
}

fn write(report: PhaseReport) -> CliResult<()> {
    let path = std::env::var_os("PHASE_FILE").map(PathBuf::from).ok_or_else(|| {
        CliError::usage("PHASE_FILE is not set: this is not an agent's session")
            .hint("the factory sets it for the agents it starts")
    })?;
    let session: Option<Epoch> = std::env::var("SHOPFLOOR_SESSION").ok().and_then(|s| s.parse().ok());
    let report = PhaseReport { session, ..report };
    // Two signals of the same phase are two contents.
    let id = format!("{}-{}", now().0, std::process::id());
    phase_file::write(&path, &report.render(&id))
        .map_err(|e| CliError::failed(format!("the phase file {} cannot be written: {e}", path.display())))
}
