//! Requests to the vault: operations that are dangerous or cannot be undone, and what became of each.

use super::Floor;
use crate::ids::{Assignment, JobId, ProjectName, QuestionId, RequestNumber, RequestType, Role};
use crate::table::Record;
use crate::time::Time;
use crate::vault::Spec;
use serde::{Deserialize, Serialize};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestEnd {
    Done,
    /// It was fired, and did not work.
    Failed,
    Rejected,
}

impl RequestEnd {
    pub fn name(self) -> &'static str {
        match self {
            RequestEnd::Done => "done",
            RequestEnd::Failed => "failed",
            RequestEnd::Rejected => "rejected",
        }
    }
}

/// What people are asked about a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Doubt {
    /// Whether it may be fired.
    Approval {
        /// Its type was declared otherwise when it was last asked about, or asked for.
        #[serde(default)]
        changed: bool,
    },
    /// It was begun and cut short: it may have happened.
    CutShort,
    /// It could not be begun.
    NotBegun { why: String },
}

/// A person's word on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Reject,
    /// Fire it again.
    Retry,
}

impl Decision {
    pub fn name(self) -> &'static str {
        match self {
            Decision::Approve => "approve",
            Decision::Reject => "reject",
            Decision::Retry => "retry",
        }
    }
}

impl Doubt {
    /// What can be answered.
    pub fn options(&self) -> [Decision; 2] {
        match self {
            Doubt::Approval { .. } => [Decision::Approve, Decision::Reject],
            Doubt::CutShort | Doubt::NotBegun { .. } => [Decision::Retry, Decision::Reject],
        }
    }

    /// The option that an answer names, by its word or its number.
    pub fn chosen(&self, text: &str) -> Option<Decision> {
        let said = text.trim();
        let is_meant = |(number, option): &(usize, Decision)| {
            option.name().eq_ignore_ascii_case(said) || said == number.to_string()
        };
        (1..).zip(self.options()).find(is_meant).map(|(_, option)| option)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RequestState {
    /// A person has to answer.
    Waiting {
        question: QuestionId,
        doubt: Doubt,
        since: Time,
        /// It is rejected then.
        due: Time,
        /// When people are reminded.
        again_at: Time,
    },
    /// It is being carried out.
    Firing {
        /// Which time this is.
        attempt: u32,
        since: Time,
        /// When people are told that nothing has been heard of it, and whether they were.
        told_at: Time,
        #[serde(default)]
        told: bool,
    },
    Ended {
        end: RequestEnd,
        /// Why, or how.
        reason: String,
        at: Time,
    },
}

/// What was done about a request, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestEvent {
    pub at: Time,
    pub what: RequestEventKind,
    /// Empty: the factory.
    #[serde(default)]
    pub by: String,
    /// The interface that it came through.
    #[serde(default)]
    pub from: String,
    #[serde(default)]
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestEventKind {
    Asked,
    /// People were asked.
    Held,
    Approved,
    Rejected,
    Retried,
    Fired,
    Ended,
}

impl RequestEventKind {
    pub fn name(self) -> &'static str {
        match self {
            RequestEventKind::Asked => "asked",
            RequestEventKind::Held => "held",
            RequestEventKind::Approved => "approved",
            RequestEventKind::Rejected => "rejected",
            RequestEventKind::Retried => "retried",
            RequestEventKind::Fired => "fired",
            RequestEventKind::Ended => "ended",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub number: RequestNumber,
    pub project: ProjectName,
    pub r#type: RequestType,
    /// The type as it was declared when this was asked, or last asked about; `None`: it was not.
    #[serde(default)]
    pub spec: Option<Spec>,
    /// JSON that people can read; of what is not, the beginning.
    pub payload: String,
    /// What is run.
    #[serde(default)]
    pub command: Vec<String>,
    pub reason: String,
    /// Who asked, and the job whose agent that was.
    pub by: String,
    #[serde(default)]
    pub job: Option<JobId>,
    /// As what that agent asked, and what it worked on.
    #[serde(default)]
    pub role: Option<Role>,
    #[serde(default)]
    pub on: Option<Assignment>,
    pub asked_at: Time,
    pub state: RequestState,
    /// How often it was fired.
    #[serde(default)]
    pub fires: u32,
    /// What the last fire printed: bounded, and hidden what is secret.
    #[serde(default)]
    pub output: String,
    /// Oldest first.
    pub history: Vec<RequestEvent>,
}
record!(Request, "request", Vault, RequestNumber, |r| r.number, |k| k.to_string());

impl Request {
    pub fn is_live(&self) -> bool {
        !matches!(self.state, RequestState::Ended { .. })
    }

    pub fn end(&self) -> Option<RequestEnd> {
        match self.state {
            RequestState::Ended { end, .. } => Some(end),
            _ => None,
        }
    }

    /// The question that it waits for.
    pub fn question(&self) -> Option<(QuestionId, &Doubt)> {
        match &self.state {
            RequestState::Waiting { question, doubt, .. } => Some((*question, doubt)),
            _ => None,
        }
    }

    pub fn state_name(&self) -> &'static str {
        match &self.state {
            RequestState::Waiting { doubt: Doubt::Approval { .. }, .. } => "held",
            RequestState::Waiting { doubt: Doubt::CutShort, .. } => "unknown",
            RequestState::Waiting { doubt: Doubt::NotBegun { .. }, .. } => "not_begun",
            RequestState::Firing { .. } => "firing",
            RequestState::Ended { end, .. } => end.name(),
        }
    }

    /// When something is done about it if nothing happens.
    pub fn due(&self) -> Option<Time> {
        match self.state {
            RequestState::Waiting { due, again_at, .. } => Some(due.min(again_at)),
            RequestState::Firing { told_at, .. } => Some(told_at),
            RequestState::Ended { .. } => None,
        }
    }
}

impl Floor {
    /// The request that asks that question.
    pub fn request_asking(&self, question: QuestionId) -> Option<&Request> {
        self.requests.iter().find(|request| request.question().is_some_and(|(asked, _)| asked == question))
    }
}
