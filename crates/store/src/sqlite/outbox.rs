//! The outbox. An effect's action never changes, and its number is never given again: whoever reads the outbox again and
//! again, as a daemon does, reads each effect once. Whatever strikes an effect off or puts it off counts that in the
//! store, so a reader knows without looking whether those that it has read stand as they did. What it did itself, it knows.

use super::{from_sql, to_sql};
use crate::{Commit, Host, OutboxEffect, StoreError, StoreResult};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};
use shopfloor_core::effect::Action;
use shopfloor_core::ids::EffectId;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often effects have been struck off or put off, counted in `meta` in the same transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touched(i64);

/// The effects that were in the outbox when it was last read, as they stood.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    known: BTreeMap<EffectId, OutboxEffect>,
    /// The newest effect that was ever read.
    newest: EffectId,
    /// Where the count was then.
    touched: Option<Touched>,
}

impl Outbox {
    /// The whole outbox, oldest first.
    pub(super) fn read(&mut self, conn: &mut Connection) -> StoreResult<Vec<OutboxEffect>> {
        // All statements see the same state.
        let tx = conn.transaction()?;
        let first = self.newest == EffectId::default();
        self.read_new(&tx)?;
        let touched = count(&tx)?;
        if !first && self.touched != Some(touched) {
            self.read_again(&tx)?;
        }
        self.touched = Some(touched);
        Ok(self.known.values().cloned().collect())
    }

    fn read_new(&mut self, tx: &Transaction<'_>) -> StoreResult<()> {
        let mut query = tx.prepare_cached(
            "SELECT id, attempts, not_before, last_error, action FROM outbox WHERE id > ?1 ORDER BY id",
        )?;
        let mut rows = query.query([to_sql(self.newest.0)])?;
        while let Some(row) = rows.next()? {
            let effect = parsed(row)?;
            self.newest = effect.id;
            self.known.insert(effect.id, effect);
        }
        Ok(())
    }

    /// How all of them stand. Others write, too.
    fn read_again(&mut self, tx: &Transaction<'_>) -> StoreResult<()> {
        let mut query =
            tx.prepare_cached("SELECT id, attempts, not_before, last_error FROM outbox ORDER BY id")?;
        let mut rows = query.query([])?;
        let mut now = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let id = EffectId(from_sql(row, 0)?);
            let effect = match self.known.get(&id) {
                Some(known) => OutboxEffect {
                    attempts: row.get(1)?,
                    not_before: Time(from_sql(row, 2)?),
                    last_error: row.get(3)?,
                    ..known.clone()
                },
                None => parsed_one(tx, id)?,
            };
            now.insert(id, effect);
        }
        self.known = now;
        Ok(())
    }

    /// This connection has struck the effect off, which made the count that.
    pub(super) fn struck_off(&mut self, id: EffectId, touched: Touched) {
        if self.follows(touched) {
            self.known.remove(&id);
        }
    }

    /// This connection has put the effect off, which made the count that.
    pub(super) fn put_off(
        &mut self,
        id: EffectId,
        touched: Touched,
        (attempts, not_before, error): (u32, Time, String),
    ) {
        if self.follows(touched)
            && let Some(effect) = self.known.get_mut(&id)
        {
            (effect.attempts, effect.not_before, effect.last_error) = (attempts, not_before, Some(error));
        }
    }

    /// Whether nobody else has touched anything in between. Otherwise everything is read again.
    fn follows(&mut self, touched: Touched) -> bool {
        let follows = self.touched.is_some_and(|known| known.0 + 1 == touched.0);
        if follows {
            self.touched = Some(touched);
        }
        follows
    }
}

const COUNTED: &str = "outbox_touched";

fn count(tx: &Transaction<'_>) -> StoreResult<Touched> {
    let mut query = tx.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(Touched(query.query_row([COUNTED], |row| row.get(0)).optional()?.unwrap_or(0)))
}

/// Counts one more. Whoever strikes an effect off or puts it off does so in the same transaction.
pub(super) fn touch(tx: &Transaction<'_>) -> StoreResult<Touched> {
    let mut query = tx.prepare_cached(
        "INSERT INTO meta (key, value) VALUES (?1, 1)
             ON CONFLICT (key) DO UPDATE SET value = value + 1 RETURNING value",
    )?;
    Ok(Touched(query.query_row([COUNTED], |row| row.get(0))?))
}

/// One that was forgotten when an earlier reading failed.
fn parsed_one(tx: &Transaction<'_>, id: EffectId) -> StoreResult<OutboxEffect> {
    let mut query =
        tx.prepare_cached("SELECT id, attempts, not_before, last_error, action FROM outbox WHERE id = ?1")?;
    let mut rows = query.query([to_sql(id.0)])?;
    let missing = || StoreError::Corrupt(format!("effect {id} is there and is not"));
    parsed(rows.next()?.ok_or_else(missing)?)
}

fn parsed(row: &rusqlite::Row<'_>) -> StoreResult<OutboxEffect> {
    let id = EffectId(from_sql(row, 0)?);
    let KeptEffect { host, action } = kept(id, row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?)?;
    Ok(OutboxEffect {
        id,
        host,
        action: Arc::new(action),
        attempts: row.get(1)?,
        not_before: Time(from_sql(row, 2)?),
        last_error: row.get(3)?,
    })
}

fn kept(id: EffectId, json: &str) -> StoreResult<KeptEffect<Action>> {
    serde_json::from_str(json).map_err(|e| StoreError::Corrupt(format!("effect {id} cannot be read: {e}")))
}

/// Whether all of it can be read.
pub(super) fn check(conn: &Connection) -> StoreResult<()> {
    let mut query = conn.prepare_cached("SELECT id, action FROM outbox")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        kept(EffectId(from_sql(row, 0)?), &row.get::<_, String>(1)?)?;
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
        assert_eq!(rows(&mut daemon), (100, 100));
        assert_eq!(rows(&mut daemon), (0, 100), "nothing is new");
        add(&mut other, 1);
        assert_eq!(rows(&mut daemon), (1, 101), "one is new");
        let first = other.outbox().unwrap()[0].id;
        other.defer(first, 3, shopfloor_core::time::Time(7), "why").unwrap();
        let effects = daemon.outbox().unwrap();
        assert_eq!((effects[0].attempts, effects[0].last_error.as_deref()), (3, Some("why")));
        let performed = |store: &mut SqliteStore, id| {
            let commit = Commit { performed: Some(id), expected: store.position().unwrap(), ..entry() };
            store.commit(&commit).unwrap();
        };
        performed(&mut other, first);
        // The count of what was touched is a row, too, once there is any.
        assert_eq!(rows(&mut daemon), (101, 100), "one is gone, and nobody says which");
        let next = daemon.outbox().unwrap()[0].id;
        performed(&mut daemon, next);
        assert_eq!(rows(&mut daemon), (1, 99), "the daemon knows what it did itself");
        let put_off = daemon.outbox().unwrap()[5].id;
        daemon.defer(put_off, 2, shopfloor_core::time::Time(9), "why not").unwrap();
        assert_eq!(rows(&mut daemon), (1, 99));
        performed(&mut other, put_off);
        let last = daemon.outbox().unwrap()[0].id;
        other.defer(last, 4, shopfloor_core::time::Time(11), "again").unwrap();
        performed(&mut daemon, last);
        assert_eq!(daemon.outbox().unwrap(), other.outbox().unwrap());
        assert_eq!(daemon.outbox.known.len(), 97, "what is gone is not kept");
    }

    fn entry() -> Commit {
        let (kind, body) = ("event".into(), "{}".into());
        let entry = NewJournalEntry { kind, project: None, issue: None, text: String::new(), body };
        Commit { entries: vec![entry], ..Commit::default() }
    }
}
