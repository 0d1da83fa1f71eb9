//! Branches put on top of one another in the model of git, by the rules of the real merger: what was taken
//! off the branch they land on does not come back with a branch that was begun there, and a branch that was
//! begun on another that has landed since is put on top of what that landed as.

use crate::git::{Content, File, Git, commit_of, merged, sha};
use crate::world::{Mutation, World};
use shopfloor_core::effect::ChainEntry;
use shopfloor_core::ids::Sha;
use shopfloor_core::planner::Link;
use shopfloor_core::policy::MergeMethod;
use std::collections::BTreeSet;

/// A chain being built.
pub(super) struct Links<'a> {
    pub(super) base: u32,
    pub(super) tip: u32,
    pub(super) method: MergeMethod,
    pub(super) removed: &'a [Sha],
    pub(super) landed: &'a [Sha],
    /// Heads of the branches in the chain.
    pub(super) heads: Vec<u32>,
}

/// A branch's own commits, and the commits that they were begun on.
struct Own {
    from: Vec<u32>,
    commits: BTreeSet<u32>,
    left_out: u32,
}

impl Links<'_> {
    /// Puts one more entry on top; returns how many of its commits are left out, or the conflicting files.
    pub(super) fn join(&mut self, world: &mut World, entry: &ChainEntry) -> Result<u32, Vec<File>> {
        let head = commit_of(&entry.head);
        let left_out = self.returning(world, self.tip, head).map_or(0, |own| own.left_out);
        self.tip = self.joined(world, self.tip, entry)?;
        self.heads.push(head);
        Ok(left_out)
    }

    pub(super) fn conflicts_with_base(&self, world: &mut World, entry: &ChainEntry) -> bool {
        self.joined(world, self.base, entry).is_err()
    }

    /// The commit that has the entry on top of `onto`.
    fn joined(&self, world: &mut World, onto: u32, entry: &ChainEntry) -> Result<u32, Vec<File>> {
        let (head, method) = (commit_of(&entry.head), entry.method.unwrap_or(self.method));
        if world.git.is_ancestor(head, onto) {
            return Ok(onto);
        }
        if let Some(own) = self.returning(world, onto, head) {
            world.saw("commits that were taken off left out");
            return join_own(&mut world.git, MergeMethod::Squash, onto, head, &own);
        }
        let tips = self.tips(onto, head);
        let commits = &new_in(&world.git, onto, head);
        let begun: Vec<u32> = tips.iter().copied().filter(|tip| commits.contains(tip)).collect();
        if let Some(own) = rest(&world.git, commits, &begun) {
            world.saw("rest of a stack put on what landed");
            return join_own(&mut world.git, method, onto, head, &own);
        }
        let whole = as_a_whole(&mut world.git, method, onto, head);
        match (&whole, rest(&world.git, commits, &tips)) {
            (Err(_), Some(own)) => {
                world.saw("stack on an earlier head");
                join_own(&mut world.git, method, onto, head, &own).or(whole)
            }
            _ => whole,
        }
    }

    /// What the branch contains of commits that were taken off. A branch with nothing of its own is meant to
    /// bring them back.
    fn returning(&self, world: &World, onto: u32, head: u32) -> Option<Own> {
        let git = &world.git;
        if self.removed.is_empty() || world.is(Mutation::BringsBackWhatWasRemoved) {
            return None;
        }
        let all = new_in(git, onto, head);
        let mut from: Vec<u32> =
            self.removed.iter().map(|tip| git.merge_base(commit_of(tip), head)).collect();
        from.retain(|from| !git.is_ancestor(*from, onto));
        from.sort_unstable();
        from.dedup();
        // As with git's merge bases: what the history of another has is none of its own.
        let all_of_them = from.clone();
        from.retain(|one| !all_of_them.iter().any(|other| other != one && git.is_ancestor(*one, *other)));
        let gone = git.reachable(self.removed.iter().map(commit_of));
        let commits: BTreeSet<u32> = all.difference(&gone).copied().collect();
        let left_out = (all.len() - commits.len()) as u32;
        (!commits.is_empty() && left_out > 0 && !from.is_empty()).then_some(Own { from, commits, left_out })
    }

    /// Heads that have landed as other commits, as far as `onto` is concerned.
    fn tips(&self, onto: u32, head: u32) -> Vec<u32> {
        let in_chain = if onto == self.base { &[] } else { self.heads.as_slice() };
        let all = self.landed.iter().map(commit_of).chain(in_chain.iter().copied());
        all.filter(|tip| *tip != head).collect()
    }
}

fn new_in(git: &Git, onto: u32, head: u32) -> BTreeSet<u32> {
    git.reachable([head]).difference(&git.reachable([onto])).copied().collect()
}

/// What is on top of those branches, if it was begun in one place that is not in `onto`.
fn rest(git: &Git, commits: &BTreeSet<u32>, tips: &[u32]) -> Option<Own> {
    if tips.is_empty() {
        return None;
    }
    let commits_own: BTreeSet<u32> =
        commits.difference(&git.reachable(tips.iter().copied())).copied().collect();
    let parents = commits_own.iter().flat_map(|c| git.commits[*c as usize].parents.iter().copied());
    let begins: BTreeSet<u32> = parents.filter(|parent| !commits_own.contains(parent)).collect();
    let only = begins.first().copied().filter(|from| begins.len() == 1 && commits.contains(from))?;
    Some(Own { from: vec![only], commits: commits_own, left_out: 0 })
}

/// The parts of a base merged into one, as git merges several merge bases.
fn one_base(git: &Git, from: &[u32]) -> Content {
    let mut base = git.content(from[0]).clone();
    for other in &from[1..] {
        let common = git.content(git.merge_base(from[0], *other)).clone();
        // Where they conflict, what was there before stands.
        base = merged(&common, &base, git.content(*other)).unwrap_or(common);
    }
    base
}

fn join_own(git: &mut Git, method: MergeMethod, onto: u32, head: u32, own: &Own) -> Result<u32, Vec<File>> {
    let base = one_base(git, &own.from);
    let content = merged(&base, git.content(onto), git.content(head))?;
    if content == *git.content(onto) {
        return Ok(onto);
    }
    let linear = own.commits.iter().all(|c| git.commits[*c as usize].parents.len() == 1);
    let parents = match method {
        MergeMethod::Squash => vec![onto],
        MergeMethod::Rebase if linear => vec![onto],
        MergeMethod::Rebase | MergeMethod::Merge => vec![onto, head],
    };
    Ok(git.derive(parents, content))
}

fn as_a_whole(git: &mut Git, method: MergeMethod, onto: u32, head: u32) -> Result<u32, Vec<File>> {
    let content = git.three_way(onto, head)?;
    if content == *git.content(onto) {
        return Ok(onto);
    }
    Ok(match method {
        MergeMethod::Rebase if line(git, onto, head).is_some() => head,
        // A branch with merges in it has no linear form.
        MergeMethod::Rebase if git.is_ancestor(onto, head) => git.derive(vec![onto, head], content),
        MergeMethod::Merge => git.derive(vec![onto, head], content),
        MergeMethod::Rebase | MergeMethod::Squash => git.derive(vec![onto], content),
    })
}

/// The commits from `below` to `link`, oldest first, if each has only the one before it as a parent.
fn line(git: &Git, below: u32, link: u32) -> Option<Vec<u32>> {
    let (mut line, mut at) = (Vec::new(), link);
    while at != below {
        line.push(at);
        at = match git.commits[at as usize].parents.as_slice() {
            [only] => *only,
            _ => return None,
        };
    }
    line.reverse();
    Some(line)
}

/// What a link adds to the first-parent line besides its last commit.
pub(super) fn between(world: &mut World, below: u32, link: u32) -> Vec<Link> {
    let mut line = line(&world.git, below, link).unwrap_or_default();
    line.pop();
    line.into_iter().map(|commit| Link { commit: sha(commit), tree: world.git.tree(commit) }).collect()
}
