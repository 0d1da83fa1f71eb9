//! `shopfloor up`: run the factory.

mod progress;

use super::config::accept::Change;
use super::output;
use super::{CliError, CliResult, Context, Exit};
use crate::config::needs;
use crate::daemon::{Daemon, VARIABLES};
use crate::log::{self, Detail};
use crate::projects::Projects;
use clap::{Args, ValueEnum};
use progress::Progress;
use shopfloor_adapters::host::exit_watch::ExitWatcher;
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_adapters::host::process;
use shopfloor_core::state::Project;
use shopfloor_core::text::{head, neutralise, one_line};
use shopfloor_core::texts::people;
use shopfloor_engine::{Stop, Until};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Run the factory: work on every issue labelled backlog
///
/// Runs in the foreground until Ctrl-C or `shopfloor down`. Agents' sessions outlive it, and the next `up` takes
/// them over.
#[derive(Args)]
pub struct UpArgs {
    /// Run in the background
    #[arg(long, conflicts_with = "until_idle")]
    detach: bool,
    /// Exit when no job can continue by itself: with 0, or with 3 if one ended blocked or waits for a person
    #[arg(long)]
    until_idle: bool,
    /// What is worth a line in the log
    #[arg(long, value_name = "LEVEL", env = "SHOPFLOOR_LOG", hide_env_values = true, default_value = "info")]
    log: Detail,
    /// The daemon of `--detach` itself: its standard error is the log
    #[arg(long, hide = true)]
    in_background: bool,
}

pub fn run(context: &Context, args: &UpArgs) -> CliResult<Exit> {
    match args.in_background {
        true => {
            // Nothing that it starts reaches the terminal that it was started from, and Ctrl-C there is not for it.
            let _ = rustix::process::setsid();
            log::to_file(args.log, &context.layout.daemon_log())?;
        }
        false => log::to_terminal(args.log),
    }
    warn(context)?;
    if let Some(told) = tell(context)? {
        return Ok(told);
    }
    if args.detach {
        return detach(context, args.log);
    }
    let until = if args.until_idle { Until::Idle } else { Until::Never };
    let mut daemon = Daemon::take(context, until)?;
    let mut progress = Progress::new(context.json, args.in_background);
    daemon.runner.observe(move |floor, notes| progress.update(floor, notes));
    match daemon.runner.run()? {
        Stop::Asked => Ok(Exit::Fine),
        Stop::Idle { unfinished: 0 } => Ok(Exit::Fine),
        Stop::Idle { unfinished } => {
            eprintln!(
                "{unfinished} job(s) did not land, or wait for a person: see `shopfloor status` and `shopfloor questions`"
            );
            Ok(Exit::Unfinished)
        }
    }
}

/// How much of a change is shown.
const SHOWN_BYTES: usize = 4096;

/// Says what the projects need and this environment has not.
fn warn(context: &Context) -> CliResult<()> {
    let floor_config = context.floor_config()?;
    let engine = context.engine()?;
    for project in engine.floor().projects.iter() {
        let checkout = Path::new(&project.checkout);
        // One that cannot be read is told of by whoever reads it to use it.
        let Ok(config) = Projects::in_force(&floor_config, engine.floor(), checkout) else { continue };
        // A floor without a word takes what it finds.
        if engine.floor().pins.get(&project.name).is_some()
            && let Ok(change) = Change::of(context, project)
        {
            not_in_force(project, &change, floor_config.accepts_all());
        }
        for line in needs::warnings(&config, checkout, &|name| std::env::var(name).ok()) {
            tracing::warn!("{}: {line}", project.name);
        }
    }
    Ok(())
}

/// Says what of a project's configuration nobody has accepted.
fn not_in_force(project: &Project, change: &Change, all: bool) {
    if !all && !change.diff.is_empty() {
        tracing::warn!(
            "{}: its configuration was changed in what executes or grants, and is not in force: `shopfloor config accept` puts this in force:\n{}",
            project.name,
            head(&neutralise(&change.diff), SHOWN_BYTES)
        );
    }
    if !change.withheld.is_empty() {
        tracing::warn!("{}: {}", project.name, people::not_granted(&project.name, &change.withheld));
    }
}

/// A daemon that runs takes over what agents' variables are here, and tries again what it could not begin.
/// `None`: there is none.
fn tell(context: &Context) -> CliResult<Option<Exit>> {
    let daemon = context.daemon()?;
    let Some(pid) = daemon.pid.filter(|_| daemon.running) else { return Ok(None) };
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
            format!("a daemon already runs on this floor (pid {pid}), and {answer}"),
        )
        .hint("`shopfloor down` ends it"));
    };
    let changed: Vec<&str> = changed.split_whitespace().collect();
    if changed.is_empty() {
        return Err(CliError::new(Exit::Busy, format!("a daemon already runs on this floor (pid {pid})"))
            .hint("`shopfloor status` shows what it does, `shopfloor down` ends it"));
    }
    if context.json {
        output::json(&serde_json::json!({ "running": true, "pid": pid, "changed": changed }));
    } else {
        output::line(format!(
            "the daemon (pid {pid}) has the new values of {}: the next sessions get them",
            changed.join(", ")
        ));
    }
    Ok(Some(Exit::Fine))
}

const LAST_WORDS_BYTES: u64 = 4096;
const LINE_CHARS: usize = 500;
/// How long a daemon may take to answer for the first time.
const START_WITHIN: Duration = Duration::from_secs(60);

/// Starts the daemon as a process of its own and waits until it answers or ends.
fn detach(context: &Context, detail: Detail) -> CliResult<Exit> {
    let (news, wait) = channel();
    let (appeared, ended) = (news.clone(), news);
    // Nobody listens any more once the answer is known.
    let sockets = FileWatcher::spawn(move |_| drop(appeared.send(News::Socket)))?;
    let exits = ExitWatcher::spawn(move |_| drop(ended.send(News::Ended)))?;
    sockets.watch(0, context.layout.daemon_socket())?;

    let log_path = context.layout.daemon_log();
    let mut child = spawn_daemon(context, &log_path, detail)?;
    match process::identify(child.id()) {
        Some(daemon) => exits.watch(0, daemon)?,
        None => return Err(not_started(child.wait()?, &log_path)),
    }
    let deadline = Instant::now() + START_WITHIN;
    loop {
        match wait.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(News::Socket) => {
                let daemon = context.daemon()?;
                if daemon.pid != Some(child.id()) {
                    continue;
                }
                let (pid, log) = (child.id(), log_path.display().to_string());
                let isolation = daemon.isolation.unwrap_or_default();
                if context.json {
                    let told = serde_json::json!({ "running": true, "pid": pid, "log": log, "isolation": isolation });
                    output::json(&told);
                } else {
                    output::line(format!("the daemon runs, pid {pid}; log: {log}"));
                    output::line(format!("agents run at level {isolation}"));
                }
                return Ok(Exit::Fine);
            }
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

fn spawn_daemon(context: &Context, log_path: &Path, detail: Detail) -> CliResult<Child> {
    let log = log::file(log_path)?;
    let level = detail.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let child = Command::new(std::env::current_exe()?)
        .arg("--home")
        .arg(context.layout.root())
        .args(["up", "--in-background", "--log", &level])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    Ok(child)
}

fn not_started(status: ExitStatus, log_path: &Path) -> CliError {
    let exit = match status.code() {
        Some(5) => Exit::Busy,
        Some(2) => Exit::Usage,
        _ => Exit::Failed,
    };
    let log = format!("its log: {}", log_path.display());
    let Some((why, hint)) = last_words(log_path) else {
        return CliError::new(exit, format!("the daemon did not start ({status})")).hint(log);
    };
    let hint = if hint.is_empty() { log } else { format!("{hint}; {log}") };
    CliError::new(exit, format!("the daemon did not start: {why}")).hint(hint)
}

/// Why a daemon ended that could not begin, and what to do about it: the end of its log.
fn last_words(log: &Path) -> Option<(String, String)> {
    let mut file = File::open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES))).ok()?;
    let mut text = Vec::new();
    file.take(LAST_WORDS_BYTES).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (_, words) = text.rsplit_once("\nerror: ").or_else(|| Some(("", text.strip_prefix("error: ")?)))?;
    let (why, hint) = words.split_once("\nhint: ").unwrap_or((words, ""));
    Some((one_line(why.lines().next()?, LINE_CHARS), one_line(hint.lines().next().unwrap_or(""), LINE_CHARS)))
}
