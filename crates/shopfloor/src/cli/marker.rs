//! `shopfloor marker`: a note that somebody orchestrates the project's stories, and how far it is.

use super::{CliResult, Context, Exit, now, output};
use clap::{Args, Subcommand};
use serde::Serialize;
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use shopfloor_hand::marker::Marker;
use std::path::Path;

/// Set, show or remove the marker that somebody orchestrates this project's stories
#[derive(Args)]
pub struct MarkerArgs {
    #[command(subcommand)]
    command: MarkerCommand,
}

#[derive(Subcommand)]
enum MarkerCommand {
    /// Set the marker; setting it again keeps its age and renews its heartbeat
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
    /// Remove the marker, if there is one
    Remove,
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

pub fn run(context: &Context, args: MarkerArgs) -> CliResult<Exit> {
    let file = context.layout.marker(&context.project()?.name);
    let marker = match args.command {
        MarkerCommand::Create { epic, story, remaining } => {
            Some(Marker::set(&file, now(), &epic, &story, remaining, context.author())?)
        }
        MarkerCommand::Check => Marker::read(&file)?,
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
    let removed = Marker::remove(file)?;
    if context.json {
        output::json(&serde_json::json!({ "removed": removed }));
    } else {
        output::line(if removed { "the marker is removed" } else { "there was no marker" });
    }
    Ok(Exit::Fine)
}
