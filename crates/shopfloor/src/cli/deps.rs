//! `shopfloor deps`: the dependencies in a text, as a filter.

use super::{CliResult, Context, Exit, body, output};
use clap::Args;
use shopfloor_core::deps;
use std::path::PathBuf;

/// Print the numbers of the issues that a text depends on, one per line
///
/// The text comes on standard input, as for the seed's parse-deps. What counts: `#N` under a heading Dependencies,
/// Depends on or Blocked by, and `depends on #N` or `blocked by #N` anywhere else. No floor is needed.
#[derive(Args)]
pub struct DepsArgs {
    /// A file with the text; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
}

pub fn run(context: &Context, args: &DepsArgs) -> CliResult<Exit> {
    let found = deps::parse(&body::read_file(&args.file)?);
    if context.json {
        output::json(&found);
    } else {
        found.iter().for_each(|issue| output::line(issue.to_string()));
    }
    Ok(Exit::Fine)
}
