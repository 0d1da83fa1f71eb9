//! `shopfloor attach`: look at an agent, and talk to it, in its own terminal.

use super::{CliError, CliResult, Context, Exit, output};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::ids::{Epoch, IssueNumber};
use shopfloor_core::state::{Floor, SessionState};
use shopfloor_core::text::shell_word;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Attach to an agent's terminal (leave it with Ctrl-b d)
///
/// Plain tmux does the same: `--print` shows the command.
#[derive(Args)]
pub struct AttachArgs {
    /// A session's name, an agent's (such as dev-project-7), or the number of an issue
    #[arg(value_name = "NAME|ISSUE")]
    who: String,
    #[command(flatten)]
    way: Way,
}

/// How to attach.
#[derive(Args)]
pub struct Way {
    /// Look only: nothing typed reaches the agent
    #[arg(long, short)]
    pub read_only: bool,
    /// Print the tmux command instead of running it
    #[arg(long)]
    pub print: bool,
}

#[derive(Serialize)]
struct AttachView {
    session: String,
    socket: String,
    command: Vec<String>,
}

pub fn run(context: &Context, args: &AttachArgs) -> CliResult<Exit> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tmux = Tmux::new(context.layout.tmux_socket(), path);
    let live = tmux.list().map_err(|e| CliError::failed(e.to_string()))?;
    let mut live: Vec<String> = live.into_iter().map(|(name, _)| name).collect();
    live.sort();
    live.dedup();
    let session = find(context, &args.who, &live)?;
    attach(context, &tmux, session, &args.way)
}

/// Attaches to a session that is there, or says how.
pub fn attach(context: &Context, tmux: &Tmux, session: String, way: &Way) -> CliResult<Exit> {
    let mut command: Vec<OsString> = vec!["tmux".into(), "-S".into(), tmux.socket().into()];
    command.extend(["attach-session".into(), "-t".into(), format!("={session}").into()]);
    if way.read_only {
        command.push("-r".into());
    }
    if context.json {
        let shown = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let socket = tmux.socket().display().to_string();
        output::json(&AttachView { session, socket, command: shown });
        return Ok(Exit::Fine);
    }
    if way.print {
        let words: Vec<String> = command.iter().map(|word| shell_word(&word.to_string_lossy())).collect();
        output::line(words.join(" "));
        return Ok(Exit::Fine);
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CliError::failed("there is no terminal to show the session in")
            .hint("run this in a terminal, or see what to run with `--print`"));
    }
    // In somebody's own tmux as well: this is another server.
    let failed = Command::new(&command[0]).args(&command[1..]).env_remove("TMUX").exec();
    Err(CliError::failed(format!("tmux cannot be started: {failed}")))
}

/// The live session that is meant.
fn find(context: &Context, who: &str, live: &[String]) -> CliResult<String> {
    if live.iter().any(|name| name == who) {
        return Ok(who.to_owned());
    }
    let engine = context.engine()?;
    let floor = engine.floor();
    let live_name = |epoch| name_of(floor, epoch).filter(|name| live.contains(name));
    let (found, missing) = if let Ok(issue) = who.trim_start_matches('#').parse::<IssueNumber>() {
        let project = context.project()?.name;
        let sessions = floor.work_of(&project, issue).map(|job| [job.session, job.reviewer.session]);
        let found = sessions.into_iter().flatten().flatten().find_map(live_name);
        (found, format!("nobody works on issue #{issue} of {project} in a terminal now"))
    } else {
        let agent = floor.agents.get(&who.to_owned());
        (agent.and_then(|agent| live_name(agent.session)), format!("there is no session {who}"))
    };
    found.cloned().ok_or_else(|| {
        CliError::no_such(missing).hint(match live {
            [] => "no agent has a terminal now".to_owned(),
            some => format!("live sessions: {}", some.join(", ")),
        })
    })
}

fn name_of(floor: &Floor, epoch: Epoch) -> Option<&String> {
    floor.sessions.get(&epoch).filter(|s| s.state != SessionState::Ended).map(|s| &s.tmux)
}
