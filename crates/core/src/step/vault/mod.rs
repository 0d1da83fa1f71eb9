//! The vault: operations that are dangerous or cannot be undone, and who decides about them. Owns requests.
//!
//! Others may ask it to take a request in, to take a person's word on one, and tell it what became of a fire.
//!
//! Invariants:
//! - What needs a person is fired only after a person's word on exactly that: the type as it is declared, the command and
//!   the payload. If the type is declared otherwise by then, people are asked again.
//! - Each fire is ordered once. What was cut short is not ordered again unless a person says so.
//! - Every request ends: a question is open for two days at the most. Whoever asked is told.

mod asked;
mod decided;
mod fired;

pub use asked::may_request;
pub use decided::may_decide;

use super::Turn;
use crate::effect::{Action, Fire};
use crate::event::NoteKind;
use crate::ids::{ProjectName, QuestionId, RequestNumber};
use crate::state::{Doubt, Request, RequestEnd, RequestEvent, RequestEventKind, RequestState};
use crate::text::one_line;
use crate::texts::vault;
use std::time::Duration;

/// The token required to change requests.
pub struct Vault(());

/// How long people have to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(48 * 3600);
/// However short the configured time, people are not told all the time.
const AGAIN_MIN: Duration = Duration::from_secs(60);
/// What may come before and after a fire: others of its type, and a daemon that starts.
const HEARD_WITHIN: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A person may fire the same again and again; what they did first and last is kept.
const DEEDS_MAX: usize = 100;
const WORDS_CHARS_MAX: usize = 500;

impl Turn<'_> {
    fn edit_request(&mut self, number: RequestNumber, change: impl FnOnce(&mut Request)) {
        if let Some(request) = self.floor.requests.edit(Vault(()), &number) {
            change(request);
        }
    }

    fn did(&mut self, number: RequestNumber, what: RequestEventKind, by: &str, from: &str, note: &str) {
        let words = |text: &str| one_line(text, WORDS_CHARS_MAX);
        let deed = RequestEvent { at: self.now, what, by: words(by), from: words(from), note: words(note) };
        self.edit_request(number, |request| {
            if request.history.len() >= DEEDS_MAX {
                request.history.remove(DEEDS_MAX / 2);
            }
            request.history.push(deed);
        });
    }

    fn note_request(&mut self, kind: NoteKind, number: RequestNumber, text: String) {
        let Some(project) = self.floor.requests.get(&number).map(|request| request.project.clone()) else {
            return;
        };
        self.note(kind, &project, None, text);
    }

    /// Asks people about it.
    fn hold(&mut self, number: RequestNumber, doubt: Doubt) {
        let now = self.now;
        let Some(project) = self.floor.requests.get(&number).map(|request| request.project.clone()) else {
            return;
        };
        let question = QuestionId(self.number(|c| &mut c.question));
        let again_at = now + self.policy(&project).renotify_after.max(AGAIN_MIN);
        let state = RequestState::Waiting { question, doubt, since: now, due: now + ANSWER_WITHIN, again_at };
        self.edit_request(number, |request| request.state = state);
        self.did(number, RequestEventKind::Held, "", "", "");
        self.tell_that_it_waits(number);
    }

    fn tell_that_it_waits(&mut self, number: RequestNumber) {
        let text = self.floor.requests.get(&number).map(vault::waits);
        if let Some(text) = text {
            self.note_request(NoteKind::NeedsHuman, number, text);
        }
    }

    /// Orders it to be carried out.
    fn fire(&mut self, number: RequestNumber) {
        let now = self.now;
        let Some(request) = self.floor.requests.edit(Vault(()), &number) else { return };
        let Some(spec) = request.spec.clone() else { return };
        request.fires += 1;
        let (attempt, told_at) = (request.fires, now + spec.timeout + HEARD_WITHIN);
        request.state = RequestState::Firing { attempt, since: now, told_at, told: false };
        request.output.clear();
        let fire = Fire {
            project: request.project.clone(),
            request: number,
            attempt,
            r#type: request.r#type.clone(),
            spec,
            command: request.command.clone(),
            payload: request.payload.clone(),
            by: request.by.clone(),
        };
        let text = vault::is_fired(request);
        self.did(number, RequestEventKind::Fired, "", "", "");
        self.note_request(NoteKind::Vault, number, text);
        self.act(Action::Fire(fire));
    }

    /// Whoever asked is told, if they are still there.
    fn end_request(&mut self, number: RequestNumber, end: RequestEnd, reason: &str) {
        let (at, reason) = (self.now, one_line(reason, WORDS_CHARS_MAX));
        let Some(request) = self.floor.requests.edit(Vault(()), &number) else { return };
        request.state = RequestState::Ended { end, reason, at };
        let (request, project, job) = (request.clone(), request.project.clone(), request.job);
        self.did(number, RequestEventKind::Ended, "", "", end.name());
        let kind = if end == RequestEnd::Failed { NoteKind::Escalation } else { NoteKind::Vault };
        self.note_request(kind, number, vault::ended(&request));
        let there = job.filter(|job| self.job(*job).is_some_and(crate::state::Job::is_live));
        if let Some(job) = there {
            self.inform(job, &vault::to_whoever_asked(&request));
        }
        self.leaves_something_behind(&project);
    }

    /// It has waited for long: people are reminded, or it is over.
    pub(super) fn request_due(&mut self, number: RequestNumber) {
        let now = self.now;
        let Some(request) = self.floor.requests.get(&number) else { return };
        let again = self.policy(&request.project).escalate_after.max(AGAIN_MIN);
        match request.state.clone() {
            RequestState::Waiting { due, .. } if due <= now => {
                let text = vault::nobody_answered_on(number);
                self.note_request(NoteKind::Escalation, number, text);
                self.end_request(number, RequestEnd::Rejected, vault::nobody_answered());
            }
            RequestState::Waiting { .. } => {
                self.edit_request(number, |request| {
                    if let RequestState::Waiting { again_at, .. } = &mut request.state {
                        *again_at = now + again;
                    }
                });
                self.tell_that_it_waits(number);
            }
            RequestState::Firing { .. } => {
                self.edit_request(number, |request| {
                    if let RequestState::Firing { told_at, told, .. } = &mut request.state {
                        (*told_at, *told) = (now + DAY, true);
                    }
                });
                self.note_request(NoteKind::Escalation, number, vault::not_heard_of(number));
            }
            RequestState::Ended { .. } => {}
        }
    }

    pub(super) fn shelve_request(&mut self, number: RequestNumber) {
        self.floor.requests.shelve(Vault(()), &number);
    }
}

/// A request of that project.
fn of_project<'a>(
    floor: &'a crate::state::Floor,
    project: &ProjectName,
    number: RequestNumber,
) -> Option<&'a Request> {
    floor.requests.get(&number).filter(|request| request.project == *project)
}
