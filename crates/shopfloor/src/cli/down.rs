//! `shopfloor down`: end the daemon.

use super::output;
use super::{CliError, CliResult, Context, Exit};
use shopfloor_adapters::host::lock::FileLock;

/// Ends the daemon; agents' sessions live on and the next `up` takes them up again.
pub fn run(context: &Context) -> CliResult<Exit> {
    // The daemon keeps the line open until it has ended.
    if context.ask_daemon("stop")?.is_none() {
        say(context, false, "no daemon runs on this floor");
        return Ok(Exit::Fine);
    }
    if FileLock::exclusive(&context.layout.daemon_lock())?.is_none() {
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
