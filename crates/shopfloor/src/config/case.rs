//! What a verifier is asked of a run's step: its checks, to be made where there is no configuration.

use super::VerifyCheck;
use serde::{Deserialize, Serialize};

/// The word of the command that makes them.
pub const JUDGE: &str = "judge";

#[derive(Serialize, Deserialize)]
pub struct Case {
    pub checks: Vec<VerifyCheck>,
    /// What the checks use as {key}.
    pub key: String,
    pub primary_branch: String,
}

impl Case {
    /// The words after the program's name.
    pub fn words(&self) -> Vec<String> {
        vec![JUDGE.to_owned(), serde_json::to_string(self).expect("a configuration is JSON")]
    }
}
