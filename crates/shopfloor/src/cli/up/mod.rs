//! `shopfloor up`: run the factory.

mod progress;

use super::output;
use super::{CliError, CliResult, Context, Exit};
use crate::daemon::Daemon;
use clap::Args;
use progress::Progress;
use shopfloor_engine::Stop;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Run the factory: work on every issue labelled backlog
///
/// In the foreground, until Ctrl-C or `shopfloor down`. Agents' sessions live on when it ends and
/// are taken up again by the next `up`.
#[derive(Args)]
pub struct UpArgs {
    /// Go to the background
    #[arg(long, conflicts_with = "until_idle")]
    detach: bool,
    /// End when no job can go on by itself: exit 0, or 3 if one ended blocked or waits for a person
    #[arg(long)]
    until_idle: bool,
}

pub fn run(context: &Context, args: &UpArgs) -> CliResult<Exit> {
    if args.detach {
        return detach(context);
    }
    let mut daemon = Daemon::take(context, args.until_idle)?;
    let mut progress = Progress::new(context.json);
    daemon.runner.observe(move |floor, notes| progress.update(floor, notes));
    match daemon.runner.run()? {
        Stop::Asked => Ok(Exit::Fine),
        Stop::Idle { unfinished: 0 } => Ok(Exit::Fine),
        Stop::Idle { unfinished } => {
            eprintln!("{unfinished} job(s) did not end merged: see `shopfloor status`");
            Ok(Exit::Unfinished)
        }
    }
}

/// How long a daemon may take to answer for the first time.
const START_WITHIN: Duration = Duration::from_secs(60);

/// Starts the daemon as a process of its own and waits until it answers or ends.
fn detach(context: &Context) -> CliResult<Exit> {
    context.engine()?;
    if context.ask_daemon("ping")?.is_some() {
        return Err(
            CliError::new(Exit::Busy, "a daemon runs on this floor already").hint("`shopfloor down` ends it")
        );
    }
    let log_path = context.layout.daemon_log();
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&log_path)?;
    let mut child = {
        use std::os::unix::process::CommandExt;
        Command::new(std::env::current_exe()?)
            .arg("--home")
            .arg(context.layout.root())
            .arg("up")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C in this terminal is not for it.
            .process_group(0)
            .spawn()?
    };
    let began = Instant::now();
    loop {
        if context.ask_daemon("ping")?.is_some() {
            output::line(format!("the daemon runs, pid {}; log: {}", child.id(), log_path.display()));
            return Ok(Exit::Fine);
        }
        if let Some(status) = child.try_wait()? {
            let exit = match status.code() {
                Some(5) => Exit::Busy,
                Some(2) => Exit::Usage,
                _ => Exit::Failed,
            };
            return Err(CliError::new(exit, format!("the daemon did not start ({status})"))
                .hint(format!("its log: {}", log_path.display())));
        }
        if began.elapsed() > START_WITHIN {
            return Err(CliError::failed("the daemon does not answer")
                .hint(format!("its log: {}", log_path.display())));
        }
        // Between two looks at a start that takes tens of milliseconds.
        std::thread::sleep(Duration::from_millis(20));
    }
}
