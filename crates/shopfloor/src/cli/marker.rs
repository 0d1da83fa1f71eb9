//! `shopfloor marker`: a note that somebody orchestrates the project's stories, and how far it is.

use super::{CliError, CliResult, Context, Exit, body, now, output};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Say, ask or take back that somebody orchestrates this project's stories
#[derive(Args)]
pub struct MarkerArgs {
    #[command(subcommand)]
    command: MarkerCommand,
}

#[derive(Subcommand)]
enum MarkerCommand {
    /// Set the marker; set again, it keeps its age and has a new heartbeat
    Create {
        #[arg(long)]
        epic: String,
        #[arg(long)]
        story: String,
        /// Stories that remain
        #[arg(long, value_name = "N")]
        remaining: u32,
    },
    /// Show the marker; exit code 4 if there is none
    Check,
    /// Take the marker away; that there is none is fine
    Remove,
}

#[derive(Serialize, Deserialize)]
struct Marker {
    epic: String,
    story: String,
    remaining: u32,
    who: String,
    created: Time,
    heartbeat: Time,
}

#[derive(Serialize)]
struct MarkerView {
    exists: bool,
    epic: Option<String>,
    story: Option<String>,
    remaining: Option<u32>,
    who: Option<String>,
    /// Since it was first set.
    age_s: Option<u64>,
    /// Since it was last set.
    heartbeat_s: Option<u64>,
    file: String,
}

const TEXT_CHARS_MAX: usize = 100;

pub fn run(context: &Context, args: MarkerArgs) -> CliResult<Exit> {
    let file = context.layout.marker(&context.project()?.name);
    let marker = match args.command {
        MarkerCommand::Create { epic, story, remaining } => {
            let now = now();
            // Half a marker cannot be: it is replaced as a whole. One that cannot be read is a new one.
            let created = read(&file).ok().flatten().map_or(now, |marker| marker.created);
            let text = |text: &str| one_line(text, TEXT_CHARS_MAX);
            let (epic, story, who) = (text(&epic), text(&story), body::author());
            let marker = Marker { epic, story, remaining, who, created, heartbeat: now };
            write(&file, &marker)?;
            Some(marker)
        }
        MarkerCommand::Check => read(&file)?,
        MarkerCommand::Remove => return remove(context, &file),
    };
    let exists = marker.is_some();
    show(context, marker, &file);
    Ok(if exists { Exit::Fine } else { Exit::NoSuchThing })
}

fn show(context: &Context, marker: Option<Marker>, file: &Path) {
    let now = now();
    if context.json {
        let age = |at: Time| now.since(at).as_secs();
        return output::json(&MarkerView {
            exists: marker.is_some(),
            age_s: marker.as_ref().map(|m| age(m.created)),
            heartbeat_s: marker.as_ref().map(|m| age(m.heartbeat)),
            remaining: marker.as_ref().map(|m| m.remaining),
            who: marker.as_ref().map(|m| m.who.clone()),
            epic: marker.as_ref().map(|m| m.epic.clone()),
            story: marker.map(|m| m.story),
            file: file.display().to_string(),
        });
    }
    output::line(match marker {
        None => "there is no marker".to_owned(),
        Some(m) => one_line(
            &format!(
                "epic {}, story {}, {} remaining; set by {} {} ago, last {} ago",
                m.epic,
                m.story,
                m.remaining,
                m.who,
                output::span(now.since(m.created)),
                output::span(now.since(m.heartbeat)),
            ),
            usize::MAX,
        ),
    });
}

fn remove(context: &Context, file: &Path) -> CliResult<Exit> {
    let removed = match std::fs::remove_file(file) {
        Ok(()) => true,
        Err(e) if e.kind() == io::ErrorKind::NotFound => false,
        Err(e) => return Err(e.into()),
    };
    if context.json {
        output::json(&serde_json::json!({ "removed": removed }));
    } else {
        output::line(if removed { "the marker is removed" } else { "there was no marker" });
    }
    Ok(Exit::Fine)
}

fn read(file: &Path) -> CliResult<Option<Marker>> {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|e| {
        CliError::failed(format!("{} is not a marker: {e}", file.display()))
            .hint("`shopfloor marker remove` takes it away")
    })
}

fn write(file: &Path, marker: &Marker) -> CliResult<()> {
    if let Some(folder) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let text = serde_json::to_vec_pretty(marker).expect("a marker has string keys only");
    Ok(write_atomic(file, &text, 0o600)?)
}
