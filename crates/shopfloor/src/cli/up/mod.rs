//! `shopfloor up`: run the factory.

mod progress;

use super::output;
use super::{CliError, CliResult, Context, Exit};
use crate::config::{self, needs};
use crate::daemon::{Daemon, VARIABLES};
use clap::Args;
use progress::Progress;
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::host::process;
use shopfloor_adapters::host::rotate::rotate;
use shopfloor_core::text::neutralise;
use shopfloor_engine::{Stop, Until};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
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
    warn(context)?;
    if let Some(told) = tell(context)? {
        return Ok(told);
    }
    if args.detach {
        return detach(context);
    }
    let until = if args.until_idle { Until::Idle } else { Until::Never };
    let mut daemon = Daemon::take(context, until)?;
    let mut progress = Progress::new(context.json);
    let log = context.layout.daemon_log();
    let mut told = 0;
    daemon.runner.observe(move |floor, notes| {
        progress.update(floor, notes);
        // Every line of it is of a note; looking at its size each time would be too much.
        told += notes.len();
        if told >= NOTES_BETWEEN_LOOKS {
            told = 0;
            bound_log(&log);
        }
    });
    match daemon.runner.run()? {
        Stop::Asked => Ok(Exit::Fine),
        Stop::Idle { unfinished: 0 } => Ok(Exit::Fine),
        Stop::Idle { unfinished } => {
            eprintln!(
                "{unfinished} job(s) did not end merged, or wait for a person: see `shopfloor status` and `shopfloor questions`"
            );
            Ok(Exit::Unfinished)
        }
    }
}

/// Says what the projects need and this environment has not.
fn warn(context: &Context) -> CliResult<()> {
    let floor_config = context.floor_config()?;
    let engine = context.engine()?;
    for project in engine.floor().projects.iter() {
        let checkout = Path::new(&project.checkout);
        // One that cannot be read is told of by whoever reads it to use it.
        let Ok(config) = config::load::project(&checkout.join(config::FILE_NAME), &floor_config) else {
            continue;
        };
        for line in needs::warnings(&config, checkout, &|name| std::env::var(name).ok()) {
            eprintln!("warning: {}: {}", project.name, neutralise(&line));
        }
    }
    Ok(())
}

/// A daemon that runs takes over what agents' variables are here, and tries again what it could not begin.
/// `None`: there is none.
fn tell(context: &Context) -> CliResult<Option<Exit>> {
    let Some(pong) = context.ask_daemon("ping")? else { return Ok(None) };
    let pid = pong.strip_prefix("pong ").unwrap_or_default();
    let floor_config = context.floor_config()?;
    let engine = context.engine()?;
    let checkouts = engine.floor().projects.iter().map(|p| Path::new(&p.checkout));
    let names = checkouts.flat_map(|checkout| needs::named_variables(checkout, &floor_config));
    // What is not set here may be set there, and is left alone.
    let told: BTreeMap<String, String> =
        names.filter_map(|name| std::env::var(&name).ok().map(|value| (name, value))).collect();
    let request = format!("{VARIABLES}{}", serde_json::to_string(&told).unwrap_or_default());
    let answer = context.ask_daemon(&request)?.unwrap_or_default();
    let Some(changed) = answer.strip_prefix("ok") else {
        return Err(CliError::new(
            Exit::Busy,
            format!("a daemon runs on this floor already (pid {pid}), and {answer}"),
        )
        .hint("`shopfloor down` ends it"));
    };
    let changed: Vec<&str> = changed.split_whitespace().collect();
    if changed.is_empty() {
        return Err(CliError::new(Exit::Busy, format!("a daemon runs on this floor already (pid {pid})"))
            .hint("`shopfloor status` shows what it does, `shopfloor down` ends it"));
    }
    if context.json {
        output::json(
            &serde_json::json!({ "running": true, "pid": pid.parse::<u32>().ok(), "changed": changed }),
        );
    } else {
        output::line(format!(
            "the daemon (pid {pid}) has the new values of {}: the next sessions get them",
            changed.join(", ")
        ));
    }
    Ok(Some(Exit::Fine))
}

/// The daemon's log is begun anew beyond this; the part before is kept.
const LOG_BYTES_MAX: u64 = 8 * 1024 * 1024;
const NOTES_BETWEEN_LOOKS: usize = 1_000;

/// A log that cannot be bounded holds nothing up.
fn bound_log(log: &Path) {
    if let Err(e) = rotate(log, LOG_BYTES_MAX) {
        eprintln!("warning: {} could not be begun anew: {e}", log.display());
    }
}

/// How long a daemon may take to answer for the first time.
const START_WITHIN: Duration = Duration::from_secs(60);

/// Starts the daemon as a process of its own and waits until it answers or ends.
fn detach(context: &Context) -> CliResult<Exit> {
    let (news, wait) = channel();
    let (appeared, ended) = (news.clone(), news);
    // Nobody listens any more once the answer is known.
    let sockets = FileWatcher::spawn(move |_| drop(appeared.send(News::Socket)))?;
    let exits = ExitWatcher::spawn(move |_| drop(ended.send(News::Ended)))?;
    sockets.watch(0, context.layout.daemon_socket())?;

    let log_path = context.layout.daemon_log();
    let mut child = spawn_daemon(context, &log_path)?;
    match process::identify(child.id()) {
        Some(daemon) => exits.watch(0, daemon)?,
        None => return Err(not_started(child.wait()?, &log_path)),
    }
    let deadline = Instant::now() + START_WITHIN;
    loop {
        match wait.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(News::Socket) if context.ask_daemon("ping")? == Some(format!("pong {}", child.id())) => {
                if context.json {
                    let log = log_path.display().to_string();
                    output::json(&serde_json::json!({ "running": true, "pid": child.id(), "log": log }));
                } else {
                    output::line(format!("the daemon runs, pid {}; log: {}", child.id(), log_path.display()));
                }
                return Ok(Exit::Fine);
            }
            Ok(News::Socket) => {}
            Ok(News::Ended) => return Err(not_started(child.wait()?, &log_path)),
            Err(_) => {
                return Err(CliError::failed("the daemon does not answer")
                    .hint(format!("its log: {}", log_path.display())));
            }
        }
    }
}

enum News {
    /// Something happened at the daemon's door.
    Socket,
    Ended,
}

fn spawn_daemon(context: &Context, log_path: &Path) -> CliResult<Child> {
    bound_log(log_path);
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log_path)?;
    let child = Command::new(std::env::current_exe()?)
        .arg("--home")
        .arg(context.layout.root())
        .arg("up")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // Ctrl-C in this terminal is not for it.
        .process_group(0)
        .spawn()?;
    Ok(child)
}

fn not_started(status: ExitStatus, log_path: &Path) -> CliError {
    let exit = match status.code() {
        Some(5) => Exit::Busy,
        Some(2) => Exit::Usage,
        _ => Exit::Failed,
    };
    CliError::new(exit, format!("the daemon did not start ({status})"))
        .hint(format!("its log: {}", log_path.display()))
}
