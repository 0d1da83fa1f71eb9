//! `shopfloor down`: end the daemon.

use super::output;
use super::{CliError, CliResult, Context, Exit};
use shopfloor_adapters::host::lock::FileLock;
use std::time::Duration;

/// From the end of the line to the end of the process.
const LAST_BREATH: Duration = Duration::from_secs(10);

/// Ends the daemon; agents' sessions live on and the next `up` takes them up again.
pub fn run(context: &Context) -> CliResult<Exit> {
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

fn say(context: &Context, ended: bool, text: &str) {
    if context.json {
        output::json(&serde_json::json!({ "ended": ended }));
    } else {
        output::line(text);
    }
}
