//! What was read of a forge.

use crate::effect::Verdict;
use crate::forge::{Cursor, Subject, Version};
use crate::hints::Hints;
use crate::ids::{IssueNumber, PrNumber, Role, Sha};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What was read of a forge in one go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    #[serde(flatten)]
    pub seen: Seen,
    /// Where reading began. A page that did not begin at the cursor does not move it; `None`: this page moves it
    /// in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
    /// Where the next page begins.
    pub cursor: Cursor,
    /// There is more to read.
    #[serde(default)]
    pub more: bool,
}

impl Page {
    pub fn of(observation: Observation) -> Page {
        Page { seen: Seen(vec![observation]), ..Page::default() }
    }
}

/// The observations of one page. A single one is written as older builds did, which had no pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Seen(pub Vec<Observation>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    One { observation: Box<Observation> },
    Page { observations: Vec<Observation> },
}

impl From<Written> for Seen {
    fn from(written: Written) -> Seen {
        match written {
            Written::One { observation } => Seen(vec![*observation]),
            Written::Page { observations } => Seen(observations),
        }
    }
}

impl From<Seen> for Written {
    fn from(Seen(mut observations): Seen) -> Written {
        match observations.pop() {
            Some(alone) if observations.is_empty() => Written::One { observation: Box::new(alone) },
            last => {
                observations.extend(last);
                Written::Page { observations }
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum Observation {
    Issue {
        number: IssueNumber,
        title: String,
        labels: Vec<String>,
        open: bool,
        /// Numbers the issue's text says it depends on.
        deps: Vec<IssueNumber>,
        created_at: Time,
        /// Changes whenever the title or the text does.
        #[serde(default)]
        revision: u64,
        /// Changes with every change of the issue, including ours.
        #[serde(default)]
        version: Version,
        /// What else its text says.
        #[serde(default)]
        hints: Hints,
        /// The role of the agent that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Role>,
    },
    Review {
        pr: PrNumber,
        head: Sha,
        verdict: Verdict,
        /// Bounded; the forge has the whole text.
        text: String,
        author: String,
        /// It is from the factory's own reviewer, not from a person.
        #[serde(default)]
        agent: bool,
        /// Its author has withdrawn it.
        #[serde(default)]
        dismissed: bool,
        id: u64,
    },
    Pr {
        number: PrNumber,
        open: bool,
        #[serde(default)]
        branch: String,
        #[serde(default)]
        head: Option<Sha>,
        /// The issues it says it is for.
        #[serde(default)]
        fixes: Vec<IssueNumber>,
        #[serde(default)]
        title: String,
        /// The factory opened it.
        #[serde(default)]
        ours: bool,
        #[serde(default)]
        author: String,
        #[serde(default)]
        labels: Vec<String>,
        /// The commit it was merged as, whoever merged it.
        #[serde(default)]
        merged: Option<Sha>,
    },
    /// What a person said outside a review. Shown again when they edit it. The factory's own comments are not
    /// shown.
    Comment {
        on: Subject,
        /// Unique among the comments of one subject.
        id: u64,
        author: String,
        /// Bounded; the forge has the whole text.
        text: String,
        /// Changes when the text does.
        revision: u64,
        created_at: Time,
    },
}
