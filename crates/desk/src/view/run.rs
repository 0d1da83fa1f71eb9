//! Runs of the checks.

use crate::time::moment;
use serde::Serialize;
use shopfloor_core::effect::{CiVerdict, CommitSource};
use shopfloor_core::ids::{IssueNumber, ProjectName, RunId, Sha};
use shopfloor_store::ci::{CiRun, CiStep};

/// A run as `--json` shows it.
#[derive(Serialize)]
pub struct RunView {
    pub run: RunId,
    pub project: ProjectName,
    /// `null` for a person's branch.
    pub issue: Option<IssueNumber>,
    pub commit: Sha,
    pub source: CommitSource,
    /// `null` while it runs.
    pub verdict: Option<CiVerdict>,
    pub step: Option<String>,
    pub log: Option<String>,
    pub started_at: String,
    pub finished_at: Option<String>,
    pub steps: Vec<CiStep>,
}

impl From<CiRun> for RunView {
    fn from(run: CiRun) -> Self {
        RunView {
            run: run.run,
            project: run.project,
            issue: run.issue,
            commit: run.commit,
            source: run.source,
            verdict: run.verdict,
            step: run.step,
            log: run.log,
            started_at: moment(run.started_at),
            finished_at: run.finished_at.map(moment),
            steps: run.steps,
        }
    }
}

/// How the run ended, in a word or two.
pub fn verdict(run: &CiRun) -> &'static str {
    match run.verdict {
        None => "running",
        Some(CiVerdict::Green) => "green",
        Some(CiVerdict::Red) => "red",
        Some(CiVerdict::TimedOut) => "timed out",
        Some(CiVerdict::Infra) => "infra",
        Some(CiVerdict::NoChecks) => "no checks",
        Some(CiVerdict::Cancelled) => "cancelled",
        Some(CiVerdict::Skipped) => "skipped",
    }
}
