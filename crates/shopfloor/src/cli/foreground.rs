//! Something that is waited for. Whoever holds the floor's lock does the work: this process, or the daemon, which is
//! then only watched.

use super::{CliError, CliResult, Context, Exit};
use crate::daemon::Daemon;
use crate::log::{self, Detail};
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::{lock, process};
use shopfloor_core::state::Floor;
use shopfloor_engine::{Stop, Until};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Sees to it that the work is done, and returns when it is. If it was done here, this process still holds the floor.
pub fn carry_out(
    context: &Context,
    until: &Until,
    decided: &mut dyn FnMut(&Floor) -> bool,
    stopped: &str,
) -> CliResult<Option<Daemon>> {
    let mut nobody = 0;
    log::to_terminal(Detail::default());
    loop {
        match Daemon::take(context, until.clone()) {
            Ok(mut daemon) => {
                if daemon.runner.run()? == Stop::Asked {
                    return Err(CliError::failed(stopped)
                        .hint("nothing is lost: the next daemon continues, and so does the same command"));
                }
                return Ok(Some(daemon));
            }
            Err(error) if error.exit == Exit::Busy => match follow(context, decided)? {
                Followed::Decided => return Ok(None),
                // Whoever it was, it is this process's turn now.
                Followed::Ended => nobody = 0,
                Followed::Nobody if nobody == TRIES_MAX => return Err(error),
                Followed::Nobody => nobody += 1,
            },
            Err(error) => return Err(error),
        }
    }
}

enum News {
    Written,
    Ended,
}

/// Times in a row that the floor is held and nobody is seen to hold it.
const TRIES_MAX: u32 = 5;

enum Followed {
    Decided,
    Ended,
    /// Whoever held the floor is gone already.
    Nobody,
}

/// Sleeps until whoever holds the floor has brought it so far, or is gone.
fn follow(context: &Context, decided: &mut dyn FnMut(&Floor) -> bool) -> CliResult<Followed> {
    let (written, news) = channel();
    let ended = written.clone();
    // Nobody listens any more once it is decided.
    let exits = ExitWatcher::spawn(move |_| drop(ended.send(News::Ended)))?;
    let mut watch = context.reader()?.watch()?;
    std::thread::spawn(
        move || while watch.wait(Duration::MAX).is_ok() && written.send(News::Written).is_ok() {},
    );
    let daemon = lock::holder(&context.layout.daemon_lock()).and_then(process::identify);
    match daemon {
        Some(daemon) => exits.watch(0, daemon)?,
        None => return Ok(Followed::Nobody),
    }
    let mut engine = context.engine()?;
    let mut ended = false;
    loop {
        engine.refresh()?;
        if decided(engine.floor()) {
            return Ok(Followed::Decided);
        }
        // Its last words were read just now.
        if ended {
            return Ok(Followed::Ended);
        }
        ended = !matches!(news.recv(), Ok(News::Written));
    }
}
