//! What somebody asks for, as events carry it.

use crate::health::FindingKey;
use crate::ids::{
    Epoch, IssueNumber, PrNumber, ProjectName, QuestionId, RequestType, ScheduleName, Sha, StepId, Target,
};
use crate::planner::TreeId;
use crate::recipe::Recipe;
use crate::state::Decision;
use crate::time::Time;
use crate::vault::Spec;
use serde::{Deserialize, Serialize};

/// By whose word a configuration is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accepter {
    Person(String),
    /// Nobody's: the floor had it when acceptance was introduced.
    First,
    /// The floor's own file accepts everything.
    Policy,
}

/// A branch that a person wants merged, as it was when they asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchAsk {
    pub branch: String,
    pub head: Sha,
    pub tree: TreeId,
    pub title: String,
    /// What its commit is to say besides the title; `None`: what the branch's own commits say.
    #[serde(default)]
    pub message: Option<String>,
    /// Its pull request and the issue that one is for, if any.
    pub pr: Option<(PrNumber, Option<IssueNumber>)>,
    /// Who asks.
    pub by: String,
    /// Who made its newest commit.
    #[serde(default)]
    pub author: Option<String>,
    /// Whose approval of this head is on record.
    pub approved_by: Option<String>,
    pub urgent: bool,
    /// Never tried or landed together with others.
    #[serde(default)]
    pub alone: bool,
    /// The branch it is to land on; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    /// Branches that it has to land after.
    #[serde(default)]
    pub after: Vec<String>,
    /// Protected files that it changes, if no person has approved that.
    #[serde(default)]
    pub unapproved: Vec<String>,
}

/// A formula that somebody wants carried out, filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAsk {
    pub recipe: Recipe,
    /// Who asks.
    pub by: String,
    /// The schedule by which it is due, if that is why.
    #[serde(default)]
    pub schedule: Option<ScheduleName>,
}

/// What a session says of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSaid {
    pub step: StepId,
    /// It is passed over, for the reason in `note`.
    #[serde(default)]
    pub skip: bool,
    #[serde(default)]
    pub note: String,
}

/// A finding that a person knows of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthAck {
    pub key: FindingKey,
    pub until: Time,
    /// Who says so.
    pub by: String,
}

impl HealthAck {
    /// Where the finding is found: of the machine, or of the project.
    pub fn place(&self, project: &ProjectName) -> Option<ProjectName> {
        (!self.key.is_the_machines()).then(|| project.clone())
    }
}

/// What somebody asks the vault for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultAsk {
    pub r#type: RequestType,
    /// The type as the floor's own file declares it; `None`: it does not.
    pub spec: Option<Spec>,
    pub payload: String,
    pub reason: String,
    /// Who asks, through which interface, and the session if it is an agent's.
    pub by: String,
    pub from: String,
    #[serde(default)]
    pub session: Option<Epoch>,
}

/// What a person says of a request to the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    pub decision: Decision,
    pub by: String,
    /// The interface that they said it through.
    pub from: String,
    /// The question that they answered; needed if what was asked for is no longer what it was.
    #[serde(default)]
    pub question: Option<QuestionId>,
    #[serde(default)]
    pub why: String,
}

/// A branch that somebody wants tried as it would land, as it was when they asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryAsk {
    pub branch: String,
    pub head: Sha,
    pub title: String,
    /// The branch it is put on (`None`: the primary branch), and where that branch was.
    pub on: Option<Target>,
    pub base: Sha,
    pub issue: Option<IssueNumber>,
    pub pr: Option<PrNumber>,
    /// It is an agent's branch, and would land as those do.
    pub of_agent: bool,
    pub by: String,
}
