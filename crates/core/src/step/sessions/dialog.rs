//! What clients ask people, as numbered questions: dialogs, and messages that cannot be typed. They are open for
//! as long as the terminal shows them; an answer is recorded, then typed, then reported.
//!
//! Invariants:
//! - An answer is for the dialog that was shown to whoever gave it. It is typed at most once, and only while that
//!   very dialog is up; otherwise it is refused, and the question gets another number.
//! - A dialog that is answered at its terminal closes its question.

use crate::delivery::is_same_dialog;
use crate::event::NoteKind;
use crate::ids::{Duty, Epoch, JobId, MessageId, QuestionId};
use crate::liveness::State;
use crate::state::{About, AnswerEnd, Answered, JobState, SessionAsk, SessionState, SessionStatus};
use crate::step::Turn;
use crate::texts::people;
use crate::time::Time;
use std::time::Duration;

/// A message that has not been typed for this long is reported: a client takes a moment to start, and people take
/// one to send what they type.
pub(crate) const HELD_FOR: Duration = Duration::from_secs(20);

impl Turn<'_> {
    /// Opens, fills in or closes the question that a session's status amounts to.
    pub(super) fn mind_dialog(&mut self, id: JobId, epoch: Epoch, status: &SessionStatus) {
        let Some(session) = self.floor.session_mut(epoch) else { return };
        let State::Dialog { kind } = status.state else {
            let is_dialog = |ask: &mut SessionAsk| matches!(ask.about, About::Dialog { .. });
            if let Some(ask) = session.asks.open.take_if(is_dialog)
                && ask.answer.is_some()
            {
                // Somebody was faster, at the terminal.
                let end = AnswerEnd::Refused { why: people::dialog_gone().into() };
                let (question, fingerprint, since) = (ask.id, String::new(), ask.since);
                session.asks.answered = Some(Answered { question, end, fingerprint, since });
            }
            return;
        };
        let shown = status.dialog.clone();
        if let Some(About::Dialog { kind: known_kind, view }) =
            session.asks.open.as_mut().map(|ask| &mut ask.about)
        {
            let same = match (&view, &shown) {
                (Some(known), Some(shown)) => is_same_dialog(known, shown),
                _ => true,
            };
            if same {
                *known_kind = kind;
                *view = shown.or(view.take());
                return;
            }
        }
        // It was answered a moment ago, as far as anybody has seen.
        let settled = |done: &Answered| {
            let same = shown.as_ref().is_none_or(|view| view.fingerprint == done.fingerprint);
            done.end == AnswerEnd::Typed && done.since == status.since && same
        };
        if session.asks.answered.as_ref().is_some_and(settled) {
            return;
        }
        let (role, tmux) = (session.role, session.tmux.clone());
        let told = session.asks.dialog_told.replace(status.since) == Some(status.since);
        let about = About::Dialog { kind, view: shown };
        let ask = self.open_ask(epoch, about, status.since);
        if !told {
            self.note_job(NoteKind::NeedsHuman, id, people::waits_in_dialog(role, kind, &ask, &tmux));
        }
    }

    pub(super) fn open_ask(&mut self, epoch: Epoch, about: About, since: Time) -> SessionAsk {
        let id = QuestionId(self.number(|c| &mut c.question));
        let ask = SessionAsk { id, since, about, answer: None };
        if let Some(session) = self.floor.session_mut(epoch) {
            session.asks.open = Some(ask.clone());
        }
        ask
    }

    /// A person answers what a session's terminal asks. Returns whether there was such a question.
    pub(in crate::step) fn answered_at_terminal(
        &mut self,
        id: JobId,
        text: &str,
        meant: Option<QuestionId>,
    ) -> bool {
        let asks = |s: &&crate::state::Session| {
            let fits = |ask: &SessionAsk| ask.answer.is_none() && meant.is_none_or(|q| q == ask.id);
            s.job == id && s.state == SessionState::Live && s.asks.open.as_ref().is_some_and(fits)
        };
        let Some(epoch) = self.floor.sessions.iter().find(asks).map(|s| s.epoch) else { return false };
        let Some(session) = self.floor.session_mut(epoch) else { return false };
        let Some(ask) = session.asks.open.as_mut() else { return false };
        match ask.about {
            About::Dialog { .. } => ask.answer = Some(text.to_owned()),
            About::Chat { .. } => {
                session.asks.open = None;
                self.answer_in_chat(id, epoch, text);
            }
            About::Held { .. } => {
                session.asks.open = None;
                self.begin_anew(id, epoch);
            }
        }
        true
    }

    /// What became of an answer at the terminal.
    pub(in crate::step) fn dialog_answered(&mut self, epoch: Epoch, question: QuestionId, end: &AnswerEnd) {
        let Some(session) = self.floor.session_mut(epoch) else { return };
        let Some(ask) = session.asks.open.clone().filter(|ask| ask.id == question) else {
            // The dialog was seen to be gone before this was reported.
            if let Some(known) = session.asks.answered.as_mut().filter(|known| known.question == question) {
                known.end = end.clone();
            }
            return;
        };
        let About::Dialog { view, .. } = &ask.about else { return };
        let fingerprint = view.as_ref().map(|view| view.fingerprint.clone()).unwrap_or_default();
        session.asks.answered = Some(Answered { question, end: end.clone(), fingerprint, since: ask.since });
        session.asks.open = None;
        let id = session.job;
        match end {
            AnswerEnd::Typed => {
                let said = ask.answer.as_deref().unwrap_or_default();
                self.note_job(NoteKind::NeedsHuman, id, people::answered(question, said));
            }
            AnswerEnd::Refused { why } => {
                // It is asked again: what the answer was for is gone, or may be.
                let again = self.open_ask(epoch, ask.about.clone(), ask.since).id;
                let text = people::answer_not_typed(question, why, again);
                self.note_job(NoteKind::NeedsHuman, id, text);
            }
        }
    }

    /// Reports a message that has been held for long, unless it is typed before.
    pub(in crate::step) fn tell_of_held(&mut self, message: MessageId) {
        let Some(row) = self.floor.message_mut(message).filter(|row| !row.held_told) else { return };
        row.held_told = true;
        let (id, epoch, why) = (row.job, row.to, row.held.clone());
        let first_line = super::message::first_line(row);
        let (Some(epoch), Some(why)) = (epoch, why) else { return };
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let waits = matches!(session.status.as_ref().map(|s| &s.state), Some(State::LimitedUntil { .. }));
        let asks = session.asks.open.as_ref().is_some_and(SessionAsk::stops_it);
        if asks || waits || self.is_held(epoch) {
            return;
        }
        let (role, tmux) = (session.role, session.tmux.clone());
        let about = About::Held { message, first_line, why };
        let ask = self.open_ask(epoch, about, self.now);
        let text = people::cannot_be_told(role, &ask, &tmux);
        self.note_job(NoteKind::NeedsHuman, id, text);
    }

    /// What is in a message's way has changed.
    pub(super) fn mind_held(&mut self, message: MessageId, why: Option<&str>) {
        let now = self.now;
        let Some(row) = self.floor.message_mut(message) else { return };
        if why.is_none() {
            row.held_since = None;
            row.held_told = false;
        } else {
            row.held_since = row.held_since.or(Some(now));
        }
        let to = row.to;
        let Some(session) = to.and_then(|epoch| self.floor.session_mut(epoch)) else { return };
        let Some(ask) = session.asks.open.as_mut() else { return };
        if let About::Held { message: known, why: told, .. } = &mut ask.about
            && *known == message
        {
            match why {
                Some(why) => why.clone_into(told),
                None => session.asks.open = None,
            }
        }
    }

    /// A person wants to restart a session because a message to it cannot be typed. It is nobody's fault.
    fn begin_anew(&mut self, id: JobId, epoch: Epoch) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        match session.role.duty() {
            Duty::Develop => {
                self.replace(id, epoch);
                if self.job(id).is_some_and(|j| j.state == JobState::Working) {
                    self.start_successor(id);
                }
            }
            Duty::Review => {
                let ending = self.end_session(epoch).is_some();
                if let Some(reviewer) = self.reviewer_mut(id) {
                    reviewer.attempts = reviewer.attempts.saturating_sub(1);
                    reviewer.wanted = ending;
                }
            }
        }
    }
}
