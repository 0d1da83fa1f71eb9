//! What the project's checks did: one row per run, written as the run proceeds, so a run that a crash cut off
//! shows up as one without a verdict and is not forgotten.

use crate::retention::BATCH;
use crate::sqlite::{connect, connect_read_only, from_sql, optional_from_sql, to_sql, write};
use crate::{StoreError, StoreResult};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use shopfloor_core::effect::{CiVerdict, CommitSource};
use shopfloor_core::ids::{IssueNumber, ProjectName, RunId, Sha};
use shopfloor_core::time::Time;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum CiError {
    #[error("there is no CI run {0}")]
    NoSuchRun(RunId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for CiError {
    fn from(error: rusqlite::Error) -> Self {
        CiError::Store(error.into())
    }
}

pub type CiResult<T> = Result<T, CiError>;

/// A run that begins.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub run: RunId,
    pub project: ProjectName,
    /// `None`: a person's branch.
    pub issue: Option<IssueNumber>,
    pub commit: Sha,
    pub source: CommitSource,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiStep {
    pub name: String,
    /// The exit status; `None`: it did not end by itself.
    pub exit: Option<i32>,
    pub duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CiRun {
    pub run: RunId,
    pub project: ProjectName,
    pub issue: Option<IssueNumber>,
    pub commit: Sha,
    pub source: CommitSource,
    /// `None` while it runs.
    pub verdict: Option<CiVerdict>,
    /// The step that decided the verdict, unless it is green.
    pub step: Option<String>,
    /// Where the whole log is.
    pub log: Option<String>,
    pub started_at: Time,
    pub finished_at: Option<Time>,
    pub steps: Vec<CiStep>,
}

const COLUMNS: &str = "SELECT run, project, issue, commit_sha, source, verdict, step, log, started_at,
    finished_at, steps FROM ci_runs";

/// The records of CI runs.
pub trait CiRuns: Send {
    /// Notes that a run began. A run that begins again after a crash starts from scratch.
    fn started(&mut self, new: &NewRun, at: Time) -> CiResult<()>;

    /// Notes that a step of the run ended.
    fn step(&mut self, run: RunId, step: &CiStep) -> CiResult<()>;

    fn finished(
        &mut self,
        run: RunId,
        verdict: CiVerdict,
        step: Option<&str>,
        log: &str,
        at: Time,
    ) -> CiResult<()>;

    fn get(&mut self, run: RunId) -> CiResult<CiRun>;

    /// The project's latest runs, newest first.
    fn list(&mut self, project: &ProjectName, limit: usize) -> CiResult<Vec<CiRun>>;

    /// The project's latest runs that ended without being green, newest first.
    fn failures(&mut self, project: &ProjectName, limit: usize) -> CiResult<Vec<CiRun>>;

    /// The project's runs on commits whose hash begins with `prefix` (hexadecimal), newest first.
    fn of_commit(&mut self, project: &ProjectName, prefix: &str, limit: usize) -> CiResult<Vec<CiRun>>;

    /// Removes records of the project's runs that were over before then, but for `kept`; a few at a time, so that
    /// nobody waits long. Returns how many, and whether there are more; `dry_run`: how many there are in all.
    fn prune(
        &mut self,
        project: &ProjectName,
        before: Time,
        kept: &[RunId],
        dry_run: bool,
    ) -> CiResult<(u64, bool)>;
}

/// One connection to the CI part of a floor's store.
#[derive(Debug)]
pub struct CiDb {
    conn: Connection,
}

impl CiDb {
    pub fn open(path: &Path) -> StoreResult<Self> {
        Ok(CiDb { conn: connect(path)? })
    }

    pub fn open_read_only(path: &Path) -> StoreResult<Self> {
        Ok(CiDb { conn: connect_read_only(path)? })
    }

    fn select(&mut self, and: &str, project: &ProjectName, limit: usize) -> CiResult<Vec<CiRun>> {
        let mut query = self
            .conn
            .prepare_cached(&format!("{COLUMNS} WHERE project = ?1 {and} ORDER BY run DESC LIMIT ?2"))?;
        let rows = query.query_map(params![project.as_str(), to_sql(limit as u64)], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl CiRuns for CiDb {
    fn started(&mut self, new: &NewRun, at: Time) -> CiResult<()> {
        let tx = write(&mut self.conn)?;
        tx.execute(
            "INSERT OR REPLACE INTO ci_runs (run, project, issue, commit_sha, source, started_at, steps)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, '[]')",
            params![
                to_sql(new.run.0),
                new.project.as_str(),
                // Issues are numbered from 1.
                to_sql(new.issue.unwrap_or_default().0),
                new.commit.as_str(),
                word(&new.source)?,
                to_sql(at.0)
            ],
        )?;
        Ok(tx.commit()?)
    }

    fn step(&mut self, run: RunId, step: &CiStep) -> CiResult<()> {
        let tx = write(&mut self.conn)?;
        let json = serde_json::to_string(step).map_err(|e| StoreError::Io(e.to_string()))?;
        let changed = tx.execute(
            "UPDATE ci_runs SET steps = json_insert(steps, '$[#]', json(?2)) WHERE run = ?1",
            params![to_sql(run.0), json],
        )?;
        require(changed, run)?;
        Ok(tx.commit()?)
    }

    fn finished(
        &mut self,
        run: RunId,
        verdict: CiVerdict,
        step: Option<&str>,
        log: &str,
        at: Time,
    ) -> CiResult<()> {
        let tx = write(&mut self.conn)?;
        let changed = tx.execute(
            "UPDATE ci_runs SET verdict = ?2, step = ?3, log = ?4, finished_at = ?5 WHERE run = ?1",
            params![to_sql(run.0), word(&verdict)?, step, log, to_sql(at.0)],
        )?;
        require(changed, run)?;
        Ok(tx.commit()?)
    }

    fn get(&mut self, run: RunId) -> CiResult<CiRun> {
        let mut query = self.conn.prepare_cached(&format!("{COLUMNS} WHERE run = ?1"))?;
        query.query_row([to_sql(run.0)], read).optional()?.ok_or(CiError::NoSuchRun(run))
    }

    fn list(&mut self, project: &ProjectName, limit: usize) -> CiResult<Vec<CiRun>> {
        self.select("", project, limit)
    }

    fn failures(&mut self, project: &ProjectName, limit: usize) -> CiResult<Vec<CiRun>> {
        self.select("AND verdict IN ('red', 'timed_out', 'infra')", project, limit)
    }

    fn of_commit(&mut self, project: &ProjectName, prefix: &str, limit: usize) -> CiResult<Vec<CiRun>> {
        let mut query = self.conn.prepare_cached(&format!(
            "{COLUMNS} WHERE project = ?1 AND substr(commit_sha, 1, ?2) = ?3 ORDER BY run DESC LIMIT ?4"
        ))?;
        let args = params![project.as_str(), to_sql(prefix.len() as u64), prefix, to_sql(limit as u64)];
        let rows = query.query_map(args, read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn prune(
        &mut self,
        project: &ProjectName,
        before: Time,
        kept: &[RunId],
        dry_run: bool,
    ) -> CiResult<(u64, bool)> {
        // A run that a crash cut off was never finished.
        const GONE: &str = "FROM ci_runs WHERE project = ?1 AND coalesce(finished_at, started_at) < ?2
            AND run NOT IN (SELECT value FROM json_each(?3))";
        let kept = serde_json::to_string(kept).map_err(|e| StoreError::Io(e.to_string()))?;
        let args = params![project.as_str(), to_sql(before.0), kept];
        if dry_run {
            let count = format!("SELECT count(*) {GONE}");
            return Ok((self.conn.query_row(&count, args, |row| from_sql(row, 0))?, false));
        }
        let tx = write(&mut self.conn)?;
        let delete =
            format!("DELETE FROM ci_runs WHERE run IN (SELECT run {GONE} ORDER BY run LIMIT {BATCH})");
        let gone = tx.execute(&delete, args)?;
        tx.commit()?;
        Ok((gone as u64, gone == BATCH))
    }
}

fn require(changed: usize, run: RunId) -> CiResult<()> {
    if changed == 0 { Err(CiError::NoSuchRun(run)) } else { Ok(()) }
}

/// A unit variant's serde name: the store and `--json` spell it the same way.
fn word(value: &impl Serialize) -> StoreResult<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        other => Err(StoreError::Io(format!("{other:?} is not a word"))),
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<CiRun> {
    let verdict: Option<String> = row.get(5)?;
    Ok(CiRun {
        run: RunId(from_sql(row, 0)?),
        project: decode(1, serde_json::Value::String(row.get(1)?))?,
        issue: Some(IssueNumber(from_sql(row, 2)?)).filter(|issue| issue.0 > 0),
        commit: decode(3, serde_json::Value::String(row.get(3)?))?,
        source: decode(4, serde_json::Value::String(row.get(4)?))?,
        verdict: verdict.map(|word| decode(5, serde_json::Value::String(word))).transpose()?,
        step: row.get(6)?,
        log: row.get(7)?,
        started_at: Time(from_sql(row, 8)?),
        finished_at: optional_from_sql(row, 9)?.map(Time),
        steps: serde_json::from_str(&row.get::<_, String>(10)?).map_err(|e| unreadable(10, e))?,
    })
}

fn decode<T: serde::de::DeserializeOwned>(column: usize, value: serde_json::Value) -> rusqlite::Result<T> {
    serde_json::from_value(value).map_err(|e| unreadable(column, e))
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
}
