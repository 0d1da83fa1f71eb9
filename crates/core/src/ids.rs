//! Identifiers. Every id is a newtype, so a pull request number can never be passed where an
//! issue number is meant. Names that reach a path, a branch or a tmux session are validated on
//! the way in: whoever holds one may use it without escaping.

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
    /// One carrying of one issue to its end; a later attempt at the same issue is another job.
    JobId
);
number_id!(
    /// A session's fencing token: unique on the floor, and larger than that of any session before.
    Epoch
);
number_id!(
    /// One branch on its way through the merge queue.
    EntryId
);
number_id!(
    /// One trying of a branch that does not land.
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
        if good {
            Ok(ProjectName(value))
        } else {
            Err(InvalidName {
                what: "project name",
                value: value.chars().take(80).collect(),
                rule: Self::RULE,
            })
        }
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

/// Whether git takes it for a branch's name, and nothing else takes it for something else.
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

/// A branch beside the primary one that finished work lands on, such as `release/1.x`.
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
            false => Err(InvalidName {
                what: "branch",
                value: value.chars().take(80).collect(),
                rule: "git would refuse it",
            }),
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

    /// The branch that it moves, for people.
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
            Err(InvalidName {
                what: "object name",
                value: value.chars().take(80).collect(),
                rule: "a full git object name has 40 or 64 hexadecimal digits",
            })
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

/// What an agent is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Dev,
    Review,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Dev => "dev",
            Role::Review => "review",
        }
    }
}

/// Several of them, for people: `dev and review`.
pub fn role_names(roles: &[Role]) -> String {
    roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(" and ")
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The branch that the commits of a user's own primary branch go through the merge queue as.
pub fn checkout_branch(primary: &str) -> String {
    format!("checkout/{primary}")
}

/// The branch an issue is worked on.
pub fn branch_for(issue: IssueNumber) -> String {
    format!("fix/issue-{issue}")
}

/// A session's name in tmux: readable, safe for tmux's target syntax (no `.` or `:`), and unique
/// because the epoch is.
pub fn tmux_name(role: Role, project: &ProjectName, issue: IssueNumber, epoch: Epoch) -> String {
    format!("{role}-{project}-{issue}-e{epoch}")
}

/// The permanent identity `{role}-{name}` under which an issue's sessions run.
pub fn agent_name(role: Role, project: &ProjectName, issue: IssueNumber) -> String {
    format!("{role}-{project}-{issue}")
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
