//! `shopfloor session kill` and `kill-all`: end hand sessions, with everything they started.

use super::list::project_filter;
use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_hand::end::{Killed, kill};
use shopfloor_hand::find;
use shopfloor_hand::list::is_of;

/// End a session with all its processes; what its worktree holds is kept on a rescue ref
///
/// It is no error if it has ended already. A worktree of its own stays until `session finish`. A job's session
/// is not ended here: see `shopfloor cancel`.
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

pub fn one(context: &Context, args: &KillArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let hand = find(context, &hands, &args.name)?;
    let killed = kill(context, &hand)?;
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
        results.push(kill(context, hand).unwrap_or_else(|e| Killed {
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

fn show(killed: &Killed) {
    let name = &killed.name;
    let why = killed.why.as_deref().unwrap_or_default();
    output::line(match (killed.state, &killed.rescue) {
        ("gone", _) => format!("{name} has already ended: {why}"),
        ("failed", _) => format!("{name} could not be ended: {why}"),
        (_, Some(rescue)) => format!("{name} is ended; what its worktree held is in {rescue}"),
        _ => format!("{name} is ended"),
    });
}
