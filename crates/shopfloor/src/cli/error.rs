//! Errors at the edge: how they are printed.

use super::output;
use crate::config::ConfigError;
use serde::Serialize;
use shopfloor_core::text::neutralise;
pub use shopfloor_desk::{Error as CliError, Exit, Result as CliResult};

/// An error as programs get it.
#[derive(Serialize)]
struct ErrorView {
    error: String,
    hint: Option<String>,
    /// The exit code.
    exit: u8,
}

/// To standard error, neutralised: a message may quote what somebody else wrote. With `--json` as an
/// object on one line: what is on standard output is always an answer.
pub fn print(error: &CliError, json: bool) {
    let hint = error.hint.as_deref().map(neutralise);
    let message = neutralise(&error.message);
    if json {
        eprintln!("{}", output::json_text(&ErrorView { error: message, hint, exit: error.exit as u8 }));
        return;
    }
    eprintln!("error: {message}");
    if let Some(hint) = hint {
        eprintln!("hint: {hint}");
    }
}

impl From<ConfigError> for CliError {
    fn from(e: ConfigError) -> Self {
        CliError::usage(e.to_string())
    }
}
