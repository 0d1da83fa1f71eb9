//! What is out of order in a project's backlog, and what can be undone.

use crate::time::moment;
use crate::{Desk, Result, now};
use serde::Serialize;
use shopfloor_core::groom::{Finding, Look, Report, findings};
use shopfloor_core::ids::{ActId, IssueNumber, ProjectName, Role, RunNumber};
use shopfloor_core::state::{Floor, Garden, Reversal, ReversalState};
use shopfloor_core::texts::notes;
use std::collections::BTreeSet;

/// What was found, and what of it a gardener judged before.
pub struct Groomed {
    pub found: Vec<Finding>,
    pub judged: BTreeSet<u64>,
    pub decided: Vec<String>,
}

#[derive(Serialize)]
pub struct FindingView<'f> {
    kind: &'static str,
    issue: IssueNumber,
    title: &'f str,
    others: &'f [IssueNumber],
    measure: &'f str,
    pub judged: bool,
}

impl Groomed {
    /// What the next session would be told.
    pub fn report(&self) -> Report<'_> {
        let fresh = self.found.iter().filter(|finding| !self.judged.contains(&finding.key)).collect();
        Report { fresh, decided: self.decided.clone() }
    }

    /// Everything that was found.
    pub fn all(&self) -> Report<'_> {
        Report { fresh: self.found.iter().collect(), decided: self.decided.clone() }
    }

    pub fn view(&self) -> Vec<FindingView<'_>> {
        self.found.iter().map(|finding| FindingView::new(finding, &self.judged)).collect()
    }
}

impl<'f> FindingView<'f> {
    fn new(finding: &'f Finding, judged: &BTreeSet<u64>) -> FindingView<'f> {
        FindingView {
            kind: finding.kind.name(),
            issue: finding.issue,
            title: &finding.title,
            others: &finding.others,
            measure: &finding.measure,
            judged: judged.contains(&finding.key),
        }
    }
}

impl Desk {
    /// Looks at all open issues. No agent is asked.
    pub fn groom(&self, project: &ProjectName) -> Result<Groomed> {
        let engine = self.engine()?;
        let issues = self.forge(project)?.open_issues()?;
        let floor = engine.floor();
        let at_work: BTreeSet<IssueNumber> = floor.live_jobs(project).filter_map(|job| job.issue()).collect();
        let looks: Vec<Look<'_>> = issues
            .iter()
            .map(|issue| {
                let known = floor.issues.get(&(project.clone(), issue.number));
                let deps = known.map(|known| known.deps.clone());
                Look {
                    number: issue.number,
                    title: &issue.title,
                    body: &issue.body,
                    labels: issue.labels.iter().map(String::as_str).collect(),
                    deps: deps.unwrap_or_else(|| shopfloor_core::deps::parse(&issue.body)),
                    updated_at: issue.updated_at,
                    at_work: at_work.contains(&issue.number),
                }
            })
            .collect();
        let found = findings(&looks, &floor.policy(project).groom, now());
        let garden = floor.gardens.get(project);
        let judged = found.iter().map(|finding| finding.key);
        let known: BTreeSet<u64> =
            garden.into_iter().flat_map(|garden| garden.judged.iter().copied()).collect();
        let judged = judged.filter(|key| known.contains(key)).collect();
        let decided = |garden: &Garden| garden.decided.iter().map(|decided| decided.text.clone()).collect();
        Ok(Groomed { found, judged, decided: garden.map(decided).unwrap_or_default() })
    }
}

/// An act that was done, and whether it was undone.
#[derive(Serialize)]
pub struct ReversalView {
    pub act: ActId,
    pub role: Role,
    pub run: Option<RunNumber>,
    pub what: String,
    pub issue: Option<IssueNumber>,
    pub at: String,
    pub state: &'static str,
    /// Who undid it, or why it was not undone.
    pub detail: String,
}

impl ReversalView {
    pub fn new(reversal: &Reversal) -> ReversalView {
        let (state, detail) = match &reversal.state {
            ReversalState::Begun => ("begun", String::new()),
            ReversalState::Done => ("done", String::new()),
            ReversalState::Undoing { by, .. } => ("undoing", by.clone()),
            ReversalState::Kept { why } => ("kept", why.clone()),
            ReversalState::Undone { by, .. } => ("undone", by.clone()),
        };
        ReversalView {
            act: reversal.act,
            role: reversal.role,
            run: reversal.run,
            what: notes::act(&reversal.what),
            issue: reversal.issue,
            at: moment(reversal.at),
            state,
            detail,
        }
    }
}

/// The acts of a project that are on record, the oldest first.
pub fn reversals(floor: &Floor, project: &ProjectName) -> Vec<ReversalView> {
    let mine = floor.reversals.iter().filter(|reversal| reversal.project == *project);
    mine.map(ReversalView::new).collect()
}
