//! What a question to people comes with, whoever asks it.

use super::{CliError, CliResult};
use crate::config::Span;
use clap::Args;
use shopfloor_core::phase::Ask;

#[derive(Args)]
pub struct AskArgs {
    /// An answer to choose from; may be repeated
    #[arg(long, value_name = "TEXT")]
    option: Vec<String>,
    /// The answer to assume if nobody gives one in time
    #[arg(long, value_name = "TEXT", requires = "deadline")]
    default: Option<String>,
    /// How long the answer can wait, such as 2h
    #[arg(long, value_name = "TIME")]
    deadline: Option<Span>,
}

impl AskArgs {
    pub fn ask(self) -> CliResult<Ask> {
        let AskArgs { option: options, default, deadline } = self;
        if let Some(default) = &default
            && !options.is_empty()
            && !options.contains(default)
        {
            return Err(CliError::usage(format!("the default {default:?} is none of the options")));
        }
        Ok(Ask { options, default, within: deadline.map(|span| span.0) })
    }
}
