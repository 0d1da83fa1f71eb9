//! `shopfloor session kill` and `kill-all`: end hand sessions, with everything they started.

use super::list::{is_of, project_filter};
use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::hand::{Hand, HandSessions};

/// End a session with all its processes; what its worktree holds is kept on a rescue ref
///
/// One that is over already is fine. A worktree of its own stays, until `session finish`. A job's session is not
/// ended here: see `shopfloor cancel`.
#[derive(Args)]
pub struct KillArgs {
    name: String,
}

/// End all hand sessions; jobs' sessions are not touched
#[derive(Args)]
pub struct KillAllArgs {
    /// Only this project's
    #[arg(long)]
    project_only: bool,
}

#[derive(Serialize)]
struct Killed {
    name: String,
    /// `killed`, `gone` if it was over before, or `failed`.
    state: &'static str,
    /// The ref that keeps what the worktree held.
    rescue: Option<String>,
    why: Option<String>,
}

pub fn one(context: &Context, args: &KillArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let hand = super::find(context, &hands, &args.name)?;
    let killed = kill(context, &hands, &hand)?;
    if context.json {
        output::json(&killed);
    } else {
        show(&killed);
    }
    Ok(Exit::Fine)
}

pub fn all(context: &Context, args: &KillAllArgs) -> CliResult<Exit> {
    let project = project_filter(context, args.project_only)?;
    let hands = super::sessions(context);
    let all = hands.all(false)?;
    let mut results = Vec::new();
    for hand in all.iter().filter(|hand| hand.ended().is_none() && is_of(hand, project.as_ref())) {
        // One that cannot be ended must not keep the others.
        results.push(kill(context, &hands, hand).unwrap_or_else(|e| Killed {
            name: hand.name.to_string(),
            state: "failed",
            rescue: None,
            why: Some(e.message),
        }));
    }
    if context.json {
        output::json(&results);
    } else {
        results.iter().for_each(show);
    }
    let failed = results.iter().any(|killed| killed.state == "failed");
    Ok(if failed { Exit::Failed } else { Exit::Fine })
}

fn kill(context: &Context, hands: &HandSessions, hand: &Hand) -> CliResult<Killed> {
    let name = hand.name.to_string();
    if let Some(ended) = hand.ended() {
        return Ok(Killed { name, state: "gone", rescue: None, why: Some(ended.why.clone()) });
    }
    let rescue = super::end(context, hands, hand, "it was killed by hand", None)?;
    Ok(Killed { name, state: "killed", rescue: rescue.map(|snapshot| snapshot.reference), why: None })
}

fn show(killed: &Killed) {
    let name = &killed.name;
    let why = killed.why.as_deref().unwrap_or_default();
    output::line(match (killed.state, &killed.rescue) {
        ("gone", _) => format!("{name} is over already: {why}"),
        ("failed", _) => format!("{name} could not be ended: {why}"),
        (_, Some(rescue)) => format!("{name} is ended; what its worktree held is in {rescue}"),
        _ => format!("{name} is ended"),
    });
}
