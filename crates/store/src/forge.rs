//! The embedded forge's data: issues, labels, comments, pull requests, reviews and statuses of
//! every project, in the floor's own database.
//!
//! Invariants: issues and pull requests of a project share one sequence of numbers; what is posted with a
//! marker is posted once; an operation that finds everything as wanted writes nothing; an operation that
//! changes an object moves it to the end of the changes, in the same transaction, so whoever follows
//! [`ForgeDb::changes`] misses nothing. Texts are kept as given (without NUL): whoever shows them neutralises
//! them.

mod comments;
mod issues;
mod labels;
mod prs;
mod tables;
mod types;

pub use labels::{DEFAULT_LABELS, nearest};
pub use tables::ForgeTables;
pub(crate) use tables::SharedForge;
pub use types::*;

use crate::StoreResult;
use crate::sqlite::{connect, from_sql, to_sql, write};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::time::Time;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// One connection to the forge's part of a floor's store.
#[derive(Debug)]
pub struct ForgeDb {
    conn: Connection,
    clock: fn() -> Time,
}

impl ForgeDb {
    /// Opens the floor's store at `path`, over a connection of its own; creates the store if there is none.
    pub fn open(path: &Path) -> StoreResult<Self> {
        Ok(ForgeDb { conn: connect(path)?, clock: system_time })
    }

    /// Takes the time from `clock` instead of the system.
    pub fn with_clock(mut self, clock: fn() -> Time) -> Self {
        self.clock = clock;
        self
    }

    /// Gives the project a forge with the default labels. Whatever it already has stays.
    pub fn init_project(&mut self, project: &ProjectName) -> ForgeResult<()> {
        let tx = write(&mut self.conn)?;
        let name = project.as_str();
        tx.execute(
            "INSERT INTO forge_projects (project, next_number) VALUES (?1, 1) ON CONFLICT DO NOTHING",
            [name],
        )?;
        for label in DEFAULT_LABELS {
            labels::insert(&tx, name, label)?;
        }
        Ok(tx.commit()?)
    }

    /// The objects that changed after `cursor`, each once, at most `limit`, in order of their
    /// latest change. The last one's `seq` is the next cursor.
    pub fn changes(&mut self, project: &ProjectName, cursor: u64, limit: usize) -> ForgeResult<Vec<Change>> {
        let mut query = self.conn.prepare_cached(
            "SELECT seq, kind, number, id FROM forge_changes
                 WHERE project = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
        )?;
        let rows =
            query.query_map(params![project.as_str(), to_sql(cursor), to_sql(limit as u64)], |row| {
                Ok(Change {
                    seq: from_sql(row, 0)?,
                    kind: stored(row, 1, ChangeKind::parse)?,
                    number: from_sql(row, 2)?,
                    id: from_sql(row, 3)?,
                })
            })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn system_time() -> Time {
    // A clock before 1970 is no reason to stop; times are for people, and for the order within a row.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(since.as_millis() as u64)
}

/// The next number of the project's one sequence.
fn take_number(tx: &Transaction<'_>, project: &ProjectName) -> ForgeResult<u64> {
    let number = tx
        .query_row(
            "UPDATE forge_projects SET next_number = next_number + 1 WHERE project = ?1
             RETURNING next_number - 1",
            [project.as_str()],
            |row| from_sql(row, 0),
        )
        .optional()?;
    number.ok_or_else(|| ForgeError::NoSuchProject(project.clone()))
}

/// Moves an object to the end of the changes.
fn changed(
    tx: &Transaction<'_>,
    project: &ProjectName,
    kind: ChangeKind,
    number: u64,
    id: u64,
) -> ForgeResult<()> {
    tx.execute(
        "INSERT OR REPLACE INTO forge_changes (project, kind, number, id) VALUES (?1, ?2, ?3, ?4)",
        params![project.as_str(), kind.as_str(), to_sql(number), to_sql(id)],
    )?;
    Ok(())
}

/// A column that holds one of our words; any other word in it is damage.
fn stored<T>(row: &Row<'_>, column: usize, parse: impl FnOnce(&str) -> Option<T>) -> rusqlite::Result<T> {
    let word: String = row.get(column)?;
    parse(&word).ok_or_else(|| {
        let why = format!("{word:?} is not expected here");
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, why.into())
    })
}

fn stored_sha(row: &Row<'_>, column: usize) -> rusqlite::Result<Sha> {
    stored(row, column, |word| word.parse().ok())
}

impl From<rusqlite::Error> for ForgeError {
    fn from(error: rusqlite::Error) -> Self {
        ForgeError::Store(error.into())
    }
}
