//! What a session works on, and the names that follow from it.

use super::{Epoch, IssueNumber, PrNumber, ProjectName, Role, RunNumber};
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
    /// A run of a formula.
    Run(RunNumber),
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
    Run,
}

impl From<Stored> for Assignment {
    fn from(Stored { kind, issue }: Stored) -> Assignment {
        match kind {
            Kind::Issue => Assignment::Issue(IssueNumber(issue)),
            Kind::Review => Assignment::Pull(PrNumber(issue)),
            Kind::Run => Assignment::Run(RunNumber(issue)),
        }
    }
}

impl From<Assignment> for Stored {
    fn from(assignment: Assignment) -> Stored {
        match assignment {
            Assignment::Issue(issue) => Stored { kind: Kind::Issue, issue: issue.0 },
            Assignment::Pull(pr) => Stored { kind: Kind::Review, issue: pr.0 },
            Assignment::Run(run) => Stored { kind: Kind::Run, issue: run.0 },
        }
    }
}

impl Assignment {
    pub fn issue(self) -> Option<IssueNumber> {
        match self {
            Assignment::Issue(issue) => Some(issue),
            Assignment::Pull(_) | Assignment::Run(_) => None,
        }
    }

    pub fn run(self) -> Option<RunNumber> {
        match self {
            Assignment::Run(run) => Some(run),
            Assignment::Issue(_) | Assignment::Pull(_) => None,
        }
    }

    /// The number that it has on the forge, which numbers issues and pull requests together. A run has none.
    pub fn number(self) -> Option<IssueNumber> {
        match self {
            Assignment::Issue(issue) => Some(issue),
            Assignment::Pull(pr) => Some(IssueNumber(pr.0)),
            Assignment::Run(_) => None,
        }
    }

    /// What kind of work it is, as it is stored and shown.
    pub fn kind(self) -> &'static str {
        match self {
            Assignment::Issue(_) => "issue",
            Assignment::Pull(_) => "review",
            Assignment::Run(_) => "run",
        }
    }

    /// What sessions, agents and folders are named after: `7`, or for a run `r7`.
    pub fn tag(self) -> String {
        match self {
            Assignment::Run(run) => format!("r{run}"),
            Assignment::Issue(IssueNumber(number)) | Assignment::Pull(PrNumber(number)) => number.to_string(),
        }
    }

    /// How texts for people name it: `#7`, `run 7`.
    pub fn mention(self) -> String {
        match self.number() {
            Some(number) => format!("#{number}"),
            None => self.to_string(),
        }
    }

    /// What has that tag. Whether a number is a pull request's, it does not say.
    pub fn tagged(tag: &str) -> Option<Assignment> {
        match tag.strip_prefix('r') {
            Some(run) => run.parse().ok().map(Assignment::Run),
            None => tag.parse().ok().map(Assignment::Issue),
        }
    }
}

/// For people: `issue #7`.
impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assignment::Issue(issue) => write!(f, "issue #{issue}"),
            Assignment::Pull(pr) => write!(f, "pull request #{pr}"),
            Assignment::Run(run) => write!(f, "run {run}"),
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
    format!("{project}-{}", assignment.tag())
}
