//! What the planner is told, and what it orders.

use super::{Link, Priority, TreeId, TrialId, TrialResult};
use crate::ids::{EntryId, Sha};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What the planner is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum PlanEvent {
    /// A branch at a head. A branch that moves becomes another entry.
    Entered {
        entry: EntryId,
        priority: Priority,
        at: Time,
        /// Never together with others: see [`PlanEvent::Alone`].
        #[serde(default)]
        alone: bool,
    },
    /// From now on the entry is tried on top of the primary branch itself, and lands by itself.
    Alone {
        entry: EntryId,
    },
    Prioritised {
        entry: EntryId,
        priority: Priority,
    },
    /// The entry was withdrawn. Too late if [`Plan::is_landing`].
    Removed {
        entry: EntryId,
    },
    /// Where the primary branch was seen. Nothing is tried before that is known.
    Primary {
        head: Sha,
    },
    /// `commit` has this tree and is green, as a check outside the queue found.
    Green {
        tree: TreeId,
        commit: Sha,
    },
    /// Comes before [`PlanEvent::Built`]: the links of these entries bring commits that have to pass, too, and
    /// nobody knows whether they do. So a link's tree alone proves nothing.
    Unproven {
        trial: TrialId,
        entries: Vec<EntryId>,
    },
    /// The answer to [`Order::Build`]: one link for each entry of the list, in its order. An entry that adds
    /// nothing new has the commit of the one before it.
    Built {
        trial: TrialId,
        chain: Vec<Link>,
    },
    /// The other answer: entry `at` conflicts with what comes before it. `with_base`: with the base alone, too.
    Conflicted {
        trial: TrialId,
        at: EntryId,
        with_base: bool,
    },
    /// The answer to [`Order::Test`]. With [`TrialResult::Infra`] also to [`Order::Build`].
    Finished {
        trial: TrialId,
        verdict: TrialResult,
    },
    /// What was ordered for the trial cannot be used: the list is tried again if it is still wanted.
    Dropped {
        trial: TrialId,
    },
    /// The answers to [`Order::Publish`], identified by the last link of what was ordered. `head`: where the
    /// primary branch is now.
    Published {
        tip: Sha,
        head: Sha,
    },
    Refused {
        tip: Sha,
        head: Sha,
    },
    /// Publication had not begun, and is called off: the entry is no longer wanted. It is forgotten; the others
    /// that were to land are tried again.
    CalledBack {
        tip: Sha,
        entry: EntryId,
    },
    /// It can never be published. Its entries are forgotten; the base stays where it was.
    Unpublishable {
        tip: Sha,
    },
    /// What counts as green has changed: every verdict is void, including those on trees.
    ChecksChanged,
    /// Time has passed, or the slots have changed.
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "purpose", rename_all = "snake_case")]
pub enum Purpose {
    /// To land the list, or to learn how much of it can land.
    Land,
    /// To get a second result for one entry, the list's last.
    Confirm { entry: EntryId },
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Put the entries on top of `base`, one after another. The trial holds a slot from now on.
    Build {
        trial: TrialId,
        base: Sha,
        list: Vec<EntryId>,
        purpose: Purpose,
    },
    /// Run the checks on the commit that was built.
    Test {
        trial: TrialId,
        commit: Sha,
    },
    /// Stop it; no answer is wanted.
    Cancel {
        trial: TrialId,
    },
    /// Move the primary branch forward from `old` by these steps. `on`: what the first link was put on, which is
    /// `old` or has the same tree.
    Publish {
        old: Sha,
        on: Sha,
        steps: Vec<Step>,
    },
    /// Red twice. `on`: what it was put on top of the second time, itself green as far as is known (`on_base`: as
    /// far as the base may be taken for green); `confirmed` has the log. The entry is forgotten.
    Fail {
        entry: EntryId,
        on: Sha,
        on_base: bool,
        /// The entries before it in the list.
        #[serde(default)]
        behind: Vec<EntryId>,
        red: TrialId,
        confirmed: TrialId,
    },
    /// The checks cannot be run wherever this entry is included, while those of others can. The entry is
    /// forgotten.
    Unrunnable {
        entry: EntryId,
        trial: TrialId,
    },
    /// The entry conflicts with the primary branch at `with`. The entry is forgotten.
    Conflict {
        entry: EntryId,
        with: Sha,
    },
    /// A red result that was not repeated; `entry`, if one was a suspect. For the record.
    Flake {
        trial: TrialId,
        entry: Option<EntryId>,
    },
    Alarm(Alarm),
}

/// Entries that land together: only the last link's tree was checked, or is that of a commit that was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub entries: Vec<(EntryId, Link)>,
    /// The commit that was checked. (Or the base itself, if nothing changes.)
    pub tested: Sha,
}

impl Step {
    pub fn last(&self) -> &Link {
        &self.entries.last().expect("a step has entries").1
    }

    /// Whether it is one commit on top of `below`. An entry that adds nothing new adds none.
    pub fn is_single(&self, below: &Sha) -> bool {
        let last = &self.last().commit;
        self.entries.iter().all(|(_, link)| link.commit == *below || link.commit == *last)
    }
}

/// What somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "alarm", rename_all = "snake_case")]
pub enum Alarm {
    /// The entry has waited longer than it should. Raised once.
    Waiting { entry: EntryId, since: Time },
    /// Nothing can be run, whatever is included: found this many times in a row; the next try is at `until`.
    Infra { times: u32, until: Time },
}
