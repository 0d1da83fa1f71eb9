//! `shopfloor session check`: one look at a session, against the one before.

use super::result::csv;
use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_hand::check::LookState;
use shopfloor_hand::look;
use std::path::PathBuf;

/// Look at a session once, and say how it is doing
///
/// This is the seeds' `tmux-status-check`, which is also an alias. What is seen is kept in a state file and
/// compared with the last look: a status line's clock that moved, or is seen for the first time, means alive,
/// even if something else says stuck.
///
/// The answer is a line of CSV: state, clock, the clock before, per cent of the context in use, reason; or with
/// --json an object. The state is one of in_progress, just_started, idle, waiting (for somebody to answer),
/// completed, crashed, stuck, unknown (nothing can be said now) and not_found.
///
/// Exit codes: 0 alive or completed, 4 not_found, 1 any other.
#[derive(Args)]
pub struct CheckArgs {
    name: String,
    /// Where to keep what was seen [default: a file in the floor's home]
    #[arg(long, value_name = "FILE")]
    state_file: Option<PathBuf>,
    /// Exit with 0 whatever the state is, for scripts with `set -e`
    #[arg(long)]
    exit_zero: bool,
}

pub fn run(context: &Context, args: CheckArgs) -> CliResult<Exit> {
    let checked = look::once(context, &args.name, args.state_file)?;
    let exit = match checked.session_state {
        _ if args.exit_zero => Exit::Fine,
        LookState::NotFound => Exit::NoSuchThing,
        LookState::Crashed | LookState::Stuck | LookState::Unknown => Exit::Failed,
        _ => Exit::Fine,
    };
    if context.json {
        output::json(&checked);
    } else {
        let (clock, before) = (checked.statusline_time.unwrap_or_default(), checked.previous_time);
        let percent = checked.context_percent.map(|percent| percent.to_string()).unwrap_or_default();
        let state = checked.session_state.as_str();
        output::line(csv(&[state, &clock, &before.unwrap_or_default(), &percent, &checked.reason]));
    }
    Ok(exit)
}
