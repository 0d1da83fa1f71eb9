//! Messages to agents, and what becomes of them. A message is queued here and done when its agent
//! took it; a session's death hands what it left to its successor; a deadline reports the rest.

use super::Turn;
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{Epoch, IssueNumber, JobId, MessageId, ProjectName};
use crate::state::{JobState, Message, MessageState, SessionState};
use crate::text::{head, neutralise};

/// The longest message. What is cut says so; the whole is on the forge or in the log.
const MESSAGE_BYTES_MAX: usize = 24 * 1024;

impl Turn<'_> {
    /// Tells the job's agent something it has to act upon, and makes it the agent's turn. Without
    /// a live session a successor is started with the message in its prompt.
    pub(super) fn tell(&mut self, id: JobId, text: &str) {
        let idle = self.policy_of(id).idle_timeout;
        self.queue_message(id, text);
        self.enter(id, JobState::Working, idle);
        self.respawn_if_needed(id);
    }

    /// Tells the job's agent something that leaves the job where it is. If nobody is there to be
    /// told, it is not worth telling.
    pub(super) fn inform(&mut self, id: JobId, text: &str) {
        if self.job(id).is_some_and(|j| j.session.is_some()) {
            self.queue_message(id, text);
        }
    }

    fn queue_message(&mut self, id: JobId, text: &str) {
        let Some(job) = self.job(id) else { return };
        let to = job.session;
        let within = self.policy_of(id).delivery_timeout;
        let message = MessageId(self.number(|c| &mut c.message));
        let text = head(&neutralise(text), MESSAGE_BYTES_MAX);
        let first_line = text.lines().next().unwrap_or("").to_owned();
        self.floor.messages.put(Message {
            id: message,
            job: id,
            to,
            text,
            state: MessageState::Queued,
            queued_at: self.now,
            taken_at: None,
            in_prompt_of: None,
            deadline: to.map(|_| self.now + within),
        });
        self.note_job(NoteKind::MessageQueued, id, first_line);
        if let Some(epoch) = to {
            self.act(Action::RingInbox { epoch, message });
        }
    }

    /// Starts a successor if it is the agent's turn and there is no agent.
    pub(super) fn respawn_if_needed(&mut self, id: JobId) {
        let Some(job) = self.job(id) else { return };
        let there = job
            .session
            .and_then(|e| self.floor.sessions.get(&e))
            .is_some_and(|s| matches!(s.state, SessionState::Live | SessionState::Starting));
        if !there && job.state == JobState::Working {
            self.start_successor(id);
        }
    }

    pub(super) fn unread(&self, id: JobId) -> Vec<MessageId> {
        let queued = |m: &&Message| m.job == id && m.state == MessageState::Queued;
        self.floor.messages.iter().filter(queued).map(|m| m.id).collect()
    }

    /// What a dead session left unread is its successor's.
    pub(super) fn readdress(&mut self, id: JobId, epoch: Epoch) {
        let within = self.policy_of(id).delivery_timeout;
        let deadline = Some(self.now + within);
        for message in self.unread(id) {
            if let Some(message) = self.floor.messages.edit(&message) {
                message.to = Some(epoch);
                message.deadline = deadline;
            }
        }
    }

    pub(super) fn take(&mut self, message: MessageId) {
        let now = self.now;
        if let Some(message) = self.floor.messages.edit(&message) {
            message.state = MessageState::Taken;
            message.taken_at = Some(now);
            message.deadline = None;
        }
    }

    /// A sign of a session: it has read its prompt, and what stood there of its predecessor's.
    pub(super) fn take_prompt(&mut self, epoch: Epoch) {
        let queued = |m: &&Message| m.in_prompt_of == Some(epoch) && m.state == MessageState::Queued;
        let read: Vec<MessageId> = self.floor.messages.iter().filter(queued).map(|m| m.id).collect();
        for message in read {
            self.take(message);
        }
    }

    pub(super) fn message_taken(&mut self, message: MessageId, epoch: Epoch) {
        let Some(row) = self.floor.messages.get(&message) else { return };
        let id = row.job;
        if row.to != Some(epoch) {
            self.stale(id, format!("session {epoch} took message {message}, which is not its own"));
            return;
        }
        if row.state != MessageState::Queued {
            return;
        }
        let first_line = row.text.lines().next().unwrap_or("").to_owned();
        self.take(message);
        self.seen(epoch);
        self.note_job(NoteKind::MessageTaken, id, first_line);
        let idle = self.policy_of(id).idle_timeout;
        if let Some(job) = self.floor.jobs.edit(&id)
            && job.state == JobState::Working
        {
            job.deadline = Some(self.now + idle);
        }
    }

    /// An agent that does not take its messages cannot be worked with when it is its turn.
    pub(super) fn undelivered(&mut self, message: MessageId) {
        let Some(row) = self.floor.messages.edit(&message) else { return };
        row.state = MessageState::Undelivered;
        row.deadline = None;
        let (id, first_line) = (row.job, row.text.lines().next().unwrap_or("").to_owned());
        self.note_job(NoteKind::MessageUndelivered, id, first_line.clone());
        if self.job(id).is_some_and(|j| j.state == JobState::Working) {
            self.block(id, &format!("the agent did not take the message {first_line:?} in time"));
        }
    }

    pub(super) fn answered(&mut self, project: &ProjectName, issue: IssueNumber, text: &str) {
        let Some(job) = self.floor.live_jobs(project).find(|j| j.issue == issue) else { return };
        let id = job.id;
        // First answer wins: a second finds the job at work.
        if matches!(job.state, JobState::NeedsHuman { .. }) {
            self.tell(id, &format!("Answer: {text}"));
        } else {
            self.stale(id, "an answer came, but no question is open");
        }
    }

    pub(super) fn forget_unread(&mut self, id: JobId) {
        for message in self.unread(id) {
            self.superseded(message);
        }
    }

    fn superseded(&mut self, message: MessageId) {
        let Some(row) = self.floor.messages.remove(&message) else { return };
        let first_line = row.text.lines().next().unwrap_or("").to_owned();
        self.note_job(NoteKind::MessageSuperseded, row.job, first_line);
    }

    /// Ended jobs keep no messages.
    pub(super) fn forget_messages(&mut self, id: JobId) {
        self.forget_unread(id);
        let mine: Vec<MessageId> = self.floor.messages.iter().filter(|m| m.job == id).map(|m| m.id).collect();
        for message in mine {
            self.floor.messages.remove(&message);
        }
    }
}
