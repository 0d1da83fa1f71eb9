//! `shopfloor hook install`, `remove` and `show`: our entries in a person's own settings, for clients
//! that are started by hand in a session of ours. Sessions that the factory starts need none of it.

use crate::cli::{CliError, CliResult, Context, Exit, output};
use clap::{Args, ValueEnum};
use serde_json::json;
use shopfloor_adapters::agent::settings::{self, Client};
use shopfloor_core::text::neutralise;
use std::io;
use std::path::PathBuf;

#[derive(Args)]
pub struct FileArgs {
    /// Whose settings
    #[arg(long, value_enum, default_value_t = ClientName::Claude)]
    client: ClientName,
    /// The file [default: ~/.claude/settings.json or ~/.codex/hooks.json]
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClientName {
    Claude,
    Codex,
}

impl FileArgs {
    fn client(&self) -> Client {
        match self.client {
            ClientName::Claude => Client::Claude,
            ClientName::Codex => Client::Codex,
        }
    }

    fn file(&self) -> CliResult<PathBuf> {
        if let Some(file) = &self.file {
            return Ok(std::path::absolute(file)?);
        }
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let config = match self.client {
            ClientName::Claude => folder("CLAUDE_CONFIG_DIR"),
            ClientName::Codex => folder("CODEX_HOME"),
        };
        let home = folder("HOME").ok_or_else(|| {
            CliError::usage("there is no home folder").hint("set HOME, or name the file with --file")
        })?;
        Ok(self.client().user_file(&home, config.as_deref()))
    }
}

pub fn install(context: &Context, args: &FileArgs) -> CliResult<Exit> {
    let (file, program) = (args.file()?, std::env::current_exe()?);
    let done = settings::install(&file, args.client(), &program).map_err(explain)?;
    if context.json {
        output::json(&json!({"file": file, "changed": done.changed, "status_line": !done.other_status_line}));
        return Ok(Exit::Fine);
    }
    let shown = neutralise(&file.display().to_string());
    output::line(match done.changed {
        true => format!("Installed in {shown}. They do nothing outside the factory's sessions."),
        false => format!("Already installed in {shown}."),
    });
    if done.other_status_line {
        output::line("It has a status line of its own, which stays; sessions then show no clock of ours.");
    }
    if matches!(args.client, ClientName::Codex) {
        output::line("Codex asks you to review new hooks at its next start.");
    }
    Ok(Exit::Fine)
}

pub fn remove(context: &Context, args: &FileArgs) -> CliResult<Exit> {
    let file = args.file()?;
    let changed = settings::remove(&file).map_err(explain)?;
    if context.json {
        output::json(&json!({"file": file, "changed": changed}));
        return Ok(Exit::Fine);
    }
    let shown = neutralise(&file.display().to_string());
    output::line(match changed {
        true => format!("Removed from {shown}."),
        false => format!("There is nothing of ours in {shown}."),
    });
    Ok(Exit::Fine)
}

pub fn show(context: &Context, args: &FileArgs) -> CliResult<Exit> {
    let file = args.file()?;
    let found = settings::installed(&file).map_err(explain)?;
    if context.json {
        let entries: Vec<_> =
            found.iter().map(|(event, command)| json!({"event": event, "command": command})).collect();
        output::json(&json!({"file": file, "entries": entries}));
        return Ok(Exit::Fine);
    }
    if found.is_empty() {
        let shown = neutralise(&file.display().to_string());
        return Err(CliError::no_such(format!("there is nothing of ours in {shown}"))
            .hint("`shopfloor hook install` puts it there"));
    }
    for (event, command) in found {
        output::line(neutralise(&format!("{event:<20} {command}")));
    }
    Ok(Exit::Fine)
}

fn explain(e: io::Error) -> CliError {
    let hint = match e.kind() {
        io::ErrorKind::InvalidData => "repair the file first, or name another with --file",
        _ => "name another file with --file",
    };
    CliError::failed(e.to_string()).hint(hint)
}
