//! `shopfloor session send`: type a text into a session, and say how far it came.

use crate::cli::{CliError, CliResult, Context, Exit, body, output};
use clap::Args;
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_hand::list::is_of;
use shopfloor_hand::typing::{Sent, send};
use shopfloor_hand::{Hand, HandSessions, find_live};
use std::path::Path;
use std::time::Duration;

/// Type a text into a session and press Enter
///
/// It is pasted as a whole, without control characters. If the session's client shows a dialog or a draft, or
/// somebody is typing there, nothing is typed. The answer says how far the text got: `submitted` means that
/// Enter was pressed on it; that the client took it is not confirmed.
///
/// With --all or --role it goes to several hand sessions, one after the other, and prints a line for each. Jobs'
/// sessions are not among them.
#[derive(Args)]
pub struct SendArgs {
    /// The session; with --all or --role, the text
    #[arg(value_name = "NAME", allow_hyphen_values = true)]
    first: String,
    /// The text; `-` is standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true, required_unless_present_any = ["all", "role"])]
    second: Option<String>,
    /// Send to every hand session whose program runs; with --project, of one project
    #[arg(long, conflicts_with_all = ["role", "second"])]
    all: bool,
    /// Send to those that were started for this step, such as dev or review
    #[arg(long, value_name = "STEP", conflicts_with = "second")]
    role: Option<String>,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
}

pub fn run(context: &Context, args: SendArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let timeout = Duration::from_secs(args.timeout);
    let (name, text) = match args.second {
        Some(text) => (Some(args.first), text),
        None => (None, args.first),
    };
    let text = if text == "-" { body::read_file(Path::new("-"))? } else { text };
    let Some(name) = name else { return several(context, &hands, args.role.as_deref(), &text, timeout) };
    let hand = find_live(context, &hands, &name)?;
    let sent = send(context, &hand, &text, timeout)?;
    if context.json {
        output::json(&sent);
    } else {
        sent.receipts.iter().for_each(|receipt| output::line(format!("{} {}", receipt.at, receipt.evidence)));
        output::line("submitted; that it was taken is not confirmed (`session capture` shows the screen)");
    }
    Ok(Exit::Fine)
}

/// To all of them, whatever becomes of each.
fn several(
    context: &Context,
    hands: &HandSessions,
    role: Option<&str>,
    text: &str,
    timeout: Duration,
) -> CliResult<Exit> {
    let project = context.named_project()?;
    let all = hands.all(false)?;
    let step = |hand: &Hand| hand.record.as_ref().map(|record| record.step.as_str()) == role;
    let meant = all.iter().filter(|hand| matches!(hand.probe, Ok(Probe::Alive(_))));
    let meant = meant.filter(|hand| is_of(hand, project.as_ref()) && (role.is_none() || step(hand)));
    let mut sent: Vec<Sent> = Vec::new();
    for hand in meant {
        sent.push(send(context, hand, text, timeout).unwrap_or_else(|e| Sent::failed(hand, e)));
    }
    if sent.is_empty() {
        let of = role.map(|role| format!(" for the step {role:?}")).unwrap_or_default();
        return Err(CliError::no_such(format!("no hand session{of} runs")).hint(
            "jobs' agents are told through their issue: `shopfloor issue comment`, `shopfloor answer`",
        ));
    }
    if context.json {
        output::json(&sent);
    } else {
        for one in &sent {
            let how = one.error.clone().unwrap_or_else(|| "submitted".to_owned());
            output::line(format!("{}: {how}", one.name));
        }
    }
    Ok(if sent.iter().any(|one| one.error.is_some()) { Exit::Failed } else { Exit::Fine })
}
