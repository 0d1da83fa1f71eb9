//! Brings one message into one session, by the core's delivery machine. Each thing that is typed is
//! on record before it is typed, so that a daemon that comes after this one goes on where it was.

use super::session::Brief;
use serde::{Deserialize, Serialize};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::delivery::{Delivery, Input, Next, Pane, Recipe, Stage, Transition};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, MessageId};
use shopfloor_core::runtime::RuntimeSpec;
use shopfloor_core::time::Time;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The floor gives a message up at its own deadline, which may be put off; here it never is.
const NO_DEADLINE: Duration = Duration::from_secs(365 * 24 * 3600);
/// Steps taken without waiting; more would be a fault of ours.
const STEPS_MAX: usize = 16;

#[derive(Serialize, Deserialize)]
pub struct Courier {
    message: MessageId,
    delivery: Delivery,
    /// How many changes of stage were told.
    #[serde(skip)]
    told: usize,
    #[serde(skip)]
    held: Option<String>,
}

/// What a courier needs of its session.
pub struct Way<'a> {
    pub tmux: &'a Tmux,
    pub spec: &'a RuntimeSpec,
    pub brief: &'a Brief,
    pub dir: &'a Path,
    pub now: fn() -> Time,
}

impl Courier {
    /// For the session's next message: taken up where a daemon before this one left it.
    #[expect(clippy::result_large_err, reason = "made once a message, and submitted at once")]
    pub fn new(way: &Way<'_>, due: &super::session::Due) -> Result<Courier, Event> {
        let epoch = way.brief.epoch;
        let known =
            std::fs::read(file(way.dir)).ok().and_then(|b| serde_json::from_slice::<Courier>(&b).ok());
        if let Some(courier) = known.filter(|courier| courier.message == due.message) {
            // What the floor knows already is not told again.
            return Ok(Courier { told: due.receipts, held: due.held.clone(), ..courier });
        }
        let now = (way.now)();
        let recipe = Recipe::new(way.spec.submit.as_ref(), NO_DEADLINE);
        match Delivery::new(&due.text, recipe, now) {
            Ok(delivery) => Ok(Courier { message: due.message, delivery, told: 1, held: due.held.clone() }),
            Err(refused) => {
                let to = Transition { to: Stage::Undelivered, at: now, evidence: refused.to_string() };
                Err(Event::MessageMoved { message: due.message, epoch, to })
            }
        }
    }

    pub fn message(&self) -> MessageId {
        self.message
    }

    /// Goes on as far as it can: when to come again, and what to tell the floor. `look` gives the
    /// pane as it is now; an error means that nothing is known of it.
    pub fn go(
        &mut self,
        way: &Way<'_>,
        input: Input,
        mut look: impl FnMut() -> Result<Pane, String>,
        tell: &mut dyn FnMut(Event),
    ) -> Option<Time> {
        let mut input = input;
        for _ in 0..STEPS_MAX {
            let now = (way.now)();
            let next = self.delivery.step(now, input);
            self.report(way.brief.epoch, tell);
            input = match next {
                Next::Wait { until } => return Some(until),
                Next::Look => match look() {
                    Ok(pane) => Input::Pane(pane),
                    // Nothing is typed into what cannot be seen.
                    Err(_) => return Some(now + Duration::from_secs(2)),
                },
                Next::Paste => self.act(way, Input::Pasted, |name, text| way.tmux.paste(name, text)),
                Next::PressEnter => {
                    let key = way.spec.submit.as_ref().map_or("Enter", |submit| submit.key.as_str());
                    self.act(way, Input::EnterSent, |name, _| way.tmux.send_key(name, key))
                }
                Next::Delivered | Next::GiveUp { .. } => {
                    let _ = std::fs::remove_file(file(way.dir));
                    return None;
                }
            };
        }
        Some((way.now)() + Duration::from_secs(2))
    }

    fn act(
        &self,
        way: &Way<'_>,
        done: Input,
        act: impl FnOnce(&str, &str) -> Result<(), shopfloor_adapters::terminal::tmux::TmuxError>,
    ) -> Input {
        let bytes = serde_json::to_vec(self).expect("a delivery is plain data");
        if let Err(e) = write_atomic(&file(way.dir), &bytes, 0o600) {
            return Input::ActFailed { why: format!("it could not be put on record: {e}") };
        }
        match act(&way.brief.tmux, self.delivery.text()) {
            Ok(()) => done,
            Err(e) => Input::ActFailed { why: e.to_string() },
        }
    }

    fn report(&mut self, epoch: Epoch, tell: &mut dyn FnMut(Event)) {
        let message = self.message;
        let transitions = self.delivery.transitions();
        for to in transitions.get(self.told..).unwrap_or_default() {
            tell(Event::MessageMoved { message, epoch, to: to.clone() });
        }
        self.told = self.told.max(transitions.len());
        let held = self.delivery.blocked().map(str::to_owned);
        if held != self.held && !self.delivery.stage().is_final() {
            self.held.clone_from(&held);
            tell(Event::MessageHeld { message, epoch, why: held });
        }
    }

    /// Says what keeps it from being typed before the pane is even looked at.
    pub fn hold(&mut self, epoch: Epoch, why: &str, tell: &mut dyn FnMut(Event)) {
        if self.held.as_deref() != Some(why) {
            self.held = Some(why.to_owned());
            tell(Event::MessageHeld { message: self.message, epoch, why: self.held.clone() });
        }
    }
}

fn file(dir: &Path) -> PathBuf {
    dir.join("delivery.json")
}
