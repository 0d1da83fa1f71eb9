//! The outbox. An effect's action never changes, and its number is never given again: whoever reads the outbox again and
//! again, as a daemon does, parses each action once. What is there, and how often it was tried, is read every time:
//! others write too.

use super::{from_sql, to_sql};
use crate::{Commit, Host, OutboxEffect, StoreError, StoreResult};
use rusqlite::{Connection, Transaction, params};
use serde::{Deserialize, Serialize};
use shopfloor_core::effect::Action;
use shopfloor_core::ids::EffectId;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;

/// The effects that were in the outbox when it was last read.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    known: BTreeMap<EffectId, KeptEffect<Action>>,
    /// The newest effect that was ever read.
    newest: EffectId,
}

impl Outbox {
    /// The whole outbox, oldest first.
    pub(super) fn read(&mut self, conn: &mut Connection) -> StoreResult<Vec<OutboxEffect>> {
        // Both statements see the same state.
        let tx = conn.transaction()?;
        self.read_new(&tx)?;
        let mut query =
            tx.prepare_cached("SELECT id, attempts, not_before, last_error FROM outbox ORDER BY id")?;
        let mut rows = query.query([])?;
        let mut before = std::mem::take(&mut self.known);
        let mut queued = Vec::new();
        while let Some(row) = rows.next()? {
            let id = EffectId(from_sql(row, 0)?);
            let kept = match before.remove(&id) {
                Some(kept) => kept,
                None => parsed_one(&tx, id)?,
            };
            queued.push(OutboxEffect {
                id,
                host: kept.host.clone(),
                action: kept.action.clone(),
                attempts: row.get(1)?,
                not_before: Time(from_sql(row, 2)?),
                last_error: row.get(3)?,
            });
            self.known.insert(id, kept);
        }
        Ok(queued)
    }

    fn read_new(&mut self, tx: &Transaction<'_>) -> StoreResult<()> {
        let mut query = tx.prepare_cached("SELECT id, action FROM outbox WHERE id > ?1 ORDER BY id")?;
        let mut rows = query.query([to_sql(self.newest.0)])?;
        while let Some(row) = rows.next()? {
            let id = EffectId(from_sql(row, 0)?);
            self.known.insert(id, parsed(id, &row.get::<_, String>(1)?)?);
            self.newest = id;
        }
        Ok(())
    }
}

/// One that was forgotten when an earlier reading failed.
fn parsed_one(tx: &Transaction<'_>, id: EffectId) -> StoreResult<KeptEffect<Action>> {
    let mut query = tx.prepare_cached("SELECT action FROM outbox WHERE id = ?1")?;
    parsed(id, &query.query_row([to_sql(id.0)], |row| row.get::<_, String>(0))?)
}

fn parsed(id: EffectId, json: &str) -> StoreResult<KeptEffect<Action>> {
    serde_json::from_str(json).map_err(|e| StoreError::Corrupt(format!("effect {id} cannot be read: {e}")))
}

/// Whether all of it can be read.
pub(super) fn check(conn: &Connection) -> StoreResult<()> {
    let mut query = conn.prepare_cached("SELECT id, action FROM outbox")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        parsed(EffectId(from_sql(row, 0)?), &row.get::<_, String>(1)?)?;
    }
    Ok(())
}

/// An effect as it is stored: its action, and beside it the host that performs it.
#[derive(Debug, Serialize, Deserialize)]
struct KeptEffect<A> {
    #[serde(default, skip_serializing_if = "Host::is_the_only_one")]
    host: Host,
    #[serde(flatten)]
    action: A,
}

pub(super) fn write(tx: &Transaction<'_>, commit: &Commit) -> StoreResult<Vec<EffectId>> {
    let mut insert = tx.prepare_cached("INSERT INTO outbox (action, created_at) VALUES (?1, ?2)")?;
    let mut ids = Vec::with_capacity(commit.effects.len());
    for action in &commit.effects {
        let kept = KeptEffect { host: commit.host.clone(), action };
        let json = serde_json::to_string(&kept).map_err(|e| StoreError::Io(e.to_string()))?;
        let id = insert.insert(params![json, to_sql(commit.at.0)])?;
        ids.push(EffectId(id as u64));
    }
    Ok(ids)
}

#[cfg(all(test, feature = "count"))]
mod tests {
    use crate::sqlite::SqliteStore;
    use crate::sqlite::count::counted;
    use crate::{Commit, NewJournalEntry, Store};
    use shopfloor_core::effect::Action;
    use shopfloor_core::ids::IssueNumber;

    fn add(store: &mut SqliteStore, count: u64) {
        let effect = |n| Action::EditLabels {
            project: "sample".parse().unwrap(),
            issue: IssueNumber(n),
            add: vec!["backlog".into()],
            remove: Vec::new(),
        };
        let (expected, effects) = (store.position().unwrap(), (1..=count).map(effect).collect());
        store.commit(&Commit { expected, effects, ..entry() }).unwrap();
    }

    /// The rows that a reading returns, and what it read.
    fn rows(store: &mut SqliteStore) -> (u64, usize) {
        let (read, counts) = counted(|| store.outbox().unwrap());
        (counts.rows, read.len())
    }

    #[test]
    fn an_action_is_read_once_whoever_wrote_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("floor.db");
        let (mut daemon, mut other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
        add(&mut daemon, 100);
        // Each has a row for its action, and one for how it stands.
        assert_eq!(rows(&mut daemon), (200, 100));
        assert_eq!(rows(&mut daemon), (100, 100), "nothing is new");
        add(&mut other, 1);
        assert_eq!(rows(&mut daemon), (102, 101), "one is new");
        let first = other.outbox().unwrap()[0].id;
        other.defer(first, 3, shopfloor_core::time::Time(7), "why").unwrap();
        let effects = daemon.outbox().unwrap();
        assert_eq!((effects[0].attempts, effects[0].last_error.as_deref()), (3, Some("why")));
        let performed = Commit { performed: Some(first), expected: other.position().unwrap(), ..entry() };
        other.commit(&performed).unwrap();
        assert_eq!(rows(&mut daemon), (100, 100), "one is gone");
        assert_eq!(daemon.outbox().unwrap(), other.outbox().unwrap());
        assert_eq!(daemon.outbox.known.len(), 100, "what is gone is not kept");
    }

    fn entry() -> Commit {
        let (kind, body) = ("event".into(), "{}".into());
        let entry = NewJournalEntry { kind, project: None, issue: None, text: String::new(), body };
        Commit { entries: vec![entry], ..Commit::default() }
    }
}
