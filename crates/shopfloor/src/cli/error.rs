//! Errors at the edge: what went wrong, what to do about it, and the exit code.

use super::output;
use crate::config::ConfigError;
use serde::Serialize;
use shopfloor_core::ids::InvalidName;
use shopfloor_core::text::neutralise;
use shopfloor_store::StoreError;
use shopfloor_store::ci::CiError;
use shopfloor_store::forge::ForgeError;
use std::process::ExitCode;

/// The documented exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine = 0,
    Failed = 1,
    Usage = 2,
    /// A job ended blocked or failed.
    Unfinished = 3,
    NoSuchThing = 4,
    Busy = 5,
    /// Only a person can go on with it.
    NeedsPerson = 6,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[derive(Debug)]
pub struct CliError {
    pub exit: Exit,
    pub message: String,
    pub hint: Option<String>,
}

/// An error as programs get it.
#[derive(Serialize)]
struct ErrorView {
    error: String,
    hint: Option<String>,
    /// The exit code.
    exit: u8,
}

pub type CliResult<T> = Result<T, CliError>;

impl CliError {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        CliError { exit, message: message.into(), hint: None }
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub fn no_such(message: impl Into<String>) -> Self {
        Self::new(Exit::NoSuchThing, message)
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// To standard error, neutralised: a message may quote what somebody else wrote. With `--json` as an
    /// object on one line: what is on standard output is always an answer.
    pub fn print(&self, json: bool) {
        if json {
            let error = ErrorView {
                error: neutralise(&self.message),
                hint: self.hint.as_deref().map(neutralise),
                exit: self.exit as u8,
            };
            eprintln!("{}", output::json_text(&error));
            return;
        }
        eprintln!("error: {}", neutralise(&self.message));
        if let Some(hint) = &self.hint {
            eprintln!("hint: {}", neutralise(hint));
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(e: std::io::Error) -> Self {
        CliError::failed(e.to_string())
    }
}

impl From<StoreError> for CliError {
    fn from(e: StoreError) -> Self {
        let (exit, hint) = match &e {
            StoreError::Busy => (
                Exit::Busy,
                Some(
                    "somebody holds floor.db, a backup perhaps: try again when it is done; `shopfloor doctor` shows who",
                ),
            ),
            StoreError::Replaced(_) => (
                Exit::Failed,
                Some(
                    "nothing more is done. Put the store back and run `shopfloor up`; its sessions and worktrees are still there",
                ),
            ),
            StoreError::Fenced => (Exit::Busy, Some("only one daemon may run on a floor")),
            StoreError::Newer { .. } => {
                (Exit::Failed, Some("this store was written by a newer shopfloor: use that version"))
            }
            StoreError::Corrupt(_) => (
                Exit::Failed,
                Some(
                    "nothing was changed. Copy the floor's folder somewhere safe, then see `shopfloor doctor`",
                ),
            ),
            StoreError::Full(_) => (Exit::Failed, Some("nothing was changed; make room and try again")),
            _ => (Exit::Failed, None),
        };
        CliError { exit, message: e.to_string(), hint: hint.map(str::to_owned) }
    }
}

impl From<ForgeError> for CliError {
    fn from(e: ForgeError) -> Self {
        let exit = match &e {
            ForgeError::UnknownLabel { name, known, nearest } => {
                let near = nearest.as_ref().map(|near| format!("did you mean {near:?}? "));
                return CliError::no_such(format!("there is no label {name:?}")).hint(format!(
                    "{}this project has {}",
                    near.unwrap_or_default(),
                    known.join(", ")
                ));
            }
            ForgeError::OwnApproval { .. } => {
                return CliError::failed(e.to_string()).hint("somebody else has to review it; `shopfloor merge-queue add BRANCH --approve` queues your own branch in your name");
            }
            ForgeError::NoSuchProject(..)
            | ForgeError::NoSuchIssue(..)
            | ForgeError::NoSuchPr(..)
            | ForgeError::NoSuchReview { .. } => Exit::NoSuchThing,
            _ => Exit::Usage,
        };
        match e {
            ForgeError::Store(e) => e.into(),
            e => CliError::new(exit, e.to_string()),
        }
    }
}

impl From<CiError> for CliError {
    fn from(e: CiError) -> Self {
        match e {
            CiError::NoSuchRun(_) => {
                CliError::no_such(e.to_string()).hint("`shopfloor ci list` shows the latest")
            }
            CiError::Store(e) => e.into(),
        }
    }
}

impl From<ConfigError> for CliError {
    fn from(e: ConfigError) -> Self {
        CliError::usage(e.to_string())
    }
}

impl From<InvalidName> for CliError {
    fn from(e: InvalidName) -> Self {
        CliError::usage(e.to_string())
    }
}
