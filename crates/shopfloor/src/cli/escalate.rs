//! `shopfloor escalate`: put something before people, in the file that the floor's own escalations go to.

use super::{CliError, CliResult, Context, Exit, body, now, output};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::escalations::{self, Line};
use shopfloor_core::event::Event;
use shopfloor_core::text::one_line;
use std::path::Path;

/// Tell people that something needs them
///
/// The line is added to escalations-PROJECT.jsonl in the floor's home, and `shopfloor events` shows it. Any trigger will do, such as
/// retry_limit or review_cycles.
#[derive(Args)]
pub struct EscalateArgs {
    /// What happened, in a word
    trigger: String,
    /// What it is about; `-` is standard input
    #[arg(allow_hyphen_values = true)]
    context: String,
}

#[derive(Serialize)]
struct Escalated {
    escalate: bool,
    #[serde(flatten)]
    line: Line,
    file: String,
}

pub fn run(context: &Context, args: EscalateArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let redactor = context.redactor()?;
    let given = if args.context == "-" { body::read_file(Path::new("-"))? } else { args.context };
    let at = output::moment(now());
    let line =
        Line { who: body::author(), ..Line::new(at, project.clone(), &args.trigger, &given, &redactor) };
    if line.trigger.is_empty() {
        return Err(CliError::usage("the trigger is empty"));
    }
    let file = context.layout.escalations(&project);
    escalations::append(&file, &line)
        .map_err(|e| CliError::failed(format!("{} cannot be written: {e}", file.display())))?;
    let trigger = line.trigger.clone();
    let text = format!("{trigger}: {}", one_line(&line.context, 500));
    context.submit(&Event::Escalated { project, text })?;
    if context.json {
        output::json(&Escalated { escalate: true, line, file: file.display().to_string() });
    } else {
        output::line(format!("escalated {trigger} to {}", file.display()));
    }
    Ok(Exit::Fine)
}
