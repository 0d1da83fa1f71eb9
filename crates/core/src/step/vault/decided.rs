//! What people say of requests. The first word wins.

use super::of_project;
use crate::event::{NoteKind, Word};
use crate::ids::{ProjectName, QuestionId, RequestNumber};
use crate::state::{Decision, Doubt, Floor, RequestEnd, RequestEventKind, RequestState};
use crate::step::Turn;
use crate::texts::vault;

/// Whether a person may say that of a request now; `question`: the one they answer.
pub fn may_decide(
    floor: &Floor,
    project: &ProjectName,
    number: RequestNumber,
    decision: Decision,
    question: Option<QuestionId>,
) -> Result<(), String> {
    let request = of_project(floor, project, number).ok_or_else(|| vault::no_request(number))?;
    match &request.state {
        RequestState::Waiting { question: asked, .. } if question.is_some_and(|meant| meant != *asked) => {
            Err(vault::another_question(number, *asked))
        }
        RequestState::Waiting { question: asked, doubt: Doubt::Approval { changed: true }, .. }
            if decision == Decision::Approve && question.is_none() =>
        {
            Err(vault::is_another_by_now(number, *asked))
        }
        RequestState::Waiting { doubt, .. } if doubt.options().contains(&decision) => Ok(()),
        // Nothing has been heard of it for long.
        RequestState::Firing { told: true, .. } if decision == Decision::Reject => Ok(()),
        RequestState::Ended { end: RequestEnd::Failed, .. } if decision == Decision::Retry => Ok(()),
        _ => Err(vault::cannot_be(request, decision)),
    }
}

impl Turn<'_> {
    pub(in crate::step) fn vault_decided(
        &mut self,
        project: &ProjectName,
        number: RequestNumber,
        word: &Word,
    ) {
        if let Err(why) = may_decide(self.floor, project, number, word.decision, word.question) {
            return self.note(NoteKind::StaleSignal, project, None, why);
        }
        let what = match word.decision {
            Decision::Approve => RequestEventKind::Approved,
            Decision::Reject => RequestEventKind::Rejected,
            Decision::Retry => RequestEventKind::Retried,
        };
        self.did(number, what, &word.by, &word.from, &word.why);
        self.note(NoteKind::Vault, project, None, vault::decided(number, what, word));
        match word.decision {
            Decision::Approve | Decision::Retry => self.fire(number),
            Decision::Reject => self.end_request(number, RequestEnd::Rejected, &vault::rejected_by(word)),
        }
    }

    /// An answer to a question, wherever it was given. Returns whether the question is about a request.
    pub(in crate::step) fn vault_answered(
        &mut self,
        project: &ProjectName,
        question: QuestionId,
        text: &str,
    ) -> bool {
        let Some(request) = self.floor.request_asking(question).filter(|r| r.project == *project) else {
            return false;
        };
        let number = request.number;
        match request.question().and_then(|(_, doubt)| doubt.chosen(text)) {
            Some(decision) => {
                let by = vault::somebody().to_owned();
                let word =
                    Word { decision, by, from: String::new(), question: Some(question), why: String::new() };
                self.vault_decided(project, number, &word);
            }
            None => self.note(NoteKind::StaleSignal, project, None, vault::no_answer(number)),
        }
        true
    }
}
