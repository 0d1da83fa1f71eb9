//! What the agents of one role have done in one job besides their work: counted, so that a successor continues where its
//! predecessor was. It goes with its job.

use super::{Asked, Floor};
use crate::act::Act;
use crate::ids::{ActId, Epoch, IssueNumber, JobId, ProjectName, QuestionId, Role};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conduct {
    pub job: JobId,
    pub role: Role,
    pub project: ProjectName,
    /// Issues that were made or begun, and changes, that were allowed.
    #[serde(default)]
    pub issues: u32,
    #[serde(default)]
    pub changes: u32,
    /// The issues among those that were there and are begun.
    #[serde(default)]
    pub begun: Vec<IssueNumber>,
    /// What it asked the vault for, rejected or not.
    #[serde(default)]
    pub requests: u32,
    /// How often something was refused.
    #[serde(default)]
    pub refused: u32,
    /// What was allowed, in order.
    #[serde(default)]
    pub deeds: Vec<Deed>,
    /// What people are asked while the agent works on.
    #[serde(default)]
    pub query: Option<Query>,
}
record!(Conduct, "conduct", Acts, (JobId, Role), |c| (c.job, c.role), |k| format!("{}/{}", k.0, k.1));

/// An act that was allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    pub id: ActId,
    /// Tells what was wanted.
    pub key: u64,
    /// Of an issue that is made: what others are compared with until the forge shows it.
    #[serde(default)]
    pub title: Option<String>,
    /// For a comment: the issue that it is on.
    #[serde(default)]
    pub said_on: Option<IssueNumber>,
    /// `None`: it is on its way.
    #[serde(default)]
    pub end: Option<DeedEnd>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum DeedEnd {
    /// Done to that issue, or it made it.
    Done {
        issue: IssueNumber,
    },
    Impossible {
        why: String,
    },
}

/// A question that an agent asked with a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    pub text: String,
    pub asked: Asked,
    pub since: Time,
    /// How often people were reminded, and when they are next.
    #[serde(default)]
    pub reminded: u32,
    pub again_at: Time,
}

impl Query {
    /// When something has to be done about it.
    pub(crate) fn due(&self) -> Time {
        self.asked.due.map_or(self.again_at, |due| due.min(self.again_at))
    }
}

/// So many refusals are put on record: whoever is refused more often says nothing new.
const REFUSALS_MAX: u32 = 20;

impl Conduct {
    pub fn is_worth_refusing_on_record(&self) -> bool {
        self.refused < REFUSALS_MAX
    }

    /// Whether it has said something on that issue, and it is there to read.
    pub fn has_spoken_on(&self, issue: IssueNumber) -> bool {
        let said =
            |deed: &Deed| deed.said_on == Some(issue) && matches!(deed.end, Some(DeedEnd::Done { .. }));
        self.deeds.iter().any(said)
    }

    /// The issue that such an act begins, if that is not counted yet.
    pub fn begins(&self, act: &Act) -> Option<IssueNumber> {
        act.begins().filter(|issue| !self.begun.contains(issue))
    }

    /// What is known of such an act: one on its way, or that is not to be done again.
    pub fn deed(&self, act: &Act) -> Option<&Deed> {
        let key = act.key();
        let counts = |deed: &&Deed| match deed.end {
            None => true,
            Some(DeedEnd::Done { .. }) => act.is_said_once(),
            Some(DeedEnd::Impossible { .. }) => false,
        };
        self.deeds.iter().rfind(|deed| deed.key == key && counts(deed))
    }
}

impl Floor {
    /// What the session's agent, and those before it, did in its job.
    pub fn conduct(&self, epoch: Epoch) -> Option<&Conduct> {
        let session = self.sessions.get(&epoch)?;
        self.conducts.get(&(session.job, session.role))
    }

    /// The question with that number, if an agent asked it with a command and nobody has answered.
    pub fn query(&self, id: QuestionId) -> Option<(&Conduct, &Query)> {
        self.queries().find(|(_, query)| query.asked.id == id)
    }

    pub fn queries(&self) -> impl Iterator<Item = (&Conduct, &Query)> {
        self.conducts.iter().filter_map(|conduct| Some((conduct, conduct.query.as_ref()?)))
    }
}

impl Deed {
    /// The issue that it made, or was done to.
    pub fn issue(&self) -> Option<IssueNumber> {
        match &self.end {
            Some(DeedEnd::Done { issue }) => Some(*issue),
            _ => None,
        }
    }
}
