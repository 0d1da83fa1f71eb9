//! `shopfloor session check`: one look at a session, against the one before.

use super::result::csv;
use super::watcher;
use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::hand::{Hand, HandSessions};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_core::hand::check::{Sight, Standing, check};
use shopfloor_core::hand::name::HandName;
use std::path::{Path, PathBuf};

/// Look at a session once, and say how it stands
///
/// The seeds' `tmux-status-check`, and called so too. What is seen is kept in a state file and compared with the
/// last time: a status line's clock that moved, or is seen for the first time, means alive, whatever else says
/// stuck.
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

#[derive(Serialize)]
struct Checked {
    session: String,
    session_state: Standing,
    statusline_time: Option<String>,
    previous_time: Option<String>,
    context_percent: Option<u8>,
    reason: String,
    state_file: Option<String>,
}

pub fn run(context: &Context, args: &CheckArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let checked = match super::find(context, &hands, &args.name) {
        Ok(hand) => match hand.ended() {
            Some(ended) => gone(hand.name.to_string(), format!("the session is over: {}", ended.why)),
            None => look_at(context, &hands, &hand, args)?,
        },
        Err(e) if e.exit == Exit::NoSuchThing => gone(args.name.clone(), e.message),
        Err(e) => return Err(e),
    };
    let exit = match checked.session_state {
        _ if args.exit_zero => Exit::Fine,
        Standing::NotFound => Exit::NoSuchThing,
        Standing::Crashed | Standing::Stuck | Standing::Unknown => Exit::Failed,
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

fn look_at(context: &Context, hands: &HandSessions, hand: &Hand, args: &CheckArgs) -> CliResult<Checked> {
    let spec = super::runtime_of(context, hand)?;
    let look = watcher::once(hands, hand, &spec);
    let file = args.state_file.clone().unwrap_or_else(|| kept(hands, &hand.name));
    let before = read(&file);
    let (session_state, reason, sight) = check(&spec, before.as_ref(), &look);
    let text = serde_json::to_vec(&sight).expect("it has string keys only");
    write_atomic(&std::path::absolute(&file)?, &text, 0o600)?;
    let line = look.screen.as_ref().and_then(|(reading, _)| reading.statusline);
    Ok(Checked {
        session: hand.name.to_string(),
        session_state,
        statusline_time: sight.clock.map(|clock| clock.to_string()),
        previous_time: before.and_then(|before| before.clock).map(|clock| clock.to_string()),
        context_percent: line.and_then(|line| line.context_percent),
        reason,
        state_file: Some(file.display().to_string()),
    })
}

fn gone(session: String, reason: String) -> Checked {
    Checked {
        session,
        session_state: Standing::NotFound,
        statusline_time: None,
        previous_time: None,
        context_percent: None,
        reason,
        state_file: None,
    }
}

fn kept(hands: &HandSessions, name: &HandName) -> PathBuf {
    hands.layout.hand_session(name).join("seen.json")
}

/// What cannot be read was not seen.
fn read(file: &Path) -> Option<Sight> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}
