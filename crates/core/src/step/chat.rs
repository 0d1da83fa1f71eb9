//! An agent that ends its turn with a question and no phase asks in its chat, where nobody is. What it asks
//! is shown with a number, at once, and can be answered; the agent is told as ever that nobody reads there,
//! and how to ask. One that insists is taken at its word: then its question is one to people.

use super::Turn;
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, MessageId, Role};
use crate::phase::Ask;
use crate::state::{About, JobState, SessionAsk, SessionStatus};
use crate::text::{head, neutralise, one_line};

const ANSWER_BYTES_MAX: usize = 8192;

const REMINDER: &str = "PHASE missing\nYou ended your turn with a question, but nobody reads this chat. If a person has to decide, run `shopfloor phase needs_human --detail \"the question\"` and end your turn: the answer comes as your next prompt. Else decide yourself and go on; commit your work, then signal a phase: awaiting_ci, awaiting_review, done or failed.";

impl Turn<'_> {
    /// Opens or closes the question that an agent at rest asks in its chat. Whatever else its terminal
    /// asks comes first.
    pub(super) fn mind_chat(&mut self, id: JobId, epoch: Epoch, status: &SessionStatus) {
        let its_turn = self.is_its_turn(id, epoch);
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        if session.asks.as_ref().is_some_and(SessionAsk::stops_it) {
            return;
        }
        let known = session.asks.take();
        let Some(text) = status.question.clone().filter(|_| its_turn) else { return };
        if matches!(&known, Some(SessionAsk { about: About::Chat { text: asked }, .. }) if *asked == text) {
            session.asks = known;
            return;
        }
        let role = session.role;
        let ask = self.open_ask(epoch, About::Chat { text }, status.since);
        let says = one_line(&ask.text(), 300);
        let how = format!("it is told that nobody reads there; `shopfloor answer q{}` answers", ask.id);
        self.note_job(
            NoteKind::AgentStatus,
            id,
            format!("the {role} agent asks in its chat: {says} ({how})"),
        );
    }

    /// Whether it is on this session to do something.
    pub(super) fn is_its_turn(&self, id: JobId, epoch: Epoch) -> bool {
        match self.floor.sessions.get(&epoch).map(|s| s.role) {
            Some(Role::Dev) => self.job(id).is_some_and(|j| j.state == JobState::Working),
            Some(Role::Review) => self.owes_review(epoch),
            None => false,
        }
    }

    /// It stopped with a question: it is told how to ask, and after that people are asked.
    pub(super) fn asked_without_phase(&mut self, id: JobId, epoch: Epoch, question: &str) {
        let max = self.policy_of(id).reminders_max;
        let told = self.job(id).is_some_and(|job| job.reminders >= max);
        if told && !self.reminder_is_due(id) {
            if let Some(session) = self.floor.sessions.edit(&epoch) {
                session.asks = None;
            }
            self.ask(id, question, &Ask::default());
        } else {
            self.remind(id, REMINDER, "the agent stopped without a phase");
        }
    }

    /// A person answers: then there is nothing left to remind it of.
    pub(super) fn answer_in_chat(&mut self, id: JobId, epoch: Epoch, text: &str) {
        let answer = format!("Answer: {}", head(&neutralise(text), ANSWER_BYTES_MAX));
        let reminders = |m: &&crate::state::Message| {
            m.to == Some(epoch) && m.reminder && m.state == crate::state::MessageState::Queued
        };
        let moot: Vec<MessageId> = self.floor.messages.iter().filter(reminders).map(|m| m.id).collect();
        moot.into_iter().for_each(|message| self.superseded(message));
        match self.floor.sessions.get(&epoch).map(|s| s.role) {
            Some(Role::Dev) => self.tell(id, &answer),
            _ => self.queue_to(id, epoch, &answer),
        }
    }
}
