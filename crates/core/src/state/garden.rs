//! What is remembered of a project's grooming: what was judged, dust, what people are asked, what they decided; and, of
//! each act, what was there before.

use crate::act::{Act, Before};
use crate::groom::answer::Question;
use crate::groom::decision::Open;
use crate::ids::{ActId, IssueNumber, JobId, ProjectName, QuestionId, Role, RunNumber};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};

use super::Floor;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Garden {
    pub project: ProjectName,
    /// The keys of findings that a run judged, the oldest first.
    #[serde(default)]
    pub judged: Vec<u64>,
    #[serde(default)]
    pub dust: Vec<Dust>,
    #[serde(default)]
    pub inquiry: Option<Inquiry>,
    /// What people decided, and no gardener was told yet.
    #[serde(default)]
    pub decided: Vec<Decided>,
}
record!(Garden, "garden", Gardening, ProjectName, |g| g.project.clone(), |k| k.to_string());

/// An issue that is too small to be worked on by itself; kept for a while, until there are enough of its group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dust {
    pub issue: IssueNumber,
    pub group: String,
    pub title: String,
    pub reason: String,
    pub at: Time,
    pub job: JobId,
    pub run: RunNumber,
    pub role: Role,
}

/// Questions of gardeners, asked as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiry {
    pub id: QuestionId,
    pub parts: Vec<Asks>,
    pub since: Time,
    /// How often people were reminded, and when they are next.
    #[serde(default)]
    pub reminded: u32,
    pub again_at: Time,
}

/// One part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asks {
    pub question: Question,
    /// Who asks.
    pub job: JobId,
    pub run: RunNumber,
    pub role: Role,
    /// The option that was chosen.
    #[serde(default)]
    pub chosen: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub at: Time,
    pub text: String,
}

impl Inquiry {
    pub fn is_open(&self) -> bool {
        self.parts.iter().any(|part| part.chosen.is_none())
    }

    /// What can be decided.
    pub fn open(&self) -> Vec<Open> {
        let open = |part: &Asks| part.chosen.is_none().then_some(part.question.options.len());
        self.parts.iter().map(open).collect()
    }
}

/// How an act can be undone, and whether it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reversal {
    pub act: ActId,
    pub project: ProjectName,
    pub role: Role,
    pub run: Option<RunNumber>,
    pub what: Act,
    #[serde(default)]
    pub before: Before,
    /// The issues that it made.
    #[serde(default)]
    pub made: Vec<IssueNumber>,
    /// The issue that it was done to, or that it made.
    #[serde(default)]
    pub issue: Option<IssueNumber>,
    pub at: Time,
    #[serde(flatten)]
    pub state: ReversalState,
}
record!(Reversal, "reversal", Gardening, ActId, |r| r.act, |k| k.to_string());

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ReversalState {
    /// The act is on its way.
    Begun,
    Done,
    /// It is being undone.
    Undoing {
        by: String,
        force: bool,
    },
    /// Somebody changed what it did: nothing was put back.
    Kept {
        why: String,
    },
    Undone {
        by: String,
        when: Time,
    },
}

impl Floor {
    /// The questions with that number, if it is a gardener's and something of it is open.
    pub fn inquiry(&self, id: QuestionId) -> Option<(&Garden, &Inquiry)> {
        self.inquiries().find(|(_, inquiry)| inquiry.id == id)
    }

    pub fn inquiries(&self) -> impl Iterator<Item = (&Garden, &Inquiry)> {
        let open = |garden| Some((garden, Garden::asks(garden)?));
        self.gardens.iter().filter_map(open)
    }
}

impl Garden {
    fn asks(&self) -> Option<&Inquiry> {
        self.inquiry.as_ref().filter(|inquiry| inquiry.is_open())
    }

    /// When something has to be done about it.
    pub(crate) fn due(&self) -> Option<Time> {
        let dust = self.dust.iter().map(|dust| dust.at + DUST_KEPT).min();
        let again = self.asks().map(|inquiry| inquiry.again_at);
        [dust, again].into_iter().flatten().min()
    }

    pub fn was_judged(&self, key: u64) -> bool {
        self.judged.contains(&key)
    }
}

/// How long dust waits for more of its group.
pub const DUST_KEPT: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3600);
