//! The embedded forge as the engine's [`Forge`]: a thin layer over the floor's own database.
//!
//! Invariants: text leaves here neutralised and bounded, whatever was stored; a call that finds
//! its work done writes nothing, so performing an effect again shows nothing new in `changes`.

use shopfloor_core::digest::Digest;
use shopfloor_core::effect::{FollowUp, Review, StatusState};
use shopfloor_core::event::Observation;
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, RunId, Sha};
use shopfloor_core::text;
use shopfloor_core::{deps, hints};
use shopfloor_engine::ports::{Changes, Final, Forge, IssueText, NewPr, PortError, PortResult, PullText};
use shopfloor_store::forge::{
    BODY_BYTES_MAX, Change, ChangeKind, ForgeDb, ForgeError, IssueFilter, IssueState, NewIssue,
    NewPr as NewPrRow, NewReview, NewStatus, PrState, TITLE_CHARS_MAX,
};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who the factory's own comments are from.
pub const AUTHOR: &str = "shopfloor";
/// Whose the agents' pull requests are, and who reviews them.
pub const DEV_ACCOUNT: &str = "shopfloor-dev";
pub const REVIEW_ACCOUNT: &str = "shopfloor-review";
/// The context of the factory's own statuses.
pub const STATUS_CONTEXT: &str = "shopfloor/ci";

const CHANGES_PAGE: usize = 200;
const ISSUE_BODY_BYTES_MAX: usize = 64 * 1024;
const COMMENTS_MAX: usize = 10;
const COMMENT_BYTES_MAX: usize = 16 * 1024;
const REVIEWS_MAX: usize = 5;
const REVIEW_BYTES_MAX: usize = 16 * 1024;
const STATUS_CHARS_MAX: usize = 300;
/// What of an issue its pull request repeats.
const SUMMARY_BYTES_MAX: usize = 2_000;
/// What the factory posts is cut rather than refused; the note about the cut and a
/// watermark need room too.
const POST_BYTES_MAX: usize = BODY_BYTES_MAX - 300;

pub struct LocalForge {
    db: Mutex<ForgeDb>,
}

impl LocalForge {
    pub fn new(db: ForgeDb) -> Self {
        LocalForge { db: Mutex::new(db) }
    }

    fn db(&self) -> MutexGuard<'_, ForgeDb> {
        // A panic rolls its transaction back, so the connection is as good as before.
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Forge for LocalForge {
    fn changes(&self, project: &ProjectName, cursor: u64) -> PortResult<Changes> {
        let mut db = self.db();
        let changes = db.changes(project, cursor, CHANGES_PAGE).map_err(port_error)?;
        let cursor = changes.last().map_or(cursor, |change| change.seq);
        let observations = changes
            .iter()
            .map(|change| observe(&mut db, project, change))
            .collect::<Result<_, _>>()
            .map_err(port_error)?;
        Ok(Changes { cursor, observations })
    }

    fn issue_text(&self, project: &ProjectName, issue: IssueNumber) -> PortResult<IssueText> {
        let mut db = self.db();
        let found = db.issue_without_comments(project, issue).map_err(port_error)?;
        let comments = db.comments(project, issue, COMMENTS_MAX).map_err(port_error)?;
        Ok(IssueText {
            title: text::one_line(&found.title, TITLE_CHARS_MAX),
            body: text::head(&text::neutralise(&found.body), ISSUE_BODY_BYTES_MAX),
            comments: comments.iter().map(comment_text).collect(),
        })
    }

    fn review_texts(&self, project: &ProjectName, pr: PrNumber) -> PortResult<Vec<String>> {
        let reviews = self.db().reviews(project, pr, REVIEWS_MAX).map_err(port_error)?;
        let show = |review: &shopfloor_store::forge::Review| {
            format!(
                "{} of {} by {}:\n{}",
                review.verdict.as_str(),
                review.head.short(),
                text::one_line(&review.author, 80),
                review_text(&review.text)
            )
        };
        Ok(reviews.iter().map(show).collect())
    }

    fn pull_text(&self, project: &ProjectName, pr: PrNumber) -> PortResult<PullText> {
        let mut db = self.db();
        let found = db.pr(project, pr).map_err(port_error)?;
        let show = |status: &shopfloor_store::forge::Status| {
            let said = text::one_line(&status.description, STATUS_CHARS_MAX);
            format!("{} on {}: {}, {said}", status.context, found.head.short(), status.state.as_str())
        };
        Ok(PullText {
            title: text::one_line(&found.title, TITLE_CHARS_MAX),
            checks: found.statuses.iter().map(show).collect(),
            author: text::one_line(&found.author, 80),
            body: text::head(&text::neutralise(&found.body), ISSUE_BODY_BYTES_MAX),
            comments: found.comments.iter().rev().take(COMMENTS_MAX).rev().map(comment_text).collect(),
            issue: found.issue,
            head: found.head,
        })
    }

    fn abandoned_pull(&self, project: &ProjectName, issue: IssueNumber) -> PortResult<Option<PrNumber>> {
        let closed = self.db().prs(project, Some(PrState::Closed)).map_err(port_error)?;
        Ok(closed.iter().rfind(|pr| pr.issue == Some(issue)).map(|pr| pr.number))
    }

    fn edit_labels(
        &self,
        project: &ProjectName,
        issue: IssueNumber,
        add: &[String],
        remove: &[String],
    ) -> PortResult<u64> {
        self.db().edit_labels(project, issue, add, remove).map_err(port_error)
    }

    fn comment(&self, project: &ProjectName, issue: IssueNumber, marker: &str, body: &str) -> PortResult<()> {
        let body = text::head(body, POST_BYTES_MAX);
        self.db().comment(project, issue, AUTHOR, &body, Some(marker)).map_err(port_error).map(drop)
    }

    fn comment_pr(&self, project: &ProjectName, pr: PrNumber, marker: &str, body: &str) -> PortResult<()> {
        let body = text::head(body, POST_BYTES_MAX);
        self.db().comment_pr(project, pr, AUTHOR, &body, Some(marker)).map_err(port_error).map(drop)
    }

    fn close_issue(&self, project: &ProjectName, issue: IssueNumber) -> PortResult<()> {
        self.db().close_issue(project, issue).map_err(port_error)
    }

    fn open_pr(&self, project: &ProjectName, pr: &NewPr<'_>) -> PortResult<PrNumber> {
        let mut db = self.db();
        let issue = db.issue_without_comments(project, pr.issue).map_err(port_error)?;
        let new = NewPrRow {
            title: pull_title(&issue.title, pr.issue),
            body: pull_body(&issue.body, pr.issue),
            branch: pr.branch.to_owned(),
            head: pr.head.clone(),
            issue: Some(pr.issue),
            author: DEV_ACCOUNT.to_owned(),
        };
        db.open_pr(project, &new).map_err(port_error)
    }

    fn move_pr(&self, project: &ProjectName, pr: PrNumber, head: &Sha) -> PortResult<()> {
        self.db().move_pr(project, pr, head).map_err(port_error)
    }

    fn close_pr(&self, project: &ProjectName, pr: PrNumber, merged: Option<&Sha>) -> PortResult<()> {
        self.db().close_pr(project, pr, merged).map_err(port_error)
    }

    fn post_review(
        &self,
        project: &ProjectName,
        pr: PrNumber,
        head: &Sha,
        marker: &str,
        review: &Review,
    ) -> PortResult<()> {
        let whole = [review.reason.trim(), review.markdown.trim()].map(str::to_owned);
        let said: Vec<String> = whole.into_iter().filter(|part| !part.is_empty()).collect();
        let new = NewReview {
            head: head.clone(),
            verdict: review.verdict,
            // The watermark says which commit it is of, wherever the text is copied to.
            text: format!("{}\n\n<!-- reviewed: {head} -->", text::head(&said.join("\n\n"), POST_BYTES_MAX)),
            author: REVIEW_ACCOUNT.to_owned(),
            marker: Some(marker.to_owned()),
        };
        let mut db = self.db();
        db.review(project, pr, &new).map_err(port_error)?;
        follow_up(&mut db, project, pr, &review.follow_ups).map_err(port_error)
    }

    fn post_status(
        &self,
        project: &ProjectName,
        commit: &Sha,
        run: RunId,
        state: StatusState,
        description: &str,
    ) -> PortResult<()> {
        let new = NewStatus {
            commit: commit.clone(),
            context: STATUS_CONTEXT.to_owned(),
            state,
            description: text::one_line(description, STATUS_CHARS_MAX),
            run: Some(run),
        };
        self.db().set_status(project, &new).map_err(port_error)
    }
}

/// Issues for what a review suggests, unless there is one of that title already, open or closed.
fn follow_up(
    db: &mut ForgeDb,
    project: &ProjectName,
    pr: PrNumber,
    new: &[FollowUp],
) -> Result<(), ForgeError> {
    if new.is_empty() {
        return Ok(());
    }
    let plain = |title: &str| text::one_line(title, TITLE_CHARS_MAX).to_lowercase();
    let issues = db.issues(project, &IssueFilter::default())?;
    let mut known: BTreeSet<String> = issues.iter().map(|issue| plain(&issue.title)).collect();
    for FollowUp { title, body } in new {
        if known.insert(plain(title)) {
            let body =
                format!("{body}\n\nFound in the review of pull request #{pr}; it is not of its making.");
            let labels = vec!["tech-debt".to_owned()];
            db.create_issue(
                project,
                &NewIssue { title: title.clone(), body, author: REVIEW_ACCOUNT.into(), labels, deps: vec![] },
            )?;
        }
    }
    Ok(())
}

fn comment_text(comment: &shopfloor_store::forge::Comment) -> String {
    let body = text::head(&text::neutralise(&comment.body), COMMENT_BYTES_MAX);
    format!("{}:\n{body}", text::one_line(&comment.author, 80))
}

/// What the forge shows of an object now, which may be later than the change that names it.
fn observe(db: &mut ForgeDb, project: &ProjectName, change: &Change) -> Result<Observation, ForgeError> {
    match change.kind {
        ChangeKind::Issue => {
            let issue = db.issue_without_comments(project, IssueNumber(change.number))?;
            Ok(Observation::Issue {
                number: issue.number,
                title: text::one_line(&issue.title, TITLE_CHARS_MAX),
                labels: issue.labels,
                open: issue.state == IssueState::Open,
                deps: deps::parse(&issue.body),
                created_at: issue.created_at,
                revision: Digest::new().field(issue.title.as_bytes()).field(issue.body.as_bytes()).finish(),
                version: issue.version,
                hints: hints::of_issue(&issue.body),
            })
        }
        ChangeKind::Pr => {
            let pr = db.pr(project, PrNumber(change.number))?;
            // The one it was opened for, and those its text names.
            let mut fixes = BTreeSet::from_iter(pr.issue);
            fixes.extend(hints::fixes(&pr.body));
            Ok(Observation::Pr {
                number: pr.number,
                open: pr.state == PrState::Open,
                branch: pr.branch,
                head: Some(pr.head),
                fixes: fixes.into_iter().collect(),
                title: text::one_line(&pr.title, TITLE_CHARS_MAX),
                ours: [AUTHOR, DEV_ACCOUNT].contains(&pr.author.as_str()),
            })
        }
        ChangeKind::Review => {
            let pr = PrNumber(change.number);
            let review = db.review_by_id(project, pr, change.id)?;
            Ok(Observation::Review {
                pr,
                head: review.head,
                verdict: review.verdict,
                text: review_text(&review.text),
                author: text::one_line(&review.author, 80),
                agent: [AUTHOR, REVIEW_ACCOUNT].contains(&review.author.as_str()),
                dismissed: review.dismissed_at.is_some(),
                id: review.id,
            })
        }
    }
}

/// The issue's title and number, as the commit of a merge would name it.
fn pull_title(issue: &str, number: IssueNumber) -> String {
    let suffix = format!(" (#{number})");
    format!("{}{suffix}", text::one_line(issue, TITLE_CHARS_MAX - suffix.chars().count()))
}

/// What the issue is about, what it is for, and a mark of who made it.
fn pull_body(issue: &str, number: IssueNumber) -> String {
    let issue = text::neutralise(issue);
    let first = issue.split("\n\n").map(str::trim).find(|part| !part.is_empty() && !part.starts_with('#'));
    let summary =
        first.map(|part| format!("{}\n\n", text::head(part, SUMMARY_BYTES_MAX))).unwrap_or_default();
    format!("{summary}Fixes #{number}\n\n<!-- shopfloor: issue {number} -->")
}

fn review_text(stored: &str) -> String {
    text::head(&text::neutralise(stored), REVIEW_BYTES_MAX)
}

/// What the forge refuses it will refuse again; whatever is the matter with the store may pass.
fn port_error(error: ForgeError) -> PortError {
    let cause = match &error {
        ForgeError::Store(_) => return PortError::transient(error),
        ForgeError::NoSuchProject(_)
        | ForgeError::NoSuchIssue(_)
        | ForgeError::NoSuchPr(_)
        | ForgeError::NoSuchReview { .. } => Final::Missing,
        ForgeError::AlreadyMerged { .. } => Final::Rejected,
        ForgeError::UnknownLabel { .. }
        | ForgeError::TooLong { .. }
        | ForgeError::Empty { .. }
        | ForgeError::NotOneLine { .. }
        | ForgeError::InvalidLabel(_)
        | ForgeError::OwnApproval { .. } => Final::Refused,
    };
    PortError::permanent(cause, error)
}

#[cfg(test)]
mod tests;
