//! Roles: a validated name, and what the core asks of whoever has it.

use super::InvalidName;
use serde::{Deserialize, Serialize};
use std::fmt;

const NAME_BYTES_MAX: usize = 16;
/// What all roles inherit from, what the names of hand sessions begin with, and what a developer's worktree is called.
const TAKEN: [&str; 3] = ["default", "hand", DEVELOPERS_TREE];

/// The name an agent works under: `dev`, `review`, or another that a project sets up. It is part of session names,
/// paths and variables, and ends there at the first `-`. It is stored inline, so it is copied like a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Role([u8; NAME_BYTES_MAX]);

/// What a role's sessions owe: each is a protocol of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// A change on the assignment's branch, signalled by phases.
    Develop,
    /// A verdict on one commit.
    Review,
}

/// What a role's sessions work in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkout {
    /// The assignment's branch, to be written to.
    Branch,
    /// One commit, and no branch.
    Commit,
}

/// What is asked of a role, whatever its name. How its client is run and what it may is up to the project's
/// configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    pub duty: Duty,
    pub checkout: Checkout,
    /// The prompt it gets unless the project names another.
    pub prompt: &'static str,
    /// It has the user's own MCP servers, unless the project says otherwise.
    pub users_servers: bool,
}

/// People look for the worktree of an issue, so it is named after that.
const DEVELOPERS_TREE: &str = "issue";

const DEVELOPER: Profile =
    Profile { duty: Duty::Develop, checkout: Checkout::Branch, prompt: "dev", users_servers: true };

/// It looks at others' work, and gets no servers unless somebody says so.
const REVIEWER: Profile =
    Profile { duty: Duty::Review, checkout: Checkout::Commit, prompt: "review", users_servers: false };

impl Role {
    pub const RULE: &'static str =
        "use 1 to 16 of a-z, 0-9 and '_', beginning with a letter, and not `default`, `hand` or `issue`";
    pub const DEV: Role = Role::built_in("dev");
    pub const REVIEW: Role = Role::built_in("review");
    /// The roles that the factory gives work to.
    pub const STAFF: [Role; 2] = [Role::DEV, Role::REVIEW];
    pub const GARDENER: Role = Role::built_in("gardener");
    pub const SUPERVISOR: Role = Role::built_in("supervisor");
    pub const PREDICTOR: Role = Role::built_in("predictor");
    pub const PLANNER: Role = Role::built_in("planner");
    pub const ACTION: Role = Role::built_in("action");
    /// The other agents: each is a formula of the same name that is built in, and works only once a person switched it on.
    pub const OTHERS: [Role; 5] =
        [Role::GARDENER, Role::SUPERVISOR, Role::PREDICTOR, Role::PLANNER, Role::ACTION];

    /// What is stored without a role was a developer's.
    pub fn dev() -> Role {
        Role::DEV
    }

    const fn built_in(name: &str) -> Role {
        let (mut bytes, mut at) = ([0; NAME_BYTES_MAX], 0);
        while at < name.len() {
            bytes[at] = name.as_bytes()[at];
            at += 1;
        }
        Role(bytes)
    }

    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(NAME_BYTES_MAX);
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }

    /// A role that a project sets up works like a developer, but in no developer's worktree.
    pub fn profile(self) -> &'static Profile {
        if self == Role::REVIEW { &REVIEWER } else { &DEVELOPER }
    }

    /// What its worktrees are called, before the assignment's number: each role has its own.
    pub fn tree(&self) -> &str {
        if *self == Role::DEV { DEVELOPERS_TREE } else { self.as_str() }
    }

    /// The role whose worktrees have this name.
    pub fn of_tree(kind: &str) -> Option<Role> {
        if kind == DEVELOPERS_TREE {
            Some(Role::DEV)
        } else {
            kind.parse().ok().filter(|role| *role != Role::DEV)
        }
    }

    pub fn duty(self) -> Duty {
        self.profile().duty
    }

    pub fn develops(self) -> bool {
        self.duty() == Duty::Develop
    }

    pub fn reviews(self) -> bool {
        self.duty() == Duty::Review
    }
}

/// Those that the factory always gives work to, and others.
pub fn staff_and(others: &[Role]) -> impl Iterator<Item = Role> {
    Role::STAFF.into_iter().chain(others.iter().copied())
}

/// Several roles, for people: `dev and review`.
pub fn role_names(roles: &[Role]) -> String {
    roles.iter().map(Role::as_str).collect::<Vec<_>>().join(" and ")
}

impl TryFrom<String> for Role {
    type Error = InvalidName;
    fn try_from(value: String) -> Result<Self, InvalidName> {
        let good = (1..=NAME_BYTES_MAX).contains(&value.len())
            && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && value.as_bytes()[0].is_ascii_lowercase()
            && !TAKEN.contains(&value.as_str());
        match good {
            true => Ok(Role::built_in(&value)),
            false => Err(InvalidName::new("role", &value, Self::RULE)),
        }
    }
}

impl std::str::FromStr for Role {
    type Err = InvalidName;
    fn from_str(s: &str) -> Result<Self, InvalidName> {
        s.to_owned().try_into()
    }
}

impl From<Role> for String {
    fn from(role: Role) -> String {
        role.as_str().to_owned()
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_escape_or_be_read_in_two_ways_are_refused() {
        for bad in [
            "",
            "a-b",
            "A",
            "1a",
            "_a",
            "a b",
            "a/b",
            "a.b",
            "ä",
            "a\0",
            "hand",
            "default",
            "issue",
            "abcdefghijklmnopq",
        ] {
            assert!(bad.parse::<Role>().is_err(), "{bad:?}");
        }
        for good in ["dev", "review", "gardener", "docs_2", "abcdefghijklmnop"] {
            assert_eq!(good.parse::<Role>().map(|role| role.to_string()).as_deref(), Ok(good));
        }
    }

    #[test]
    fn built_in_roles_are_stored_under_their_old_names() {
        for (role, text) in [(Role::DEV, r#""dev""#), (Role::REVIEW, r#""review""#)] {
            assert_eq!(serde_json::to_string(&role).expect("plain"), text);
            assert_eq!(serde_json::from_str::<Role>(text).expect("known"), role);
        }
    }
}
