//! What a job remembers of what it was told or told others.

use crate::ids::Sha;
use serde::{Deserialize, Serialize};

/// What was said once and is needed later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memo {
    /// What was wrong with the newest reviewer's result; the next is told.
    pub review_trouble: Option<String>,
    /// The head that people were asked to review, and the head whose agent was told that nobody has reviewed it.
    pub review_asked: Option<Sha>,
    pub review_late: Option<Sha>,
    /// The head whose reviewers end as soon as they start, although a reviewer of another change got going.
    pub review_dies: Option<Sha>,
    /// The head whose agent was told that it waits for the primary branch to be fixed.
    pub waits_told: Option<Sha>,
    /// Why the agent says that there is nothing left to do.
    pub already_done: Option<String>,
}
