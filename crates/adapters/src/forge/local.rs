//! The embedded forge as the engine's [`Forge`]: a thin layer over the floor's own database.
//!
//! Invariants: text in observations is neutralised and bounded, whatever was stored; a call that finds its
//! work done writes nothing, so performing an effect again shows nothing new in `changes`.

use shopfloor_core::digest::Digest;
use shopfloor_core::effect::StatusState;
use shopfloor_core::event::Observation;
use shopfloor_core::forge::{Cursor, Subject, Version};
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, RunId, Sha};
use shopfloor_core::text;
use shopfloor_core::{deps, hints};
use shopfloor_engine::ports::forge::{
    By, NewComment, NewIssue, NewPr, NewReview, Resync, comment_body, review_text,
};
use shopfloor_engine::ports::{Changes, Final, Forge, Forges, PortError, PortResult};
use shopfloor_store::forge::{
    BODY_BYTES_MAX, Change, ChangeKind, ForgeError, ForgeResult, ForgeTables, Issue, IssueFilter, IssueState,
    IssueSummary, NewIssue as NewIssueRow, NewPr as NewPrRow, NewReview as NewReviewRow, NewStatus, Pr,
    PrState, PrSummary, TITLE_CHARS_MAX,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The author of the factory's own comments.
pub const AUTHOR: &str = "shopfloor";
/// The accounts that open the agents' pull requests and review them.
pub const DEV_ACCOUNT: &str = "shopfloor-dev";
pub const REVIEW_ACCOUNT: &str = "shopfloor-review";
/// What the accounts of agents begin with; their role follows.
const ACCOUNTS: &str = "shopfloor-";
/// The context of the factory's own statuses.
pub const STATUS_CONTEXT: &str = "shopfloor/ci";

const CHANGES_PAGE: usize = 200;
const STATUS_CHARS_MAX: usize = 300;
/// What the factory posts is cut rather than refused; the note about the cut needs room too.
const POST_BYTES_MAX: usize = BODY_BYTES_MAX - 300;

/// The embedded forges of a floor: all in one database.
#[derive(Clone)]
pub struct LocalForges {
    db: Arc<Mutex<Box<dyn ForgeTables>>>,
}

impl LocalForges {
    pub fn new(db: Box<dyn ForgeTables>) -> Self {
        LocalForges { db: Arc::new(Mutex::new(db)) }
    }

    /// Gives the project its forge, with the labels that the factory needs. Whatever it already has stays.
    pub fn init(&self, project: &ProjectName) -> PortResult<()> {
        self.forge(project).with(|db, project| db.init_project(project))
    }

    pub fn forge(&self, project: &ProjectName) -> LocalForge {
        LocalForge { db: self.db.clone(), project: project.clone() }
    }
}

impl Forges for LocalForges {
    fn of(&self, project: &ProjectName) -> PortResult<Arc<dyn Forge>> {
        Ok(Arc::new(self.forge(project)))
    }
}

/// One project's forge.
pub struct LocalForge {
    db: Arc<Mutex<Box<dyn ForgeTables>>>,
    project: ProjectName,
}

impl LocalForge {
    fn with<T>(
        &self,
        call: impl FnOnce(&mut dyn ForgeTables, &ProjectName) -> ForgeResult<T>,
    ) -> PortResult<T> {
        // A panic rolls its transaction back, so the connection is as good as before.
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        call(&mut **db, &self.project).map_err(port_error)
    }
}

impl Forge for LocalForge {
    fn resync(&self) -> Option<Resync> {
        None
    }

    fn changes(&self, after: &Cursor) -> PortResult<Changes> {
        let seq = if after.is_start() { Ok(0) } else { after.as_str().parse() };
        let seq = seq.map_err(|_| {
            PortError::permanent(
                Final::Config,
                format!("the embedded forge was never read as far as {:?}", after.as_str()),
            )
        })?;
        self.with(|db, project| {
            let mut changes = db.changes(project, seq, CHANGES_PAGE + 1)?;
            let more = changes.len() > CHANGES_PAGE;
            changes.truncate(CHANGES_PAGE);
            let cursor =
                changes.last().map_or_else(|| after.clone(), |last| Cursor::new(last.seq.to_string()));
            let of_issues = changes.iter().filter(|change| change.kind == ChangeKind::Issue);
            let issues: Vec<_> = of_issues.map(|change| IssueNumber(change.number)).collect();
            let mut issues = match issues.is_empty() {
                true => BTreeMap::new(),
                false => db.issues_without_comments(project, &issues)?,
            };
            let observe = |change| observe(db, project, change, &mut issues);
            let observations = changes.iter().map(observe).collect::<Result<_, _>>()?;
            Ok(Changes { cursor, observations, more })
        })
    }

    fn issue(&self, issue: IssueNumber) -> PortResult<Issue> {
        self.with(|db, project| db.issue(project, issue))
    }

    fn issues(&self, filter: &IssueFilter) -> PortResult<Vec<IssueSummary>> {
        self.with(|db, project| db.issues(project, filter))
    }

    fn pull(&self, pr: PrNumber) -> PortResult<Pr> {
        self.with(|db, project| db.pr(project, pr))
    }

    fn pulls(&self, state: Option<PrState>) -> PortResult<Vec<PrSummary>> {
        self.with(|db, project| db.prs(project, state))
    }

    fn abandoned_pull(&self, issue: IssueNumber) -> PortResult<Option<PrNumber>> {
        self.with(|db, project| db.abandoned_pr(project, issue))
    }

    fn labels(&self) -> PortResult<Vec<String>> {
        self.with(|db, project| db.labels(project))
    }

    fn ensure_labels(&self, names: &[String]) -> PortResult<()> {
        self.with(|db, project| names.iter().try_for_each(|name| db.create_label(project, name).map(drop)))
    }

    fn create_issue(&self, new: &NewIssue<'_>) -> PortResult<IssueNumber> {
        let (title, body) = match new.by {
            By::Factory | By::Agent(_) => {
                (text::one_line(new.title, TITLE_CHARS_MAX), text::head(new.body, POST_BYTES_MAX))
            }
            By::Person(_) => (new.title.to_owned(), new.body.to_owned()),
        };
        let (labels, deps) = (new.labels.to_vec(), new.deps.to_vec());
        let row = NewIssueRow { title, body, author: account(new.by, REVIEW_ACCOUNT), labels, deps };
        self.with(|db, project| db.create_issue_once(project, &row, new.marker))
    }

    fn edit_issue(&self, issue: IssueNumber, title: Option<&str>, body: Option<&str>) -> PortResult<()> {
        self.with(|db, project| db.edit_issue(project, issue, title, body))
    }

    fn edit_labels(&self, issue: IssueNumber, add: &[String], remove: &[String]) -> PortResult<Version> {
        self.with(|db, project| db.edit_labels(project, issue, add, remove))
    }

    fn comment(&self, on: Subject, new: &NewComment<'_>) -> PortResult<()> {
        let (author, body) = (account(new.by, AUTHOR), said(new.by, new.body));
        self.with(|db, project| match on {
            Subject::Issue(issue) => db.comment(project, issue, &author, &body, new.marker).map(drop),
            Subject::Pr(pr) => db.comment_pr(project, pr, &author, &body, new.marker).map(drop),
        })
    }

    fn edit_comment(&self, on: Subject, id: u64, body: &str) -> PortResult<()> {
        self.with(|db, project| db.edit_comment(project, on, id, body))
    }

    fn close_issue(&self, issue: IssueNumber) -> PortResult<()> {
        self.with(|db, project| db.close_issue(project, issue))
    }

    fn reopen_issue(&self, issue: IssueNumber) -> PortResult<()> {
        self.with(|db, project| db.reopen_issue(project, issue))
    }

    fn open_pr(&self, new: &NewPr<'_>) -> PortResult<PrNumber> {
        let row = NewPrRow {
            title: new.title.to_owned(),
            body: new.body.to_owned(),
            branch: new.branch.to_owned(),
            head: new.head.clone(),
            issue: new.issue,
            author: account(new.by, DEV_ACCOUNT),
        };
        self.with(|db, project| db.open_pr(project, &row))
    }

    fn move_pr(&self, pr: PrNumber, head: &Sha) -> PortResult<()> {
        self.with(|db, project| db.move_pr(project, pr, head))
    }

    fn close_pr(&self, pr: PrNumber, merged: Option<&Sha>) -> PortResult<()> {
        self.with(|db, project| db.close_pr(project, pr, merged))
    }

    fn post_review(&self, pr: PrNumber, new: &NewReview<'_>) -> PortResult<()> {
        let row = NewReviewRow {
            head: new.head.clone(),
            verdict: new.verdict,
            text: new.text.to_owned(),
            author: account(new.by, REVIEW_ACCOUNT),
            marker: new.marker.map(str::to_owned),
        };
        self.with(|db, project| db.review(project, pr, &row)).map(drop)
    }

    fn post_status(&self, commit: &Sha, run: RunId, state: StatusState, text: &str) -> PortResult<()> {
        let new = NewStatus {
            commit: commit.clone(),
            context: STATUS_CONTEXT.to_owned(),
            state,
            description: text::one_line(text, STATUS_CHARS_MAX),
            run: Some(run),
        };
        self.with(|db, project| db.set_status(project, &new))
    }
}

fn account(by: By<'_>, of_the_factory: &str) -> String {
    match by {
        By::Factory => of_the_factory.to_owned(),
        By::Agent(role) => format!("{ACCOUNTS}{role}"),
        By::Person(name) => name.to_owned(),
    }
}

fn said(by: By<'_>, body: &str) -> String {
    match by {
        By::Factory | By::Agent(_) => text::head(body, POST_BYTES_MAX),
        By::Person(_) => body.to_owned(),
    }
}

/// What the forge shows of an object now, which may be later than the change that named it. The issues were read
/// together.
fn observe(
    db: &mut dyn ForgeTables,
    project: &ProjectName,
    change: &Change,
    issues: &mut BTreeMap<IssueNumber, Issue>,
) -> ForgeResult<Observation> {
    let (issue, pr) = (IssueNumber(change.number), PrNumber(change.number));
    match change.kind {
        ChangeKind::Issue => issues.remove(&issue).map(issue_seen).ok_or(ForgeError::NoSuchIssue(issue)),
        ChangeKind::Pr => {
            let pr = db.pr(project, pr)?;
            // The issue it was opened for, and those its text names.
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
                author: text::one_line(&pr.author, 80),
                // Only issues have labels here.
                labels: Vec::new(),
                merged: pr.merged_commit,
            })
        }
        ChangeKind::Review => {
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
        ChangeKind::Comment => observe_comment(db, project, Subject::Issue(issue), change.id),
        ChangeKind::PrComment => observe_comment(db, project, Subject::Pr(pr), change.id),
    }
}

fn issue_seen(issue: Issue) -> Observation {
    Observation::Issue {
        number: issue.number,
        title: text::one_line(&issue.title, TITLE_CHARS_MAX),
        labels: issue.labels,
        open: issue.state == IssueState::Open,
        deps: deps::parse(&issue.body),
        created_at: issue.created_at,
        revision: Digest::new().field(issue.title.as_bytes()).field(issue.body.as_bytes()).finish(),
        version: issue.version,
        hints: hints::of_issue(&issue.body),
        by: issue.author.strip_prefix(ACCOUNTS).and_then(|role| role.parse().ok()),
    }
}

fn observe_comment(
    db: &mut dyn ForgeTables,
    project: &ProjectName,
    on: Subject,
    id: u64,
) -> ForgeResult<Observation> {
    let comment = db.comment_by_id(project, on, id)?;
    Ok(Observation::Comment {
        on,
        id,
        author: text::one_line(&comment.author, 80),
        text: comment_body(&comment.body),
        revision: Digest::new().field(comment.body.as_bytes()).finish(),
        created_at: comment.created_at,
    })
}

/// What the forge refuses, it will refuse again; trouble with the store may pass.
fn port_error(error: ForgeError) -> PortError {
    let cause = match &error {
        ForgeError::Store(_) => return PortError::transient(error),
        ForgeError::NoSuchProject(_)
        | ForgeError::NoSuchIssue(_)
        | ForgeError::NoSuchPr(_)
        | ForgeError::NoSuchComment { .. }
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
