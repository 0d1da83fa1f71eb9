//! Runs of the checks.

use crate::time::moment;
use crate::{Desk, Error, Result, answer};
use serde::Serialize;
use shopfloor_adapters::ci::last_step;
use shopfloor_core::effect::{CiVerdict, CommitSource};
use shopfloor_core::ids::{IssueNumber, ProjectName, RunId, Sha};
use shopfloor_core::state::Shelf;
use shopfloor_store::ci::{CiRun, CiStep};
use std::path::Path;

/// How many failures are looked through for those of one branch.
const LOOKED_AT_MAX: usize = 1000;

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

/// A run that failed, with the end of what its last step printed.
#[derive(Serialize)]
pub struct FailureView {
    #[serde(flatten)]
    pub run: RunView,
    /// Bounded, and without secrets; `null` if its log is gone.
    pub excerpt: Option<String>,
}

/// The project's latest failures, newest first; of a pull request, an issue or a branch if `which` names one.
pub fn failures(
    desk: &Desk,
    project: &ProjectName,
    which: Option<&str>,
    limit: usize,
) -> Result<Vec<FailureView>> {
    let wanted = which.map(|which| Wanted::named(desk, project, which)).transpose()?;
    let looked_at = if wanted.is_some() { LOOKED_AT_MAX } else { limit };
    let runs = desk.ci()?.failures(project, looked_at)?;
    let mine = runs.into_iter().filter(|run| wanted.as_ref().is_none_or(|wanted| wanted.is(run)));
    Ok(mine.take(limit).map(FailureView::from).collect())
}

/// Whose runs are meant.
struct Wanted {
    issue: Option<IssueNumber>,
    head: Option<Sha>,
}

impl Wanted {
    fn named(desk: &Desk, project: &ProjectName, which: &str) -> Result<Wanted> {
        let number: Option<u64> = which.parse().ok().map(|IssueNumber(number)| number);
        let shelf = match number {
            Some(number) => Shelf::Number(project.clone(), IssueNumber(number)),
            None => Shelf::Branch(project.clone(), which.to_owned()),
        };
        let (forge, floor) = (desk.forge(project)?, desk.committed_about(&[shelf])?);
        let pulls = answer(forge.pulls(None))?;
        let pull = pulls.iter().rfind(|pr| number.map_or(pr.branch == which, |number| pr.number.0 == number));
        let job = match number {
            Some(number) => floor.job_of(project, IssueNumber(number)),
            None => floor.job_on(project, which),
        };
        if pull.is_none() && job.is_none() {
            return Err(Error::no_such(format!(
                "there is no pull request, issue at work or branch {which:?}"
            ))
            .hint("`shopfloor pr list` shows the pull requests"));
        }
        Ok(Wanted {
            issue: pull.and_then(|pr| pr.issue).or(job.and_then(|job| job.issue())),
            head: pull.map(|pr| pr.head.clone()).or(job.and_then(|job| job.head.clone())),
        })
    }

    fn is(&self, run: &CiRun) -> bool {
        self.head.as_ref() == Some(&run.commit) || (self.issue.is_some() && self.issue == run.issue)
    }
}

impl From<CiRun> for FailureView {
    fn from(run: CiRun) -> FailureView {
        let excerpt = run.log.as_ref().and_then(|log| last_step(Path::new(log)).ok());
        FailureView { run: run.into(), excerpt }
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
