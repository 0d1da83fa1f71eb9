//! Requests to the vault: what is asked for, where each stands, and who said what of it.

use crate::time::moment;
use serde::Serialize;
use shopfloor_core::ids::{
    Assignment, IssueNumber, ProjectName, RequestNumber, RequestType, Role, RunNumber,
};
use shopfloor_core::state::{Doubt, Floor, Request, RequestEvent, RequestState};
use shopfloor_core::texts::vault;
use shopfloor_core::vault::Risk;

#[derive(Serialize)]
pub struct RequestView {
    pub request: RequestNumber,
    pub project: ProjectName,
    pub r#type: RequestType,
    /// held, firing, unknown (it was cut short), not_begun, done, failed, rejected.
    pub state: &'static str,
    /// What is in its way, or how its end came about.
    pub why: Option<String>,
    pub risk: Option<Risk>,
    pub reversible: Option<bool>,
    pub requires_human: Option<bool>,
    pub idempotent: Option<bool>,
    /// What is run, and where; `None`: in the project's checkout.
    pub command: Vec<String>,
    pub cwd: Option<String>,
    /// The names of the variables that it gets.
    pub secrets: Vec<String>,
    pub payload: serde_json::Value,
    pub reason: String,
    pub by: String,
    /// As what the agent asked, and what it worked on; `None`: a person asked.
    pub role: Option<Role>,
    pub issue: Option<IssueNumber>,
    pub run: Option<RunNumber>,
    pub asked_at: String,
    /// The open question, what can be answered, and until when.
    pub question: Option<String>,
    pub options: Vec<&'static str>,
    pub deadline: Option<String>,
    pub fires: u32,
    pub output: Option<String>,
    pub history: Vec<DeedView>,
}

#[derive(Serialize)]
pub struct DeedView {
    pub at: String,
    /// asked, held, approved, rejected, retried, fired, ended.
    pub what: &'static str,
    /// `None`: the factory.
    pub by: Option<String>,
    /// The interface that it came through.
    pub from: Option<String>,
    pub note: Option<String>,
}

impl From<&Request> for RequestView {
    fn from(request: &Request) -> RequestView {
        let spec = request.spec.as_ref();
        let deadline = match request.state {
            RequestState::Waiting { due, .. } => Some(due),
            _ => None,
        };
        // Of what is not JSON, the text.
        let payload =
            serde_json::from_str(&request.payload).unwrap_or_else(|_| request.payload.clone().into());
        RequestView {
            request: request.number,
            project: request.project.clone(),
            r#type: request.r#type.clone(),
            state: request.state_name(),
            why: why(request),
            risk: spec.map(|spec| spec.risk),
            reversible: spec.map(|spec| spec.reversible),
            requires_human: spec.map(|spec| spec.requires_human),
            idempotent: spec.map(|spec| spec.idempotent),
            command: request.command.clone(),
            cwd: spec.and_then(|spec| spec.cwd.clone()),
            secrets: spec.map(|spec| spec.secrets.clone()).unwrap_or_default(),
            payload,
            reason: request.reason.clone(),
            by: request.by.clone(),
            role: request.role,
            issue: request.on.and_then(Assignment::number),
            run: request.on.and_then(Assignment::run),
            asked_at: moment(request.asked_at),
            question: request.question().map(|(question, _)| format!("q{question}")),
            options: options(request),
            deadline: deadline.map(moment),
            fires: request.fires,
            output: given(&request.output),
            history: request.history.iter().map(DeedView::from).collect(),
        }
    }
}

impl From<&RequestEvent> for DeedView {
    fn from(deed: &RequestEvent) -> DeedView {
        DeedView {
            at: moment(deed.at),
            what: deed.what.name(),
            by: given(&deed.by),
            from: given(&deed.from),
            note: given(&deed.note),
        }
    }
}

fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

pub fn options(request: &Request) -> Vec<&'static str> {
    let options = request.question().map(|(_, doubt)| doubt.options());
    options.into_iter().flatten().map(shopfloor_core::state::Decision::name).collect()
}

/// What is in its way, or how its end came about.
pub fn why(request: &Request) -> Option<String> {
    match &request.state {
        RequestState::Waiting { doubt: Doubt::Approval { changed: false }, .. } => {
            Some("a person".to_owned())
        }
        RequestState::Waiting { doubt: Doubt::Approval { changed: true }, .. } => {
            Some("a person, again: its type was changed".to_owned())
        }
        RequestState::Waiting { doubt: Doubt::CutShort, .. } => {
            Some("a person: it was cut short, and may have happened".to_owned())
        }
        RequestState::Waiting { doubt: Doubt::NotBegun { why }, .. } => Some(why.clone()),
        RequestState::Firing { .. } => None,
        RequestState::Ended { reason, .. } => given(reason),
    }
}

/// One line: what waits, and for whom.
pub fn in_short(request: &Request) -> String {
    let (Request { number, r#type, .. }, by) = (request, vault::who(request));
    match why(request) {
        Some(why) => format!(
            "request {number} for {type}, by {by}, waits for {}: `shopfloor vault show {number}`",
            match request.question() {
                Some((_, Doubt::NotBegun { .. })) => format!("a person, since it could not be begun: {why}"),
                _ => why,
            }
        ),
        None => format!("request {number} for {type}, by {by}, is carried out"),
    }
}

/// The requests of those projects that are open and, at most so many, the newest that are over; oldest first.
pub fn all<'a>(floor: &'a Floor, only: Option<&ProjectName>, ended_max: usize) -> Vec<&'a Request> {
    let mine = floor.requests.iter().filter(|r| only.is_none_or(|only| *only == r.project));
    let (mut open, ended): (Vec<&Request>, Vec<&Request>) = mine.partition(|r| r.is_live());
    let mut all = ended[ended.len().saturating_sub(ended_max)..].to_vec();
    all.append(&mut open);
    all
}
