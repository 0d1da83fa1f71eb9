//! The forge port: one project's issues, pull requests, reviews and statuses, wherever they are kept.
//!
//! How the factory learns: [`Forge::changes`] decides. It is read at the start, whenever somebody hints that
//! there may be news, and every so often regardless ([`Forge::resync`]). A hint never says what is new.
//! Observations may repeat. How it acts: calls about one issue, pull request or commit are made one after
//! another, other calls beside them; whatever carries a marker is posted once.

use super::{Final, PortError, PortResult};
use shopfloor_core::effect::{StatusState, Verdict};
use shopfloor_core::event::Observation;
use shopfloor_core::forge::{
    Comment, Cursor, Issue, IssueFilter, IssueState, IssueSummary, Pr, PrState, PrSummary, Review, Status,
    Subject, Version,
};
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, Role, RunId, Sha};
use shopfloor_core::text;
use std::sync::Arc;
use std::time::Duration;

const TITLE_CHARS_MAX: usize = 300;
const BODY_BYTES_MAX: usize = 64 * 1024;
const COMMENTS_MAX: usize = 10;
const COMMENT_BYTES_MAX: usize = 16 * 1024;
const REVIEWS_MAX: usize = 5;
const REVIEW_BYTES_MAX: usize = 16 * 1024;
const STATUS_CHARS_MAX: usize = 300;

/// An issue's text as an agent sees it: neutralised and bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssueText {
    pub title: String,
    pub body: String,
    pub comments: Vec<String>,
}

/// What agents are told about a pull request: neutralised and bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullText {
    pub title: String,
    pub head: Sha,
    /// The state of its head's checks.
    pub checks: Vec<String>,
    pub author: String,
    pub body: String,
    pub comments: Vec<String>,
    /// The issue it was opened for.
    pub issue: Option<IssueNumber>,
}

/// Who acts on the forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By<'a> {
    /// The factory, under the account it has for this. Text that is too long is cut, not refused.
    Factory,
    /// An agent of that role, under an account of its own.
    Agent(Role),
    /// A person of that name, at the command line.
    Person(&'a str),
}

/// An issue to be created.
#[derive(Clone, Copy, Debug)]
pub struct NewIssue<'a> {
    pub by: By<'a>,
    /// An issue is created once for each marker.
    pub marker: Option<&'a str>,
    pub title: &'a str,
    pub body: &'a str,
    /// Each has to be one of the project's labels.
    pub labels: &'a [String],
    /// Added to the body as a section, unless the body names them already.
    pub deps: &'a [IssueNumber],
}

/// A comment to be posted.
#[derive(Clone, Copy, Debug)]
pub struct NewComment<'a> {
    pub by: By<'a>,
    /// Posted once for each marker on the same subject.
    pub marker: Option<&'a str>,
    pub body: &'a str,
}

/// A pull request to be opened.
#[derive(Clone, Copy, Debug)]
pub struct NewPr<'a> {
    pub by: By<'a>,
    pub title: &'a str,
    pub body: &'a str,
    pub branch: &'a str,
    pub head: &'a Sha,
    /// The issue it is for; a person's pull request may have none.
    pub issue: Option<IssueNumber>,
}

/// A review to be posted.
#[derive(Clone, Copy, Debug)]
pub struct NewReview<'a> {
    pub by: By<'a>,
    /// Posted once for each marker.
    pub marker: Option<&'a str>,
    pub head: &'a Sha,
    pub verdict: Verdict,
    pub text: &'a str,
}

/// A page of what is new.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Where the next page begins.
    pub cursor: Cursor,
    /// May be empty although there is more.
    pub observations: Vec<Observation>,
    pub more: bool,
}

/// How often a forge is read without a hint: `soonest` after news, then less and less often, but at least
/// every `latest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resync {
    pub soonest: Duration,
    pub latest: Duration,
}

/// The forges of a floor's projects.
pub trait Forges: Send + Sync {
    /// The project's own.
    fn of(&self, project: &ProjectName) -> PortResult<Arc<dyn Forge>>;
}

/// One project's forge.
pub trait Forge: Send + Sync {
    /// How often it is read without a hint. `None`: it is part of the floor, and the store announces its
    /// changes; reading it asks nobody else.
    fn resync(&self) -> Option<Resync>;

    /// A page of what changed after `after`, each object as it is now: it is shown at least once after its
    /// last change.
    fn changes(&self, after: &Cursor) -> PortResult<Changes>;

    /// The issue with its comments.
    fn issue(&self, issue: IssueNumber) -> PortResult<Issue>;
    /// The issues that pass the filter, by number. A label that the project does not have is an error.
    fn issues(&self, filter: &IssueFilter) -> PortResult<Vec<IssueSummary>>;
    /// The open issues with the beginnings of their texts, at least 16 KB each, and without comments.
    fn open_issues(&self) -> PortResult<Vec<Issue>> {
        let open = IssueFilter { state: Some(IssueState::Open), ..IssueFilter::default() };
        let read = |summary: IssueSummary| {
            let issue = self.issue(summary.number)?;
            Ok(Issue { comments: Vec::new(), ..issue })
        };
        self.issues(&open)?.into_iter().map(read).collect()
    }
    /// The pull request with its reviews, its comments and its head's statuses.
    fn pull(&self, pr: PrNumber) -> PortResult<Pr>;
    /// The pull requests in that state, or all, by number.
    fn pulls(&self, state: Option<PrState>) -> PortResult<Vec<PrSummary>>;
    /// The project's labels in alphabetical order.
    fn labels(&self) -> PortResult<Vec<String>>;

    /// Creates those labels that the project lacks.
    fn ensure_labels(&self, names: &[String]) -> PortResult<()>;
    fn create_issue(&self, new: &NewIssue<'_>) -> PortResult<IssueNumber>;
    /// Changes the title, the body or both.
    fn edit_issue(&self, issue: IssueNumber, title: Option<&str>, body: Option<&str>) -> PortResult<()>;
    /// Returns the issue's version afterwards, as in an observation of it. A label that the project does not
    /// have is refused, and nothing is changed.
    fn edit_labels(&self, issue: IssueNumber, add: &[String], remove: &[String]) -> PortResult<Version>;
    fn comment(&self, on: Subject, new: &NewComment<'_>) -> PortResult<()>;
    /// Rewords a person's comment.
    fn edit_comment(&self, on: Subject, id: u64, body: &str) -> PortResult<()>;
    fn close_issue(&self, issue: IssueNumber) -> PortResult<()>;
    fn reopen_issue(&self, issue: IssueNumber) -> PortResult<()>;
    /// The open pull request of that branch, with this head; created if there is none.
    fn open_pr(&self, new: &NewPr<'_>) -> PortResult<PrNumber>;
    /// Moves an open pull request to that head; a closed one stays as it was.
    fn move_pr(&self, pr: PrNumber, head: &Sha) -> PortResult<()>;
    /// Closes it, as merged if `merged` names the commit that carries it. A merge is the stronger word: it is
    /// still noted on a closed pull request, and a merged one stays merged and cannot be merged again as
    /// another commit.
    fn close_pr(&self, pr: PrNumber, merged: Option<&Sha>) -> PortResult<()>;
    /// Nobody approves their own pull request, and whoever approves takes back the changes they requested
    /// before.
    fn post_review(&self, pr: PrNumber, new: &NewReview<'_>) -> PortResult<()>;
    /// The factory's status for the commit; the latest stands.
    fn post_status(&self, commit: &Sha, run: RunId, state: StatusState, text: &str) -> PortResult<()>;

    fn issue_text(&self, issue: IssueNumber) -> PortResult<IssueText> {
        let found = self.issue(issue)?;
        Ok(IssueText {
            title: text::one_line(&found.title, TITLE_CHARS_MAX),
            body: text::head(&text::neutralise(&found.body), BODY_BYTES_MAX),
            comments: latest(&found.comments, COMMENTS_MAX).map(comment_text).collect(),
        })
    }

    /// The latest reviews of a pull request, newest last, for a successor.
    fn review_texts(&self, pr: PrNumber) -> PortResult<Vec<String>> {
        let show = |review: &Review| {
            format!(
                "{} of {} by {}:\n{}",
                review.verdict.as_str(),
                review.head.short(),
                text::one_line(&review.author, 80),
                review_text(&review.text)
            )
        };
        Ok(latest(&self.pull(pr)?.reviews, REVIEWS_MAX).map(show).collect())
    }

    fn pull_text(&self, pr: PrNumber) -> PortResult<PullText> {
        let found = self.pull(pr)?;
        let show = |status: &Status| {
            let said = text::one_line(&status.description, STATUS_CHARS_MAX);
            format!("{} on {}: {}, {said}", status.context, found.head.short(), status.state.as_str())
        };
        Ok(PullText {
            title: text::one_line(&found.title, TITLE_CHARS_MAX),
            checks: found.statuses.iter().map(show).collect(),
            author: text::one_line(&found.author, 80),
            body: text::head(&text::neutralise(&found.body), BODY_BYTES_MAX),
            comments: latest(&found.comments, COMMENTS_MAX).map(comment_text).collect(),
            issue: found.issue,
            head: found.head,
        })
    }

    /// The newest pull request of the issue that was closed without a merge.
    fn abandoned_pull(&self, issue: IssueNumber) -> PortResult<Option<PrNumber>> {
        let closed = self.pulls(Some(PrState::Closed))?;
        Ok(closed.iter().rfind(|pr| pr.issue == Some(issue)).map(|pr| pr.number))
    }
}

/// The text of a comment or review in an observation.
pub fn comment_body(stored: &str) -> String {
    text::head(&text::neutralise(stored), COMMENT_BYTES_MAX)
}

pub fn review_text(stored: &str) -> String {
    text::head(&text::neutralise(stored), REVIEW_BYTES_MAX)
}

fn comment_text(comment: &Comment) -> String {
    format!("{}:\n{}", text::one_line(&comment.author, 80), comment_body(&comment.body))
}

fn latest<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    all[all.len().saturating_sub(most)..].iter()
}

/// The error for something that a forge does not have.
pub fn missing(on: Subject) -> PortError {
    PortError::permanent(Final::Missing, format!("there is no {on}"))
}
