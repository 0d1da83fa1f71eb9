//! Following what changes. No polling: the store says when somebody wrote.

use crate::{Desk, Result};
use shopfloor_core::ids::Seq;
use shopfloor_core::state::Floor;
use shopfloor_engine::Engine;
use shopfloor_store::{EVENT, JournalEntry, Store, Watch};
use std::time::{Duration, Instant};

/// What happened since the last call, oldest first; if that is a lot, the oldest part of it.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Where to continue from, in this subscription or another.
    pub position: Seq,
    /// What people are told about it.
    pub notes: Vec<JournalEntry>,
}

/// How many journal entries are taken in at once.
const ENTRIES_MAX: usize = 1000;

/// Follows a floor: from a position in the journal on, every change once, in order. Each subscriber has its
/// own, in a thread of its own if it likes.
pub struct Subscription {
    desk: Desk,
    store: Box<dyn Store>,
    watch: Box<dyn Watch>,
    position: Seq,
    /// For subscribers that ask for the floor.
    engine: Option<Engine<Box<dyn Store>>>,
}

impl Subscription {
    pub(crate) fn new(desk: &Desk, after: Option<Seq>) -> Result<Self> {
        // Watched before it is read: what comes in between is seen once too often rather than never.
        let watch = desk.reader()?.watch()?;
        let mut store = desk.reader()?;
        let position = match after {
            Some(position) => position,
            None => store.position()?,
        };
        Ok(Subscription { desk: desk.clone(), store, watch, position, engine: None })
    }

    pub fn position(&self) -> Seq {
        self.position
    }

    /// The floor as it is now: after the last [`Changes`], or later.
    pub fn floor(&mut self) -> Result<&Floor> {
        let engine = match self.engine.take() {
            Some(mut engine) => {
                engine.refresh()?;
                engine
            }
            None => Engine::open(self.desk.reader()?)?,
        };
        Ok(self.engine.insert(engine).floor())
    }

    /// What changed; returns at once if something has. `None`: nothing changed for that long.
    pub fn next(&mut self, at_most: Duration) -> Result<Option<Changes>> {
        let began = Instant::now();
        loop {
            let mut notes = self.store.journal(self.position, ENTRIES_MAX)?;
            if let Some(last) = notes.last() {
                self.position = last.seq;
                notes.retain(|entry| entry.kind != EVENT);
                return Ok(Some(Changes { position: self.position, notes }));
            }
            if !self.watch.wait(at_most.saturating_sub(began.elapsed()))? {
                return Ok(None);
            }
        }
    }
}
