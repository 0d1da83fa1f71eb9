//! A project's policy: the part of its configuration that decisions depend on. The binary makes
//! one from `shopfloor.toml`; the core never reads a file.

use crate::ids::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// How a branch joins the primary branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeMethod {
    /// Its commits, one after another. Only the last is checked, unless [`CheckCommits::Each`] is wanted.
    Rebase,
    /// A merge commit: the branch's own commits stay off the first-parent line.
    Merge,
    /// One commit with all its changes.
    #[default]
    Squash,
}

/// What must have passed of entries that are checked together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeBatch {
    /// Every commit of the primary branch's first-parent line: what was only checked together lands as one.
    #[default]
    Strict,
    /// The same, and every entry has a run and a commit of its own.
    Each,
    /// The last commit of what lands together.
    Tip,
}

/// Which commits of a branch must have passed where they land one by one.
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
    /// Only if the merge queue wants no run of the checks; else its trial tells.
    WhenIdle,
    /// Its trial tells.
    Never,
}

/// Which pull requests that no job carries an agent reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewPeople {
    Never,
    /// Those that a person asks for.
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
    /// It is tried again, a few times.
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
    /// Issues that carry it land there.
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub primary_branch: String,
    pub review_required: bool,
    /// Whether an agent reviews; else a person does.
    pub review_agent: bool,
    #[serde(default)]
    pub review_people: ReviewPeople,
    /// The checks a commit must pass. None at all is green only if the project says so.
    pub has_checks: bool,
    pub allow_no_checks: bool,
    /// Which checks they are: another number, other checks. A verdict holds for those it was given by.
    #[serde(default)]
    pub checks: String,
    /// Some paths need no checks.
    #[serde(default)]
    pub may_skip_checks: bool,
    /// Checks that pass sooner than this did not run as they should.
    #[serde(default)]
    pub ci_min_time: Duration,
    /// Runs again of checks that could not run, and the pause before the first; it doubles with each.
    #[serde(default = "infra_retries_max")]
    pub infra_retries_max: u32,
    #[serde(default = "infra_cooldown")]
    pub infra_cooldown: Duration,
    pub merge_method: MergeMethod,
    /// The same, for branches that people queue.
    #[serde(default = "merge_people")]
    pub merge_people: MergeMethod,
    #[serde(default)]
    pub merge_batch: MergeBatch,
    #[serde(default)]
    pub check_commits: CheckCommits,
    #[serde(default)]
    pub head_checks: HeadChecks,
    /// Other branches than the primary one that work lands on.
    #[serde(default)]
    pub targets: Vec<TargetPolicy>,
    /// The commits that the queue makes are signed when they land.
    #[serde(default)]
    pub merge_signed: bool,
    /// Merge candidates that are checked at once.
    #[serde(default = "one")]
    pub merge_slots: usize,
    /// How long an entry may wait in the merge queue before somebody is told.
    #[serde(default = "merge_alarm")]
    pub merge_alarm: Duration,
    /// The project has a command for what landed, and one for what did not.
    #[serde(default)]
    pub tells_landed: bool,
    #[serde(default)]
    pub tells_not_landed: bool,
    /// Jobs at work at once.
    pub max_jobs: usize,
    /// Jobs at work at once on the whole floor, if that is limited.
    #[serde(default)]
    pub floor_max_jobs: Option<usize>,
    pub ci_fixes_max: u32,
    pub review_rounds_max: u32,
    pub merge_rounds_max: u32,
    pub respawns_max: u32,
    /// Reminders to an agent whose signal cannot be acted upon (no commits, nothing merged).
    pub reminders_max: u32,
    #[serde(default)]
    pub on_failed: OnFailed,
    #[serde(default)]
    pub on_already_done: OnAlreadyDone,
    /// A whole CI run, all steps.
    pub ci_timeout: Duration,
    pub review_timeout: Duration,
    /// A reviewer that has been told what to review, and neither works nor leaves a review.
    #[serde(default = "reviewer_timeout")]
    pub reviewer_timeout: Duration,
    /// How much of a change's diff a reviewer is shown.
    #[serde(default = "review_diff_bytes")]
    pub review_diff_bytes: usize,
    /// A person who types at an agent's terminal has it until they typed nothing for this long.
    #[serde(default = "handback")]
    pub handback: Duration,
    /// An agent at work that shows no sign.
    pub idle_timeout: Duration,
    /// An agent whose turn has ended while work of its goes on in the background.
    #[serde(default = "background_timeout")]
    pub background_timeout: Duration,
    /// A message that its agent does not take.
    pub delivery_timeout: Duration,
    /// Before the first respawn; doubles with each.
    pub respawn_backoff: Duration,
    /// Times a turn that failed for no fault of the agent's is begun again, before a person is asked.
    #[serde(default = "retries_max")]
    pub retries_max: u32,
    /// Before it is begun again for the first time; doubles with each.
    #[serde(default = "retry_backoff")]
    pub retry_backoff: Duration,
    /// Between two snapshots of a worktree in which an agent works.
    #[serde(default = "checkpoint_every")]
    pub checkpoint_every: Duration,
    /// Rescue refs of an agent that are kept at least, and for how long all of them are.
    #[serde(default = "rescue_keep")]
    pub rescue_keep: u32,
    #[serde(default = "rescue_keep_for")]
    pub rescue_keep_for: Duration,
    /// How long the worktree of a job that did not merge is kept.
    #[serde(default = "keep_worktrees")]
    pub keep_worktrees: Duration,
    /// What a project's setup of a worktree may take; nothing, if it has none.
    #[serde(default)]
    pub setup_timeout: Duration,
    /// How long the folders of sessions and runs of checks are kept once nothing needs them.
    #[serde(default = "keep_logs")]
    pub keep_logs: Duration,
    /// When a question is repeated, and when it is escalated.
    pub renotify_after: Duration,
    pub escalate_after: Duration,
    /// How long something may fail, and be tried again, before people are asked to look.
    #[serde(default = "trouble_after")]
    pub trouble_after: Duration,
}

fn one() -> usize {
    1
}

fn reviewer_timeout() -> Duration {
    Duration::from_secs(30 * 60)
}

fn background_timeout() -> Duration {
    Duration::from_secs(4 * 3600)
}

fn review_diff_bytes() -> usize {
    25 * 1024
}

fn merge_people() -> MergeMethod {
    MergeMethod::Merge
}

fn handback() -> Duration {
    Duration::from_secs(15 * 60)
}

fn merge_alarm() -> Duration {
    Duration::from_secs(2 * 3600)
}

fn trouble_after() -> Duration {
    Duration::from_secs(4 * 3600)
}

fn infra_retries_max() -> u32 {
    2
}

fn infra_cooldown() -> Duration {
    Duration::from_secs(30)
}

fn checkpoint_every() -> Duration {
    Duration::from_secs(300)
}

fn retries_max() -> u32 {
    8
}

fn retry_backoff() -> Duration {
    Duration::from_secs(60)
}

const DAY: Duration = Duration::from_secs(24 * 3600);

fn rescue_keep() -> u32 {
    20
}

fn rescue_keep_for() -> Duration {
    30 * DAY
}

fn keep_worktrees() -> Duration {
    14 * DAY
}

fn keep_logs() -> Duration {
    30 * DAY
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

    /// The branch that work lands on.
    pub fn branch_of<'a>(&'a self, target: Option<&'a Target>) -> &'a str {
        target.map_or(&self.primary_branch, Target::branch)
    }

    /// Whether commits land on the first-parent line that nobody checked by themselves.
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
        Policy {
            primary_branch: "main".into(),
            review_required: true,
            review_agent: true,
            review_people: ReviewPeople::default(),
            has_checks: true,
            allow_no_checks: false,
            checks: String::new(),
            may_skip_checks: false,
            ci_min_time: Duration::ZERO,
            infra_retries_max: infra_retries_max(),
            infra_cooldown: infra_cooldown(),
            merge_method: MergeMethod::default(),
            merge_people: merge_people(),
            merge_batch: MergeBatch::default(),
            check_commits: CheckCommits::default(),
            head_checks: HeadChecks::default(),
            targets: Vec::new(),
            merge_signed: false,
            merge_slots: one(),
            merge_alarm: merge_alarm(),
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
            reviewer_timeout: reviewer_timeout(),
            review_diff_bytes: review_diff_bytes(),
            handback: handback(),
            idle_timeout: 120 * MINUTE,
            background_timeout: background_timeout(),
            delivery_timeout: 30 * MINUTE,
            respawn_backoff: Duration::from_secs(1),
            retries_max: retries_max(),
            retry_backoff: retry_backoff(),
            checkpoint_every: checkpoint_every(),
            rescue_keep: rescue_keep(),
            rescue_keep_for: rescue_keep_for(),
            keep_worktrees: keep_worktrees(),
            keep_logs: keep_logs(),
            setup_timeout: Duration::ZERO,
            renotify_after: 360 * MINUTE,
            escalate_after: 1440 * MINUTE,
            trouble_after: trouble_after(),
        }
    }
}
