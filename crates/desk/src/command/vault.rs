//! The vault: what is asked for, and what people say of that.

use super::act::{is_to_be_known, refused};
use super::not_taken;
use crate::{Desk, Error, Exit, Result};
use shopfloor_core::event::{Event, VaultAsk, Word};
use shopfloor_core::ids::{Epoch, ProjectName, QuestionId, RequestNumber, RequestType};
use shopfloor_core::state::{Decision, Request, RequestState, Shelf};
use shopfloor_core::step::{may_ask_the_vault, may_decide, may_request};
use shopfloor_core::texts::vault;
use shopfloor_core::vault::Spec;
use std::str::FromStr;

/// Which request is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Request(RequestNumber),
    /// The one that asks that.
    Question(QuestionId),
}

impl FromStr for Which {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let number = |text: &str| text.parse().ok();
        match text.strip_prefix('q') {
            Some(rest) => number(rest).map(|n| Which::Question(QuestionId(n))),
            None => number(text).map(|n| Which::Request(RequestNumber(n))),
        }
        .ok_or_else(|| "the number of a request, or a question such as q3".to_owned())
    }
}

/// What is asked for.
pub struct Wanted {
    pub r#type: RequestType,
    /// As the floor's file declares it.
    pub spec: Option<Spec>,
    pub payload: String,
    pub reason: String,
    /// The session that asks, if it is one.
    pub session: Option<Epoch>,
}

impl Desk {
    /// Asks the vault. What it rejects at once is an error, and on record.
    pub fn ask_vault(&self, project: &ProjectName, wanted: Wanted) -> Result<Request> {
        if wanted.reason.trim().is_empty() {
            return Err(
                Error::usage("the reason is empty").hint("whoever decides about it reads nothing else first")
            );
        }
        if let Err(open) = may_request(self.engine()?.floor(), project) {
            return Err(Error::new(Exit::Busy, vault::too_many(open)));
        }
        let Wanted { r#type, spec, payload, reason, session } = wanted;
        let engine = self.engine()?;
        let before = session.map_or(Ok(()), |epoch| may_ask_the_vault(engine.floor(), epoch));
        let refusal = before.err();
        if let (Some(epoch), Some(why)) = (session, &refusal)
            && !is_to_be_known(engine.floor(), epoch, Some(why))
        {
            return Err(refused(refusal));
        }
        let (by, from) = (self.speaker().name.clone(), self.speaker().from.clone());
        let ask = VaultAsk { r#type, spec, payload, reason, by, from, session };
        let (applied, engine) = self.submit_and_see(&Event::VaultAsked { project: project.clone(), ask })?;
        if refusal.is_some() {
            return Err(refused(refusal));
        }
        if let Some(why) = not_taken(&applied) {
            return Err(Error::new(Exit::Busy, why));
        }
        let request = engine.floor().requests.iter().rfind(|request| request.project == *project).cloned();
        let request = request.ok_or_else(|| Error::failed("the floor has not taken it in"))?;
        match &request.state {
            RequestState::Ended { reason, .. } if request.fires == 0 => {
                let number = request.number;
                Err(Error::usage(vault::refused(number, reason)).hint("nothing was done; it is on record"))
            }
            _ => Ok(request),
        }
    }

    /// A request, also one that ended long ago.
    pub fn request(&self, project: &ProjectName, which: Which) -> Result<Request> {
        let number = match which {
            Which::Request(number) => number,
            Which::Question(question) => {
                let engine = self.engine()?;
                let asking = engine.floor().request_asking(question).cloned();
                return asking.ok_or_else(|| none(format!("no request to the vault asks q{question}")));
            }
        };
        let floor = self.committed_about(&[Shelf::Request(project.clone(), number)])?;
        floor.requests.get(&number).cloned().ok_or_else(|| none(vault::no_request(number)))
    }

    /// A person's word on a request. Returns the request as it is then.
    pub fn decide(
        &self,
        project: &ProjectName,
        which: Which,
        decision: Decision,
        why: String,
    ) -> Result<Request> {
        let request = self.request(project, which)?;
        let question = match which {
            Which::Question(question) => Some(question),
            Which::Request(_) => None,
        };
        let (project, number) = (request.project, request.number);
        let floor = self.committed_about(&[Shelf::Request(project.clone(), number)])?;
        may_decide(&floor, &project, number, decision, question).map_err(|why| {
            Error::failed(why).hint(format!("`shopfloor vault show {number}` shows what can be said"))
        })?;
        let (by, from) = (self.speaker().name.clone(), self.speaker().from.clone());
        let word = Word { decision, by, from, question, why };
        let applied =
            self.submit(&Event::VaultDecided { project: project.clone(), request: number, word })?;
        if not_taken(&applied).is_some() {
            return Err(Error::failed("somebody else answered first"));
        }
        self.request(&project, Which::Request(number))
    }
}

fn none(what: String) -> Error {
    Error::no_such(what).hint("`shopfloor vault list` shows those that are open")
}
