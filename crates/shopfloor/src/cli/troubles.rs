//! What fails at present and is tried again: shown while it lasts.

use super::context::now;
use super::{CliResult, Context, output};
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::state::{Floor, Trouble};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use shopfloor_store::{Queued, Store};

#[derive(Serialize)]
pub struct TroubleView {
    project: ProjectName,
    issue: Option<IssueNumber>,
    what: String,
    why: String,
    /// When it was found to be more than a hiccup.
    since: Option<String>,
    attempts: Option<u32>,
    next_try: Option<String>,
    /// Whether people were asked to look.
    asked: bool,
    #[serde(skip)]
    times: (Option<Time>, Option<Time>),
}

impl TroubleView {
    fn new(project: ProjectName, known: Option<&Trouble>, effect: Option<&Queued>) -> TroubleView {
        let error = effect.and_then(|q| q.last_error.as_deref());
        let why = error.or(known.map(|t| t.why.as_str())).unwrap_or_default();
        let what = effect.map(|q| q.action.name()).or(known.map(|t| t.what.as_str())).unwrap_or_default();
        let (since, next) = (known.map(|t| t.since), effect.map(|q| q.not_before));
        TroubleView {
            project,
            issue: effect.and_then(|q| q.action.issue()).or(known.and_then(|t| t.issue)),
            what: what.to_owned(),
            why: one_line(why, 500),
            since: since.map(output::moment),
            attempts: effect.map(|q| q.attempts),
            next_try: next.map(output::moment),
            asked: known.is_some_and(Trouble::is_asked),
            times: (since, next),
        }
    }

    fn row(&self, several: bool) -> Vec<String> {
        let issue = self.issue.map(|issue| format!("#{issue}")).unwrap_or_default();
        let whose = if several { format!("{}{issue}", self.project) } else { issue };
        let since = self.times.0.map(|at| output::span(now().since(at)));
        let next = self.times.1.map(|at| format!("in {}", output::span(at.since(now()))));
        let tries = self.attempts.map(|n| n.to_string());
        let dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            if whose.is_empty() { "-".into() } else { whose },
            self.what.replace('_', " "),
            dash(since),
            dash(tries),
            dash(next),
            one_line(&self.why, 160),
        ]
    }
}

/// Of the projects asked for: effects that failed at their last attempt, and forges that cannot be read.
pub fn troubles(
    context: &Context,
    floor: &Floor,
    mine: impl Fn(&ProjectName) -> bool,
) -> CliResult<Vec<TroubleView>> {
    let outbox = context.reader()?.outbox()?;
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

pub fn print(floor: &Floor, troubles: &[TroubleView]) {
    if troubles.is_empty() {
        return;
    }
    let several = floor.projects.len() > 1;
    let rows: Vec<Vec<String>> = troubles.iter().map(|t| t.row(several)).collect();
    output::line("");
    output::table(&["ISSUE", "FAILS, AND IS TRIED AGAIN", "SINCE", "TRIES", "NEXT", "WHY"], &rows);
}
