//! A project's policy: the part of its configuration that decisions depend on. The binary makes
//! one from `shopfloor.toml`; the core never reads a file.

use crate::capability::Rights;
use crate::groom;
use crate::health::{MachineLimits, WorkLimits};
use crate::ids::{Role, Target};
use crate::protected;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How a branch joins the primary branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeMethod {
    /// Its commits, one after another. Only the last is checked, unless [`CheckCommits::Each`] is set.
    Rebase,
    /// A merge commit: the branch's own commits stay off the first-parent line.
    Merge,
    /// One commit with all its changes.
    #[default]
    Squash,
}

/// What must have passed when entries are checked together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeBatch {
    /// Every commit on the primary branch's first-parent line: entries that were only checked together land as
    /// one.
    #[default]
    Strict,
    /// The same, and every entry has a run and a commit of its own.
    Each,
    /// Only the last commit of what lands together.
    Tip,
}

/// Which commits of a branch must have passed when they land one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckCommits {
    /// The last.
    #[default]
    Last,
    /// Every one.
    Each,
}

/// Whether a head is checked by itself: an agent's before it is reviewed, a person's before it is tried as it
/// would land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadChecks {
    #[default]
    Always,
    /// Only if the merge queue wants no run of the checks; otherwise its trial decides.
    WhenIdle,
    /// Its trial decides.
    Never,
}

/// Which of the pull requests that no job carries are reviewed by an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewPeople {
    Never,
    /// Those that a person asks to have reviewed.
    #[default]
    Ask,
    /// Every new head of those that people made.
    Always,
}

/// What becomes of an issue whose agent gave up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailed {
    /// It waits for a person.
    #[default]
    Blocked,
    /// It is retried, a few times.
    Backlog,
}

/// What becomes of an issue whose agent says that nothing is left to do, and has changed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnAlreadyDone {
    /// A person looks.
    #[default]
    Ask,
    Close,
}

/// A branch beside the primary one that work lands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetPolicy {
    pub name: String,
    pub branch: Target,
    /// Issues with this label land there.
    pub label: String,
}

/// Settings that an older program did not know take their defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    pub primary_branch: String,
    pub review_required: bool,
    /// Whether an agent reviews; else a person does.
    pub review_agent: bool,
    pub review_people: ReviewPeople,
    /// Whether there are checks that a commit must pass. If there are none, it is green only if the project says
    /// so.
    pub has_checks: bool,
    pub allow_no_checks: bool,
    /// Patterns for files: a change of one needs a person's approval, whoever else has approved it.
    pub protected: Vec<String>,
    /// Identifies the checks: a different value means different checks. A verdict holds for the checks that gave
    /// it.
    pub checks: String,
    /// Some paths need no checks.
    pub may_skip_checks: bool,
    /// Checks that pass sooner than this did not run as they should.
    pub ci_min_time: Duration,
    /// How often checks that could not run are retried, and the pause before the first retry; it doubles with
    /// each.
    pub infra_retries_max: u32,
    pub infra_cooldown: Duration,
    pub merge_method: MergeMethod,
    /// The same, for branches that people queue.
    pub merge_people: MergeMethod,
    pub merge_batch: MergeBatch,
    pub check_commits: CheckCommits,
    pub head_checks: HeadChecks,
    /// The branches other than the primary one that work lands on.
    pub targets: Vec<TargetPolicy>,
    /// The commits that the queue makes are signed when they land.
    pub merge_signed: bool,
    /// How many merge candidates are checked at once.
    pub merge_slots: usize,
    /// How long an entry may wait in the merge queue before somebody is told.
    pub merge_alarm: Duration,
    /// The project has a command for changes that landed, and one for those that did not.
    pub tells_landed: bool,
    pub tells_not_landed: bool,
    /// How many jobs work at once.
    pub max_jobs: usize,
    /// How many jobs work at once on the whole floor, if limited.
    pub floor_max_jobs: Option<usize>,
    pub ci_fixes_max: u32,
    pub review_rounds_max: u32,
    pub merge_rounds_max: u32,
    pub respawns_max: u32,
    /// Reminders to an agent whose signal cannot be acted upon (no commits, nothing merged).
    pub reminders_max: u32,
    pub on_failed: OnFailed,
    pub on_already_done: OnAlreadyDone,
    /// For a whole CI run, all steps.
    pub ci_timeout: Duration,
    pub review_timeout: Duration,
    /// For a reviewer that has been told what to review, and neither works nor leaves a review.
    pub reviewer_timeout: Duration,
    /// How much of a change's diff a reviewer is shown.
    pub review_diff_bytes: usize,
    /// A person who types at an agent's terminal has it until they have typed nothing for this long.
    pub handback: Duration,
    /// For an agent at work that shows no sign of life.
    pub idle_timeout: Duration,
    /// For an agent whose turn has ended while its background work continues.
    pub background_timeout: Duration,
    /// For a message that its agent does not take.
    pub delivery_timeout: Duration,
    /// The pause before the first respawn; it doubles with each.
    pub respawn_backoff: Duration,
    /// How often a turn that failed through no fault of the agent is restarted before a person is asked.
    pub retries_max: u32,
    /// The pause before the first of these; it doubles with each.
    pub retry_backoff: Duration,
    /// The time between two snapshots of a worktree in which an agent works.
    pub checkpoint_every: Duration,
    /// How many of an agent's rescue refs are kept at least, and for how long all of them are.
    pub rescue_keep: u32,
    pub rescue_keep_for: Duration,
    /// How long the worktree of a job that did not merge is kept.
    pub keep_worktrees: Duration,
    /// How long the journal is kept, on the whole floor; `None`: for ever.
    pub keep_journal: Option<Duration>,
    /// How long a project's setup of a worktree may take; zero if it has none.
    pub setup_timeout: Duration,
    /// How long the folders of sessions and runs of checks are kept once nothing needs them.
    pub keep_logs: Duration,
    /// How many ended jobs are loaded with the floor. The rest are on the shelf, and read when asked for.
    pub jobs_at_hand: usize,
    /// When a question is repeated, and when it is escalated.
    pub renotify_after: Duration,
    pub escalate_after: Duration,
    /// How long something may keep failing before people are asked to look.
    pub trouble_after: Duration,
    /// From when on something is found of its work, and of the machine, on the whole floor.
    pub health: Box<WorkLimits>,
    pub machine: MachineLimits,
    /// Variables that the project's configuration passes on and the floor does not grant.
    pub withheld: Vec<String>,
    /// What the agents of a role may do; of a role that is not named, what is usual.
    pub roles: BTreeMap<Role, Rights>,
    /// Whether issues that ask for an action are carried out.
    pub actions: bool,
    /// From when on something in the backlog is worth a look.
    pub groom: groom::Limits,
}

impl Policy {
    /// Whether finished work lands on that branch.
    pub fn is_landed_on(&self, branch: &str) -> bool {
        branch == self.primary_branch || self.targets.iter().any(|t| t.branch.branch() == branch)
    }

    /// Where an issue's change is to land: the first target whose label it carries; `None`: the primary branch.
    pub fn target_of(&self, labels: &BTreeSet<String>) -> Option<&Target> {
        self.targets.iter().find(|t| labels.contains(&t.label)).map(|t| &t.branch)
    }

    /// What the agents of a role may do.
    pub fn rights(&self, role: Role) -> Rights {
        self.roles.get(&role).cloned().unwrap_or_else(|| Rights::of(role))
    }

    /// The branch that work lands on.
    pub fn branch_of<'a>(&'a self, target: Option<&'a Target>) -> &'a str {
        target.map_or(&self.primary_branch, Target::branch)
    }

    /// Whether commits that nobody checked by themselves land on the first-parent line.
    pub fn lands_unchecked_commits(&self) -> bool {
        let rebased = [self.merge_method, self.merge_people].contains(&MergeMethod::Rebase);
        rebased && self.check_commits == CheckCommits::Last
    }

    /// Whether the commits of an agent's branch become part of the primary branch's history themselves.
    pub fn lands_each_commit(&self) -> bool {
        self.merge_method != MergeMethod::Squash
    }
}

impl Default for Policy {
    fn default() -> Self {
        const MINUTE: Duration = Duration::from_secs(60);
        const DAY: Duration = Duration::from_secs(24 * 3600);
        Policy {
            primary_branch: "main".into(),
            review_required: true,
            review_agent: true,
            review_people: ReviewPeople::default(),
            has_checks: true,
            allow_no_checks: false,
            protected: protected::DEFAULT.map(str::to_owned).to_vec(),
            checks: String::new(),
            may_skip_checks: false,
            ci_min_time: Duration::ZERO,
            infra_retries_max: 2,
            infra_cooldown: Duration::from_secs(30),
            merge_method: MergeMethod::default(),
            merge_people: MergeMethod::Merge,
            merge_batch: MergeBatch::default(),
            check_commits: CheckCommits::default(),
            head_checks: HeadChecks::default(),
            targets: Vec::new(),
            merge_signed: false,
            merge_slots: 1,
            merge_alarm: 120 * MINUTE,
            tells_landed: false,
            tells_not_landed: false,
            max_jobs: 1,
            floor_max_jobs: None,
            ci_fixes_max: 3,
            review_rounds_max: 5,
            merge_rounds_max: 3,
            respawns_max: 3,
            reminders_max: 2,
            on_failed: OnFailed::default(),
            on_already_done: OnAlreadyDone::default(),
            ci_timeout: 30 * MINUTE,
            review_timeout: 180 * MINUTE,
            reviewer_timeout: 30 * MINUTE,
            review_diff_bytes: 25 * 1024,
            handback: 15 * MINUTE,
            idle_timeout: 120 * MINUTE,
            background_timeout: 240 * MINUTE,
            delivery_timeout: 30 * MINUTE,
            respawn_backoff: Duration::from_secs(1),
            retries_max: 8,
            retry_backoff: MINUTE,
            checkpoint_every: 5 * MINUTE,
            rescue_keep: 20,
            rescue_keep_for: 30 * DAY,
            keep_worktrees: 14 * DAY,
            keep_logs: 30 * DAY,
            jobs_at_hand: 100,
            keep_journal: Some(90 * DAY),
            setup_timeout: Duration::ZERO,
            renotify_after: 360 * MINUTE,
            escalate_after: 1440 * MINUTE,
            trouble_after: 240 * MINUTE,
            health: Box::default(),
            machine: MachineLimits::default(),
            withheld: Vec::new(),
            roles: BTreeMap::new(),
            actions: false,
            groom: groom::Limits::default(),
        }
    }
}
