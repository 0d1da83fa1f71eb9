//! Issues: all of a project's, with why nothing happens on them, and one with everything said about it.

use super::job::{self, JobView};
use crate::time::moment;
use crate::{Desk, Exit, Result, answer};
use serde::Serialize;
use shopfloor_core::deps;
use shopfloor_core::forge::{Issue, IssueFilter, IssueState, IssueSummary};
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName};
use shopfloor_core::state::Shelf;
use shopfloor_core::step::Standings;
use shopfloor_engine::ports::{Forge, PortResult};

/// How many neighbours are named for a number that is not an issue's.
const NEAR_MAX: usize = 5;

#[derive(Serialize)]
pub struct ListedIssue {
    pub number: IssueNumber,
    pub title: String,
    pub state: IssueState,
    pub labels: Vec<String>,
    pub depends_on: Vec<IssueNumber>,
    /// The state of the issue's job, if it ever had one.
    pub job_state: Option<&'static str>,
    pub why: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Serialize)]
pub struct ShownIssue {
    pub number: IssueNumber,
    pub title: String,
    pub state: IssueState,
    pub labels: Vec<String>,
    pub body: String,
    pub author: String,
    pub created_at: String,
    pub updated_at: String,
    pub closed_at: Option<String>,
    pub depends_on: Vec<IssueNumber>,
    pub why: Option<String>,
    pub job: Option<JobView>,
    pub comments: Vec<ShownComment>,
}

#[derive(Serialize)]
pub struct ShownComment {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub created_at: String,
}

/// The issues that pass the filter.
pub fn list(desk: &Desk, project: &ProjectName, filter: &IssueFilter) -> Result<Vec<ListedIssue>> {
    let issues = answer(desk.forge(project)?.issues(filter))?;
    // Closed issues are on the shelf, and so are their jobs.
    let floor = match filter.state {
        Some(IssueState::Open) => desk.floor()?,
        _ => desk.history()?,
    };
    let standings = Standings::of(&floor);
    let view = |issue: IssueSummary| {
        let known = floor.issues.get(&(project.clone(), issue.number));
        ListedIssue {
            depends_on: known.map(|i| i.deps.clone()).unwrap_or_default(),
            job_state: floor.job_of(project, issue.number).map(|job| job.state.name()),
            why: known.filter(|i| i.open).map(|i| job::why_of(&floor, i, standings.why(i))),
            number: issue.number,
            title: issue.title,
            state: issue.state,
            labels: issue.labels,
            created_at: moment(issue.created_at),
            updated_at: moment(issue.updated_at),
        }
    };
    Ok(issues.into_iter().map(view).collect())
}

/// What is shown about one issue is made of this.
pub struct Seen {
    pub issue: Issue,
    pub why: Option<String>,
    pub job: Option<JobView>,
}

impl Seen {
    pub fn new(desk: &Desk, project: &ProjectName, number: IssueNumber) -> Result<Seen> {
        let forge = desk.forge(project)?;
        let issue = found(&*forge, project, number, forge.issue(number))?;
        let floor = desk.floor_about(&[Shelf::Number(project.clone(), number)])?;
        let known = floor.issues.get(&(project.clone(), number));
        let why = known.filter(|i| i.open).map(|i| job::why(&floor, i));
        let job = floor.job_of(project, number).map(|job| JobView::new(&floor, job));
        Ok(Seen { issue, why, job })
    }

    /// The form that programs get.
    pub fn view(self) -> ShownIssue {
        let Seen { issue, why, job } = self;
        ShownIssue {
            number: issue.number,
            title: issue.title,
            state: issue.state,
            labels: issue.labels,
            depends_on: deps::parse(&issue.body),
            body: issue.body,
            author: issue.author,
            created_at: moment(issue.created_at),
            updated_at: moment(issue.updated_at),
            closed_at: issue.closed_at.map(moment),
            why,
            job,
            comments: issue
                .comments
                .into_iter()
                .map(|c| ShownComment {
                    id: c.id,
                    author: c.author,
                    body: c.body,
                    created_at: moment(c.created_at),
                })
                .collect(),
        }
    }
}

/// Turns a forge's answer into ours; a missing issue comes with what may have been meant.
pub fn found<T>(
    forge: &dyn Forge,
    project: &ProjectName,
    number: IssueNumber,
    answered: PortResult<T>,
) -> Result<T> {
    answer(answered).map_err(|e| match e.exit {
        Exit::NoSuchThing => match what_instead(forge, project, number) {
            Ok(hint) => e.hint(hint),
            Err(other) => other,
        },
        _ => e,
    })
}

fn what_instead(forge: &dyn Forge, project: &ProjectName, number: IssueNumber) -> Result<String> {
    // Both take their numbers from one sequence.
    if forge.pull(PrNumber(number.0)).is_ok() {
        return Ok(format!("#{number} is a pull request: `shopfloor pr show {number}`"));
    }
    let mut near: Vec<IssueNumber> =
        answer(forge.issues(&IssueFilter::default()))?.iter().map(|i| i.number).collect();
    if near.is_empty() {
        return Ok(format!("project {project} has no issues yet: `shopfloor issue add TITLE` makes one"));
    }
    near.sort_by_key(|n| n.0.abs_diff(number.0));
    near.truncate(NEAR_MAX);
    near.sort_unstable();
    Ok(format!("the nearest are {}", job::numbers(&near, ", ")))
}
