//! What the forge holds, as plain structs, and why it refuses. The field names are those of
//! `--json`: add, do not rename.

use crate::StoreError;
use serde::Serialize;
use shopfloor_core::effect::{StatusState, Verdict};
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, RunId, Sha};
use shopfloor_core::time::Time;

pub const TITLE_CHARS_MAX: usize = 300;
/// Of an issue's or pull request's body, a comment and a review.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
pub const LABEL_CHARS_MAX: usize = 50;

#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("project {0} has no forge on this floor")]
    NoSuchProject(ProjectName),
    #[error("there is no issue #{0}")]
    NoSuchIssue(IssueNumber),
    #[error("there is no pull request #{0}")]
    NoSuchPr(PrNumber),
    #[error("pull request #{pr} has no review {id}")]
    NoSuchReview { pr: PrNumber, id: u64 },
    #[error("there is no label {name:?}{}; this project has {}", did_you_mean(nearest), known.join(", "))]
    UnknownLabel { name: String, known: Vec<String>, nearest: Option<String> },
    #[error("{what} has {len} {unit}; at most {max} are allowed")]
    TooLong { what: &'static str, len: usize, unit: &'static str, max: usize },
    #[error("{what} is empty")]
    Empty { what: &'static str },
    #[error("{what} must be one line")]
    NotOneLine { what: &'static str },
    #[error("label {0:?} is not valid: no commas or control characters")]
    InvalidLabel(String),
    #[error("pull request #{pr} is by {author}, who cannot approve it")]
    OwnApproval { pr: PrNumber, author: String },
    #[error("pull request #{pr} was merged as {commit} before")]
    AlreadyMerged { pr: PrNumber, commit: Sha },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|label| format!(" (did you mean {label:?}?)")).unwrap_or_default()
}

pub type ForgeResult<T> = Result<T, ForgeError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueState {
    Open,
    Closed,
}

impl IssueState {
    pub fn as_str(self) -> &'static str {
        match self {
            IssueState::Open => "open",
            IssueState::Closed => "closed",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [IssueState::Open, IssueState::Closed].into_iter().find(|s| s.as_str() == word)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PrState {
    Open,
    Closed,
    Merged,
}

impl PrState {
    pub fn as_str(self) -> &'static str {
        match self {
            PrState::Open => "open",
            PrState::Closed => "closed",
            PrState::Merged => "merged",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [PrState::Open, PrState::Closed, PrState::Merged].into_iter().find(|s| s.as_str() == word)
    }
}

/// An issue to be made.
#[derive(Clone, Debug, Default)]
pub struct NewIssue {
    pub title: String,
    pub body: String,
    pub author: String,
    pub labels: Vec<String>,
    /// Added to the body as a section, unless it names them already.
    pub deps: Vec<IssueNumber>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    pub number: IssueNumber,
    pub title: String,
    pub state: IssueState,
    /// In alphabetical order.
    pub labels: Vec<String>,
    pub body: String,
    pub author: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub closed_at: Option<Time>,
    /// Grows with each change.
    #[serde(skip)]
    pub version: u64,
    /// Oldest first.
    pub comments: Vec<Comment>,
}

/// An issue in a list: without its texts, which may be a megabyte each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IssueSummary {
    pub number: IssueNumber,
    pub title: String,
    pub state: IssueState,
    pub labels: Vec<String>,
    pub created_at: Time,
    pub updated_at: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comment {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub created_at: Time,
}

/// Which issues to list; the default is all of them.
#[derive(Clone, Debug, Default)]
pub struct IssueFilter {
    pub state: Option<IssueState>,
    pub label: Option<String>,
}

/// A pull request to be opened.
#[derive(Clone, Debug)]
pub struct NewPr {
    pub title: String,
    pub body: String,
    pub branch: String,
    pub head: Sha,
    /// What it is for; a person's may be for none.
    pub issue: Option<IssueNumber>,
    pub author: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pr {
    pub number: PrNumber,
    pub title: String,
    pub state: PrState,
    pub branch: String,
    pub head: Sha,
    /// What it is for; a person's may be for none.
    pub issue: Option<IssueNumber>,
    pub merged_commit: Option<Sha>,
    pub author: String,
    pub body: String,
    pub created_at: Time,
    pub updated_at: Time,
    /// Oldest first.
    pub reviews: Vec<Review>,
    pub comments: Vec<Comment>,
    /// Of the head, by context.
    pub statuses: Vec<Status>,
}

/// A pull request in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrSummary {
    pub number: PrNumber,
    pub title: String,
    pub state: PrState,
    pub branch: String,
    pub head: Sha,
    /// What it is for; a person's may be for none.
    pub issue: Option<IssueNumber>,
    pub merged_commit: Option<Sha>,
    pub author: String,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A review to be posted.
#[derive(Clone, Debug)]
pub struct NewReview {
    pub head: Sha,
    pub verdict: Verdict,
    pub text: String,
    pub author: String,
    /// Posted once for each marker.
    pub marker: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Review {
    pub id: u64,
    pub head: Sha,
    pub verdict: Verdict,
    pub text: String,
    pub author: String,
    pub created_at: Time,
    /// When its author's approval took it back.
    pub dismissed_at: Option<Time>,
}

/// A status to be set on a commit.
#[derive(Clone, Debug)]
pub struct NewStatus {
    pub commit: Sha,
    /// What says so, such as `shopfloor/ci`; a later status of the same context replaces it.
    pub context: String,
    pub state: StatusState,
    pub description: String,
    pub run: Option<RunId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    pub context: String,
    pub state: StatusState,
    pub description: String,
    pub run: Option<RunId>,
    pub updated_at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Issue,
    Pr,
    Review,
}

impl ChangeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Issue => "issue",
            ChangeKind::Pr => "pr",
            ChangeKind::Review => "review",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [ChangeKind::Issue, ChangeKind::Pr, ChangeKind::Review].into_iter().find(|k| k.as_str() == word)
    }
}

/// An object to look at again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub seq: u64,
    pub kind: ChangeKind,
    /// The issue's number, or the pull request's.
    pub number: u64,
    /// The review's id, else 0.
    pub id: u64,
}

/// A title as it is kept: trimmed, one line, not too long.
pub(super) fn title(what: &'static str, text: &str) -> ForgeResult<String> {
    let title = text.replace('\0', "").trim().to_owned();
    let len = title.chars().count();
    if title.is_empty() {
        Err(ForgeError::Empty { what })
    } else if title.contains(['\n', '\r']) {
        Err(ForgeError::NotOneLine { what })
    } else if len > TITLE_CHARS_MAX {
        Err(ForgeError::TooLong { what, len, unit: "characters", max: TITLE_CHARS_MAX })
    } else {
        Ok(title)
    }
}

/// A body as it is kept. SQLite and terminals end a text at NUL, so there is none.
pub(super) fn body(what: &'static str, text: &str) -> ForgeResult<String> {
    let body = text.replace('\0', "");
    if body.len() > BODY_BYTES_MAX {
        return Err(ForgeError::TooLong { what, len: body.len(), unit: "bytes", max: BODY_BYTES_MAX });
    }
    Ok(body)
}
