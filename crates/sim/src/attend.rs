//! The daemon's attendants: each live session whose messages are typed has one, which reports its status and
//! drives the core's own [`Delivery`] with the next message.
//!
//! As in the daemon, what is typed is recorded in the session's folder before it is typed, and the position
//! up to which the client's spool was read is kept only after its content was reported. The daemon may die
//! before the record, between record and act, and between act and report.
//!
//! Looks that would see the same again are left out: a session that is held up is looked at when something
//! stirs at its terminal.

use crate::client::{Client, Glance};
use crate::store::CrashingStore;
use crate::world::{Mutation, Shared};
use shopfloor_core::delivery::{Delivery, DeliveryEvent, Next, Pane, Recipe, Stage, Transition};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, MessageId};
use shopfloor_core::liveness::{Confidence, State};
use shopfloor_core::runtime::{Composer, Confirm, Submit};
use shopfloor_core::state::{About, AnswerEnd, Message, SessionState, SessionStatus};
use shopfloor_core::time::Time;
use shopfloor_engine::Conductor;
use shopfloor_store::StoreResult;
use std::time::Duration;

type Floor = Conductor<CrashingStore>;

/// The floor gives a message up at its own deadline.
const NO_DEADLINE: Duration = Duration::from_secs(365 * 24 * 3600);
/// How many steps are taken without waiting; more would be a bug of ours.
const STEPS_MAX: usize = 16;
/// The invariant about agents that work.
const WORKS: &str = "8 a working agent is never reminded, judged idle or ended";
const LOOK_AGAIN: Duration = Duration::from_secs(2);

fn recipe() -> Recipe {
    let submit = Submit {
        bracketed: true,
        pause_ms: 300,
        key: "Enter".into(),
        confirm: Confirm::UserPromptSubmit,
        confirm_ms: 5_000,
        resend_max: 3,
        command_prefixes: vec!["/".into()],
        mentions: vec!['@'],
    };
    Recipe::new(Some(&submit), NO_DEADLINE)
}

pub struct Attendant {
    epoch: Epoch,
    world: Shared,
    /// The message the floor named last, and the one still to be delivered.
    briefed: Option<MessageId>,
    next: Option<MessageId>,
    courier: Option<Courier>,
    reported: Option<(Time, SessionStatus)>,
    watched_from: Time,
    /// A person's newest key that was reported.
    person_told: Option<Time>,
    stands: bool,
    /// How far the spool was read.
    read: usize,
    /// When to come again without being called.
    pub due: Option<Time>,
}

struct Courier {
    message: MessageId,
    delivery: Delivery,
    /// How many changes of stage were reported, and what was reported to be in the way.
    told: usize,
    held: Option<String>,
}

impl Attendant {
    pub fn new(epoch: Epoch, world: &Shared) -> Attendant {
        let mut locked = world.lock();
        let now = locked.now;
        let due = Some(now + Duration::from_millis(locked.rng.range(0, 200)));
        let read = locked.clients.get(&epoch).map_or(0, |c| c.spool_read);
        drop(locked);
        Attendant {
            epoch,
            world: world.clone(),
            briefed: None,
            next: None,
            courier: None,
            reported: None,
            watched_from: now,
            person_told: None,
            stands: false,
            read,
            due,
        }
    }

    /// The floor has changed.
    pub fn brief(&mut self, next: Option<MessageId>, stands: bool, now: Time) {
        // A person answered something, took it, or no longer has it.
        if std::mem::replace(&mut self.stands, stands) != stands {
            self.due = Some(now);
        }
        if self.briefed != next {
            (self.briefed, self.next) = (next, next);
            self.courier = None;
            self.due = Some(now);
        }
    }

    fn is(&self, mutation: Mutation) -> bool {
        self.world.lock().is(mutation)
    }

    pub fn attend(&mut self, floor: &mut Floor) -> StoreResult<()> {
        let (now, glance) = {
            let world = self.world.lock();
            (world.now, world.glance(self.epoch, self.watched_from, self.read))
        };
        self.due = None;
        let Some(glance) = glance else { return Ok(()) };
        self.read = glance.read;
        if self.is(Mutation::KeepsTheSpoolTooSoon) {
            self.keep();
        }
        self.answer(floor, &glance, now)?;
        self.report(floor, &glance, now)?;
        self.tell_of_people(floor, &glance, now)?;
        let again = self.deliver(floor, &glance, now)?;
        self.keep();
        let soon = now + Duration::from_millis(1);
        self.due = [glance.again, again].into_iter().flatten().min().map(|at| at.max(soon));
        Ok(())
    }

    /// Records how far the spool was read.
    fn keep(&self) {
        let mut world = self.world.lock();
        world.crash_point("spool", "crash before a record");
        if let Some(client) = world.clients.get_mut(&self.epoch) {
            client.spool_read = self.read;
        }
    }

    /// Reports who types there, and that they left.
    fn tell_of_people(&mut self, floor: &mut Floor, glance: &Glance, now: Time) -> StoreResult<()> {
        let held = floor.floor().sessions.get(&self.epoch).is_some_and(|s| s.hold.is_some());
        let event = match glance.person {
            Some(at) if self.person_told != Some(at) => Event::PersonTyped { epoch: self.epoch, at },
            None if held => Event::PersonLeft { epoch: self.epoch },
            _ => return Ok(()),
        };
        self.person_told = glance.person;
        self.world.lock().saw("person told of");
        floor.submit(now, &event)?;
        Ok(())
    }

    /// Types a person's answer into the dialog it is for: at most once, and only there.
    fn answer(&mut self, floor: &mut Floor, glance: &Glance, now: Time) -> StoreResult<()> {
        let asks = floor.floor().sessions.get(&self.epoch).and_then(|s| s.asks.open.clone());
        let Some(ask) = asks.filter(|ask| ask.answer.is_some()) else { return Ok(()) };
        let About::Dialog { view: Some(view), .. } = &ask.about else { return Ok(()) };
        let fresh = glance.dialog.as_ref().is_some_and(|now| now.fingerprint == view.fingerprint);
        let end = {
            let mut world = self.world.lock();
            let begun = world.clients.get(&self.epoch).and_then(|client| client.begun);
            if begun == Some(ask.id) || (!fresh && !world.is(Mutation::AnswersWithoutLooking)) {
                world.saw("answer to a dialog refused");
                AnswerEnd::Refused { why: "it is another".into() }
            } else {
                world.crash_point("clerk", "crash before a record");
                if let Some(client) = world.clients.get_mut(&self.epoch) {
                    client.begun = Some(ask.id);
                }
                world.crash_point("clerk", "crash between record and act");
                world.answer_dialog(self.epoch, &view.fingerprint);
                world.crash_point("clerk", "crash between act and report");
                AnswerEnd::Typed
            }
        };
        floor.submit(now, &Event::DialogAnswered { epoch: self.epoch, question: ask.id, end })?;
        self.reported = None;
        Ok(())
    }

    fn report(&mut self, floor: &mut Floor, glance: &Glance, now: Time) -> StoreResult<()> {
        let status = SessionStatus {
            state: glance.state.clone(),
            since: glance.since,
            confidence: Confidence::High,
            context_percent: Some(10),
            cost_micros: None,
            tokens: None,
            dialog: glance.dialog.clone(),
            question: glance.question.clone(),
        };
        if self.reported.as_ref().is_some_and(|(at, old)| !is_worth(old, &status, now.since(*at))) {
            return Ok(());
        }
        self.reported = Some((now, status.clone()));
        let conversation = Some(format!("conversation-{}", self.epoch));
        let event = Event::StatusSeen { epoch: self.epoch, status, conversation };
        let before =
            floor.floor().sessions.get(&self.epoch).and_then(|s| floor.floor().jobs.get(&s.job)).cloned();
        floor.submit(now, &event)?;
        let after = before.as_ref().and_then(|job| floor.floor().jobs.get(&job.id));
        let session = floor.floor().sessions.get(&self.epoch);
        let mut world = self.world.lock();
        world.saw(match &glance.state {
            State::Failed { error } => error.as_str(),
            state => state.as_str(),
        });
        if world.clients.get(&self.epoch).is_some_and(Client::is_misjudged) {
            let text = format!("session {} works, and by what it told it is idle", self.epoch);
            world.broken(WORKS, text);
        }
        let (Some(before), Some(after), Some(session)) = (before, after, session) else { return Ok(()) };
        // An agent that works is not reminded; one that waits for its own work counts as working.
        let works = matches!(glance.state, State::Working { .. } | State::Background { .. });
        if works && before.rounds.reminders != after.rounds.reminders {
            world.broken(WORKS, format!("session {} works, and is reminded", self.epoch));
        }
        // A limit or a failed request is nobody's fault.
        let counted = |j: &shopfloor_core::state::Job| {
            (j.rounds.respawns, j.rounds.ci_fixes, j.rounds.reminders, j.rounds.review_rounds)
        };
        let blameless = works || matches!(glance.state, State::LimitedUntil { .. } | State::Failed { .. });
        if blameless && counted(&before) != counted(after) {
            let text = format!("{} of session {} counts against its agent", glance.state, self.epoch);
            world.broken("7 every wait has a deadline", text);
        }
        let owner = before.session == Some(self.epoch) || before.reviewer.session == Some(self.epoch);
        if session.stops.strikes >= 3 && owner {
            world.saw("frozen client replaced");
            if session.state == SessionState::Live {
                let text = format!("session {} is frozen, and nobody replaces it", self.epoch);
                world.broken("7 every wait has a deadline", text);
            }
        }
        Ok(())
    }

    /// Moves the next message on; returns when to come again for it.
    fn deliver(&mut self, floor: &mut Floor, glance: &Glance, now: Time) -> StoreResult<Option<Time>> {
        let next = self.next.and_then(|id| floor.floor().messages.get(&id).cloned());
        let Some(message) = next else { return Ok(None) };
        let mut courier = match self.courier.take() {
            Some(courier) => courier,
            None => match self.engage(&message, now) {
                Ok(courier) => courier,
                Err(to) => {
                    self.next = None;
                    floor.submit(now, &Event::MessageMoved { message: message.id, epoch: self.epoch, to })?;
                    return Ok(None);
                }
            },
        };
        let limit = match glance.state {
            State::LimitedUntil { until } => Some(until),
            _ => None,
        };
        // What it took before is confirmed all the same.
        let session = floor.floor().sessions.get(&self.epoch);
        let theirs = session.is_some_and(|session| floor.floor().held(session).is_some());
        let mut prompts = glance.prompts.clone();
        if self.is(Mutation::IgnoresConfirmations) {
            prompts.clear();
        }
        let inputs =
            prompts.into_iter().map(|prompt| DeliveryEvent::Prompt { prompt }).chain([DeliveryEvent::Tick]);
        let mut next = None;
        for input in inputs {
            next = self.go(&mut courier, floor, input, limit.is_some() || theirs, now)?;
            if next.is_none() {
                // Delivered or given up: the floor says what comes next.
                self.next = None;
                return Ok(None);
            }
        }
        let idle = match limit {
            Some(until) => {
                self.hold(&mut courier, floor, "the account's limit is reached", now)?;
                Some(until)
            }
            None if theirs => {
                self.hold(&mut courier, floor, "a person has it", now)?;
                None
            }
            // Nothing else will be seen until something stirs.
            None if courier.delivery.blocked().is_some_and(|why| !ends_by_itself(why)) => None,
            None => next,
        };
        self.courier = Some(courier);
        Ok(idle)
    }

    /// A courier for a message, continued where an earlier daemon left it.
    fn engage(&self, message: &Message, now: Time) -> Result<Courier, Transition> {
        let mut world = self.world.lock();
        let record = world.clients.get(&self.epoch).and_then(|c| c.record.clone());
        let held = message.held.clone();
        if let Some((_, delivery)) = record.filter(|(id, _)| *id == message.id) {
            world.saw("delivery taken up again");
            // The record is from before the act, so the floor may know more than it says, or less.
            let told = message.receipts.len().min(delivery.transitions().len());
            return Ok(Courier { message: message.id, delivery, told, held });
        }
        match Delivery::new(&message.text, recipe(), now) {
            Ok(delivery) => Ok(Courier { message: message.id, delivery, told: 1, held }),
            Err(refused) => {
                Err(Transition { to: Stage::Undelivered, at: now, evidence: refused.to_string() })
            }
        }
    }

    /// Proceeds as far as it can; returns when to come again, or `None` once it is delivered or given up.
    fn go(
        &self,
        courier: &mut Courier,
        floor: &mut Floor,
        input: DeliveryEvent,
        blind: bool,
        now: Time,
    ) -> StoreResult<Option<Time>> {
        let mut input = input;
        for _ in 0..STEPS_MAX {
            let next = courier.delivery.step(now, input);
            self.tell(courier, floor, blind, now)?;
            input = match next {
                Next::Wait { until } => return Ok(Some(until)),
                // Nothing is typed into a pane that cannot be seen.
                Next::Look if blind => return Ok(Some(now + LOOK_AGAIN)),
                Next::Look => match self.look(&courier.delivery) {
                    Ok(pane) => DeliveryEvent::Pane(pane),
                    Err(_) => return Ok(Some(now + LOOK_AGAIN)),
                },
                Next::Paste => self.act(courier, DeliveryEvent::Pasted),
                Next::PressEnter => self.act(courier, DeliveryEvent::EnterSent),
                Next::Delivered | Next::GiveUp { .. } => return Ok(None),
            };
        }
        Ok(Some(now + LOOK_AGAIN))
    }

    fn look(&self, delivery: &Delivery) -> Result<Pane, String> {
        let pane = self.world.lock().look_at(self.epoch)?;
        if self.is(Mutation::TypesWithoutLooking) {
            let composer = match delivery.stage() {
                Stage::Queued => Composer::Empty,
                _ => Composer::Pasted(String::new()),
            };
            return Ok(Pane {
                dialog: None,
                composer,
                busy: false,
                human_typed: None,
                elsewhere: false,
                taken: false,
            });
        }
        Ok(pane)
    }

    fn act(&self, courier: &Courier, done: DeliveryEvent) -> DeliveryEvent {
        let mut world = self.world.lock();
        world.crash_point("courier", "crash before a record");
        if !world.is(Mutation::ForgetsTheRecord)
            && let Some(client) = world.clients.get_mut(&self.epoch)
        {
            client.record = Some((courier.message, courier.delivery.clone()));
        }
        world.crash_point("courier", "crash between record and act");
        let acted = match done {
            DeliveryEvent::Pasted => world.paste(self.epoch, courier.message, courier.delivery.text()),
            _ => world.press_enter(self.epoch),
        };
        world.crash_point("courier", "crash between act and report");
        match acted {
            Ok(()) => done,
            Err(why) => DeliveryEvent::ActFailed { why },
        }
    }

    fn tell(&self, courier: &mut Courier, floor: &mut Floor, blind: bool, now: Time) -> StoreResult<()> {
        let (message, epoch) = (courier.message, self.epoch);
        let transitions = courier.delivery.transitions();
        for to in transitions.get(courier.told..).unwrap_or_default() {
            floor.submit(now, &Event::MessageMoved { message, epoch, to: to.clone() })?;
        }
        courier.told = courier.told.max(transitions.len());
        let held = courier.delivery.blocked().map(str::to_owned);
        if !blind && held != courier.held && !courier.delivery.stage().is_final() {
            courier.held.clone_from(&held);
            self.world.lock().saw("message held");
            floor.submit(now, &Event::MessageHeld { message, epoch, why: held, for_good: false })?;
        }
        Ok(())
    }

    fn hold(&self, courier: &mut Courier, floor: &mut Floor, why: &str, now: Time) -> StoreResult<()> {
        if courier.held.as_deref() != Some(why) {
            courier.held = Some(why.to_owned());
            let why = courier.held.clone();
            floor.submit(
                now,
                &Event::MessageHeld { message: courier.message, epoch: self.epoch, why, for_good: false },
            )?;
        }
        Ok(())
    }
}

/// Whether the obstacle ends without anything stirring.
fn ends_by_itself(why: &str) -> bool {
    why == "somebody is typing" || why.starts_with("the terminal refused")
}

/// Whether the floor has to know. The same error in another turn is another error.
fn is_worth(old: &SessionStatus, new: &SessionStatus, age: Duration) -> bool {
    let failed = matches!(new.state, State::Failed { .. } | State::LimitedUntil { .. });
    let asks = |status: &SessionStatus| status.dialog.as_ref().map(|view| view.fingerprint.clone());
    old.state != new.state
        || asks(old) != asks(new)
        || old.question != new.question
        || (failed && old.since != new.since)
        || (new.state == State::Stuck && age >= crate::client::STUCK_EVERY)
}
