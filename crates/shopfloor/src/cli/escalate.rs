//! `shopfloor escalate`: put something before people, in the file that the floor's own escalations go to.

use super::{CliResult, Context, Exit, body, output};
use clap::Args;
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

pub fn run(context: &Context, args: EscalateArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let redactor = context.redactor()?;
    let given = if args.context == "-" { body::read_file(Path::new("-"))? } else { args.context };
    let escalated = context.escalate(project, &args.trigger, &given, context.author(), &redactor)?;
    if context.json {
        output::json(&escalated);
    } else {
        output::line(format!("escalated {} to {}", escalated.line.trigger, escalated.file));
    }
    Ok(Exit::Fine)
}
