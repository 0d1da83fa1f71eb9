//! `shopfloor session name`: what a session's name will be.

use super::PartArgs;
use crate::cli::{CliResult, Context, Exit, output};
use clap::Args;
use shopfloor_hand::name::stem;

/// Print the name that `spawn` gives, without its number: the same for the same input
#[derive(Args)]
pub struct NameArgs {
    #[command(flatten)]
    parts: PartArgs,
}

pub fn run(context: &Context, args: &NameArgs) -> CliResult<Exit> {
    let project = context.project()?.name;
    let name = stem(&args.parts.parts(&project));
    if context.json {
        output::json(&serde_json::json!({ "name": name }));
    } else {
        output::line(name);
    }
    Ok(Exit::Fine)
}
