//! Brings one message into one session, by the core's delivery machine. Everything is recorded before it is
//! typed, so that the next daemon continues where this one stopped.

use super::session::Brief;
use serde::{Deserialize, Serialize};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_adapters::terminal::tmux::{Tmux, TmuxError, TmuxResult};
use shopfloor_core::delivery::{Delivery, DeliveryEvent, Next, Pane, Stage, Transition};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, MessageId};
use shopfloor_core::runtime::RuntimeSpec;
use shopfloor_core::time::Time;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The floor gives a message up at its own deadline, which may be postponed; here there is none.
const NO_DEADLINE: Duration = Duration::from_secs(365 * 24 * 3600);
/// How many steps are taken without waiting; more would be a bug of ours.
const STEPS_MAX: usize = 16;

#[derive(Serialize, Deserialize)]
pub struct Courier {
    message: MessageId,
    delivery: Delivery,
    /// How many receipts the floor had when this delivery began: from an earlier session.
    before: usize,
    /// How many changes of stage were reported.
    #[serde(skip)]
    told: usize,
    #[serde(skip)]
    held: Option<String>,
}

/// What a courier needs from its session.
pub struct Way<'a> {
    pub tmux: &'a Tmux,
    pub spec: &'a RuntimeSpec,
    pub brief: &'a Brief,
    pub dir: &'a Path,
    pub now: fn() -> Time,
}

impl Courier {
    /// A courier for the session's next message, continued where an earlier daemon left it. The error means
    /// that the message can never be typed.
    pub fn new(way: &Way<'_>, due: &super::session::Due) -> Result<Courier, Transition> {
        let known =
            std::fs::read(file(way.dir)).ok().and_then(|b| serde_json::from_slice::<Courier>(&b).ok());
        if let Some(mut courier) = known.filter(|courier| courier.message == due.message) {
            courier.delivery.take_over((way.now)());
            // What the floor already knows is not reported again.
            let told = due.receipts.saturating_sub(courier.before);
            return Ok(Courier { told, held: due.held.clone(), ..courier });
        }
        let now = (way.now)();
        // The floor knows by itself that it was queued.
        let (before, held) = (due.receipts.saturating_sub(1), due.held.clone());
        match Delivery::of_others(&due.text, way.spec.submit.as_ref(), NO_DEADLINE, now) {
            Ok(delivery) => Ok(Courier { message: due.message, delivery, before, told: 1, held }),
            Err(refused) => {
                Err(Transition { to: Stage::Undelivered, at: now, evidence: refused.to_string() })
            }
        }
    }

    /// When this courier began: what the client took before that is not its message.
    pub fn began(&self) -> Time {
        self.delivery.transitions().first().map_or(Time(0), |first| first.at)
    }

    /// Proceeds as far as it can; returns when to come again, and tells the floor what happened. `look`
    /// returns the pane as it is now; an error means that nothing is known about it.
    pub fn go(
        &mut self,
        way: &Way<'_>,
        input: DeliveryEvent,
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
                    Ok(pane) => DeliveryEvent::Pane(pane),
                    // Nothing is typed into a pane that cannot be seen.
                    Err(_) => return Some(now + Duration::from_secs(2)),
                },
                Next::Paste => self.act(way, DeliveryEvent::Pasted, |name, text| way.tmux.paste(name, text)),
                Next::PressEnter => {
                    let key = way.spec.submit.as_ref().map_or("Enter", |submit| submit.key.as_str());
                    self.act(way, DeliveryEvent::EnterSent, |name, _| way.tmux.send_key(name, key))
                }
                // Kept until the floor has it: after a crash, the next daemon reports it again.
                Next::Delivered | Next::GiveUp { .. } => {
                    let _ = self.record(way);
                    return None;
                }
            };
        }
        Some((way.now)() + Duration::from_secs(2))
    }

    fn act(
        &self,
        way: &Way<'_>,
        done: DeliveryEvent,
        act: impl FnOnce(&str, &str) -> TmuxResult<()>,
    ) -> DeliveryEvent {
        if let Err(e) = self.record(way) {
            return DeliveryEvent::ActFailed { why: format!("it could not be put on record: {e}") };
        }
        match act(&way.brief.tmux, self.delivery.text()) {
            // No answer: whether it was typed is unknown, but the pane will show it.
            Ok(()) | Err(TmuxError::Io { .. }) => done,
            Err(e) => DeliveryEvent::ActFailed { why: e.to_string() },
        }
    }

    fn record(&self, way: &Way<'_>) -> io::Result<()> {
        let bytes = serde_json::to_vec(self).expect("a delivery is plain data");
        write_atomic(&file(way.dir), &bytes, 0o600)
    }

    /// The client confirms prompts while nothing may be typed. Returns whether the message is through.
    pub fn confirm(&mut self, way: &Way<'_>, prompts: &[String], tell: &mut dyn FnMut(Event)) -> bool {
        for prompt in prompts {
            self.delivery.confirm((way.now)(), prompt);
        }
        let through = self.delivery.stage().is_final();
        if through {
            let _ = self.record(way);
        }
        // The pane is not what holds it up: the caller reports that.
        self.report_moves(way.brief.epoch, tell);
        through
    }

    fn report_moves(&mut self, epoch: Epoch, tell: &mut dyn FnMut(Event)) {
        let message = self.message;
        let transitions = self.delivery.transitions();
        for to in transitions.get(self.told..).unwrap_or_default() {
            tell(Event::MessageMoved { message, epoch, to: to.clone() });
        }
        self.told = self.told.max(transitions.len());
    }

    fn report(&mut self, epoch: Epoch, tell: &mut dyn FnMut(Event)) {
        self.report_moves(epoch, tell);
        let message = self.message;
        let held = self.delivery.blocked().map(str::to_owned);
        if held != self.held && !self.delivery.stage().is_final() {
            self.held.clone_from(&held);
            tell(Event::MessageHeld { message, epoch, why: held, for_good: false });
        }
    }

    /// Reports what keeps the message from being typed before the pane is even looked at; `for_good`: until
    /// somebody does something about it.
    pub fn hold(&mut self, epoch: Epoch, why: &str, for_good: bool, tell: &mut dyn FnMut(Event)) {
        if self.held.as_deref() != Some(why) {
            self.held = Some(why.to_owned());
            let why = self.held.clone();
            tell(Event::MessageHeld { message: self.message, epoch, why, for_good });
        }
    }
}

/// The floor proceeds to another message, or none: the last one is history.
pub fn forget(dir: &Path) {
    let _ = std::fs::remove_file(file(dir));
}

fn file(dir: &Path) -> PathBuf {
    dir.join("delivery.json")
}

#[cfg(test)]
mod tests {
    use super::super::session::Due;
    use super::*;
    use crate::config::runtimes::embedded;
    use shopfloor_core::runtime::Composer;

    fn brief() -> Brief {
        Brief {
            epoch: Epoch(1),
            tmux: "dev-sample-1-e1".into(),
            runtime: "claude".into(),
            launched: Time(0),
            process: None,
            worktree: PathBuf::new(),
            phase: None,
            phase_stamp: None,
            conversation: None,
            resumed: false,
            due: None,
            held: None,
            handback: Duration::from_secs(900),
            handed_back: None,
            answer: None,
        }
    }

    #[test]
    fn what_holds_a_message_up_is_told_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let tmux = Tmux::new(folder.path().join("tmux.sock"), "");
        let spec = embedded("claude").expect("it is embedded");
        let brief = brief();
        let way = Way { tmux: &tmux, spec: &spec, brief: &brief, dir: folder.path(), now: || Time(1_000) };
        let due = Due { message: MessageId(3), text: "CI passed".into(), receipts: 1, held: None };
        let mut courier = Courier::new(&way, &due).expect("it can be typed");
        let mut told = Vec::new();
        for _ in 0..3 {
            assert!(!courier.confirm(&way, &[], &mut |event| told.push(event)));
            courier.hold(Epoch(1), "it is not ready", false, &mut |event| told.push(event));
        }
        assert!(matches!(told.as_slice(), [Event::MessageHeld { why: Some(_), .. }]), "{told:?}");
    }

    #[test]
    fn a_message_that_is_asked_for_again_is_not_typed_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let tmux = Tmux::new(folder.path().join("tmux.sock"), "");
        let spec = embedded("claude").expect("it is embedded");
        let brief = brief();
        let way = Way { tmux: &tmux, spec: &spec, brief: &brief, dir: folder.path(), now: || Time(1_000) };
        let due = Due { message: MessageId(3), text: "CI passed".into(), receipts: 1, held: None };
        let mut courier = Courier::new(&way, &due).expect("it can be typed");
        let empty = Pane {
            dialog: None,
            composer: Composer::Empty,
            busy: false,
            human_typed: None,
            elsewhere: false,
            taken: false,
        };
        assert_eq!(courier.delivery.step(Time(1_000), DeliveryEvent::Pane(empty)), Next::Paste);
        courier.delivery.step(Time(1_000), DeliveryEvent::Pasted);
        let taken = || DeliveryEvent::Prompt { prompt: "CI passed".into() };
        let blind = || -> Result<Pane, String> { panic!("there is nothing to look for") };
        let mut told = Vec::new();
        assert_eq!(courier.go(&way, taken(), blind, &mut |event| told.push(event)), None);
        let stage = |event: &Event| match event {
            Event::MessageMoved { to, .. } => Some(to.to),
            _ => None,
        };
        let first: Vec<_> = told.drain(..).filter_map(|event| stage(&event)).collect();
        assert_eq!(first, [Stage::Typed, Stage::TurnStarted]);
        // The floor, or a daemon after this one, has not heard of it yet.
        let mut courier = Courier::new(&way, &due).expect("it can be typed");
        assert_eq!(courier.go(&way, DeliveryEvent::Tick, blind, &mut |event| told.push(event)), None);
        assert_eq!(told.iter().filter_map(stage).collect::<Vec<_>>(), first, "told again, not typed");
    }
}
