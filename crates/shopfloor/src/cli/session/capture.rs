//! `shopfloor session capture`: what a session printed last.

use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_core::text::neutralise;
use shopfloor_hand::{find, printed};

/// Print the end of what a session printed, without escape codes and secrets
#[derive(Args)]
pub struct CaptureArgs {
    name: String,
    /// At most this many lines
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    lines: u32,
}

pub fn run(context: &Context, args: &CaptureArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let hand = find(context, &hands, &args.name)?;
    let redactor = super::redactor(context, hand.record.as_ref().map(|record| &record.project));
    let text = if hand.ended().is_some() {
        // What was kept of it, if its result was taken.
        let kept = std::fs::read(hands.output_file(&hand.name)).unwrap_or_default();
        let kept = redactor.redact(&neutralise(&String::from_utf8_lossy(&kept)));
        let lines: Vec<&str> = kept.lines().collect();
        lines[lines.len().saturating_sub(args.lines as usize)..].join("\n")
    } else {
        printed(&hands, &hand.name, args.lines, &redactor)?
    };
    if context.json {
        output::json(&serde_json::json!({ "name": hand.name.to_string(), "text": text }));
    } else if !text.is_empty() {
        output::line(text);
    }
    Ok(Exit::Fine)
}
