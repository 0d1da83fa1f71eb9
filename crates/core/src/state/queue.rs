//! The merge queue's records: a branch on its way through it, and the queue of a project.

use super::Floor;
use crate::ids::{EntryId, IssueNumber, JobId, PrNumber, ProjectName, RunId, Sha};
use crate::planner::{Plan, Priority, Standing, Terms, Tree, TrialId};
use crate::policy::Policy;
use crate::table::Record;
use crate::time::Time;
use crate::verdict::Green;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum EntryState {
    /// In the plan; how far it is there, [`Floor::standing`] says.
    #[serde(alias = "preparing", alias = "testing")]
    Queued,
    /// The intent to publish is on record; the branch may or may not have moved.
    Merging,
    Merged {
        commit: Sha,
    },
    Conflicted {
        files: Vec<String>,
    },
    Failed {
        reason: String,
    },
    Cancelled {
        reason: String,
    },
}

impl EntryState {
    pub fn is_live(&self) -> bool {
        matches!(self, EntryState::Queued | EntryState::Merging)
    }
}

/// One branch on its way through the merge queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub id: EntryId,
    pub project: ProjectName,
    pub job: JobId,
    pub issue: IssueNumber,
    pub pr: PrNumber,
    pub branch: String,
    /// The approved and checked head.
    pub head: Sha,
    pub state: EntryState,
    pub requested_at: Time,
    #[serde(default)]
    pub priority: Priority,
    /// Times in a row that it could not be tried, through no fault of its own as far as is known.
    pub infra_retries: u32,
    /// When it landed or left the queue.
    #[serde(default)]
    pub decided_at: Option<Time>,
}
record!(Entry, "entry", EntryId, |e| e.id, |k| k.to_string());

/// The run of the checks that a trial waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialRun {
    pub run: RunId,
    pub commit: Sha,
    pub tree: Tree,
    /// The newest entry in it.
    pub tip: EntryId,
    pub since: Time,
}

/// The intent to move the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publishing {
    pub old: Sha,
    pub new: Sha,
    /// What makes `new` fit to land; none is needed where nothing changes.
    pub green: Option<Green>,
    pub entries: Vec<(EntryId, Sha)>,
}

/// An entry that fails on a base of which nobody knows whether it is green.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub entry: EntryId,
    pub reason: String,
    /// What its agent is told if the base is not to blame.
    pub message: String,
}

/// The checks of the primary branch itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseCheck {
    pub head: Sha,
    pub run: RunId,
    pub attempt: u32,
    /// Red twice: until the primary branch moves, nobody is blamed for failing on it.
    pub red: bool,
}

/// A project's merge queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    pub project: ProjectName,
    pub plan: Plan,
    /// Why nothing is tried or published.
    pub paused: Option<String>,
    /// It was asked where the primary branch is.
    pub finding: bool,
    /// When to ask again: somebody else has to mend it.
    pub look_at: Option<Time>,
    pub runs: BTreeMap<TrialId, TrialRun>,
    pub publishing: Option<Publishing>,
    /// The newest verdicts, for commits and trees that come again.
    pub greens: Vec<Green>,
    pub parked: Vec<Parked>,
    pub base_check: Option<BaseCheck>,
    /// How long the checks take, as a moving mean.
    pub checks_ms: Option<u64>,
}
record!(Queue, "queue", ProjectName, |q| q.project.clone(), |k| k.to_string());

/// More than the plan remembers trees, so that what it wants published is found here.
const GREENS_MAX: usize = 160;

impl Queue {
    pub fn new(project: ProjectName) -> Queue {
        Queue {
            project,
            plan: Plan::default(),
            paused: None,
            finding: false,
            look_at: None,
            runs: BTreeMap::new(),
            publishing: None,
            greens: Vec::new(),
            parked: Vec::new(),
            base_check: None,
            checks_ms: None,
        }
    }

    pub fn terms(&self, policy: &Policy) -> Terms {
        Terms {
            slots: policy.merge_slots.max(1),
            alarm_after: policy.merge_alarm,
            paused: self.paused.is_some(),
        }
    }

    pub fn remember(&mut self, green: Green) {
        self.greens.retain(|g| g.commit() != green.commit());
        self.greens.push(green);
        let surplus = self.greens.len().saturating_sub(GREENS_MAX);
        self.greens.drain(..surplus);
    }

    /// The verdict on that commit.
    pub fn green(&self, commit: &Sha) -> Option<&Green> {
        self.greens.iter().find(|g| g.commit() == commit)
    }

    /// When something is to be done though nothing happens.
    pub fn wake_at(&self, policy: &Policy) -> Option<Time> {
        self.plan.wake_at(&self.terms(policy)).into_iter().chain(self.look_at).min()
    }

    /// A run took so long.
    pub fn took(&mut self, ms: u64) {
        self.checks_ms = Some(self.checks_ms.map_or(ms, |mean| (mean * 3 + ms) / 4));
    }
}

impl Floor {
    /// What an entry that is not through waits for.
    pub fn standing(&self, entry: &Entry) -> Option<Standing> {
        self.queues.get(&entry.project)?.plan.standing(entry.id)
    }

    /// The entry's state in a word.
    pub fn entry_status(&self, entry: &Entry) -> &'static str {
        match &entry.state {
            EntryState::Queued => match self.standing(entry) {
                Some(Standing::Building(_)) => "preparing",
                Some(Standing::Testing(_) | Standing::Suspect) => "testing",
                Some(Standing::Landing) => "merging",
                _ => "queued",
            },
            EntryState::Merging => "merging",
            EntryState::Merged { .. } => "merged",
            EntryState::Conflicted { .. } => "conflicted",
            EntryState::Failed { .. } => "failed",
            EntryState::Cancelled { .. } => "cancelled",
        }
    }

    /// A project's entries that are not through, in the order they would land in as far as it is known.
    pub fn queue_order(&self, project: &ProjectName) -> Vec<&Entry> {
        let order = self.queues.get(project).map(|q| q.plan.order()).unwrap_or_default();
        let mut entries: Vec<&Entry> =
            self.entries.iter().filter(|e| e.project == *project && e.state.is_live()).collect();
        let place = |e: &&Entry| order.iter().position(|id| *id == e.id).unwrap_or(usize::MAX);
        entries.sort_by_key(|e| (place(e), e.requested_at, e.id));
        entries
    }
}
