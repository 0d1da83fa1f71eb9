//! What holds for messages, and for sessions that wait: invariants 5 and 7 with typed sessions.
//!
//! What is typed, and what a client receives, is checked where it happens ([`crate::client`]): a session's
//! client receives a message once; twice only if the report of the first time was lost.

use super::Checker;
use crate::client::{DELIVERY, Stand};
use crate::world::World;
use shopfloor_core::delivery::Stage;
use shopfloor_core::ids::{Epoch, JobId, MessageId};
use shopfloor_core::liveness::State;
use shopfloor_core::runtime::ErrorKind;
use shopfloor_core::state::{Floor, Job, JobState, Message, MessageState, Run, SessionState};
use shopfloor_core::texts::FirstLine;
use shopfloor_store::JournalEntry;
use std::collections::BTreeMap;

const WAITS: &str = "7 every wait has a deadline";

/// A message as it was after the last step.
pub(super) struct Known {
    job: JobId,
    state: MessageState,
    to: Option<Epoch>,
    /// For one session alone: a first prompt, or a reviewer's message.
    own: bool,
}

fn known(floor: &Floor, message: &Message) -> Known {
    let session = message.to.and_then(|epoch| floor.sessions.get(&epoch));
    let own = message.prompt || session.is_some_and(|s| s.role.reviews());
    Known { job: message.job, state: message.state, to: message.to, own }
}

impl Checker {
    /// 5: a message is taken or handed on, or somebody is told that it was not. A message for one session
    /// alone may end with that session.
    pub(super) fn messages_are_accounted_for(
        &mut self,
        world: &mut World,
        floor: &Floor,
        entries: &[JournalEntry],
    ) {
        let now: BTreeMap<MessageId, Known> =
            floor.messages.iter().map(|m| (m.id, known(floor, m))).collect();
        let noted =
            |e: &&JournalEntry| matches!(e.kind.as_str(), "MESSAGE_UNDELIVERED" | "MESSAGE_SUPERSEDED");
        let undelivered = entries.iter().filter(noted).count();
        let over = |epoch: Option<Epoch>| {
            let session = epoch.and_then(|e| floor.sessions.get(&e));
            session.is_none_or(|s| !matches!(s.state, SessionState::Live | SessionState::Starting))
        };
        let dropped = self.messages.iter().filter(|(id, was)| {
            let gone = match now.get(id) {
                Some(is) => is.state == MessageState::Undelivered,
                None => !(was.own && over(was.to)),
            };
            was.state == MessageState::Queued && gone
        });
        if dropped.count() > undelivered {
            world.broken(DELIVERY, "a message went unread, and nobody was told");
        }
        for (id, is) in &now {
            let was = self.messages.get(id);
            if was.is_some_and(|was| was.to != is.to && is.state == MessageState::Queued) {
                world.saw("message handed on");
            }
            if was.is_none() && !floor.messages.get(id).is_some_and(|m| m.prompt || says_continue(m)) {
                *self.messages_of.entry(is.job).or_default() += 1;
            }
            if is.state == MessageState::Taken && was.is_none_or(|was| was.state == MessageState::Queued) {
                self.what_is_confirmed_was_received(world, floor, *id);
            }
        }
        let ended = now
            .values()
            .find(|m| m.state == MessageState::Queued && floor.jobs.get(&m.job).is_none_or(|j| !j.is_live()));
        if let Some(ended) = ended {
            world.broken(DELIVERY, format!("job {} ended with a message queued", ended.job));
        }
        self.messages = now;
    }

    /// 5: only what the client itself received counts as taken.
    fn what_is_confirmed_was_received(&self, world: &mut World, floor: &Floor, id: MessageId) {
        let Some(message) = floor.messages.get(&id) else { return };
        let typed = message.receipts.last().is_some_and(|r| r.to == Stage::TurnStarted);
        let client = message.to.and_then(|epoch| world.clients.get(&epoch));
        if typed && client.is_none_or(|c| !c.received.contains(&id)) {
            world.broken(DELIVERY, format!("message {id} counts as taken, and nobody received it"));
        }
    }

    /// 7: a dialog, a limit and a failed request are waits: no deadline ends them before their time.
    pub(super) fn who_waits_is_waited_for(
        &mut self,
        world: &mut World,
        floor: &Floor,
        entries: &[JournalEntry],
    ) {
        let events = entries.iter().filter(|e| e.kind == "event");
        let only_time =
            events.clone().count() > 0 && events.clone().all(|e| e.body.contains("\"event\":\"tick\""));
        let mut live = BTreeMap::new();
        for session in floor.sessions.iter() {
            let was = self.live.get(&session.epoch);
            if session.state == SessionState::Live {
                // A session that is to end when its person leaves has nothing to wait for.
                live.insert(session.epoch, session.status.clone().filter(|_| !session.end_put_off));
            }
            // A reviewer may also end with its job.
            let reviews = |j: &Job| matches!(j.state, JobState::Reviewing { .. });
            let alone = session.role.develops() || floor.jobs.get(&session.job).is_some_and(reviews);
            let ended = session.state == SessionState::Ending && only_time && alone;
            let (Some(Some(status)), true) = (was, ended) else { continue };
            let age = world.now.since(status.since);
            let too_soon = match status.state {
                State::Dialog { .. } => age < world.policy.escalate_after,
                State::LimitedUntil { until } => world.now < until,
                State::Background { .. } => age < world.policy.background_timeout,
                _ => false,
            };
            // A run has only so much time, whatever its agent waits for.
            let run = floor.run_of(session.job);
            if too_soon && !run.is_some_and(Run::has_timed_out) {
                let text = format!("session {} was ended while it waited ({})", session.epoch, status.state);
                world.broken(WAITS, text);
            }
            if matches!(status.state, State::Dialog { .. }) {
                world.saw("dialog given up");
            }
        }
        self.live = live;
        for job in floor.jobs.iter() {
            let silent = job.reason.as_deref().is_some_and(|r| r.starts_with("no sign of the agent"));
            let new = silent && matches!(job.state, JobState::Finishing { .. }) && only_time;
            if !new || !self.silent.insert(job.id) {
                continue;
            }
            let stand = job.session.and_then(|e| world.clients.get(&e)).map(|c| c.stand);
            if let Some(Stand::Failed { error }) = stand
                && is_passing(error)
            {
                let text = format!("job {} ended though its agent only had to be told to go on", job.id);
                world.broken(WAITS, text);
            }
        }
    }

    /// 9: each prompt belongs to a session, and each "Continue" to a limit or a failure.
    pub(super) fn everything_told_has_a_cause(&self, world: &mut World, floor: &Floor) {
        for message in floor.messages.iter().filter(|m| m.prompt) {
            let same = |m: &&Message| m.prompt && m.to == message.to;
            if floor.messages.iter().filter(same).count() > 1 {
                world.broken("9 everything is bounded", format!("two first prompts for {:?}", message.to));
            }
        }
        for job in floor.jobs.iter() {
            let told = |m: &&Message| m.job == job.id && m.state == MessageState::Queued && says_continue(m);
            if floor.messages.iter().filter(told).count() > 2 {
                world.broken("9 everything is bounded", format!("job {} is told to go on and on", job.id));
            }
        }
    }

    /// 5: at the end nothing is on its way any more. A message for a successor waits with its job for the
    /// person whose answer, or review, starts it.
    pub(super) fn nothing_is_left_on_its_way(&self, world: &mut World, floor: &Floor) {
        let inherited = |m: &Message| {
            let job = floor.jobs.get(&m.job);
            let waits = |state: &JobState| {
                matches!(
                    state,
                    JobState::NeedsHuman { .. } | JobState::Reviewing { .. } | JobState::InQueue { .. }
                )
            };
            job.is_some_and(|job| waits(&job.state) && job.session.is_none())
        };
        let left = |m: &&Message| m.state == MessageState::Queued && !inherited(m);
        if let Some(message) = floor.messages.iter().find(left) {
            world.broken(DELIVERY, format!("message {} is left queued for {:?}", message.id, message.to));
        }
    }
}

fn says_continue(message: &Message) -> bool {
    FirstLine::of(&message.text) == Some(FirstLine::Continue)
}

/// Whether trying again gets past the error.
fn is_passing(error: ErrorKind) -> bool {
    use ErrorKind::{Connection, Overloaded, RateLimit, Server, Unknown};
    matches!(error, Connection | Overloaded | RateLimit | Server | Unknown)
}
