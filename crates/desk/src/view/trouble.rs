//! What currently fails and is tried again: shown while it lasts.

use crate::time::moment;
use crate::{Desk, Result};
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::state::{Floor, Trouble};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use shopfloor_store::{OutboxEffect, Store};

#[derive(Serialize)]
pub struct TroubleView {
    pub project: ProjectName,
    pub issue: Option<IssueNumber>,
    pub what: String,
    pub why: String,
    /// When it was found to be more than a hiccup.
    pub since: Option<String>,
    pub attempts: Option<u32>,
    pub next_try: Option<String>,
    /// Whether people were asked to look.
    pub asked: bool,
    /// The times of `since` and `next_try`.
    #[serde(skip)]
    pub times: (Option<Time>, Option<Time>),
}

impl TroubleView {
    fn new(project: ProjectName, known: Option<&Trouble>, effect: Option<&OutboxEffect>) -> TroubleView {
        let error = effect.and_then(|q| q.last_error.as_deref());
        let why = error.or(known.map(|t| t.why.as_str())).unwrap_or_default();
        let what = effect.map(|q| q.action.name()).or(known.map(|t| t.what.as_str())).unwrap_or_default();
        let (since, next) = (known.map(|t| t.since), effect.map(|q| q.not_before));
        TroubleView {
            project,
            issue: effect.and_then(|q| q.action.number()).or(known.and_then(|t| t.issue)),
            what: what.to_owned(),
            why: one_line(why, 500),
            since: since.map(moment),
            attempts: effect.map(|q| q.attempts),
            next_try: next.map(moment),
            asked: known.is_some_and(Trouble::is_asked),
            times: (since, next),
        }
    }
}

/// For the projects asked for: effects whose last attempt failed, and forges that cannot be read.
pub fn all(desk: &Desk, floor: &Floor, mine: impl Fn(&ProjectName) -> bool) -> Result<Vec<TroubleView>> {
    let outbox = desk.reader()?.outbox()?;
    let mut shown = Vec::new();
    let mut lanes = Vec::new();
    for effect in outbox.iter().filter(|q| q.attempts > 0) {
        let Some(project) = floor.project_of(&effect.action).filter(&mine) else { continue };
        let lane = effect.action.lane();
        let known = floor.trouble(&project, &lane);
        lanes.push((project.clone(), lane));
        shown.push(TroubleView::new(project, known, Some(effect)));
    }
    for project in floor.projects.iter().filter(|p| mine(&p.name)) {
        let others = project
            .troubles
            .iter()
            .filter(|t| !lanes.iter().any(|(name, lane)| *name == project.name && *lane == t.lane));
        shown.extend(others.map(|t| TroubleView::new(project.name.clone(), Some(t), None)));
    }
    Ok(shown)
}
