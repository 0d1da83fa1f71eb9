//! `shopfloor down`: end the daemon.

use super::output;
use super::{CliError, CliResult, Context, Exit};
use clap::Args;
use shopfloor_adapters::host::lock::FileLock;
use shopfloor_core::state::{Request, RequestState};
use shopfloor_core::time::Time;
use shopfloor_desk::now;
use shopfloor_desk::view::vault::in_short;
use std::collections::BTreeSet;
use std::time::Duration;

/// From the end of the line to the end of the process.
const LAST_BREATH: Duration = Duration::from_secs(10);

/// On top of the time that a fire may take: for beginning it, and for taking in how it ended.
const SLACK: Duration = Duration::from_secs(60);

/// End the daemon; agents' sessions live on
///
/// The next `up` takes them up again. What the vault is carrying out is waited for, as long as its type says that it
/// may take.
#[derive(Args)]
pub struct DownArgs {
    /// Do not wait: what the vault is carrying out is cut short, and you are asked whether it happened
    #[arg(long)]
    now: bool,
}

pub fn run(context: &Context, args: &DownArgs) -> CliResult<Exit> {
    if !args.now && context.ask_daemon("ping")?.is_some() {
        wait_for_fires(context)?;
    }
    // The daemon keeps the line open until it has ended.
    if context.ask_daemon("stop")?.is_none() {
        say(context, false, "no daemon runs on this floor");
        return Ok(Exit::Fine);
    }
    // A program that it was just starting may hold the lock a moment longer.
    if FileLock::wait(&context.layout.daemon_lock(), LAST_BREATH)?.is_none() {
        return Err(CliError::new(Exit::Busy, "the daemon was told to end but has not yet")
            .hint("`shopfloor status` shows whether it still runs"));
    }
    say(context, true, "the daemon has ended");
    Ok(Exit::Fine)
}

/// When a request that is being carried out has to be over.
fn until(request: &Request) -> Option<Time> {
    match &request.state {
        RequestState::Firing { since, .. } => Some(*since + request.spec.as_ref()?.timeout + SLACK),
        _ => None,
    }
}

fn wait_for_fires(context: &Context) -> CliResult<()> {
    let mut changes = context.subscribe(None)?;
    let mut told = BTreeSet::new();
    loop {
        let floor = changes.floor()?;
        let under_way: Vec<(&Request, Time)> =
            floor.requests.iter().filter_map(|request| Some((request, until(request)?))).collect();
        let Some(last) = under_way.iter().map(|(_, until)| *until).max() else { return Ok(()) };
        let left = last.since(now());
        for (request, _) in &under_way {
            if left > Duration::ZERO && told.insert((request.number, request.fires)) {
                eprintln!("waiting at most {}: {}", output::span(left), in_short(request));
            }
        }
        if left == Duration::ZERO {
            let names: Vec<String> = under_way.iter().map(|(request, _)| in_short(request)).collect();
            return Err(CliError::new(Exit::Busy, format!("the daemon still runs: {}", names.join("; ")))
                .hint("`shopfloor down --now` cuts it short; then you are asked whether it happened"));
        }
        changes.next(left)?;
    }
}

fn say(context: &Context, ended: bool, text: &str) {
    if context.json {
        output::json(&serde_json::json!({ "ended": ended }));
    } else {
        output::line(text);
    }
}
