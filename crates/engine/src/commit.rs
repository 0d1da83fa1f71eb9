//! Load, step, commit.

use crate::rows;
use shopfloor_core::effect::Outcome;
use shopfloor_core::event::{Event, Note};
use shopfloor_core::ids::{EffectId, Seq};
use shopfloor_core::state::Floor;
use shopfloor_core::step::step;
use shopfloor_core::time::Time;
use shopfloor_store::{Commit, NewEntry, Queued, Store, StoreError, StoreResult};

/// The floor, and the store it is kept in.
pub struct Engine<S> {
    store: S,
    floor: Floor,
    seq: Seq,
    lease: Option<u64>,
}

/// What a committed event led to.
#[derive(Debug, Default)]
pub struct Applied {
    pub notes: Vec<Note>,
    pub effects: Vec<EffectId>,
}

/// How often a step is redone because another process committed first.
const STALE_MAX: u32 = 50;

impl<S: Store> Engine<S> {
    pub fn open(store: S) -> StoreResult<Self> {
        let mut engine = Engine { store, floor: Floor::default(), seq: Seq(0), lease: None };
        engine.reload()?;
        Ok(engine)
    }

    /// Makes this the floor's daemon: from now on commits of an earlier one fail.
    pub fn take_lease(&mut self) -> StoreResult<()> {
        self.lease = Some(self.store.take_lease()?);
        self.refresh()
    }

    pub fn floor(&self) -> &Floor {
        &self.floor
    }

    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    pub fn outbox(&mut self) -> StoreResult<Vec<Queued>> {
        self.store.outbox()
    }

    /// Takes in what other processes committed.
    pub fn refresh(&mut self) -> StoreResult<()> {
        let (changed, seq) = self.store.rows_since(self.seq)?;
        rows::load(&mut self.floor, changed)?;
        self.seq = seq;
        Ok(())
    }

    /// Forgets what is in memory and loads the floor anew.
    fn reload(&mut self) -> StoreResult<()> {
        self.floor = Floor::default();
        self.seq = Seq(0);
        self.refresh()
    }

    /// Takes in one event, durably.
    pub fn submit(&mut self, now: Time, event: &Event) -> StoreResult<Applied> {
        self.apply(now, event, None)
    }

    /// Takes in an effect's outcome and strikes the effect off the outbox, in one commit. An
    /// effect that was struck off before changes nothing.
    pub fn complete(&mut self, now: Time, effect: &Queued, outcome: Outcome) -> StoreResult<Applied> {
        let event = Event::Performed { action: effect.action.clone(), outcome };
        match self.apply(now, &event, Some(effect.id)) {
            Err(StoreError::AlreadyPerformed(_)) => {
                self.reload()?;
                Ok(Applied::default())
            }
            other => other,
        }
    }

    fn apply(&mut self, now: Time, event: &Event, performed: Option<EffectId>) -> StoreResult<Applied> {
        let body = serde_json::to_string(event).expect("events have string keys only");
        for _ in 0..STALE_MAX {
            let result = step(&mut self.floor, now, event);
            let mut entries = vec![NewEntry {
                kind: "event".into(),
                project: None,
                issue: None,
                text: String::new(),
                body: body.clone(),
            }];
            entries.extend(result.notes.iter().map(|note| NewEntry {
                kind: note.kind.as_str().to_owned(),
                project: Some(note.project.to_string()),
                issue: note.issue.map(|i| i.0),
                text: note.text.clone(),
                body: String::new(),
            }));
            let commit = Commit {
                expected: self.seq,
                at: now,
                entries,
                rows: rows::take_touched(&mut self.floor),
                effects: result.effects,
                performed,
                lease: self.lease,
            };
            match self.store.commit(&commit) {
                Ok(committed) => {
                    self.seq = committed.seq;
                    return Ok(Applied { notes: result.notes, effects: committed.effects });
                }
                // The step was computed from an old state: throw it away and compute it again.
                Err(StoreError::Stale) => self.reload()?,
                Err(e) => {
                    // Memory is ahead of the store now; never let it be used.
                    if !matches!(e, StoreError::AlreadyPerformed(_)) {
                        self.floor = Floor::default();
                        self.seq = Seq(0);
                    }
                    return Err(e);
                }
            }
        }
        Err(StoreError::Busy)
    }
}
