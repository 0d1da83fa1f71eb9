//! A table of records that remembers which of them were touched, so that a step over the whole floor writes only
//! the rows that it changed. All may read it; only the owner of its records changes it.
//!
//! A table has the records that live work may need. The rest are on a shelf ([`crate::state::Shelf`]), from which they
//! are taken down again when an event is about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A record that knows its own key.
pub trait Record {
    const KIND: &'static str;
    type Key: Ord + Clone;
    /// The token required to change a table of these. Only the module that owns them can make one.
    type Owner;
    fn key(&self) -> Self::Key;
    /// The key as stored; unique within the kind.
    fn key_text(key: &Self::Key) -> String;
}

#[derive(Clone)]
pub struct Table<R: Record> {
    rows: BTreeMap<R::Key, R>,
    touched: BTreeSet<R::Key>,
    shelved: Vec<R>,
    /// What changed, by whomever, since somebody last asked. `None`: nobody has.
    moved: Option<BTreeSet<R::Key>>,
}

/// Without `moved`, which says what somebody has asked and nothing of the records: equal floors look equal.
impl<R: Record + fmt::Debug> fmt::Debug for Table<R>
where
    R::Key: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table { rows, touched, shelved, moved: _ } = self;
        let mut shown = f.debug_struct("Table");
        shown.field("rows", rows).field("touched", touched).field("shelved", shelved).finish()
    }
}

impl<R: Record> Default for Table<R> {
    fn default() -> Self {
        Table { rows: BTreeMap::new(), touched: BTreeSet::new(), shelved: Vec::new(), moved: None }
    }
}

impl<R: Record> Table<R> {
    pub fn get(&self, key: &R::Key) -> Option<&R> {
        self.rows.get(key)
    }

    /// The record, for changing: it counts as touched whether it is changed or not.
    pub fn edit(&mut self, _: R::Owner, key: &R::Key) -> Option<&mut R> {
        let row = self.rows.get_mut(key)?;
        self.touched.insert(key.clone());
        if let Some(moved) = &mut self.moved {
            moved.insert(key.clone());
        }
        Some(row)
    }

    pub fn put(&mut self, _: R::Owner, record: R) {
        let key = record.key();
        self.touched.insert(key.clone());
        self.place(key, record);
    }

    pub fn remove(&mut self, _: R::Owner, key: &R::Key) -> Option<R> {
        let row = self.rows.remove(key)?;
        self.touched.insert(key.clone());
        if let Some(moved) = &mut self.moved {
            moved.insert(key.clone());
        }
        Some(row)
    }

    /// Takes the record out of the table and puts it on its shelf.
    pub fn shelve(&mut self, owner: R::Owner, key: &R::Key) {
        let record = self.remove(owner, key);
        self.shelved.extend(record);
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &R> {
        self.rows.values()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The keys touched since they were last taken.
    pub fn touched(&self) -> impl Iterator<Item = &R::Key> {
        self.touched.iter()
    }

    /// What was put on a shelf since the last call.
    pub fn take_shelved(&mut self) -> Vec<R> {
        std::mem::take(&mut self.shelved)
    }

    /// Puts a record that was on a shelf back into the table. It counts as touched: from now on it is stored here.
    pub fn take_down(&mut self, record: R) {
        let key = record.key();
        self.touched.insert(key.clone());
        self.place(key, record);
    }

    /// What was touched since the last call: the key as stored, and the record unless removed.
    pub fn take_touched(&mut self) -> Vec<(String, Option<&R>)> {
        let touched = std::mem::take(&mut self.touched);
        touched.into_iter().map(|key| (R::key_text(&key), self.rows.get(&key))).collect()
    }

    /// Puts a stored record in place without touching it.
    pub fn load(&mut self, record: R) {
        self.place(record.key(), record);
    }

    fn place(&mut self, key: R::Key, record: R) {
        if let Some(moved) = &mut self.moved {
            moved.insert(key.clone());
        }
        self.rows.insert(key, record);
    }

    /// Forgets the records stored under these keys, without touching them.
    pub fn unload(&mut self, key_texts: &BTreeSet<String>) {
        if key_texts.is_empty() {
            return;
        }
        self.rows.retain(|key, _| {
            let stays = !key_texts.contains(&R::key_text(key));
            if !stays && let Some(moved) = &mut self.moved {
                moved.insert(key.clone());
            }
            stays
        });
    }

    /// The keys of what was changed, put in place or removed since the last call, by a step or by whoever loads rows.
    /// `None` at the first call: it may be anything.
    pub(crate) fn take_moved(&mut self) -> Option<BTreeSet<R::Key>> {
        self.moved.replace(BTreeSet::new())
    }

    /// The same, without taking them.
    pub(crate) fn moved(&self) -> Option<&BTreeSet<R::Key>> {
        self.moved.as_ref()
    }
}
