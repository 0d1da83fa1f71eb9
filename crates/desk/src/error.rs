//! What went wrong, what to do about it, and the exit code: for whoever asked, by whatever means.

use shopfloor_core::ids::InvalidName;
use shopfloor_core::recipe::NOTHING_TO_DO;
use shopfloor_engine::ports::{Final, PortError, PortResult};
use shopfloor_store::StoreError;
use shopfloor_store::ci::CiError;
use std::process::ExitCode;

/// The documented exit codes. Programs that do not ask through a command get the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine = 0,
    Failed = 1,
    Usage = 2,
    /// A job ended blocked or failed.
    Unfinished = 3,
    NoSuchThing = 4,
    Busy = 5,
    /// Only a person can continue it.
    NeedsPerson = 6,
    /// There is nothing to do, and nothing is wrong, as commands of formulas say it: the run is over.
    NothingToDo = NOTHING_TO_DO as isize,
}

impl Exit {
    const ALL: [Exit; 8] = [
        Exit::Fine,
        Exit::Failed,
        Exit::Usage,
        Exit::Unfinished,
        Exit::NoSuchThing,
        Exit::Busy,
        Exit::NeedsPerson,
        Exit::NothingToDo,
    ];

    /// What a program's exit code says.
    pub fn of(code: u8) -> Exit {
        Exit::ALL.into_iter().find(|exit| *exit as u8 == code).unwrap_or(Exit::Failed)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[derive(Debug)]
pub struct Error {
    pub exit: Exit,
    pub message: String,
    pub hint: Option<String>,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Error { exit, message: message.into(), hint: None }
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
}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        Error::failed(e.to_string())
    }
}

impl From<StoreError> for Error {
    fn from(e: StoreError) -> Self {
        let (exit, hint) = match &e {
            StoreError::Busy => (
                Exit::Busy,
                Some(
                    "somebody holds floor.db, perhaps a backup: try again when it is done; `shopfloor doctor` shows who",
                ),
            ),
            StoreError::Replaced(_) => (
                Exit::Failed,
                Some(
                    "nothing more is done. Put the store back and run `shopfloor up`; its sessions and worktrees are still there",
                ),
            ),
            StoreError::Fenced => (Exit::Busy, Some("only one daemon may run on a floor")),
            StoreError::Corrupt(_) => (
                Exit::Failed,
                Some(
                    "nothing was changed. Copy the floor's folder somewhere safe, then see `shopfloor doctor`",
                ),
            ),
            StoreError::Full(_) => (Exit::Failed, Some("nothing was changed; make room and try again")),
            _ => (Exit::Failed, None),
        };
        Error { exit, message: e.to_string(), hint: hint.map(str::to_owned) }
    }
}

impl From<CiError> for Error {
    fn from(e: CiError) -> Self {
        match e {
            CiError::NoSuchRun(_) => {
                Error::no_such(e.to_string()).hint("`shopfloor ci list` shows the latest")
            }
            CiError::Store(e) => e.into(),
        }
    }
}

impl From<InvalidName> for Error {
    fn from(e: InvalidName) -> Self {
        Error::usage(e.to_string())
    }
}

impl From<PortError> for Error {
    fn from(e: PortError) -> Self {
        Error::failed(e.to_string())
    }
}

/// A forge's answer to a caller: what does not exist, or is not accepted, is the caller's to put right.
pub fn answer<T>(answered: PortResult<T>) -> Result<T> {
    answered.map_err(|e| {
        let exit = match &e {
            PortError::Permanent { cause: Final::Missing, .. } => Exit::NoSuchThing,
            PortError::Permanent { cause: Final::Refused, .. } => Exit::Usage,
            _ => Exit::Failed,
        };
        Error::new(exit, e.to_string())
    })
}
