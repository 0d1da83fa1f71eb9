//! An agent that ends its turn with a question and no phase asks in its chat, where nobody reads. Its question is
//! shown with a number, at once, and can be answered; the agent is told as usual that nobody reads there, and how
//! to ask. If it insists, it is taken at its word: its question is then put to people.

use crate::event::NoteKind;
use crate::ids::{Duty, Epoch, JobId, MessageId};
use crate::phase::Ask;
use crate::state::{About, JobState, SessionAsk, SessionStatus};
use crate::step::Turn;
use crate::text::{head, neutralise, one_line};
use crate::texts::{agents, people, reasons};

const ANSWER_BYTES_MAX: usize = 8192;

impl Turn<'_> {
    /// Opens or closes the question that an agent at rest asks in its chat. Whatever else its terminal
    /// asks comes first.
    pub(super) fn mind_chat(&mut self, id: JobId, epoch: Epoch, status: &SessionStatus) {
        let its_turn = self.is_its_turn(id, epoch);
        let Some(session) = self.floor.session_mut(epoch) else { return };
        if session.asks.open.as_ref().is_some_and(SessionAsk::stops_it) {
            return;
        }
        let known = session.asks.open.take();
        let Some(text) = status.question.clone().filter(|_| its_turn) else { return };
        if matches!(&known, Some(SessionAsk { about: About::Chat { text: asked }, .. }) if *asked == text) {
            session.asks.open = known;
            return;
        }
        let role = session.role;
        let ask = self.open_ask(epoch, About::Chat { text }, status.since);
        let says = one_line(&ask.text(), 300);
        self.note_job(NoteKind::AgentStatus, id, people::asks_in_chat(role, &ask, &says));
    }

    /// Whether it is up to this session to act.
    pub(super) fn is_its_turn(&self, id: JobId, epoch: Epoch) -> bool {
        match self.floor.sessions.get(&epoch).map(|s| s.role.duty()) {
            Some(Duty::Develop) => self.job(id).is_some_and(|j| j.state == JobState::Working),
            Some(Duty::Review) => self.owes_review(epoch),
            None => false,
        }
    }

    /// It stopped with a question: it is told how to ask; after that, people are asked.
    pub(super) fn asked_without_phase(&mut self, id: JobId, epoch: Epoch, question: &str) {
        let max = self.policy_of(id).reminders_max;
        let told = self.job(id).is_some_and(|job| job.rounds.reminders >= max);
        if told && !self.reminder_is_due(id) {
            if let Some(session) = self.floor.session_mut(epoch) {
                session.asks.open = None;
            }
            self.ask(id, question, &Ask::default());
        } else {
            self.remind(id, &agents::nobody_reads_the_chat(), reasons::no_phase());
        }
    }

    /// A person answers: then there is nothing left to remind the agent of.
    pub(super) fn answer_in_chat(&mut self, id: JobId, epoch: Epoch, text: &str) {
        let answer = agents::answer(&head(&neutralise(text), ANSWER_BYTES_MAX));
        let reminders = |m: &&crate::state::Message| {
            m.to == Some(epoch) && m.reminder && m.state == crate::state::MessageState::Queued
        };
        let moot: Vec<MessageId> = self.floor.messages.iter().filter(reminders).map(|m| m.id).collect();
        moot.into_iter().for_each(|message| self.superseded(message));
        match self.floor.sessions.get(&epoch).map(|s| s.role.duty()) {
            Some(Duty::Develop) => self.tell(id, &answer),
            _ => self.queue_to(id, epoch, &answer),
        }
    }
}
