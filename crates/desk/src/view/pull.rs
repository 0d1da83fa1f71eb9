//! Pull requests: all of a project's, and one with its reviews, comments and statuses.

use crate::time::moment;
use crate::{Desk, Exit, Result, answer};
use serde::Serialize;
use shopfloor_core::effect::Verdict;
use shopfloor_core::forge::{Comment, Pr, PrState, PrSummary, Review, Status};
use shopfloor_core::ids::{IssueNumber, PrNumber, RunId, Sha};
use shopfloor_core::state::{Job, Project, Shelf};
use shopfloor_engine::ports::Forge;

#[derive(Serialize)]
pub struct ListedPr {
    pub number: PrNumber,
    pub title: String,
    pub state: PrState,
    pub branch: String,
    pub head: Sha,
    /// `null`: it is for no issue.
    pub issue: Option<IssueNumber>,
    pub merged_commit: Option<Sha>,
    pub author: String,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Serialize)]
pub struct ShownPr {
    #[serde(flatten)]
    pub listed: ListedPr,
    pub body: String,
    pub reviews: Vec<ShownReview>,
    pub comments: Vec<ShownComment>,
    pub statuses: Vec<ShownStatus>,
    /// Commands that show the change.
    pub diff: String,
}

#[derive(Serialize)]
pub struct ShownReview {
    pub id: u64,
    pub head: Sha,
    pub verdict: Verdict,
    pub author: String,
    pub text: String,
    pub created_at: String,
    /// When its author's approval took it back.
    pub dismissed_at: Option<String>,
}

#[derive(Serialize)]
pub struct ShownComment {
    pub author: String,
    pub body: String,
    pub created_at: String,
}

#[derive(Serialize)]
pub struct ShownStatus {
    pub context: String,
    pub state: &'static str,
    pub description: String,
    pub run: Option<RunId>,
    pub updated_at: String,
}

impl From<PrSummary> for ListedPr {
    fn from(pr: PrSummary) -> Self {
        ListedPr {
            number: pr.number,
            title: pr.title,
            state: pr.state,
            branch: pr.branch,
            head: pr.head,
            issue: pr.issue,
            merged_commit: pr.merged_commit,
            author: pr.author,
            created_at: moment(pr.created_at),
            updated_at: moment(pr.updated_at),
        }
    }
}

/// What is shown about one pull request is made of this.
pub struct Seen {
    pub pr: Pr,
    /// Commands that show the change.
    pub diff: String,
}

impl Seen {
    pub fn new(desk: &Desk, project: &Project, number: PrNumber) -> Result<Seen> {
        let pr = found(&*desk.forge(&project.name)?, number)?;
        let floor = desk.committed_about(&[Shelf::Branch(project.name.clone(), pr.branch.clone())])?;
        let carries = |job: &&Job| !job.is_review() && job.project == project.name && job.pr == Some(number);
        let target = floor.jobs.iter().rfind(carries).and_then(|job| job.target.clone());
        let diff = format!(
            "git fetch shopfloor refs/pull/{number}/head && git diff shopfloor/{}...FETCH_HEAD",
            project.policy.branch_of(target.as_ref())
        );
        Ok(Seen { pr, diff })
    }

    /// The form that programs get.
    pub fn view(self) -> ShownPr {
        let Seen { pr, diff } = self;
        let review = |r: Review| ShownReview {
            id: r.id,
            head: r.head,
            verdict: r.verdict,
            author: r.author,
            text: r.text,
            created_at: moment(r.created_at),
            dismissed_at: r.dismissed_at.map(moment),
        };
        let comment =
            |c: Comment| ShownComment { author: c.author, body: c.body, created_at: moment(c.created_at) };
        let status = |s: Status| ShownStatus {
            context: s.context,
            state: s.state.as_str(),
            description: s.description,
            run: s.run,
            updated_at: moment(s.updated_at),
        };
        ShownPr {
            listed: pr.summary().into(),
            body: pr.body,
            reviews: pr.reviews.into_iter().map(review).collect(),
            comments: pr.comments.into_iter().map(comment).collect(),
            statuses: pr.statuses.into_iter().map(status).collect(),
            diff,
        }
    }
}

/// The pull request, or where to look for it.
pub fn found(forge: &dyn Forge, number: PrNumber) -> Result<Pr> {
    answer(forge.pull(number)).map_err(|e| match e.exit {
        Exit::NoSuchThing => e.hint("`shopfloor pr list --state all` shows them"),
        _ => e,
    })
}
