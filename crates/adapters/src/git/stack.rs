//! Branches that were begun on others: on commits that were taken off the primary branch and must not come
//! back with them; and on branches that have landed since, as other commits than theirs.
//!
//! Either way, a branch's own commits are told apart from the rest, and joined as if git knew where they
//! begin: the merge base is the last commit that is not its own.

use super::chain::{Joined, Links, merge_trees, stand_in};
use super::commit::Commit;
use super::run::GitResult;
use shopfloor_core::effect::ChainEntry;
use shopfloor_core::ids::Sha;
use shopfloor_core::policy::MergeMethod;

/// What a branch contains of commits that were taken off the primary branch, and its own on top of them.
pub(super) struct Returning {
    /// Where its own commits begin: the last commits of each part that was taken off.
    from: Vec<Sha>,
    own: Vec<(Sha, Vec<Sha>)>,
    pub(super) left_out: u32,
}

/// A branch's own commits on top of another branch.
pub(super) struct Rest {
    /// Where they begin.
    from: Sha,
    own: Vec<(Sha, Vec<Sha>)>,
}

impl Links<'_> {
    /// What the branch would bring back. A branch with nothing of its own is meant to bring it back.
    pub(super) fn returning(&self, onto: &Sha, entry: &ChainEntry) -> GitResult<Option<Returning>> {
        let (mut from, mut tips) = (Vec::new(), Vec::new());
        for tip in self.removed.iter().rev() {
            if !self.repo.has(tip)? {
                continue;
            }
            let Some(begun) = self.repo.merge_base(tip, &entry.head)? else { continue };
            if self.repo.is_ancestor(&begun, onto)? {
                continue;
            }
            tips.push(tip.clone());
            if !from.contains(&begun) {
                from.push(begun);
            }
        }
        if tips.is_empty() {
            return Ok(None);
        }
        let own = self.commits_without(onto, &entry.head, &tips)?;
        let left_out = self.commits(onto, &entry.head)?.len() - own.len();
        if own.is_empty() || left_out == 0 {
            return Ok(None);
        }
        Ok(Some(Returning { from, own, left_out: u32::try_from(left_out).unwrap_or(u32::MAX) }))
    }

    /// The branch's own change alone, as one commit: its history contains what is not wanted.
    pub(super) fn squash_own(
        &self,
        onto: &(Sha, Commit),
        entry: &ChainEntry,
        head: &Commit,
        returning: &Returning,
    ) -> GitResult<Joined> {
        let ours = stand_in(self.repo, returning.from.clone(), &onto.1, head)?;
        self.squashed(onto, entry, head, &returning.own, &ours)
    }

    /// What is on top of a branch that has landed, or comes before it in the chain; `None`: it is on top of
    /// none. That is clear if one of its commits was such a branch's head.
    pub(super) fn rest_of_stack(
        &self,
        onto: &Sha,
        entry: &ChainEntry,
        names: &[(Sha, Vec<Sha>)],
    ) -> GitResult<Option<Rest>> {
        let tips = self.tips(onto, entry);
        let begun: Vec<Sha> =
            tips.into_iter().filter(|tip| names.iter().any(|(sha, _)| sha == tip)).collect();
        self.rest(onto, entry, names, &begun)
    }

    /// The same for an entry that was begun on an earlier head of a branch.
    pub(super) fn rest_of_moved_stack(&self, onto: &Sha, entry: &ChainEntry) -> GitResult<Option<Rest>> {
        let tips = self.tips(onto, entry);
        if tips.is_empty() {
            return Ok(None);
        }
        self.rest(onto, entry, &self.commits(onto, &entry.head)?, &tips)
    }

    /// Heads that have landed as other commits, as far as `onto` is concerned.
    fn tips(&self, onto: &Sha, entry: &ChainEntry) -> Vec<Sha> {
        let in_chain = if *onto == self.base.0 { &[] } else { self.heads.as_slice() };
        self.landed.iter().chain(in_chain).filter(|tip| **tip != entry.head).cloned().collect()
    }

    fn rest(
        &self,
        onto: &Sha,
        entry: &ChainEntry,
        names: &[(Sha, Vec<Sha>)],
        tips: &[Sha],
    ) -> GitResult<Option<Rest>> {
        if tips.is_empty() {
            return Ok(None);
        }
        let own = self.commits_without(onto, &entry.head, tips)?;
        let is_one = |list: &[(Sha, Vec<Sha>)], sha: &Sha| list.iter().any(|(known, _)| known == sha);
        let mut begins: Vec<Sha> = own.iter().flat_map(|(_, parents)| parents.iter().cloned()).collect();
        begins.retain(|parent| !is_one(&own, parent));
        begins.sort_unstable();
        begins.dedup();
        // If it was begun on several at once, or the primary branch was merged into it since, it is joined as
        // a whole: git knows what it has of both.
        match &begins[..] {
            [from] if is_one(names, from) => Ok(Some(Rest { from: from.clone(), own })),
            _ => Ok(None),
        }
    }

    pub(super) fn join_rest(
        &self,
        onto: &(Sha, Commit),
        entry: &ChainEntry,
        head: &Commit,
        rest: &Rest,
    ) -> GitResult<Joined> {
        let method = entry.method.unwrap_or(self.method);
        let linear = rest.own.iter().all(|(_, parents)| parents.len() == 1);
        if method == MergeMethod::Rebase && linear {
            return self.replay(onto, &rest.own, head, true);
        }
        let ours = stand_in(self.repo, vec![rest.from.clone()], &onto.1, head)?;
        if method == MergeMethod::Squash {
            return self.squashed(onto, entry, head, &rest.own, &ours);
        }
        match merge_trees(self.repo, &ours, &entry.head)? {
            Ok(tree) if tree == onto.1.tree => Ok(Joined::Nothing),
            Ok(tree) => self.merge_commit(onto, entry, head, tree),
            Err(clash) => Ok(Joined::Conflict(clash)),
        }
    }
}
