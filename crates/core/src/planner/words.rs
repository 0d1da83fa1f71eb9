//! What the planner is told, and what it orders.

use super::{Link, Priority, Tree, TrialId, Verdict};
use crate::ids::{EntryId, Sha};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What the planner is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// A branch at a head. A branch that moves is another entry.
    Entered {
        entry: EntryId,
        priority: Priority,
        at: Time,
        /// Never with others: see [`Input::Alone`].
        #[serde(default)]
        alone: bool,
    },
    /// It is tried on top of the primary branch itself from now on, and lands by itself.
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
    /// Where the primary branch is seen. Nothing is tried before it is known.
    Primary {
        head: Sha,
    },
    /// `commit` has that tree and is green, as a check outside of the queue found.
    Green {
        tree: Tree,
        commit: Sha,
    },
    /// Comes before [`Input::Built`]: the links of these entries bring commits that have to pass, too, and of which
    /// nobody knows that they do. So a link's tree alone proves nothing.
    Unproven {
        trial: TrialId,
        entries: Vec<EntryId>,
    },
    /// The answer to [`Order::Build`]: one link for each entry of the list, in its order. An entry
    /// that brings nothing new has the commit of the one before it.
    Built {
        trial: TrialId,
        chain: Vec<Link>,
    },
    /// The other answer: entry `at` conflicts with what is before it. `with_base`: with the
    /// base alone, too.
    Conflicted {
        trial: TrialId,
        at: EntryId,
        with_base: bool,
    },
    /// The answer to [`Order::Test`]. With [`Verdict::Infra`] also to [`Order::Build`].
    Finished {
        trial: TrialId,
        verdict: Verdict,
    },
    /// What was ordered for it is of no use: the list is tried again if it is still wanted.
    Dropped {
        trial: TrialId,
    },
    /// The answers to [`Order::Publish`], by the last link of what was ordered. `head`: where the primary
    /// branch is now.
    Published {
        tip: Sha,
        head: Sha,
    },
    Refused {
        tip: Sha,
        head: Sha,
    },
    /// It was not begun to be published, and is not: the entry is not wanted any more. It is forgotten; what else was to
    /// land is tried again.
    CalledBack {
        tip: Sha,
        entry: EntryId,
    },
    /// It can never be published. Its entries are forgotten; the base is where it was.
    Unpublishable {
        tip: Sha,
    },
    /// What counts as green has changed: every verdict is void, also those on trees.
    ChecksChanged,
    /// Time has passed, or the slots have changed.
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "purpose", rename_all = "snake_case")]
pub enum Purpose {
    /// To land the list, or to learn how much of it can.
    Land,
    /// To hear a second time about one entry, the list's last.
    Confirm { entry: EntryId },
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Put the entries on top of `base`, one after another. The trial holds a slot from here on.
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
    /// Move the primary branch on from `old` by these steps. `on`: what the first link was put on, which
    /// is `old` or has the same tree.
    Publish {
        old: Sha,
        on: Sha,
        steps: Vec<Step>,
    },
    /// Red twice. `on`: what it was put on top of the second time, itself green as far as known
    /// (`on_base`: as far as the base may be taken for green); `confirmed` has the log. The entry is
    /// forgotten.
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
    /// Wherever it is, the checks cannot be run, while others' can. The entry is forgotten.
    Unrunnable {
        entry: EntryId,
        trial: TrialId,
    },
    /// The entry conflicts with the primary branch at `with`. The entry is forgotten.
    Conflict {
        entry: EntryId,
        with: Sha,
    },
    /// A red that did not come again; `entry`, if one was under suspicion. For the record.
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

    /// Whether it is one commit on top of `below`. An entry that brings nothing new adds none.
    pub fn is_single(&self, below: &Sha) -> bool {
        let last = &self.last().commit;
        self.entries.iter().all(|(_, link)| link.commit == *below || link.commit == *last)
    }
}

/// What somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "alarm", rename_all = "snake_case")]
pub enum Alarm {
    /// The entry waits longer than it should. Said once.
    Waiting { entry: EntryId, since: Time },
    /// Nothing can be run, whatever is in it: found so many times in a row; the next try is at `until`.
    Infra { times: u32, until: Time },
}
