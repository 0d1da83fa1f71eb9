//! What a person accepted of a project's configuration: the part that executes or grants (checks, setup, agents,
//! review rules, prompts), word for word. It is in force until a person accepts something else, whatever was merged
//! or edited since.
//!
//! Texts are compared as they are, never by a digest: whoever writes the other text may choose it.

use super::Floor;
use crate::event::Accepter;
use crate::ids::{ProjectName, QuestionId};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    pub project: ProjectName,
    /// In force.
    pub accepted: Accepted,
    /// Accepted too, but for what the primary branch did not say yet: in force as soon as it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Accepted>,
    /// What the project's files say now, if it is neither: people are asked about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Differs>,
}
record!(Pin, "pin", Pins, ProjectName, |p| p.project.clone(), |k| k.to_string());

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub text: String,
    pub by: Accepter,
    pub at: Time,
}

/// Something that nobody has accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    pub text: String,
    /// What differs from what is in force, for people: bounded, and of harmless characters.
    pub diff: String,
    pub question: QuestionId,
    pub since: Time,
    /// When people are reminded, and how often they were.
    pub again_at: Time,
    #[serde(default)]
    pub reminded: u32,
}

impl Floor {
    /// What a person accepted of a project's configuration.
    pub fn accepted(&self, project: &ProjectName) -> Option<&Accepted> {
        self.pins.get(project).map(|pin| &pin.accepted)
    }
}
