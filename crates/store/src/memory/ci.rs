//! The records of CI runs, in memory.

use crate::ci::{CiError, CiResult, CiRun, CiRuns, CiStep, NewRun};
use shopfloor_core::effect::CiVerdict;
use shopfloor_core::ids::{ProjectName, RunId};
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Debug, Default)]
pub struct MemoryCi(Arc<Mutex<BTreeMap<RunId, CiRun>>>);

impl MemoryCi {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<RunId, CiRun>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn edit(&self, run: RunId, change: impl FnOnce(&mut CiRun)) -> CiResult<()> {
        self.with(|runs| runs.get_mut(&run).map(change)).ok_or(CiError::NoSuchRun(run))
    }

    fn select(&self, limit: usize, of: impl Fn(&CiRun) -> bool) -> Vec<CiRun> {
        self.with(|runs| runs.values().rev().filter(|run| of(run)).take(limit).cloned().collect())
    }
}

impl CiRuns for MemoryCi {
    fn started(&mut self, new: &NewRun, at: Time) -> CiResult<()> {
        let NewRun { run, project, issue, commit, source } = new.clone();
        let begun = CiRun {
            run,
            project,
            issue,
            commit,
            source,
            verdict: None,
            step: None,
            log: None,
            started_at: at,
            finished_at: None,
            steps: Vec::new(),
        };
        self.with(|runs| runs.insert(run, begun));
        Ok(())
    }

    fn step(&mut self, run: RunId, step: &CiStep) -> CiResult<()> {
        self.edit(run, |run| run.steps.push(step.clone()))
    }

    fn finished(
        &mut self,
        run: RunId,
        verdict: CiVerdict,
        step: Option<&str>,
        log: &str,
        at: Time,
    ) -> CiResult<()> {
        self.edit(run, |run| {
            run.verdict = Some(verdict);
            run.step = step.map(str::to_owned);
            run.log = Some(log.to_owned());
            run.finished_at = Some(at);
        })
    }

    fn get(&mut self, run: RunId) -> CiResult<CiRun> {
        self.with(|runs| runs.get(&run).cloned()).ok_or(CiError::NoSuchRun(run))
    }

    fn list(&mut self, project: &ProjectName, limit: usize) -> CiResult<Vec<CiRun>> {
        Ok(self.select(limit, |run| run.project == *project))
    }

    fn failures(&mut self, project: &ProjectName, limit: usize) -> CiResult<Vec<CiRun>> {
        const FAILED: [CiVerdict; 3] = [CiVerdict::Red, CiVerdict::TimedOut, CiVerdict::Infra];
        Ok(self.select(limit, |run| {
            run.project == *project && run.verdict.is_some_and(|verdict| FAILED.contains(&verdict))
        }))
    }

    fn of_commit(&mut self, project: &ProjectName, prefix: &str, limit: usize) -> CiResult<Vec<CiRun>> {
        Ok(self.select(limit, |run| run.project == *project && run.commit.as_str().starts_with(prefix)))
    }

    fn prune(
        &mut self,
        project: &ProjectName,
        before: Time,
        kept: &[RunId],
        dry_run: bool,
    ) -> CiResult<(u64, bool)> {
        let goes = |run: &CiRun| {
            let over = run.finished_at.unwrap_or(run.started_at) < before;
            run.project == *project && over && !kept.contains(&run.run)
        };
        self.with(|runs| {
            let gone = runs.values().filter(|run| goes(run)).count() as u64;
            if !dry_run {
                runs.retain(|_, run| !goes(run));
            }
            Ok((gone, false))
        })
    }
}
