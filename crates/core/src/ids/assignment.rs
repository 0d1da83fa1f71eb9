//! What a session works on, and the names that follow from it.

use super::{Epoch, IssueNumber, PrNumber, ProjectName, Role};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a session works on. Stored as `kind` and the number as `issue`, as it always was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub enum Assignment {
    /// An issue, which a job carries to the branch it is for.
    Issue(IssueNumber),
    /// A pull request that no job carries: a review, as advice to whoever made it.
    Pull(PrNumber),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(default)]
    kind: Kind,
    issue: u64,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Also if nothing was said: of sessions and agents, older programs kept only the number.
    #[default]
    Issue,
    Review,
}

impl From<Stored> for Assignment {
    fn from(Stored { kind, issue }: Stored) -> Assignment {
        match kind {
            Kind::Issue => Assignment::Issue(IssueNumber(issue)),
            Kind::Review => Assignment::Pull(PrNumber(issue)),
        }
    }
}

impl From<Assignment> for Stored {
    fn from(assignment: Assignment) -> Stored {
        match assignment {
            Assignment::Issue(issue) => Stored { kind: Kind::Issue, issue: issue.0 },
            Assignment::Pull(pr) => Stored { kind: Kind::Review, issue: pr.0 },
        }
    }
}

impl Assignment {
    pub fn issue(self) -> Option<IssueNumber> {
        match self {
            Assignment::Issue(issue) => Some(issue),
            Assignment::Pull(_) => None,
        }
    }

    /// The number that people know it by, and that sessions, agents and folders are named after: a forge numbers
    /// issues and pull requests together.
    pub fn number(self) -> IssueNumber {
        match self {
            Assignment::Issue(issue) => issue,
            Assignment::Pull(pr) => IssueNumber(pr.0),
        }
    }
}

/// For people: `issue #7`.
impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assignment::Issue(issue) => write!(f, "issue #{issue}"),
            Assignment::Pull(pr) => write!(f, "pull request #{pr}"),
        }
    }
}

/// A session's name in tmux: readable, safe for tmux's target syntax (no `.` or `:`), and unique
/// because the epoch is.
pub fn tmux_name(role: Role, project: &ProjectName, assignment: Assignment, epoch: Epoch) -> String {
    format!("{}-e{epoch}", agent_name(role, project, assignment))
}

/// The permanent identity `{role}-{name}` under which an assignment's sessions run.
pub fn agent_name(role: Role, project: &ProjectName, assignment: Assignment) -> String {
    format!("{role}-{}", short_name(project, assignment))
}

/// The same without the role.
pub fn short_name(project: &ProjectName, assignment: Assignment) -> String {
    format!("{project}-{}", assignment.number())
}
