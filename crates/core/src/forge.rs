//! What a forge holds and says, as plain data: the vocabulary of the forge port, whichever forge it is.
//!
//! A [`Cursor`] and a [`Version`] are the forge's own words. The factory keeps them, hands them back and compares
//! versions in the way the forge made them to be compared; what is inside them is nobody else's business. Field
//! names are those of `--json`: add, do not rename.

use crate::effect::{StatusState, Verdict};
use crate::ids::{IssueNumber, PrNumber, RunId, Sha};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far a forge was read. The default: not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Word", into = "Word")]
pub struct Cursor(String);

/// The state of one issue. Of two versions of the same issue, the greater is the later; a forge makes them so that
/// they compare as texts. Anything read before one of our calls had ended, and without that call's effect, has a
/// lesser version than the one the call returned. The default is older than any.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Word", into = "Word")]
pub struct Version(String);

/// The stored form. The embedded forge counts, and its numbers are kept as older builds wrote them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Word {
    Number(u64),
    Text(String),
}

/// The number of digits of every number, so that numbers compare as texts.
const DIGITS: usize = 20;

impl Cursor {
    pub fn new(word: impl Into<String>) -> Cursor {
        Cursor(word.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing was read yet.
    pub fn is_start(&self) -> bool {
        self.0.is_empty()
    }
}

impl Version {
    pub fn new(word: impl Into<String>) -> Version {
        Version(word.into())
    }

    /// For a forge that counts.
    pub fn numbered(number: u64) -> Version {
        Version(format!("{number:0DIGITS$}"))
    }
}

impl From<Word> for Cursor {
    fn from(word: Word) -> Cursor {
        match word {
            Word::Number(number) => Cursor(number.to_string()),
            Word::Text(text) => Cursor(text),
        }
    }
}

impl From<Cursor> for Word {
    fn from(Cursor(text): Cursor) -> Word {
        match text.parse::<u64>() {
            Ok(number) if number.to_string() == text => Word::Number(number),
            _ => Word::Text(text),
        }
    }
}

impl From<Word> for Version {
    fn from(word: Word) -> Version {
        match word {
            Word::Number(number) => Version::numbered(number),
            Word::Text(text) => Version(text),
        }
    }
}

impl From<Version> for Word {
    fn from(Version(text): Version) -> Word {
        match text.parse::<u64>() {
            Ok(number) if text.len() == DIGITS => Word::Number(number),
            _ => Word::Text(text),
        }
    }
}

/// What people talk about on a forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Issue(IssueNumber),
    Pr(PrNumber),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Issue(issue) => write!(f, "issue #{issue}"),
            Subject::Pr(pr) => write!(f, "pull request #{pr}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueState {
    Open,
    Closed,
}

impl IssueState {
    pub fn as_str(self) -> &'static str {
        match self {
            IssueState::Open => "open",
            IssueState::Closed => "closed",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [IssueState::Open, IssueState::Closed].into_iter().find(|s| s.as_str() == word)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PrState {
    Open,
    Closed,
    Merged,
}

impl PrState {
    pub fn as_str(self) -> &'static str {
        match self {
            PrState::Open => "open",
            PrState::Closed => "closed",
            PrState::Merged => "merged",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [PrState::Open, PrState::Closed, PrState::Merged].into_iter().find(|s| s.as_str() == word)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    pub number: IssueNumber,
    pub title: String,
    pub state: IssueState,
    /// In alphabetical order.
    pub labels: Vec<String>,
    pub body: String,
    pub author: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub closed_at: Option<Time>,
    #[serde(skip)]
    pub version: Version,
    /// Oldest first.
    pub comments: Vec<Comment>,
}

/// An issue in a list: without its texts, which may be a megabyte each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IssueSummary {
    pub number: IssueNumber,
    pub title: String,
    pub state: IssueState,
    pub labels: Vec<String>,
    pub created_at: Time,
    pub updated_at: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comment {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub created_at: Time,
}

/// Which issues to list; the default is all of them.
#[derive(Clone, Debug, Default)]
pub struct IssueFilter {
    pub state: Option<IssueState>,
    pub label: Option<String>,
    /// Each is in the title or the text; capitals of the Latin alphabet make no difference.
    pub words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pr {
    pub number: PrNumber,
    pub title: String,
    pub state: PrState,
    pub branch: String,
    pub head: Sha,
    /// The issue it is for; a person's may be for none.
    pub issue: Option<IssueNumber>,
    pub merged_commit: Option<Sha>,
    pub author: String,
    pub body: String,
    pub created_at: Time,
    pub updated_at: Time,
    /// Oldest first.
    pub reviews: Vec<Review>,
    pub comments: Vec<Comment>,
    /// The statuses of the head, by context.
    pub statuses: Vec<Status>,
}

impl Pr {
    /// As it would be in a list.
    pub fn summary(&self) -> PrSummary {
        PrSummary {
            number: self.number,
            title: self.title.clone(),
            state: self.state,
            branch: self.branch.clone(),
            head: self.head.clone(),
            issue: self.issue,
            merged_commit: self.merged_commit.clone(),
            author: self.author.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// A pull request in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrSummary {
    pub number: PrNumber,
    pub title: String,
    pub state: PrState,
    pub branch: String,
    pub head: Sha,
    /// The issue it is for; a person's may be for none.
    pub issue: Option<IssueNumber>,
    pub merged_commit: Option<Sha>,
    pub author: String,
    pub created_at: Time,
    pub updated_at: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Review {
    pub id: u64,
    pub head: Sha,
    pub verdict: Verdict,
    pub text: String,
    pub author: String,
    pub created_at: Time,
    /// When its author dismissed it by approving.
    pub dismissed_at: Option<Time>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    pub context: String,
    pub state: StatusState,
    pub description: String,
    pub run: Option<RunId>,
    pub updated_at: Time,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;

    fn stored<T: Serialize + DeserializeOwned>(json: &str) -> T {
        let read: T = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json, "it is written as it was read");
        read
    }

    #[test]
    fn numbers_of_an_earlier_build_are_read_and_kept() {
        assert_eq!(stored::<Cursor>("7").as_str(), "7");
        assert_eq!(stored::<Version>("7"), Version::numbered(7));
        assert_eq!(stored::<Cursor>("\"2026-11-15T10:00:00Z/7\"").as_str(), "2026-11-15T10:00:00Z/7");
        assert_eq!(stored::<Version>("\"07\""), Version::new("07"));
        stored::<Cursor>("\"007\"");
        stored::<Cursor>("18446744073709551615");
    }

    #[test]
    fn of_two_counted_versions_the_later_is_the_greater() {
        assert!(Version::numbered(9) < Version::numbered(10));
        assert!(Version::default() < Version::numbered(0));
        assert!(stored::<Version>("99") < stored::<Version>("100"));
    }
}
