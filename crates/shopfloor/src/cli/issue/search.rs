//! `shopfloor issue search`.

use super::super::{CliError, CliResult, Context, Exit};
use super::list;
use clap::Args;
use shopfloor_core::forge::{IssueFilter, IssueState};

/// More, or longer ones, nobody looks for.
const WORDS_MAX: usize = 20;
const WORD_BYTES_MAX: usize = 200;

/// List the open issues whose title or text has all of these words
#[derive(Args)]
pub struct SearchArgs {
    #[arg(required = true)]
    words: Vec<String>,
    /// Closed issues too
    #[arg(long)]
    all: bool,
}

pub fn run(context: &Context, args: SearchArgs) -> CliResult<Exit> {
    let words: Vec<String> =
        args.words.iter().flat_map(|words| words.split_whitespace()).map(str::to_owned).collect();
    if words.is_empty() || words.len() > WORDS_MAX || words.iter().any(|word| word.len() > WORD_BYTES_MAX) {
        return Err(CliError::usage(format!("search for 1 to {WORDS_MAX} words")));
    }
    let state = (!args.all).then_some(IssueState::Open);
    list::show(context, &context.project()?.name, &IssueFilter { state, words, ..IssueFilter::default() })
}
