//! Types a text into a session, and says how far it got.
//!
//! A client we can read is typed into as the factory does it ([`Delivery`]): never into a dialog, a draft or
//! a pane that somebody types in, and Enter only on our own text. Its hooks are not ours here, so nothing
//! confirms that the turn has started: the last receipt is `submitted`.

use crate::Means;
use crate::sessions::{Hand, HandError};
use serde::Serialize;
use shopfloor_adapters::terminal::tmux::{Probe, Tmux, TmuxError};
use shopfloor_core::delivery::{Delivery, DeliveryEvent, Next, Pane, Recipe, Stage, is_ours};
use shopfloor_core::runtime::screen::{is_typed_into, read, read_title};
use shopfloor_core::runtime::{Meaning, RuntimeSpec, Submit};
use shopfloor_core::text::neutralise;
use shopfloor_core::time::Time;
use shopfloor_desk::time::{moment, utc_offset};
use shopfloor_desk::{Error, Result, now};
use std::sync::Arc;
use std::time::Duration;

#[derive(Serialize)]
pub struct Sent {
    pub name: String,
    pub stage: Stage,
    pub confirmed: bool,
    pub receipts: Vec<Receipt>,
    /// When sending to several: why nothing, or an unknown part, was typed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Serialize)]
pub struct Receipt {
    pub stage: Stage,
    pub at: String,
    pub evidence: String,
}

/// The pause between the paste and Enter, for a program that no runtime describes.
const PAUSE: Duration = Duration::from_millis(300);
/// Somebody who did something in the terminal this recently may be typing.
const HUMAN_QUIET: Duration = Duration::from_secs(10);
const LOOK_LINES: u32 = 60;
/// The pause between two looks at whether the composer has let go of a text.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

impl Sent {
    /// Nothing was typed, or nobody knows how much.
    pub fn failed(hand: &Hand, e: Error) -> Sent {
        let name = hand.name.to_string();
        Sent { name, stage: Stage::Queued, confirmed: false, receipts: Vec::new(), error: Some(e.message) }
    }
}

/// Types a text into a session and presses Enter.
pub fn send(means: &dyn Means, hand: &Hand, text: &str, timeout: Duration) -> Result<Sent> {
    match &hand.probe {
        Ok(Probe::Alive(_)) => {}
        Ok(_) => return Err(Error::failed(format!("the program in {} has ended", hand.name))),
        Err(why) => return Err(Error::failed(format!("nothing was typed: {why}"))),
    }
    let spec = means.runtime_of(hand)?;
    let pane = Terminal { tmux: means.sessions().tmux, name: hand.name.to_string(), spec };
    let receipts = match pane.spec.submit.clone() {
        Some(submit) => pane.deliver(text, &submit, timeout)?,
        None => pane.type_in(text)?,
    };
    let stage = receipts.last().map_or(Stage::Queued, |last| last.stage);
    Ok(Sent { name: pane.name, stage, confirmed: stage == Stage::TurnStarted, receipts, error: None })
}

struct Terminal {
    tmux: Tmux,
    name: String,
    spec: Arc<RuntimeSpec>,
}

impl Terminal {
    /// Types into any program: what its screen means is unknown.
    fn type_in(&self, text: &str) -> Result<Vec<Receipt>> {
        let text = neutralise(text).trim().to_owned();
        if text.is_empty() {
            return Err(Error::usage("the message is empty"));
        }
        if self.human_typed()?.is_some_and(|at| now().since(at) < HUMAN_QUIET) {
            return Err(refused("somebody is typing there"));
        }
        self.tmux.paste(&self.name, &text).map_err(unsure)?;
        let typed = receipt(Stage::Typed, now(), "it was pasted");
        std::thread::sleep(PAUSE);
        self.tmux.send_enter(&self.name).map_err(unsure)?;
        Ok(vec![typed, receipt(Stage::Submitted, now(), "Enter was sent")])
    }

    /// Types into a client whose screen can be read.
    fn deliver(&self, text: &str, submit: &Submit, deadline: Duration) -> Result<Vec<Receipt>> {
        let mut delivery = Delivery::new(text, Recipe::new(Some(submit), deadline), now())
            .map_err(|e| Error::usage(e.to_string()))?;
        let mut next = delivery.step(now(), DeliveryEvent::Tick);
        loop {
            next = match next {
                Next::Look => {
                    let pane = self.look()?;
                    delivery.step(now(), DeliveryEvent::Pane(pane))
                }
                Next::Paste => {
                    self.tmux.paste(&self.name, delivery.text()).map_err(unsure)?;
                    delivery.step(now(), DeliveryEvent::Pasted)
                }
                Next::PressEnter => {
                    self.tmux.send_enter(&self.name).map_err(unsure)?;
                    delivery.step(now(), DeliveryEvent::EnterSent)
                }
                // Whoever asked can ask again; a dialog may stay for hours.
                Next::Wait { .. } if delivery.stage() == Stage::Queued => {
                    return Err(refused(delivery.blocked().unwrap_or("the client is not ready")));
                }
                Next::Wait { until } if delivery.stage() == Stage::Submitted => {
                    match self.held_until(until, delivery.text())? {
                        None => break,
                        // Enter was swallowed: it is pressed again, a bounded number of times.
                        Some(pane) => delivery.step(now(), DeliveryEvent::Pane(pane)),
                    }
                }
                Next::Wait { until } => {
                    std::thread::sleep(until.since(now()));
                    delivery.step(now(), DeliveryEvent::Tick)
                }
                Next::Delivered => break,
                Next::GiveUp { why } => return Err(Error::failed(format!("it was not delivered: {why}"))),
            };
        }
        let transitions = delivery.transitions().iter();
        Ok(transitions.map(|t| receipt(t.to, t.at, &t.evidence)).collect())
    }

    /// The pane, if its composer still holds our text at that time.
    fn held_until(&self, until: Time, text: &str) -> Result<Option<Pane>> {
        loop {
            let pane = self.look()?;
            if !is_ours(&pane.composer, text) {
                return Ok(None);
            }
            if now() >= until {
                return Ok(Some(pane));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn look(&self) -> Result<Pane> {
        let screen = self.tmux.capture(&self.name, LOOK_LINES).map_err(HandError::from)?;
        let title = self.tmux.pane_title(&self.name).map_err(HandError::from)?.unwrap_or_default();
        let reading = read(&self.spec, &screen, now(), utc_offset());
        let dialog = match read_title(&self.spec, &title).map(|claim| claim.meaning) {
            Some(Meaning::Dialog(kind)) => Some(kind),
            _ => None,
        };
        let shown = self.tmux.screen(&self.name).map_err(HandError::from)?.unwrap_or_default();
        let cursor = self.tmux.cursor(&self.name).map_err(HandError::from)?;
        let elsewhere = !cursor.is_some_and(|cursor| is_typed_into(&self.spec, &shown, cursor));
        Ok(Pane { elsewhere, ..Pane::new(&reading, dialog, self.human_typed()?) })
    }

    /// When an attached terminal of a person last did something.
    fn human_typed(&self) -> Result<Option<Time>> {
        let clients = self.tmux.clients(&self.name).map_err(HandError::from)?;
        let people =
            clients.iter().filter(|client| !client.is_control && !client.flags.contains("read-only"));
        Ok(people.map(|client| Time(client.activity_time.saturating_mul(1000))).max())
    }
}

fn receipt(stage: Stage, at: Time, evidence: &str) -> Receipt {
    Receipt { stage, at: moment(at), evidence: evidence.to_owned() }
}

fn refused(why: &str) -> Error {
    Error::failed(format!("nothing was typed: {why}"))
        .hint("look with `shopfloor session attach`, then try again")
}

/// After an error it is unknown how much was typed, unless it is a refusal.
fn unsure(e: TmuxError) -> Error {
    match e {
        TmuxError::Refused(why) => Error::usage(why),
        e => Error::failed(format!("{e}; how much was typed is not known"))
            .hint("`shopfloor session capture` shows the screen"),
    }
}
