//! What a person approves is a commit. Whoever names it approves only that one; whoever does not, approves
//! the head as it is found, and is told which one that was.

use crate::{Error, Result};
use shopfloor_core::ids::Sha;
use std::fmt;
use std::str::FromStr;

/// The fewest digits to which a commit's hash may be shortened.
const DIGITS_MIN: usize = 7;

/// A commit as people write it: its hash, or the beginning of it.
#[derive(Clone, Debug)]
pub struct CommitName(String);

impl FromStr for CommitName {
    type Err = String;
    fn from_str(word: &str) -> std::result::Result<Self, Self::Err> {
        let is_name = word.len() >= DIGITS_MIN && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| CommitName(word.to_ascii_lowercase())).ok_or_else(|| {
            format!("it is not the name of a commit: at least {DIGITS_MIN} hexadecimal digits")
        })
    }
}

impl fmt::Display for CommitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is approved along with a request.
#[derive(Clone, Debug, Default)]
pub enum Approve {
    #[default]
    No,
    /// The head, whatever it is.
    Head,
    Only(CommitName),
}

impl From<Option<Option<CommitName>>> for Approve {
    fn from(given: Option<Option<CommitName>>) -> Self {
        match given {
            None => Approve::No,
            Some(None) => Approve::Head,
            Some(Some(commit)) => Approve::Only(commit),
        }
    }
}

impl Approve {
    /// Whether that head is approved; an error if another commit was meant.
    pub fn of(&self, what: &str, head: &Sha) -> Result<bool> {
        match self {
            Approve::No => Ok(false),
            Approve::Head => Ok(true),
            Approve::Only(meant) if head.as_str().starts_with(&meant.0) => Ok(true),
            Approve::Only(meant) => Err(Error::failed(format!(
                "{what} is at {}, not at {meant}: nothing is approved",
                head.short()
            ))
            .hint("it has moved, or never was there: look at the present head, and approve that")),
        }
    }

    pub fn is_given(&self) -> bool {
        !matches!(self, Approve::No)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_of_a_commit_is_of_no_other() {
        let head: Sha = "0123456789".repeat(4).parse().expect("forty digits");
        let only = |word: &str| Approve::Only(word.parse().expect("a name"));
        assert!(only("0123456").of("it", &head).expect("meant"));
        assert!(only(&"0123456789".repeat(4)).of("it", &head).expect("meant"));
        assert!(only("1234567").of("it", &head).is_err());
        assert!(Approve::Head.of("it", &head).expect("meant") && !Approve::No.of("it", &head).expect("fine"));
        assert!("12345".parse::<CommitName>().is_err() && "feature".parse::<CommitName>().is_err());
    }
}
