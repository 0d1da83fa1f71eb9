//! `[review]` and `[merge]`: how finished work gets to the primary branch.

use super::duration::Span;
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
    /// For one review.
    pub timeout: Span,
    /// For a reviewing agent that has stopped without a review; then another takes its place.
    pub agent_timeout: Span,
    /// Kilobytes of a change's diff that a reviewer is shown; it can look at the rest itself.
    #[schemars(range(min = 1))]
    pub diff_kb: u32,
    /// Reviews of one pull request, before a human is asked.
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Whether an agent also reviews pull requests that people made: never, when somebody asks (`pr review N --ask`),
    /// or always, every new head.
    #[schemars(with = "String", extend("enum" = ["never", "ask", "always"]))]
    pub people: ReviewPeople,
}

impl Default for Review {
    fn default() -> Self {
        let policy = Policy::default();
        Review {
            required: policy.review_required,
            timeout: Span(policy.review_timeout),
            agent_timeout: Span(policy.reviewer_timeout),
            diff_kb: (policy.review_diff_bytes / 1024) as u32,
            rounds: policy.review_rounds_max,
            people: policy.review_people,
        }
    }
}

/// How finished work lands on the primary branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Merge {
    /// How an agent's branch joins the primary branch.
    #[schemars(with = "String", extend("enum" = ["squash", "merge", "rebase"]))]
    pub method: MergeMethod,
    /// How a branch joins it that a person queued.
    #[schemars(with = "String", extend("enum" = ["squash", "merge", "rebase"]))]
    pub people: MergeMethod,
    /// What of changes that are checked together must have passed: every commit of the primary branch's
    /// first-parent line ("strict"), the same with a run and a commit for each change ("each"), or only the last ("tip").
    #[schemars(with = "String", extend("enum" = ["strict", "each", "tip"]))]
    pub batch: MergeBatch,
    /// Which commits of a branch that lands by "rebase" must have passed: only the last ("last"), so that its inner
    /// commits land on the first-parent line unchecked, or every one ("each"), all in the run of its candidate. By
    /// "squash" and "merge" there are no others on that line.
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
    /// A program and its arguments, run once when a change has landed: by its whole path, or found on PATH. What
    /// landed is in variables (SHOPFLOOR_BRANCH, SHOPFLOOR_COMMIT, SHOPFLOOR_AUTHOR, …), not in the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_landed: Option<Vec<String>>,
    /// The same when one did not: SHOPFLOOR_OUTCOME says failed or conflicted, SHOPFLOOR_REASON why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_not_landed: Option<Vec<String>>,
    /// For one run of either; then it is ended.
    pub command_timeout: Span,
    /// Other branches than the primary one that work lands on, by name. Each has a queue of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, MergeTarget>,
    /// Has the commits that the queue makes signed when they land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing: Option<MergeSigning>,
}

/// The key that the queue's commits are signed with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeSigning {
    pub format: SignWith,
    /// For ssh the key's file: an absolute path, or one relative to this file's folder; its public part if an agent
    /// holds the key. For openpgp the key's name or fingerprint. Nobody is there to type a passphrase.
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

/// A branch beside the primary one that work lands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeTarget {
    /// The branch, such as "release/1.x".
    #[schemars(with = "String")]
    pub branch: Target,
    /// Issues with this label land there, if they have it when work on them begins. Without it the target's name.
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

impl Default for Merge {
    fn default() -> Self {
        let policy = Policy::default();
        Merge {
            method: policy.merge_method,
            people: policy.merge_people,
            batch: policy.merge_batch,
            check_commits: policy.check_commits,
            rounds: policy.merge_rounds_max,
            slots: policy.merge_slots as u32,
            alarm: Span(policy.merge_alarm),
            targets: BTreeMap::new(),
            signing: None,
            on_landed: None,
            on_not_landed: None,
            command_timeout: Span::mins(5),
        }
    }
}
