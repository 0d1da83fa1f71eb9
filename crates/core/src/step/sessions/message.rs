//! Messages to agents, and what becomes of them. A message is queued here and done when its agent has taken it;
//! when a session dies, its successor inherits what is left; a deadline reports the rest.

use super::Sessions;
use crate::delivery::{Stage, Transition};
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, MessageId};
use crate::state::{JobState, Message, MessageState, SessionState};
use crate::step::Turn;
use crate::text::{head, neutralise};
use crate::texts::{notes, reasons};
use crate::time::Time;

/// The longest message. A message that was cut says so; the whole is on the forge or in the log.
const MESSAGE_BYTES_MAX: usize = 24 * 1024;
/// A client that swallows what is typed is retried only a few times.
const RECEIPTS_MAX: usize = 32;

fn queued(id: MessageId, job: JobId, to: Option<Epoch>, text: String, now: Time) -> Message {
    let receipt = Transition { to: Stage::Queued, at: now, evidence: notes::queued().into() };
    Message {
        id,
        job,
        to,
        text,
        state: MessageState::Queued,
        queued_at: now,
        taken_at: None,
        deadline: None,
        in_prompt_of: None,
        answered: false,
        reminder: false,
        prompt: false,
        receipts: vec![receipt],
        held: None,
        held_since: None,
        held_told: false,
    }
}

pub(super) fn first_line(message: &Message) -> String {
    if message.prompt {
        notes::first_prompt().into()
    } else {
        message.text.lines().next().unwrap_or("").to_owned()
    }
}

impl Turn<'_> {
    /// Tells the job's agent something it has to act upon, and makes it the agent's turn. Without
    /// a live session a successor is started with the message in its prompt.
    pub(in crate::step) fn tell(&mut self, id: JobId, text: &str) {
        let idle = self.idle_limit(id);
        self.queue_message(id, text);
        self.enter(id, JobState::Working, idle);
        self.respawn_if_needed(id);
    }

    /// Tells the agent to continue, or how: once the message is taken, a successor has no use for it.
    pub(in crate::step) fn nudge(&mut self, id: JobId, text: &str) {
        self.tell(id, text);
        let newest = self.floor.messages.iter().rfind(|m| m.job == id).map(|m| m.id);
        if let Some(message) = newest.and_then(|m| self.floor.message_mut(m)) {
            message.answered = true;
        }
    }

    /// The newest message of a job is a reminder. It counts when it is sent: in an inbox, at once; if typed, when
    /// the client has taken it.
    pub(in crate::step) fn is_reminder(&mut self, id: JobId) {
        let newest = self.floor.messages.iter().rfind(|m| m.job == id).map(|m| (m.id, m.to));
        let Some((message, to)) = newest else { return };
        let typed = to.and_then(|epoch| self.floor.sessions.get(&epoch)).is_some_and(|s| s.client.typed);
        if !typed {
            self.reminded(id, to);
        } else if let Some(message) = self.floor.message_mut(message) {
            message.reminder = true;
        }
    }

    fn reminded(&mut self, id: JobId, to: Option<Epoch>) {
        match to.and_then(|epoch| self.floor.session_mut(epoch)) {
            Some(reviewer) if reviewer.role.reviews() => reviewer.stops.nudges += 1,
            _ => {
                self.count(id, |rounds| &mut rounds.reminders);
            }
        }
    }

    /// Whether a reminder is on its way to the job's dev agent.
    pub(in crate::step) fn reminder_is_due(&self, id: JobId) -> bool {
        self.unread(id).iter().any(|m| self.floor.messages.get(m).is_some_and(|m| m.reminder))
    }

    /// Tells the job's agent something that leaves the job in its state. If nobody is there to be told, it is not
    /// worth telling.
    pub(in crate::step) fn inform(&mut self, id: JobId, text: &str) {
        if self.job(id).is_some_and(|j| j.session.is_some()) {
            self.queue_message(id, text);
        }
    }

    /// The same, of what has to be told: without a session, the next one gets it.
    pub(in crate::step) fn pass_on(&mut self, id: JobId, text: &str) {
        self.queue_message(id, text);
    }

    fn queue_message(&mut self, id: JobId, text: &str) {
        let to = self.job(id).and_then(|j| j.session);
        self.queue(id, to, text);
    }

    /// Queues a message to one particular session.
    pub(in crate::step) fn queue_to(&mut self, id: JobId, epoch: Epoch, text: &str) {
        self.queue(id, Some(epoch), text);
    }

    fn queue(&mut self, id: JobId, to: Option<Epoch>, text: &str) {
        let within = self.policy_of(id).delivery_timeout;
        let message = MessageId(self.number(|c| &mut c.message));
        let text = head(&neutralise(text), MESSAGE_BYTES_MAX);
        let first_line = text.lines().next().unwrap_or("").to_owned();
        let deadline = to.map(|_| self.now + within);
        self.floor
            .messages
            .put(Sessions(()), Message { deadline, ..queued(message, id, to, text, self.now) });
        self.note_job(NoteKind::MessageQueued, id, first_line);
        if let Some(epoch) = to {
            self.act(Action::RingInbox { epoch, message });
        }
    }

    /// A session's first prompt, if it is typed: a message like any other, but for that session alone.
    pub(super) fn queue_prompt(&mut self, id: JobId, epoch: Epoch, text: &str) {
        let within = self.policy_of(id).delivery_timeout;
        let message = MessageId(self.number(|c| &mut c.message));
        let deadline = Some(self.now + within);
        let text = neutralise(text);
        self.floor.messages.put(
            Sessions(()),
            Message { deadline, prompt: true, ..queued(message, id, Some(epoch), text, self.now) },
        );
    }

    /// Starts a successor if it is the agent's turn and there is no agent.
    pub(in crate::step) fn respawn_if_needed(&mut self, id: JobId) {
        let Some(job) = self.job(id) else { return };
        let there = job
            .session
            .and_then(|e| self.floor.sessions.get(&e))
            .is_some_and(|s| matches!(s.state, SessionState::Live | SessionState::Starting));
        if !there && job.state == JobState::Working {
            self.start_successor(id);
        }
    }

    /// What a job's dev agent has not read.
    pub(super) fn unread(&self, id: JobId) -> Vec<MessageId> {
        let queued = |m: &&Message| m.job == id && m.state == MessageState::Queued && !self.is_own(m);
        self.floor.messages.iter().filter(queued).map(|m| m.id).collect()
    }

    /// Whether a message is for one session alone, and not for a successor: a first prompt, or a reviewer's.
    fn is_own(&self, message: &Message) -> bool {
        let reviewer = || {
            let session = message.to.and_then(|epoch| self.floor.sessions.get(&epoch));
            session.is_some_and(|s| s.role.reviews())
        };
        message.prompt || reviewer()
    }

    /// The agent signalled: whatever it took before has been acted upon.
    pub(super) fn taken_are_answered(&mut self, id: JobId) {
        let taken = |m: &&Message| m.job == id && m.state == MessageState::Taken && !m.answered;
        let taken: Vec<MessageId> = self.floor.messages.iter().filter(taken).map(|m| m.id).collect();
        for message in taken {
            if let Some(message) = self.floor.message_mut(message) {
                message.answered = true;
            }
        }
    }

    /// Something newer has come: nobody is to act on earlier messages of this name. A message that is being typed
    /// at this moment is left alone.
    pub(in crate::step) fn overtake(&mut self, id: JobId, name: &str) {
        let old = |m: &&Message| m.job == id && !m.answered && m.text.lines().next() == Some(name);
        let old: Vec<(MessageId, bool)> = self
            .floor
            .messages
            .iter()
            .filter(old)
            .map(|m| (m.id, m.state == MessageState::Queued && m.receipts.len() <= 1))
            .collect();
        for (message, untouched) in old {
            if untouched {
                self.superseded(message);
            } else if let Some(message) = self.floor.message_mut(message) {
                message.answered = true;
            }
        }
    }

    /// A session ended in the middle of its turn: its successor gets what it took and did not answer.
    pub(super) fn hand_back(&mut self, epoch: Epoch) {
        let at = self.now;
        let taken = |m: &&Message| {
            m.to == Some(epoch) && m.state == MessageState::Taken && !m.answered && !self.is_own(m)
        };
        let taken: Vec<MessageId> = self.floor.messages.iter().filter(taken).map(|m| m.id).collect();
        for message in taken {
            let Some(message) = self.floor.message_mut(message) else { continue };
            message.state = MessageState::Queued;
            message.taken_at = None;
            message.in_prompt_of = None;
            if message.receipts.len() < RECEIPTS_MAX {
                let evidence = notes::taken_without_phase(epoch);
                message.receipts.push(Transition { to: Stage::Queued, at, evidence });
            }
        }
    }

    /// Messages for a session that is over, and for no other, are dropped.
    pub(super) fn forget_own(&mut self, epoch: Epoch) {
        let mine = |m: &&Message| m.to == Some(epoch) && m.state == MessageState::Queued && self.is_own(m);
        let own: Vec<MessageId> = self.floor.messages.iter().filter(mine).map(|m| m.id).collect();
        for message in own {
            self.floor.messages.remove(Sessions(()), &message);
        }
    }

    /// A successor gets what a dead session left unread.
    pub(in crate::step) fn readdress(&mut self, id: JobId, epoch: Epoch) {
        let within = self.policy_of(id).delivery_timeout;
        let deadline = Some(self.now + within);
        for message in self.unread(id) {
            if let Some(message) = self.floor.message_mut(message) {
                message.to = Some(epoch);
                message.deadline = deadline;
                message.held = None;
            }
        }
    }

    /// Messages that a session did not get, through no fault of its own, get their full time again.
    pub(super) fn put_off_messages(&mut self, epoch: Epoch, deadline: Time) {
        let waits = |m: &&Message| m.to == Some(epoch) && m.state == MessageState::Queued;
        let waiting = self.floor.messages.iter().filter(waits).filter(|m| m.deadline.is_some());
        for message in waiting.map(|m| m.id).collect::<Vec<_>>() {
            if let Some(message) = self.floor.message_mut(message) {
                message.deadline = message.deadline.max(Some(deadline));
            }
        }
    }

    fn take(&mut self, message: MessageId) {
        let now = self.now;
        let Some(message) = self.floor.message_mut(message) else { return };
        message.state = MessageState::Taken;
        message.taken_at = Some(now);
        message.deadline = None;
        message.held = None;
        let (id, to, reminder) = (message.job, message.to, message.reminder);
        if reminder {
            self.reminded(id, to);
        }
    }

    /// A session showed a sign of life: it has read its prompt, including its predecessor's messages in it.
    pub(super) fn take_prompt(&mut self, epoch: Epoch) {
        let queued = |m: &&Message| m.in_prompt_of == Some(epoch) && m.state == MessageState::Queued;
        let read: Vec<MessageId> = self.floor.messages.iter().filter(queued).map(|m| m.id).collect();
        for message in read {
            self.take(message);
        }
    }

    pub(in crate::step) fn message_taken(&mut self, message: MessageId, epoch: Epoch) {
        let Some(row) = self.floor.messages.get(&message) else { return };
        let id = row.job;
        if row.to != Some(epoch) {
            self.stale(id, notes::message_of_another(epoch, message));
            return;
        }
        if row.state != MessageState::Queued {
            return;
        }
        let first_line = first_line(row);
        self.take(message);
        self.seen(epoch);
        self.note_job(NoteKind::MessageTaken, id, first_line);
        let idle = self.idle_limit(id);
        self.works_until(id, epoch, self.now + idle);
    }

    /// A message on its way into a terminal.
    pub(in crate::step) fn message_moved(&mut self, message: MessageId, epoch: Epoch, to: &Transition) {
        let Some(row) = self.floor.message_mut(message) else { return };
        if row.to != Some(epoch) || row.state != MessageState::Queued {
            return;
        }
        if row.receipts.len() < RECEIPTS_MAX || to.to.is_final() {
            row.receipts.push(to.clone());
        }
        row.held = None;
        self.mind_held(message, None);
        match to.to {
            Stage::Queued | Stage::Typed | Stage::Submitted => {}
            Stage::TurnStarted => self.message_taken(message, epoch),
            Stage::Undelivered => self.undelivered(message, Some(&to.evidence)),
        }
    }

    pub(in crate::step) fn message_held(
        &mut self,
        message: MessageId,
        epoch: Epoch,
        why: Option<&str>,
        for_good: bool,
    ) {
        let Some(row) = self.floor.message_mut(message) else { return };
        if row.to == Some(epoch) && row.state == MessageState::Queued {
            row.held = why.map(str::to_owned);
            self.mind_held(message, why);
            if for_good && why.is_some() {
                self.tell_of_held(message);
            }
        }
    }

    /// An agent that does not take its messages cannot be worked with when it is its turn.
    fn undelivered(&mut self, message: MessageId, why: Option<&str>) {
        let Some(row) = self.floor.message_mut(message) else { return };
        row.state = MessageState::Undelivered;
        row.deadline = None;
        let held = row.held.take();
        let why = why.or(held.as_deref()).unwrap_or(reasons::time_is_over());
        let (id, to, prompt, first_line) = (row.job, row.to, row.prompt, first_line(row));
        self.note_job(NoteKind::MessageUndelivered, id, notes::undelivered(&first_line, why));
        let reason = reasons::message_not_taken(&first_line, why);
        let reviewer = self.job(id).and_then(|j| j.reviewer.session).filter(|e| Some(*e) == to);
        if let Some(reviewer) = reviewer {
            self.reviewer_failed(id, reviewer, &reason);
            return;
        }
        let Some(job) = self.job(id) else { return };
        let (state, current) = (job.state.clone(), job.session.filter(|e| Some(*e) == to));
        match (state, current) {
            (JobState::Working, _) if !prompt => self.block(id, &reason),
            (JobState::Finishing { .. } | JobState::Ended { .. }, _) => {}
            (state, Some(epoch)) if prompt => self.never_began(id, epoch, &state, &reason),
            _ => {}
        }
    }

    /// A session that was not given its first prompt is told nothing else: another may begin, when
    /// there is something for it to do.
    fn never_began(&mut self, id: JobId, epoch: Epoch, state: &JobState, reason: &str) {
        self.replace(id, epoch);
        match state {
            JobState::Working => self.respawn(id, reason),
            // The answer starts one.
            JobState::NeedsHuman { .. } => {}
            _ => self.forget_unread(id),
        }
    }

    pub(in crate::step) fn forget_unread(&mut self, id: JobId) {
        for message in self.unread(id) {
            self.superseded(message);
        }
    }

    pub(super) fn superseded(&mut self, message: MessageId) {
        let Some(row) = self.floor.messages.remove(Sessions(()), &message) else { return };
        self.note_job(NoteKind::MessageSuperseded, row.job, first_line(&row));
    }

    /// Ended jobs keep no messages.
    pub(in crate::step) fn forget_messages(&mut self, id: JobId) {
        self.forget_unread(id);
        let mine: Vec<MessageId> = self.floor.messages.iter().filter(|m| m.job == id).map(|m| m.id).collect();
        for message in mine {
            self.floor.messages.remove(Sessions(()), &message);
        }
    }

    /// Time that passed while nobody was there counts against no agent.
    pub(in crate::step) fn messages_resumed(&mut self) {
        let waiting = |m: &&Message| m.state == MessageState::Queued && m.deadline.is_some();
        let messages: Vec<(MessageId, JobId)> =
            self.floor.messages.iter().filter(waiting).map(|m| (m.id, m.job)).collect();
        for (id, job) in messages {
            let at = self.now + self.policy_of(job).delivery_timeout;
            if let Some(message) = self.floor.message_mut(id) {
                message.deadline = message.deadline.max(Some(at));
            }
        }
    }

    /// Unread messages wait for as long as the job has no agent.
    pub(in crate::step) fn unread_can_wait(&mut self, id: JobId) {
        for message in self.unread(id) {
            if let Some(message) = self.floor.message_mut(message) {
                message.deadline = None;
            }
        }
    }

    /// A message was not taken in time: it is given up, unless its session has a good reason.
    pub(in crate::step) fn message_due(&mut self, id: MessageId) {
        let Some(message) = self.floor.messages.get(&id) else { return };
        match self.patience(message.to, message.queued_at) {
            Some(at) => {
                if let Some(message) = self.floor.message_mut(id) {
                    message.deadline = Some(at);
                }
            }
            None => self.undelivered(id, None),
        }
    }
}
