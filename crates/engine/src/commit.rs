//! Load, step, commit.

use crate::rows;
use shopfloor_core::effect::Outcome;
use shopfloor_core::effect::outcome;
use shopfloor_core::event::{Event, Note, Page, Seen};
use shopfloor_core::ids::{EffectId, ProjectName, Seq};
use shopfloor_core::state::{Due, Floor, Shelf};
use shopfloor_core::step::{Step, step, step_beginning_nothing, wanted};
use shopfloor_core::time::Time;
use shopfloor_store::{
    Commit, EVENT, Host, NewJournalEntry, OutboxEffect, Row, Store, StoreError, StoreResult,
};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The floor, and the store it is kept in.
pub struct Engine<S> {
    store: S,
    floor: Floor,
    seq: Seq,
    lease: Option<u64>,
    /// The host whose effects are recorded and performed here.
    host: Host,
    steps: Steps,
}

/// The state machine. A test may replace it with one that fails.
#[derive(Clone, Copy)]
pub struct Steps {
    pub whole: fn(&mut Floor, Time, &Event) -> Step,
    /// The step without what follows every event: beginning whatever is ready.
    pub alone: fn(&mut Floor, Time, &Event, &str) -> Step,
}

impl Default for Steps {
    fn default() -> Self {
        Steps { whole: step, alone: step_beginning_nothing }
    }
}

/// What a committed event led to.
#[derive(Debug, Default)]
pub struct Applied {
    pub notes: Vec<Note>,
    pub effects: Vec<EffectId>,
    /// Why the program failed on the event, which was then left out.
    pub set_aside: Option<String>,
}

/// How often a step is redone because another process committed first.
const STALE_MAX: u32 = 50;

impl<S: Store> Engine<S> {
    pub fn open(store: S) -> StoreResult<Self> {
        Engine::open_with(store, Steps::default())
    }

    pub fn open_with(store: S, steps: Steps) -> StoreResult<Self> {
        let mut engine =
            Engine { store, floor: Floor::default(), seq: Seq(0), lease: None, host: Host::default(), steps };
        engine.reload()?;
        Ok(engine)
    }

    /// Makes this the floor's daemon: commits of any earlier daemon fail from now on.
    pub fn take_lease(&mut self) -> StoreResult<()> {
        self.lease = Some(self.store.take_lease()?);
        self.refresh()
    }

    pub fn floor(&self) -> &Floor {
        &self.floor
    }

    /// The floor for showing, with what is on these shelves besides.
    pub fn floor_with(mut self, shelves: &[Shelf]) -> StoreResult<Floor> {
        for shelf in shelves {
            rows::load(&mut self.floor, self.store.shelf(&shelf.to_string())?)?;
        }
        Ok(self.floor)
    }

    /// The floor for showing, with everything there has ever been and is still kept.
    pub fn whole_floor(mut self) -> StoreResult<Floor> {
        for kind in rows::SHELVED {
            rows::load(&mut self.floor, self.store.shelf_of_kind(kind)?)?;
        }
        Ok(self.floor)
    }

    /// The newest position of the journal that [`Engine::floor`] has taken in.
    pub fn position(&self) -> Seq {
        self.seq
    }

    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// What this host has to perform.
    pub fn outbox(&mut self) -> StoreResult<Vec<OutboxEffect>> {
        let mut outbox = self.store.outbox()?;
        outbox.retain(|effect| effect.host == self.host);
        Ok(outbox)
    }

    /// Takes in what other processes committed.
    pub fn refresh(&mut self) -> StoreResult<()> {
        let (changed, seq) = match self.store.rows_since(self.seq) {
            // What was deleted in the meantime can only be told by what is not there.
            Err(StoreError::TooOld) => {
                self.forget();
                self.store.rows_since(self.seq)?
            }
            read => read?,
        };
        rows::load(&mut self.floor, changed)?;
        self.seq = seq;
        Ok(())
    }

    /// Undoes in memory what an uncommitted step touched, and takes in what others committed. Only that much
    /// is read, however large the floor is.
    fn take_back(&mut self, touched: &[Row]) -> StoreResult<()> {
        let keys: Vec<(&str, &str)> = touched.iter().map(|row| (&*row.kind, &*row.key)).collect();
        let taken = self.store.rows_of(&keys).and_then(|rows| {
            rows::load(&mut self.floor, rows)?;
            self.refresh()
        });
        if taken.is_err() {
            self.forget();
        }
        taken
    }

    /// What is in memory is not what is stored, and must not be used. The next commit will be stale and load
    /// everything.
    fn forget(&mut self) {
        self.floor = Floor::default();
        self.seq = Seq(0);
    }

    /// Takes down what an event is about, and remembers it as it was on the shelf.
    fn take_down(&mut self, event: &Event) -> StoreResult<Vec<Row>> {
        let (mut down, mut looked) = (Vec::new(), BTreeSet::new());
        loop {
            let mut new = wanted(&self.floor, event);
            new.retain(|shelf| looked.insert(shelf.clone()));
            if new.is_empty() {
                return Ok(down);
            }
            for shelf in new {
                let rows = self.store.shelf(&shelf.to_string())?;
                rows::take_down(&mut self.floor, &rows)?;
                down.extend(rows);
            }
        }
    }

    /// Forgets what is in memory and loads the floor anew.
    fn reload(&mut self) -> StoreResult<()> {
        self.forget();
        self.refresh()
    }

    /// Takes in one event, durably.
    pub fn submit(&mut self, now: Time, event: &Event) -> StoreResult<Applied> {
        self.apply(now, event, None)
    }

    /// Takes in an effect's outcome and strikes the effect off the outbox, in one commit. An
    /// effect that was struck off before changes nothing.
    pub fn complete(&mut self, now: Time, effect: &OutboxEffect, outcome: Outcome) -> StoreResult<Applied> {
        let event = Event::Performed { action: (*effect.action).clone(), outcome };
        match self.apply(now, &event, Some(effect.id)) {
            Err(StoreError::AlreadyPerformed(_)) => Ok(Applied::default()),
            other => other,
        }
    }

    /// Takes in an event. An event on which the step fails must not end the program: it would come back at
    /// every start.
    fn apply(&mut self, now: Time, event: &Event, performed: Option<EffectId>) -> StoreResult<Applied> {
        let Steps { whole, alone } = self.steps;
        let failed = |failure: Failure| match failure {
            Failure::Store(e) => Err(e),
            Failure::Bug(why) => Ok(why),
        };
        let why = match self.commit(now, event, performed, |floor| whole(floor, now, event)) {
            Ok(applied) => return Ok(applied),
            Err(failure) => failed(failure)?,
        };
        self.reload()?;
        // First without what comes after the event: then nothing of the event itself is lost.
        match self.commit(now, event, performed, |floor| alone(floor, now, event, &why)) {
            Ok(applied) => return Ok(applied),
            Err(failure) => drop(failed(failure)?),
        }
        self.reload()?;
        match event {
            Event::Tick => self.one_by_one(now),
            Event::Observed { project, page } if page.seen.0.len() > 1 => {
                self.line_by_line(now, project, page)
            }
            // Whoever waits for it is told that it cannot be done, and proceeds accordingly.
            Event::Performed { action, outcome } if !matches!(outcome, Outcome::Impossible(_)) => {
                let why = format!("a bug: what came of it could not be taken in: {why}");
                let outcome = Outcome::Impossible(outcome::Impossible { why });
                self.apply(now, &Event::Performed { action: action.clone(), outcome }, performed)
            }
            event => self.set_aside(now, event, performed, why),
        }
    }

    /// If one of the timers that are due fails, the others still run.
    fn one_by_one(&mut self, now: Time) -> StoreResult<Applied> {
        let mut due: Vec<Due> = self.floor.timers().filter(|t| t.at <= now).map(|t| t.due).collect();
        due.sort();
        due.dedup();
        let mut all = Applied::default();
        for due in due {
            let one = self.apply(now, &Event::TimerDue { due }, None)?;
            all.notes.extend(one.notes);
            all.effects.extend(one.effects);
        }
        Ok(all)
    }

    /// If one observation of a page fails, the others are still taken in. The last of them moves the cursor.
    fn line_by_line(&mut self, now: Time, project: &ProjectName, page: &Page) -> StoreResult<Applied> {
        let mut all = Applied::default();
        let last = page.seen.0.len() - 1;
        for (at, observation) in page.seen.0.iter().enumerate() {
            let (seen, after) = (Seen(vec![observation.clone()]), page.after.clone());
            let one = match at == last {
                true => Page { seen, after, cursor: page.cursor.clone(), more: page.more },
                false => Page { seen, cursor: after.clone().unwrap_or_default(), after, more: true },
            };
            let one = self.apply(now, &Event::Observed { project: project.clone(), page: one }, None)?;
            all.notes.extend(one.notes);
            all.effects.extend(one.effects);
        }
        Ok(all)
    }

    fn set_aside(
        &mut self,
        now: Time,
        event: &Event,
        performed: Option<EffectId>,
        why: String,
    ) -> StoreResult<Applied> {
        let (what, whole) = (describe(event), self.steps.whole);
        let event = Event::SetAside { aside: Box::new(event.clone()), what, why: why.clone() };
        match self.commit(now, &event, performed, |floor| whole(floor, now, &event)) {
            Ok(applied) => Ok(Applied { set_aside: Some(why), ..applied }),
            Err(Failure::Store(e)) => Err(e),
            // Nothing is left to fall back on.
            Err(Failure::Bug(why)) => panic!("an event could not even be set aside: {why}"),
        }
    }

    fn commit(
        &mut self,
        now: Time,
        event: &Event,
        performed: Option<EffectId>,
        step: impl Fn(&mut Floor) -> Step,
    ) -> Result<Applied, Failure> {
        let body = serde_json::to_string(event).expect("events have string keys only");
        for _ in 0..STALE_MAX {
            let down = match self.take_down(event) {
                Ok(down) => down,
                Err(e) => {
                    self.forget();
                    return Err(e.into());
                }
            };
            let floor = AssertUnwindSafe(&mut self.floor);
            let stepped = catch_unwind(AssertUnwindSafe(|| {
                let AssertUnwindSafe(floor) = floor;
                step(floor)
            }));
            // On failure the floor in memory is half changed; whoever continues loads it anew.
            let result = stepped.map_err(|panic| Failure::Bug(words(&*panic)))?;
            let mut entries = vec![NewJournalEntry {
                kind: EVENT.into(),
                project: None,
                issue: None,
                text: String::new(),
                body: body.clone(),
            }];
            entries.extend(result.notes.iter().map(|note| NewJournalEntry {
                kind: note.kind.as_str().to_owned(),
                project: Some(note.project.to_string()),
                issue: note.issue.map(|i| i.0),
                text: note.text.clone(),
                body: String::new(),
            }));
            let changed = rows::take_changed(&mut self.floor, down);
            let commit = Commit {
                expected: self.seq,
                at: now,
                entries,
                rows: changed.rows,
                taken_down: changed.taken_down,
                shelved: changed.shelved,
                effects: result.effects,
                host: self.host.clone(),
                performed,
                lease: self.lease,
            };
            match self.store.commit(&commit) {
                Ok(committed) => {
                    self.seq = committed.seq;
                    let (notes, effects) = (result.notes, committed.effects);
                    return Ok(Applied { notes, effects, set_aside: None });
                }
                // The step was computed from an old state: take it back and compute it again.
                Err(StoreError::Stale) => self.take_back(&commit.rows)?,
                Err(e @ StoreError::AlreadyPerformed(_)) => {
                    self.take_back(&commit.rows)?;
                    return Err(e.into());
                }
                Err(e) => {
                    self.forget();
                    return Err(e.into());
                }
            }
        }
        Err(StoreError::Busy.into())
    }
}

enum Failure {
    Store(StoreError),
    /// The program panicked with these words.
    Bug(String),
}

impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Self {
        Failure::Store(e)
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason was given".into())
}

/// What kind of event it is, in a word or two.
fn describe(event: &Event) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    let kind = value["event"].as_str().unwrap_or("an event");
    match event {
        Event::Performed { action, .. } => format!("the end of {}", action.name()),
        Event::TimerDue { due } => format!("the timer {} of {due}", due.name()),
        _ => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests;
