//! What clients ask people, as questions with a number: dialogs, and messages that cannot be typed. They
//! are open as long as the terminal shows them; an answer is recorded, then typed, then reported.
//!
//! Invariants:
//! - An answer is for the dialog that was shown to whoever gave it. It is typed at most once, and only
//!   while that very dialog is up; else it is refused, and the question gets another number.
//! - A dialog that is answered at its terminal closes its question.

use super::Turn;
use crate::delivery::is_same_dialog;
use crate::event::NoteKind;
use crate::ids::{Epoch, JobId, MessageId, QuestionId, Role};
use crate::liveness::State;
use crate::runtime::DialogKind;
use crate::state::{About, AnswerEnd, Answered, JobState, SessionAsk, SessionState, SessionStatus};
use crate::time::Time;
use std::time::Duration;

/// A message that was not typed for this long is told of: a client takes a moment to start, and people
/// one to send what they type.
pub(crate) const HELD_FOR: Duration = Duration::from_secs(20);

impl Turn<'_> {
    /// Opens, fills in or closes the question that a session's status is.
    pub(super) fn mind_dialog(&mut self, id: JobId, epoch: Epoch, status: &SessionStatus) {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        let State::Dialog { kind } = status.state else {
            let is_dialog = |ask: &mut SessionAsk| matches!(ask.about, About::Dialog { .. });
            if let Some(ask) = session.asks.take_if(is_dialog)
                && ask.answer.is_some()
            {
                // Somebody was faster, at its terminal.
                let end = AnswerEnd::Refused { why: "the dialog was gone before it was typed".into() };
                let (question, fingerprint, since) = (ask.id, String::new(), ask.since);
                session.answered = Some(Answered { question, end, fingerprint, since });
            }
            return;
        };
        let shown = status.dialog.clone();
        if let Some(About::Dialog { kind: known_kind, view }) =
            session.asks.as_mut().map(|ask| &mut ask.about)
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
        // What was answered a moment ago, as far as anybody has seen.
        let settled = |done: &Answered| {
            let same = shown.as_ref().is_none_or(|view| view.fingerprint == done.fingerprint);
            done.end == AnswerEnd::Typed && done.since == status.since && same
        };
        if session.answered.as_ref().is_some_and(settled) {
            return;
        }
        let (role, tmux) = (session.role, session.tmux.clone());
        let told = session.dialog_told.replace(status.since) == Some(status.since);
        let about = About::Dialog { kind, view: shown };
        let ask = self.open_ask(epoch, about, status.since);
        if !told {
            let shown = matches!(ask.about, About::Dialog { view: Some(_), .. });
            let says = if shown { format!(": {}", ask.summary()) } else { String::new() };
            let waits = match kind {
                DialogKind::Asks => format!("asks something{says}"),
                kind => format!("waits in a dialog ({kind}){says}"),
            };
            let how = format!("`shopfloor answer q{}`, or `shopfloor attach {tmux}`", ask.id);
            self.note_job(NoteKind::NeedsHuman, id, format!("the {role} agent {waits}: {how}"));
        }
    }

    pub(super) fn open_ask(&mut self, epoch: Epoch, about: About, since: Time) -> SessionAsk {
        let id = QuestionId(self.number(|c| &mut c.question));
        let ask = SessionAsk { id, since, about, answer: None };
        if let Some(session) = self.floor.sessions.edit(&epoch) {
            session.asks = Some(ask.clone());
        }
        ask
    }

    /// A person answers what a session's terminal asks. Whether there was such a question.
    pub(super) fn answered_at_terminal(&mut self, id: JobId, text: &str, meant: Option<QuestionId>) -> bool {
        let asks = |s: &&crate::state::Session| {
            let fits = |ask: &SessionAsk| ask.answer.is_none() && meant.is_none_or(|q| q == ask.id);
            s.job == id && s.state == SessionState::Live && s.asks.as_ref().is_some_and(fits)
        };
        let Some(epoch) = self.floor.sessions.iter().find(asks).map(|s| s.epoch) else { return false };
        let Some(session) = self.floor.sessions.edit(&epoch) else { return false };
        let Some(ask) = session.asks.as_mut() else { return false };
        match ask.about {
            About::Dialog { .. } => ask.answer = Some(text.to_owned()),
            About::Chat { .. } => {
                session.asks = None;
                self.answer_in_chat(id, epoch, text);
            }
            About::Held { .. } => {
                session.asks = None;
                self.begin_anew(id, epoch);
            }
        }
        true
    }

    /// What became of an answer at its terminal.
    pub(super) fn dialog_answered(&mut self, epoch: Epoch, question: QuestionId, end: &AnswerEnd) {
        let Some(session) = self.floor.sessions.edit(&epoch) else { return };
        let Some(ask) = session.asks.clone().filter(|ask| ask.id == question) else {
            // The dialog was seen to be gone before this was told.
            if let Some(known) = session.answered.as_mut().filter(|known| known.question == question) {
                known.end = end.clone();
            }
            return;
        };
        let About::Dialog { view, .. } = &ask.about else { return };
        let fingerprint = view.as_ref().map(|view| view.fingerprint.clone()).unwrap_or_default();
        session.answered = Some(Answered { question, end: end.clone(), fingerprint, since: ask.since });
        session.asks = None;
        let id = session.job;
        match end {
            AnswerEnd::Typed => {
                let said = ask.answer.as_deref().unwrap_or_default();
                self.note_job(NoteKind::NeedsHuman, id, format!("q{question} was answered: {said}"));
            }
            AnswerEnd::Refused { why } => {
                // It is asked anew: the answer was to what is there no more, or may be.
                let again = self.open_ask(epoch, ask.about.clone(), ask.since).id;
                let text = format!("the answer to q{question} was not typed: {why}; it is q{again} now");
                self.note_job(NoteKind::NeedsHuman, id, text);
            }
        }
    }

    /// When a message that is held is told of, unless it is typed before.
    pub(super) fn tell_of_held(&mut self, message: MessageId) {
        let Some(row) = self.floor.messages.edit(&message).filter(|row| !row.held_told) else { return };
        row.held_told = true;
        let (id, epoch, why) = (row.job, row.to, row.held.clone());
        let first_line = super::message::first_line(row);
        let (Some(epoch), Some(why)) = (epoch, why) else { return };
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let waits = matches!(session.status.as_ref().map(|s| &s.state), Some(State::LimitedUntil { .. }));
        let asks = session.asks.as_ref().is_some_and(SessionAsk::stops_it);
        if asks || waits || self.is_held(epoch) {
            return;
        }
        let (role, tmux) = (session.role, session.tmux.clone());
        let about = About::Held { message, first_line, why };
        let ask = self.open_ask(epoch, about, self.now);
        let text = format!("the {role} agent is not told: {} (`shopfloor attach {tmux}`)", ask.text());
        self.note_job(NoteKind::NeedsHuman, id, text);
    }

    /// What is in a message's way changed.
    pub(super) fn mind_held(&mut self, message: MessageId, why: Option<&str>) {
        let now = self.now;
        let Some(row) = self.floor.messages.edit(&message) else { return };
        if why.is_none() {
            row.held_since = None;
            row.held_told = false;
        } else {
            row.held_since = row.held_since.or(Some(now));
        }
        let to = row.to;
        let Some(session) = to.and_then(|epoch| self.floor.sessions.edit(&epoch)) else { return };
        let Some(ask) = session.asks.as_mut() else { return };
        if let About::Held { message: known, why: told, .. } = &mut ask.about
            && *known == message
        {
            match why {
                Some(why) => why.clone_into(told),
                None => session.asks = None,
            }
        }
    }

    /// A person wants the session of a message that cannot be typed started anew. It is nobody's fault.
    fn begin_anew(&mut self, id: JobId, epoch: Epoch) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        match session.role {
            Role::Dev => {
                self.replace(id, epoch);
                if self.job(id).is_some_and(|j| j.state == JobState::Working) {
                    self.start_successor(id);
                }
            }
            Role::Review => {
                let ending = self.end_session(epoch).is_some();
                if let Some(job) = self.floor.jobs.edit(&id) {
                    job.review_attempts = job.review_attempts.saturating_sub(1);
                    job.reviewer_wanted = ending;
                }
            }
        }
    }
}
