//! What is written to the embedded forge, and why it refuses. What it holds is in the types that all forges
//! share ([`shopfloor_core::forge`]).

use crate::StoreError;
use shopfloor_core::effect::{StatusState, Verdict};
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, RunId, Sha};

pub use shopfloor_core::forge::{
    Comment, Issue, IssueFilter, IssueState, IssueSummary, Pr, PrState, PrSummary, Review, Status, Version,
};

pub const TITLE_CHARS_MAX: usize = 300;
/// The limit for the body of an issue or pull request, a comment and a review.
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
    #[error("{on} has no comment {id}")]
    NoSuchComment { on: Subject, id: u64 },
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

/// An issue to be created.
#[derive(Clone, Debug, Default)]
pub struct NewIssue {
    pub title: String,
    pub body: String,
    pub author: String,
    pub labels: Vec<String>,
    /// Added to the body as a section, unless the body names them already.
    pub deps: Vec<IssueNumber>,
}

/// A pull request to be opened.
#[derive(Clone, Debug)]
pub struct NewPr {
    pub title: String,
    pub body: String,
    pub branch: String,
    pub head: Sha,
    /// The issue it is for; a person's pull request may have none.
    pub issue: Option<IssueNumber>,
    pub author: String,
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

/// A status to be set on a commit.
#[derive(Clone, Debug)]
pub struct NewStatus {
    pub commit: Sha,
    /// Who says so, such as `shopfloor/ci`; a later status of the same context replaces it.
    pub context: String,
    pub state: StatusState,
    pub description: String,
    pub run: Option<RunId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Issue,
    Pr,
    Review,
    /// A person's, on an issue or on a pull request.
    Comment,
    PrComment,
}

impl ChangeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Issue => "issue",
            ChangeKind::Pr => "pr",
            ChangeKind::Review => "review",
            ChangeKind::Comment => "comment",
            ChangeKind::PrComment => "pr_comment",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        [ChangeKind::Issue, ChangeKind::Pr, ChangeKind::Review, ChangeKind::Comment, ChangeKind::PrComment]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// An object to look at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub seq: u64,
    pub kind: ChangeKind,
    /// The issue's number, or the pull request's.
    pub number: u64,
    /// The review's or the comment's id, else 0.
    pub id: u64,
}

/// A title as it is stored: trimmed, one line, not too long.
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

/// A body as it is stored. SQLite and terminals end a text at NUL, so NULs are removed.
pub(super) fn body(what: &'static str, text: &str) -> ForgeResult<String> {
    let body = text.replace('\0', "");
    if body.len() > BODY_BYTES_MAX {
        return Err(ForgeError::TooLong { what, len: body.len(), unit: "bytes", max: BODY_BYTES_MAX });
    }
    Ok(body)
}
