//! A finding: something that is not as it should be.

use super::Stray;
use crate::ids::{InvalidName, ProjectName, RunId};
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

const OF_THE_MACHINE: [&str; 5] = ["memory", "disk", "containers", "load", "pressure"];
const WHAT_CHARS_MAX: usize = 300;
const KEY_BYTES_MAX: usize = 64;
/// How many things one remedy is applied to at a time.
const TARGETS_MAX: usize = 20;

/// How urgent a finding is; the smaller the more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Priority {
    /// The machine is about to fail.
    P0,
    /// It soon will.
    P1,
    /// The factory has stopped, or something in it has.
    P2,
    /// Something gets on worse than it should.
    P3,
    /// Housekeeping.
    P4,
}

impl Priority {
    pub fn name(self) -> &'static str {
        match self {
            Priority::P0 => "P0",
            Priority::P1 => "P1",
            Priority::P2 => "P2",
            Priority::P3 => "P3",
            Priority::P4 => "P4",
        }
    }

    /// People are told before anything else is tried.
    pub fn is_urgent(self) -> bool {
        self <= Priority::P1
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a finding is called: the same trouble has the same key, today and tomorrow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FindingKey(String);

impl FindingKey {
    pub const RULE: &'static str = "use 1 to 64 of a-z, 0-9, '.', '-' and '_', beginning with a letter; `shopfloor health` shows the keys";

    /// From words of our own and numbers: what a key cannot have becomes `_`.
    pub(super) fn of(words: &str) -> FindingKey {
        let fit = |c: char| match c {
            'a'..='z' | '0'..='9' | '.' | '-' | '_' => c,
            _ => '_',
        };
        FindingKey(words.chars().map(fit).take(KEY_BYTES_MAX).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// It is found of the machine, for all projects.
    pub fn is_the_machines(&self) -> bool {
        OF_THE_MACHINE.contains(&self.as_str())
    }
}

impl TryFrom<String> for FindingKey {
    type Error = InvalidName;
    fn try_from(value: String) -> Result<Self, InvalidName> {
        let good = (1..=KEY_BYTES_MAX).contains(&value.len())
            && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-_".contains(&b))
            && value.as_bytes()[0].is_ascii_lowercase();
        match good {
            true => Ok(FindingKey(value)),
            false => Err(InvalidName::new("key of a finding", &value, Self::RULE)),
        }
    }
}

impl std::str::FromStr for FindingKey {
    type Err = InvalidName;
    fn from_str(s: &str) -> Result<Self, InvalidName> {
        s.to_owned().try_into()
    }
}

impl From<FindingKey> for String {
    fn from(key: FindingKey) -> String {
        key.0
    }
}

impl fmt::Display for FindingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the factory does about a finding by itself: safe, known, and the same however often it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "remedy", rename_all = "snake_case")]
pub enum Remedy {
    /// What may go is pruned.
    Tidy,
    /// Checks that nobody waits for are cancelled.
    CancelChecks { runs: Vec<RunId> },
    /// Sessions of the factory's own that nobody knows are ended, with their work kept.
    EndStrays { strays: Vec<Stray> },
    /// What could not be ended is ended once more.
    EndAgain,
}

/// Who can do something about a finding that no remedy of the factory's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// People, and they know: no agent is started for it.
    People,
    /// An agent may look into it.
    Agent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub key: FindingKey,
    pub priority: Priority,
    /// For people, in a sentence without an end.
    pub what: String,
    /// The numbers that it follows from.
    #[serde(default)]
    pub evidence: BTreeMap<String, u64>,
    #[serde(default)]
    pub remedy: Option<Remedy>,
    pub concern: Concern,
    /// The project; `None`: the machine, or the floor as a whole.
    #[serde(default)]
    pub project: Option<ProjectName>,
}

impl Finding {
    pub(super) fn new(key: &str, priority: Priority, concern: Concern, what: &str) -> Finding {
        Finding {
            key: FindingKey::of(key),
            priority,
            what: one_line(what, WHAT_CHARS_MAX),
            evidence: BTreeMap::new(),
            remedy: None,
            concern,
            project: None,
        }
    }

    pub(super) fn with(mut self, name: &str, number: u64) -> Finding {
        self.evidence.insert(name.to_owned(), number);
        self
    }

    pub(super) fn remedy(mut self, mut remedy: Remedy) -> Finding {
        match &mut remedy {
            Remedy::CancelChecks { runs } => runs.truncate(TARGETS_MAX),
            Remedy::EndStrays { strays } => strays.truncate(TARGETS_MAX),
            Remedy::Tidy | Remedy::EndAgain => {}
        }
        self.remedy = Some(remedy);
        self
    }
}
