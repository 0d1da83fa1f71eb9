//! The merge queue's records: a branch on its way through the queue, and the queue itself.

use super::{Floor, Job};
use crate::effect::CommandEnd;
use crate::ids::{EntryId, IssueNumber, JobId, PrNumber, ProjectName, QueueId, RunId, Sha, Target};
use crate::planner::{Link, Plan, Priority, Progress, Step, Terms, TreeId, TrialId};
use crate::policy::{CheckCommits, MergeBatch, Policy};
use crate::table::Record;
use crate::time::Time;
use crate::verdict::Green;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum EntryState {
    /// Not in the plan yet: the head of a person's branch has to pass the checks by itself. They are running, or
    /// they could not run and are retried at `again_at`.
    Checking {
        run: RunId,
        again_at: Option<Time>,
    },
    /// In the plan; [`Floor::standing`] says how far it is there.
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
        matches!(self, EntryState::Checking { .. } | EntryState::Queued | EntryState::Merging)
    }
}

/// One branch on its way through the merge queue: a job's, or a person's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub id: EntryId,
    pub project: ProjectName,
    /// `None`: a person queued the branch, and [`Entry::person`] has the rest.
    pub job: Option<JobId>,
    pub issue: Option<IssueNumber>,
    pub pr: Option<PrNumber>,
    #[serde(default, rename = "by_hand")]
    pub person: Option<PersonsBranch>,
    pub branch: String,
    /// The approved and checked head.
    pub head: Sha,
    /// Who approved a job's change; for a person's branch, see [`Entry::person`].
    #[serde(default)]
    pub approved_by: Option<String>,
    pub state: EntryState,
    pub requested_at: Time,
    #[serde(default)]
    pub priority: Priority,
    /// It is never tried or landed together with others.
    #[serde(default)]
    pub alone: bool,
    /// How many times in a row it could not be tried, through no fault of its own as far as is known.
    pub infra_retries: u32,
    /// When it landed or left the queue.
    #[serde(default)]
    pub decided_at: Option<Time>,
    /// Commits of its branch that do not land with it, because they were taken off the primary branch.
    #[serde(default)]
    pub left_out: u32,
    /// What it landed on: the commits from there to [`EntryState::Merged`] are this change and no other.
    #[serde(default)]
    pub landed_on: Option<Sha>,
    /// The branch it is to land on; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    /// Branches that it lands after. It is not in the plan until they have landed.
    #[serde(default)]
    pub after: Vec<String>,
    /// What it was last tried on, or landed on.
    #[serde(default)]
    pub stood_on: Option<StoodOn>,
    /// How the project's command about its end went.
    #[serde(default)]
    pub command: Option<CommandEnd>,
    /// What people were last told about why it waits in vain for the branch it lands after.
    #[serde(default)]
    pub waits_told: Option<String>,
    /// People were told that it has waited long for a branch that has to land first.
    #[serde(default)]
    pub wait_told: bool,
}
record!(Entry, "entry", Queues, EntryId, |e| e.id, |k| k.to_string());

impl Entry {
    pub fn queue(&self) -> QueueId {
        QueueId::new(&self.project, self.target.as_ref())
    }

    /// The command that queues it again, with the same target.
    pub fn again(&self) -> String {
        if let (Some(_), Some(issue)) = (self.job, self.issue) {
            return format!("shopfloor merge-queue add {issue}");
        }
        let to = self.target.as_ref().map(|target| format!(" --to {}", target.branch())).unwrap_or_default();
        format!("shopfloor merge-queue add {}{to}", self.branch)
    }
}

/// What a candidate was on top of, and the run that decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoodOn {
    pub base: Option<Sha>,
    /// Branches that were in it but not in the primary branch, lowest first.
    pub behind: Vec<String>,
    pub run: Option<RunId>,
    /// Empty: `run` names it.
    pub log: String,
}

/// What is known of a branch that no job carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonsBranch {
    /// Who queued it.
    pub by: String,
    /// Who made its newest commit.
    #[serde(default)]
    pub author: Option<String>,
    pub title: String,
    /// What its commit is to say besides the title; `None`: what the branch's own commits say.
    #[serde(default)]
    pub message: Option<String>,
    /// Who approved its head.
    pub approved_by: Option<String>,
    /// The verdict on its head.
    pub green: Option<Green>,
    /// Why nobody wants it any more, if its publication could not be called off.
    pub refused: Option<String>,
    /// Red runs of its head in a row.
    #[serde(default)]
    pub reds: u32,
}

/// The run of the checks that a trial waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialRun {
    pub run: RunId,
    pub commit: Sha,
    pub tree: TreeId,
    /// The newest entry in it.
    pub tip: EntryId,
    pub since: Time,
    /// The commits that are checked one after another; empty if it is `commit` alone.
    #[serde(default)]
    pub each: Vec<Link>,
    /// The verdict on `commit`, if that is not among them.
    #[serde(default)]
    pub known: Option<Green>,
}

/// What is about to be published, while the commits it lands as are being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    pub old: Sha,
    /// What the first link was put on. Unknown if an older program began the landing.
    #[serde(default)]
    pub on: Option<Sha>,
    pub steps: Vec<Step>,
    /// Its commits could not be signed: how often, and when that is retried.
    #[serde(default)]
    pub put_off: Option<(u32, Time)>,
}

impl Landing {
    /// The last link: the plan's name for what lands.
    pub fn tip(&self) -> Sha {
        self.steps.last().expect("what lands has steps").last().commit.clone()
    }

    pub fn entries(&self) -> Vec<EntryId> {
        self.steps.iter().flat_map(|step| step.entries.iter().map(|(entry, _)| *entry)).collect()
    }
}

/// The intent to move the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    pub old: Sha,
    pub new: Sha,
    /// What makes `new` fit to land; not needed if nothing changes.
    pub green: Option<Green>,
    pub entries: Vec<(EntryId, Sha)>,
    /// The plan's name for it, if that is not `new`.
    #[serde(default)]
    pub tip: Option<Sha>,
    /// Why it cannot be completed. Only git knows whether the branch had moved by then.
    #[serde(default)]
    pub gave_up: Option<String>,
}

impl Publication {
    /// The plan's name for it.
    pub fn tip(&self) -> Sha {
        self.tip.as_ref().unwrap_or(&self.new).clone()
    }
}

/// Who waits to learn whether the base it stands on is green.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// An entry, as it would land.
    Entry(EntryId),
    /// A job, with its head by itself.
    Job(JobId),
}

/// An entry or a job that fails on a base that nobody knows to be green.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    #[serde(flatten)]
    pub who: Who,
    pub reason: String,
    /// What its agent is told if the base is not to blame.
    pub message: String,
    /// The commit of the primary branch that a job's head stands on; an entry is tried on the newest one.
    #[serde(default)]
    pub on: Option<Sha>,
    /// That commit is red: this waits until the primary branch is green again.
    #[serde(default)]
    pub red: bool,
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

/// The primary branch does not continue from where the queue last saw it: it was rewound, rewritten or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostPrimary {
    /// Where it was; `None`: it never existed.
    pub known: Option<Sha>,
    /// Where it is; `None`: it does not exist.
    pub found: Option<Sha>,
    /// It continues from there, but neither the queue nor any push on record moved it.
    #[serde(default)]
    pub by_nobody: bool,
}

/// A person's push to the branch, recorded before the branch moved. It may have come to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    pub old: Option<Sha>,
    pub new: Sha,
    pub by: String,
}

/// The merge queue of one branch of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    pub project: ProjectName,
    /// The branch that this queue moves; `None`: the primary branch. The fields below call either "the primary
    /// branch".
    #[serde(default)]
    pub target: Option<Target>,
    pub plan: Plan,
    /// Why nothing is tried or published.
    pub paused: Option<String>,
    /// While paused, only entries below this priority are held.
    #[serde(default)]
    pub below: Option<Priority>,
    /// The queue has asked where the primary branch is: nothing is started or published before the answer.
    pub finding: bool,
    /// Somebody moved it after the queue asked.
    #[serde(default)]
    pub touched: bool,
    /// Wherever it is found, that is accepted.
    #[serde(default)]
    pub accepts: bool,
    /// Nothing is started or published until a person has put that right.
    #[serde(default)]
    pub lost: Option<LostPrimary>,
    /// Where it was before a person deliberately rewound it: what was taken off then does not come back with a
    /// branch that was begun on it. The newest are kept.
    #[serde(default)]
    pub removed: Vec<Sha>,
    /// The newest pushes of people.
    #[serde(default)]
    pub pushed: Vec<Pushed>,
    pub runs: BTreeMap<TrialId, TrialRun>,
    #[serde(default)]
    pub landing: Option<Landing>,
    pub publishing: Option<Publication>,
    /// The newest verdicts, for commits and trees that come up again.
    pub greens: Vec<Green>,
    pub parked: Vec<Parked>,
    pub base_check: Option<BaseCheck>,
    /// The same for an earlier commit of the primary branch that the heads of jobs stand on.
    #[serde(default)]
    pub older_check: Option<BaseCheck>,
    /// How long the checks take, as a moving mean, and their mean deviation from it.
    pub checks_ms: Option<u64>,
    #[serde(default)]
    pub checks_spread_ms: u64,
}
record!(Queue, "queue", Queues, QueueId, Queue::id, |k| k.to_string());

/// More than the number of trees the plan remembers, so that whatever it wants published is found here.
const GREENS_MAX: usize = 160;
const REMOVED_MAX: usize = 8;
const PUSHED_MAX: usize = 50;

impl Queue {
    pub fn new(id: QueueId) -> Queue {
        Queue {
            project: id.project,
            target: id.target,
            plan: Plan::default(),
            paused: None,
            below: None,
            finding: false,
            touched: false,
            accepts: false,
            lost: None,
            removed: Vec::new(),
            pushed: Vec::new(),
            runs: BTreeMap::new(),
            landing: None,
            publishing: None,
            greens: Vec::new(),
            parked: Vec::new(),
            base_check: None,
            older_check: None,
            checks_ms: None,
            checks_spread_ms: 0,
        }
    }

    pub(crate) fn push_seen(&mut self, pushed: Pushed) {
        self.pushed.retain(|known| *known != pushed);
        self.pushed.push(pushed);
        let more = self.pushed.len().saturating_sub(PUSHED_MAX);
        self.pushed.drain(..more);
    }

    /// Who moved the branch from `base` to `head`, one push after another; `None`: that is not all on record.
    pub fn moved_by(&self, base: &Sha, head: &Sha) -> Option<String> {
        let (mut at, mut last) = (head, None);
        for _ in 0..PUSHED_MAX {
            let push = self.pushed.iter().rev().find(|push| push.new == *at)?;
            last.get_or_insert(&push.by);
            at = push.old.as_ref()?;
            if at == base {
                return last.cloned();
            }
        }
        None
    }

    pub fn id(&self) -> QueueId {
        QueueId::new(&self.project, self.target.as_ref())
    }

    pub fn terms(&self, policy: &Policy) -> Terms {
        Terms {
            slots: policy.merge_slots.max(1),
            alarm_after: policy.merge_alarm,
            paused: self.lost.is_some() || self.finding || (self.paused.is_some() && self.below.is_none()),
            strict: policy.merge_batch != MergeBatch::Tip || policy.check_commits == CheckCommits::Each,
            each: policy.merge_batch == MergeBatch::Each,
            least: self.paused.as_ref().and(self.below).unwrap_or_default(),
        }
    }

    /// Why an entry of that priority is not tried until a person says so.
    pub fn holds(&self, priority: Priority) -> Option<&str> {
        self.paused.as_deref().filter(|_| self.below.is_none_or(|least| priority < least))
    }

    /// Why it is paused, and for which entries.
    pub fn pause(&self) -> Option<String> {
        let why = self.paused.as_deref()?;
        Some(match self.below {
            Some(Priority::LABELLED) => format!("{why} (only priority and urgent changes land)"),
            Some(least) => format!("{why} (only {} changes land)", least.name()),
            None => why.to_owned(),
        })
    }

    /// The primary branch was at `tip`, and what it had there is not to come back.
    pub fn remove(&mut self, tip: Sha) {
        self.removed.retain(|known| *known != tip);
        self.removed.push(tip);
        let surplus = self.removed.len().saturating_sub(REMOVED_MAX);
        self.removed.drain(..surplus);
    }

    pub fn remember(&mut self, green: Green) {
        self.greens.retain(|g| g.commit() != green.commit());
        self.greens.push(green);
        let surplus = self.greens.len().saturating_sub(GREENS_MAX);
        self.greens.drain(..surplus);
    }

    /// The verdict on this tree, as a verdict on `commit`.
    pub fn green_tree(&self, policy: &Policy, commit: &Sha, tree: &TreeId) -> Option<Green> {
        let present = self.greens.iter().filter(|g| g.holds(policy));
        present.filter_map(|g| g.for_same_tree(commit, tree)).next_back()
    }

    /// The verdict on that commit.
    pub fn green(&self, commit: &Sha) -> Option<&Green> {
        self.greens.iter().find(|g| g.commit() == commit)
    }

    pub fn is_parked(&self, who: Who) -> bool {
        self.parked.iter().any(|p| p.who == who)
    }

    /// Whether that commit of the primary branch is known to be red.
    pub fn is_red(&self, commit: &Sha) -> bool {
        self.base_checks().any(|check| check.red && check.head == *commit)
    }

    /// The known checks of the primary branch, finished or not.
    pub fn base_checks(&self) -> impl Iterator<Item = &BaseCheck> {
        self.base_check.iter().chain(&self.older_check)
    }

    /// Whether the queue wants room for a run of the checks.
    pub fn wants_a_run(&self) -> bool {
        self.plan.trials().next().is_some() || self.base_checks().any(|check| !check.red)
    }

    /// Where the primary branch is, or is about to be, as far as the queue knows: any other place is news. `None`:
    /// it was never needed.
    pub fn primary_known(&self) -> Option<Vec<Sha>> {
        if let Some(LostPrimary { found, .. }) = &self.lost {
            return Some(found.iter().cloned().collect());
        }
        let landing = self.publishing.as_ref().map(|p| p.new.clone());
        Some(self.plan.base().cloned().into_iter().chain(landing).collect::<Vec<_>>())
            .filter(|k| !k.is_empty())
    }

    /// When something has to be done even if nothing happens.
    pub fn wake_at(&self, policy: &Policy) -> Option<Time> {
        self.plan.wake_at(&self.terms(policy))
    }

    /// When signing what is about to land is retried, if it failed.
    pub fn signed_at(&self) -> Option<Time> {
        self.landing.as_ref()?.put_off.map(|(_, at)| at)
    }

    /// Records how long a run took.
    pub fn took(&mut self, ms: u64) {
        let Some(mean) = self.checks_ms else {
            self.checks_ms = Some(ms);
            return;
        };
        self.checks_spread_ms = (self.checks_spread_ms * 3 + mean.abs_diff(ms)) / 4;
        self.checks_ms = Some((mean * 3 + ms) / 4);
    }

    /// The shortest and the longest that the checks are likely to take.
    pub fn checks_take(&self) -> Option<(Duration, Duration)> {
        let (mean, spread) = (self.checks_ms?, self.checks_spread_ms);
        let (short, long) = (mean.saturating_sub(spread), mean + 2 * spread);
        Some((Duration::from_millis(short), Duration::from_millis(long)))
    }
}

impl Floor {
    /// Whether the branch that the entry lands on may already have moved: from then on only git knows.
    pub fn is_publishing(&self, entry: &Entry) -> bool {
        let landing = self.queues.get(&entry.queue()).and_then(|queue| queue.landing.as_ref());
        entry.state == EntryState::Merging && !landing.is_some_and(|l| l.entries().contains(&entry.id))
    }

    /// What an entry that is still in the queue waits for.
    pub fn standing(&self, entry: &Entry) -> Option<Progress> {
        self.queues.get(&entry.queue())?.plan.standing(entry.id)
    }

    /// The title of its issue, or of its branch's newest commit.
    pub fn title(&self, entry: &Entry) -> String {
        let job = entry.job.and_then(|job| self.jobs.get(&job)).map(|j| &j.title);
        job.or(entry.person.as_ref().map(|by| &by.title)).cloned().unwrap_or_default()
    }

    /// The entry's state in a word.
    pub fn entry_status(&self, entry: &Entry) -> &'static str {
        match &entry.state {
            EntryState::Checking { .. } => "testing",
            EntryState::Queued => match self.standing(entry) {
                Some(Progress::Building(_)) => "preparing",
                Some(Progress::Testing(_) | Progress::Suspect) => "testing",
                Some(Progress::Landing) => "merging",
                _ => "queued",
            },
            EntryState::Merging => "merging",
            EntryState::Merged { .. } => "merged",
            EntryState::Conflicted { .. } => "conflicted",
            EntryState::Failed { .. } => "failed",
            EntryState::Cancelled { .. } => "cancelled",
        }
    }

    /// A project's queues: those of the primary branch, of its other targets, and of former targets that still
    /// have something in them.
    pub fn queue_ids(&self, project: &ProjectName) -> Vec<QueueId> {
        let policy = self.policy(project);
        let mut all = vec![QueueId::primary(project)];
        all.extend(policy.targets.iter().map(|target| QueueId::new(project, Some(&target.branch))));
        let live = self.entries.iter().filter(|e| e.project == *project && e.state.is_live());
        let jobs = self.live_jobs(project).map(Job::queue);
        for queue in live.map(Entry::queue).chain(jobs) {
            if !all.contains(&queue) {
                all.push(queue);
            }
        }
        all
    }

    /// A queue's entries that are not done, in the order they would land, as far as that is known.
    pub fn queue_order(&self, queue: &QueueId) -> Vec<&Entry> {
        let order = self.queues.get(queue).map(|q| q.plan.order()).unwrap_or_default();
        let mut entries: Vec<&Entry> =
            self.entries.iter().filter(|e| e.queue() == *queue && e.state.is_live()).collect();
        let place = |e: &&Entry| order.iter().position(|id| *id == e.id).unwrap_or(usize::MAX);
        // Entries whose head is still being checked come after the plan, in the order they would enter it.
        entries.sort_by_key(|e| (place(e), std::cmp::Reverse(e.priority), e.requested_at, e.id));
        entries
    }
}
