//! What a job remembers of what was said.

use crate::ids::Sha;
use serde::{Deserialize, Serialize};

/// What was said once and is needed later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memo {
    /// What was wrong with the newest reviewer's result; the next is told.
    pub review_trouble: Option<String>,
    /// The head that people were asked to review, and the one whose agent was told that nobody does.
    pub review_asked: Option<Sha>,
    pub review_late: Option<Sha>,
    /// The head whose reviewer ends as soon as it is started, while that of another change got on.
    pub review_dies: Option<Sha>,
    /// The head whose agent was told that it waits for the primary branch to be mended.
    pub waits_told: Option<Sha>,
    /// Why the agent says that there is nothing left to do.
    pub already_done: Option<String>,
}
