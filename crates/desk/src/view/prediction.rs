//! Predictions that are open, and whether there is anything for a planner.

use super::trends::notes;
use crate::time::moment;
use crate::{Desk, Result, answer, now};
use serde::Serialize;
use shopfloor_core::event::NoteKind;
use shopfloor_core::forge::{IssueFilter, IssueState, IssueSummary};
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::label::{Label, UNREVIEWED, WATCHED};
use std::time::Duration;

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Serialize)]
pub struct PredictionsView {
    pub project: ProjectName,
    /// Nobody has looked at them yet; they are watched.
    pub unreviewed: Vec<PredictionView>,
    pub watched: Vec<PredictionView>,
    /// Open issues that are to be worked on, and those that landed within a week.
    pub backlog: usize,
    pub landed: usize,
}

#[derive(Serialize)]
pub struct PredictionView {
    pub issue: IssueNumber,
    pub title: String,
    pub created_at: String,
}

impl PredictionsView {
    pub fn new(desk: &Desk, project: &ProjectName) -> Result<PredictionsView> {
        let filter = IssueFilter { state: Some(IssueState::Open), ..IssueFilter::default() };
        let open = answer(desk.forge(project)?.issues(&filter))?;
        let with = |label: &'static str| {
            open.iter().filter(move |issue: &&IssueSummary| issue.labels.iter().any(|known| known == label))
        };
        let view = |issue: &IssueSummary| PredictionView {
            issue: issue.number,
            title: issue.title.clone(),
            created_at: moment(issue.created_at),
        };
        let landed = notes(desk, project, now() - WEEK)?;
        Ok(PredictionsView {
            project: project.clone(),
            unreviewed: with(UNREVIEWED).map(view).collect(),
            watched: with(WATCHED).map(view).collect(),
            backlog: with(Label::Backlog.as_str()).count() + with(Label::InProgress.as_str()).count(),
            landed: landed.iter().filter(|note| note.kind == NoteKind::MergeComplete.as_str()).count(),
        })
    }

    /// Whether there is anything to plan: somebody predicts something, nobody has anything to do, or the project is
    /// another than a week ago.
    pub fn is_worth_a_plan(&self) -> bool {
        !self.unreviewed.is_empty() || self.backlog == 0 || self.landed > 0
    }
}
