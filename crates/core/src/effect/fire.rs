//! Carrying out what the vault was asked for, and how that went.

use crate::ids::{ProjectName, RequestNumber, RequestType};
use crate::vault::Spec;
use serde::{Deserialize, Serialize};

/// A request to be carried out: what it says is exactly what was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fire {
    pub project: ProjectName,
    pub request: RequestNumber,
    /// Which time this is. Each is begun at most once, unless the type is idempotent.
    pub attempt: u32,
    pub r#type: RequestType,
    /// The type as it was shown. If it is declared otherwise now, nothing is begun.
    pub spec: Spec,
    pub command: Vec<String>,
    /// What the command gets on its standard input.
    pub payload: String,
    /// Who asked.
    pub by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fired", rename_all = "snake_case")]
pub enum Fired {
    /// Its exit code, or in words why there is none; and what it printed: bounded, and hidden what is secret.
    Ended { code: Option<i32>, how: String, output: String },
    /// It was begun and cut short: nobody knows what it did.
    CutShort { output: String },
    /// It was not begun, and would not be the next time.
    NotBegun { why: String },
    /// It was not begun: the type is declared otherwise by now, or (`None`) no longer.
    Changed { spec: Option<Box<Spec>> },
}
