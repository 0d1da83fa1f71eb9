//! The journal's notes: what happened, for people and other tools. (The rest of the journal are
//! the events themselves, from which the state could be computed again.)

use super::{SqliteStore, read_entry, to_sql};
use crate::{Entry, StoreResult};
use rusqlite::params;
use shopfloor_core::ids::Seq;
use shopfloor_core::time::Time;

/// Which notes to read; the default is all of them.
#[derive(Clone, Debug, Default)]
pub struct NoteFilter {
    pub after: Seq,
    pub since: Time,
    pub project: Option<String>,
    pub issue: Option<u64>,
}

impl SqliteStore {
    /// The newest notes that pass the filter, at most `limit`, oldest first.
    pub fn last_notes(&mut self, filter: &NoteFilter, limit: usize) -> StoreResult<Vec<Entry>> {
        // By time as well as by position: clocks may step back, so neither says the other.
        let mut query = self.conn.prepare_cached(
            "SELECT seq, at, kind, project, issue, text, body FROM journal
             WHERE seq > ?1 AND at >= ?2 AND kind <> 'event'
               AND (?3 IS NULL OR project = ?3) AND (?4 IS NULL OR issue = ?4)
             ORDER BY seq DESC LIMIT ?5",
        )?;
        let args = params![
            to_sql(filter.after.0),
            to_sql(filter.since.0),
            filter.project,
            filter.issue.map(to_sql),
            to_sql(limit as u64)
        ];
        let rows = query.query_map(args, read_entry)?;
        let mut notes = rows.collect::<Result<Vec<_>, _>>()?;
        notes.reverse();
        Ok(notes)
    }
}
