//! Identifiers. Every id is a newtype, so a pull request number can never be passed where an
//! issue number is meant. Names that reach a path, a branch or a tmux session are validated on
//! the way in: whoever holds one may use it without escaping.

mod assignment;
mod formula;
mod hand;
mod role;

pub use assignment::{Assignment, agent_name, short_name, tmux_name};
pub use formula::{FormulaName, RequestType, ScheduleName, StepId};
pub use hand::HandName;
pub use role::{Checkout, Duty, Profile, Role, role_names, staff_and};

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(s: &str) -> Result<Self, Self::Err> {
                s.strip_prefix('#').unwrap_or(s).parse().map($name)
            }
        }
    };
}

number_id!(
    /// An issue's number in its project's forge.
    IssueNumber
);
number_id!(
    /// A pull request's number in its project's forge.
    PrNumber
);
number_id!(
    /// The work on one issue, from claiming it to its end; a later attempt at the same issue is another job.
    JobId
);
number_id!(
    /// A session's fencing token: unique on the floor, and larger than that of any earlier session.
    Epoch
);
number_id!(
    /// One branch on its way through the merge queue.
    EntryId
);
number_id!(
    /// One try of a branch, which lands nothing.
    TryId
);
number_id!(
    /// One message to an agent.
    MessageId
);
number_id!(
    /// One run of the project's checks on one commit.
    RunId
);
number_id!(
    /// One carrying out of a formula.
    RunNumber
);
number_id!(
    /// One thing that an agent had the factory do.
    ActId
);
number_id!(
    /// One request to the vault.
    RequestNumber
);
number_id!(
    /// One question to a person.
    QuestionId
);
number_id!(
    /// A row of the outbox.
    EffectId
);
number_id!(
    /// A position in the journal.
    Seq
);

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value:?} is not valid: {rule}")]
pub struct InvalidName {
    pub what: &'static str,
    pub value: String,
    pub rule: &'static str,
}

impl InvalidName {
    pub(crate) fn new(what: &'static str, value: &str, rule: &'static str) -> InvalidName {
        InvalidName { what, value: value.chars().take(80).collect(), rule }
    }
}

/// A project's name: safe as a file name, a part of a branch and a part of a tmux session name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProjectName(String);

impl ProjectName {
    pub const RULE: &'static str = "use 1 to 40 of a-z, 0-9, '-' and '_', beginning with a letter or digit";

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ProjectName {
    type Error = InvalidName;
    fn try_from(value: String) -> Result<Self, InvalidName> {
        let good = (1..=40).contains(&value.len())
            && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
            && value.as_bytes()[0].is_ascii_alphanumeric();
        if good { Ok(ProjectName(value)) } else { Err(InvalidName::new("project name", &value, Self::RULE)) }
    }
}

impl std::str::FromStr for ProjectName {
    type Err = InvalidName;
    fn from_str(s: &str) -> Result<Self, InvalidName> {
        s.to_owned().try_into()
    }
}

impl From<ProjectName> for String {
    fn from(name: ProjectName) -> String {
        name.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether git accepts it as a branch's name, and nothing takes it for something else.
pub fn is_branch_name(name: &str) -> bool {
    let bad_char = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let bad = name.starts_with('-')
        || name.ends_with('.')
        || name == "@"
        || name.contains("..")
        || name.contains("@{")
        || name.contains(bad_char)
        || name.split('/').any(bad_part);
    !bad
}

/// A branch other than the primary one that finished work lands on, such as `release/1.x`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Target(String);

impl Target {
    pub fn branch(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Target {
    type Error = InvalidName;
    fn try_from(value: String) -> Result<Self, InvalidName> {
        match is_branch_name(&value) {
            true => Ok(Target(value)),
            false => Err(InvalidName::new("branch", &value, "git would refuse it")),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> String {
        target.0
    }
}

/// A merge queue: of a project's primary branch, or of another branch that its work lands on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueueId {
    pub project: ProjectName,
    /// `None`: the primary branch.
    pub target: Option<Target>,
}

impl QueueId {
    pub fn new(project: &ProjectName, target: Option<&Target>) -> QueueId {
        QueueId { project: project.clone(), target: target.cloned() }
    }

    pub fn primary(project: &ProjectName) -> QueueId {
        QueueId::new(project, None)
    }

    /// The branch that the queue moves, for people.
    pub fn branch_in_words(&self) -> String {
        in_words(self.target.as_ref())
    }
}

/// The branch that work lands on, for people: `None` is the primary branch.
pub fn in_words(target: Option<&Target>) -> String {
    target.map_or_else(|| "the primary branch".to_owned(), |target| target.branch().to_owned())
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            None => self.project.fmt(f),
            // Neither a project nor a branch can have a colon in its name.
            Some(target) => write!(f, "{}:{}", self.project, target.branch()),
        }
    }
}

/// A full git object name, in lower-case hexadecimal (SHA-1 or SHA-256).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(String);

impl Sha {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl TryFrom<String> for Sha {
    type Error = InvalidName;
    fn try_from(value: String) -> Result<Self, InvalidName> {
        let hex = value.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if hex && (value.len() == 40 || value.len() == 64) {
            Ok(Sha(value))
        } else {
            let rule = "a full git object name has 40 or 64 hexadecimal digits";
            Err(InvalidName::new("object name", &value, rule))
        }
    }
}

impl std::str::FromStr for Sha {
    type Err = InvalidName;
    fn from_str(s: &str) -> Result<Self, InvalidName> {
        s.to_owned().try_into()
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> String {
        sha.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The branch as which the commits of a user's own primary branch go through the merge queue.
pub fn checkout_branch(primary: &str) -> String {
    format!("checkout/{primary}")
}

/// The branch an issue is worked on.
pub fn branch_for(issue: IssueNumber) -> String {
    format!("fix/issue-{issue}")
}

/// The issue whose own branch that is.
pub fn issue_of(branch: &str) -> Option<IssueNumber> {
    let issue = branch.strip_prefix("fix/issue-")?.parse().ok().map(IssueNumber)?;
    (branch_for(issue) == branch).then_some(issue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_names_that_could_escape_are_refused() {
        for bad in ["", "../up", "a/b", "a.b", "a b", "-a", "A", "ä", "a:b", "a\n", ".", ".."] {
            assert!(bad.parse::<ProjectName>().is_err(), "{bad:?}");
        }
        for good in ["a", "harb", "my-app_2", "0x"] {
            assert!(good.parse::<ProjectName>().is_ok(), "{good:?}");
        }
        assert!("a".repeat(41).parse::<ProjectName>().is_err());
    }

    #[test]
    fn object_names_are_full_and_lower_case() {
        assert!("0123456789abcdef0123456789abcdef01234567".parse::<Sha>().is_ok());
        for bad in ["", "HEAD", "0123", "0123456789ABCDEF0123456789abcdef01234567"] {
            assert!(bad.parse::<Sha>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn numbers_may_carry_a_hash() {
        assert_eq!("#12".parse::<IssueNumber>(), Ok(IssueNumber(12)));
        assert!("##12".parse::<IssueNumber>().is_err());
    }
}
