//! `shopfloor down`: end the daemon.

use super::output;
use super::{CliError, CliResult, Context, Exit};
use shopfloor_adapters::host::lock::FileLock;
use std::time::{Duration, Instant};

const END_WITHIN: Duration = Duration::from_secs(60);

/// Ends the daemon; agents' sessions live on and the next `up` takes them up again.
pub fn run(context: &Context) -> CliResult<Exit> {
    if context.ask_daemon("stop")?.is_none() {
        output::line("no daemon runs on this floor");
        return Ok(Exit::Fine);
    }
    // It has ended when its lock is free.
    let began = Instant::now();
    while FileLock::try_exclusive(&context.layout.daemon_lock())?.is_none() {
        if began.elapsed() > END_WITHIN {
            return Err(CliError::new(Exit::Busy, "the daemon was told to end but has not yet")
                .hint("`shopfloor status` shows whether it still runs"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    output::line("the daemon has ended");
    Ok(Exit::Fine)
}
