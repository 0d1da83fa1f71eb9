//! `[review]` and `[merge]`: how finished work gets to the primary branch.

use super::duration::Span;
use super::settings::settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::Target;
use shopfloor_core::policy::{CheckCommits, MergeBatch, MergeMethod, Policy, ReviewPeople, TargetPolicy};
use std::collections::BTreeMap;

/// Review of pull requests by a second agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Review {
    /// Whether a change needs an approving review before it lands.
    pub required: bool,
    /// Time limit for one review.
    pub timeout: Span,
    /// How long a reviewing agent may have stopped without a review before another takes its place.
    pub agent_timeout: Span,
    /// Kilobytes of the diff that a reviewer is shown; it can look at the rest itself.
    #[schemars(range(min = 1))]
    pub diff_kb: u32,
    /// Reviews of one pull request, before a human is asked.
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Whether an agent also reviews people's pull requests: "never", when somebody asks (`pr review N --ask`),
    /// or "always", every new head.
    #[schemars(with = "String", extend("enum" = ["never", "ask", "always"]))]
    pub people: ReviewPeople,
    /// Files that a change may touch only with a person's approval, whoever else approves it: patterns such as
    /// ".claude/**", where one without a slash matches in any folder. The scripts that `[ci] steps`,
    /// `[worktree]` and agents' commands name are protected as well.
    pub protected: Vec<String>,
}

settings!(Review {
    required: review_required,
    timeout: review_timeout,
    agent_timeout: reviewer_timeout,
    rounds: review_rounds_max,
    people: review_people,
} and {
    diff_kb: (Policy::default().review_diff_bytes / 1024) as u32,
    protected: Policy::default().protected,
});

/// How finished work lands on the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Merge {
    /// How an agent's branch joins the primary branch.
    #[schemars(with = "String", extend("enum" = ["squash", "merge", "rebase"]))]
    pub method: MergeMethod,
    /// How a branch that a person queued joins it.
    #[schemars(with = "String", extend("enum" = ["squash", "merge", "rebase"]))]
    pub people: MergeMethod,
    /// What must have passed of changes that are checked together: every commit on the primary branch's
    /// first-parent line ("strict"), the same with a run and a commit for each change ("each"), or only the last
    /// commit ("tip").
    #[schemars(with = "String", extend("enum" = ["strict", "each", "tip"]))]
    pub batch: MergeBatch,
    /// Which commits of a branch that lands by "rebase" must have passed: only the last ("last"), so that its
    /// inner commits land on the first-parent line unchecked, or every one ("each"), all in the run of its
    /// candidate. With "squash" and "merge" that line has no others.
    #[schemars(with = "String", extend("enum" = ["last", "each"]))]
    pub check_commits: CheckCommits,
    /// Attempts to land one pull request (conflicts, failing checks), before a human is asked.
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Merge candidates checked at the same time.
    #[schemars(range(min = 1, max = 64))]
    pub slots: u32,
    /// How long a change may wait in the merge queue before somebody is told.
    pub alarm: Span,
    /// A program (by its full path, or found on PATH) and its arguments, run once when a change has landed.
    /// Variables say what landed (SHOPFLOOR_BRANCH, SHOPFLOOR_COMMIT, SHOPFLOOR_AUTHOR, …), not the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_landed: Option<Vec<String>>,
    /// The same for a change that did not land: SHOPFLOOR_OUTCOME says failed or conflicted, SHOPFLOOR_REASON
    /// why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_not_landed: Option<Vec<String>>,
    /// Time limit for one run of either; then it is ended.
    pub command_timeout: Span,
    /// Other branches than the primary one that work lands on, by name. Each has a queue of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, MergeTarget>,
    /// Signs the commits that the queue makes, when they land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing: Option<MergeSigning>,
}

/// The key that the queue's commits are signed with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeSigning {
    pub format: SignWith,
    /// For ssh the key's file: an absolute path, or one relative to this file's folder; its public part if an
    /// agent holds the key. For openpgp the key's name or fingerprint. Nobody can type a passphrase.
    pub key: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SignWith {
    /// `ssh-keygen`.
    Ssh,
    /// `gpg`.
    Openpgp,
}

/// A branch besides the primary one that work lands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeTarget {
    /// The branch, such as "release/1.x".
    #[schemars(with = "String")]
    pub branch: Target,
    /// Issues that have this label when work on them begins land there. The default is the target's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl Merge {
    pub fn targets(&self) -> Vec<TargetPolicy> {
        let target = |(name, target): (&String, &MergeTarget)| TargetPolicy {
            name: name.clone(),
            branch: target.branch.clone(),
            label: target.label.clone().unwrap_or_else(|| name.clone()),
        };
        self.targets.iter().map(target).collect()
    }
}

settings!(Merge {
    method: merge_method,
    people: merge_people,
    batch: merge_batch,
    check_commits: check_commits,
    rounds: merge_rounds_max,
    slots: merge_slots,
    alarm: merge_alarm,
} and {
    targets: BTreeMap::new(),
    signing: None,
    on_landed: None,
    on_not_landed: None,
    command_timeout: Span::mins(5),
});
