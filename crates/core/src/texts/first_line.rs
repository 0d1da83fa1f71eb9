//! The first line of a message says what it is. Agents' programs match it, so these spellings never change.

use crate::effect::Verdict;
use crate::state::RequestEnd;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstLine {
    CiPassed,
    CiFailed,
    CiTimeout,
    /// The commit it stands on is red, too.
    CiWaits,
    Review(Verdict),
    /// Nobody has reviewed it for long.
    NoReview,
    MergeConflict,
    MergeFailed,
    NotMerged,
    PhaseMissing,
    PhaseNotUnderstood,
    /// A turn was broken off by an error that is over.
    Continue,
    IssueEdited,
    BranchMoved,
    /// With what a person said.
    Answer(String),
    /// A command of a run has ended, and something that waited for it can be done.
    StepsReady,
    StepsOpen,
    /// Nothing is left to do but to say so.
    StepsOver,
    StepNotVerified,
    /// How a request to the vault ended.
    Vault(RequestEnd),
    ReviewAgain,
    ResultMissing,
    ResultUnusable,
}

#[derive(Debug, thiserror::Error)]
#[error("no message begins with {0:?}")]
pub struct NoFirstLine(String);

const ANSWER: &str = "Answer: ";
const REVIEW: &str = "Review: ";
const VAULT: &str = "Vault: ";

/// What implementing agents get, as their prompt lists it; an answer comes beside these.
const TO_DEVELOPERS: [FirstLine; 16] = [
    FirstLine::CiPassed,
    FirstLine::CiFailed,
    FirstLine::CiTimeout,
    FirstLine::CiWaits,
    FirstLine::Review(Verdict::Approve),
    FirstLine::Review(Verdict::RequestChanges),
    FirstLine::Review(Verdict::Discuss),
    FirstLine::NoReview,
    FirstLine::MergeConflict,
    FirstLine::MergeFailed,
    FirstLine::NotMerged,
    FirstLine::PhaseMissing,
    FirstLine::Continue,
    FirstLine::IssueEdited,
    FirstLine::BranchMoved,
    FirstLine::PhaseNotUnderstood,
];
/// What agents that carry out a run of a formula get besides.
const TO_RUNS: [FirstLine; 4] =
    [FirstLine::StepsReady, FirstLine::StepsOpen, FirstLine::StepsOver, FirstLine::StepNotVerified];
/// What agents get that asked the vault for something, which tells them so.
const TO_REQUESTERS: [FirstLine; 3] = [
    FirstLine::Vault(RequestEnd::Done),
    FirstLine::Vault(RequestEnd::Failed),
    FirstLine::Vault(RequestEnd::Rejected),
];
const TO_REVIEWERS: [FirstLine; 3] =
    [FirstLine::ReviewAgain, FirstLine::ResultMissing, FirstLine::ResultUnusable];

impl FirstLine {
    /// Of a whole message.
    pub fn of(message: &str) -> Option<FirstLine> {
        message.lines().next()?.parse().ok()
    }

    /// Every line that an implementing agent may get, in a list for its prompt.
    pub fn to_developers(of_run: bool) -> String {
        let of_runs: &[FirstLine] = if of_run { &TO_RUNS } else { &[] };
        let lines = TO_DEVELOPERS.iter().chain(of_runs).map(|line| format!("`{line}`"));
        lines.chain([format!("`{ANSWER}…`")]).collect::<Vec<_>>().join(", ")
    }

    /// Whether a change came back from the merge queue.
    pub fn is_of_merge(&self) -> bool {
        matches!(self, FirstLine::MergeConflict | FirstLine::MergeFailed)
    }
}

impl fmt::Display for FirstLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FirstLine::CiPassed => "CI passed",
            FirstLine::CiFailed => "CI failed",
            FirstLine::CiTimeout => "CI timeout",
            FirstLine::CiWaits => "CI waits",
            FirstLine::Review(verdict) => return write!(f, "{REVIEW}{}", verdict.as_str()),
            FirstLine::NoReview => "no review, escalating",
            FirstLine::MergeConflict => "MERGE_CONFLICT",
            FirstLine::MergeFailed => "MERGE_FAILED",
            FirstLine::NotMerged => "PR not merged yet",
            FirstLine::PhaseMissing => "PHASE missing",
            FirstLine::PhaseNotUnderstood => "PHASE not understood",
            FirstLine::Continue => "Continue",
            FirstLine::IssueEdited => "ISSUE edited",
            FirstLine::BranchMoved => "BRANCH moved",
            FirstLine::Answer(text) => return write!(f, "{ANSWER}{text}"),
            FirstLine::StepsReady => "STEPS ready",
            FirstLine::StepsOpen => "STEPS open",
            FirstLine::StepsOver => "STEPS over",
            FirstLine::StepNotVerified => "STEP not verified",
            FirstLine::Vault(end) => return write!(f, "{VAULT}{}", end.name()),
            FirstLine::ReviewAgain => "Review again",
            FirstLine::ResultMissing => "RESULT missing",
            FirstLine::ResultUnusable => "RESULT unusable",
        })
    }
}

impl FromStr for FirstLine {
    type Err = NoFirstLine;

    fn from_str(line: &str) -> Result<FirstLine, NoFirstLine> {
        if let Some(text) = line.strip_prefix(ANSWER) {
            return Ok(FirstLine::Answer(text.to_owned()));
        }
        let known = TO_DEVELOPERS
            .into_iter()
            .chain(TO_RUNS)
            .chain(TO_REQUESTERS)
            .chain(TO_REVIEWERS)
            .find(|known| known.to_string() == line);
        known.ok_or_else(|| NoFirstLine(line.to_owned()))
    }
}
