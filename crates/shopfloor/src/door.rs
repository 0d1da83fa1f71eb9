//! What is said at the door, between a command in a jail and the daemon: one line each way.

use serde::{Deserialize, Serialize};
use shopfloor_desk::Exit;
use std::collections::BTreeMap;

/// One line of JSON, with the asker's standard streams.
#[derive(Serialize, Deserialize)]
pub struct Request {
    #[serde(default)]
    pub token: Option<String>,
    pub args: Vec<String>,
    /// Asked by a command that is run here: the values that projects' secrets have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub surroundings: bool,
}

/// One line of JSON.
#[derive(Serialize, Deserialize)]
pub struct Reply {
    pub exit: u8,
    /// Why nothing was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub surroundings: BTreeMap<String, String>,
}

impl Reply {
    pub fn no(exit: Exit, error: impl Into<String>) -> Reply {
        Reply { error: Some(error.into()), ..Reply::of(exit as u8) }
    }

    pub fn of(exit: u8) -> Reply {
        Reply { exit, error: None, surroundings: BTreeMap::new() }
    }
}
