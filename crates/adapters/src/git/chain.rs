//! Putting branches on top of one another, without a checkout.
//!
//! Rebasing replays a branch's commits one at a time. A branch that contains a merge commit has no single
//! linear form, so it is joined by a merge commit instead. Commits that change nothing on top of what came
//! before are left out. What the base's `.gitattributes` says about merging holds, see `attributes.rs`.

use super::commit::{Commit, Stamp, factory};
use super::conflict::Clash;
use super::message::{merge_message, squash_message};
use super::run::{GitError, GitResult, Repo, parse_sha};
use shopfloor_core::effect::{ChainEntry, ChainLink};
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::planner::{Link, TreeId};
use shopfloor_core::policy::MergeMethod;

/// A chain being built.
pub(super) struct Links<'a> {
    pub(super) repo: &'a Repo,
    pub(super) method: MergeMethod,
    pub(super) base: (Sha, Commit),
    tip: (Sha, Commit),
    links: Vec<ChainLink>,
    /// Tips of what was taken off the primary branch.
    pub(super) removed: &'a [Sha],
    /// Heads of branches that have landed as other commits.
    pub(super) landed: &'a [Sha],
    /// Heads of the branches in the chain.
    pub(super) heads: Vec<Sha>,
    /// Whether the commits inside each link are reported, too.
    each_commit: bool,
}

pub(super) enum Join {
    Linked,
    Conflict(Clash),
    /// The branch has no commit in common with the primary branch.
    Unrelated,
}

/// What a branch becomes on top of something.
pub(super) enum Joined {
    Commit(Sha, Box<Commit>),
    Nothing,
    Conflict(Clash),
    Unrelated,
}

impl<'a> Links<'a> {
    pub(super) fn new(repo: &'a Repo, method: MergeMethod, base: (Sha, Commit)) -> Self {
        Links {
            repo,
            method,
            tip: base.clone(),
            base,
            links: Vec::new(),
            removed: &[],
            landed: &[],
            heads: Vec::new(),
            each_commit: false,
        }
    }

    /// Keeps what was taken off the primary branch from coming back with a branch that was begun there.
    pub(super) fn without(self, removed: &'a [Sha]) -> Self {
        Links { removed, ..self }
    }

    /// Puts a branch that continues a landed one on top of what that landed as.
    pub(super) fn after(self, landed: &'a [Sha]) -> Self {
        Links { landed, ..self }
    }

    pub(super) fn with_each_commit(self, each_commit: bool) -> Self {
        Links { each_commit, ..self }
    }

    pub(super) fn into_links(self) -> Vec<ChainLink> {
        self.links
    }

    /// Puts one more entry on top.
    pub(super) fn join(&mut self, entry: &ChainEntry, head: &Commit) -> GitResult<Join> {
        let left_out = self.returning(&self.tip.0, entry)?.map_or(0, |returning| returning.left_out);
        let below = self.tip.0.clone();
        match self.joined(&self.tip, entry, head)? {
            Joined::Commit(sha, commit) => self.tip = (sha, *commit),
            Joined::Nothing => {}
            Joined::Conflict(clash) => return Ok(Join::Conflict(clash)),
            Joined::Unrelated => return Ok(Join::Unrelated),
        }
        let link = Link { commit: self.tip.0.clone(), tree: TreeId(self.tip.1.tree.clone()) };
        let inner = if self.each_commit { self.between(&below)? } else { Vec::new() };
        self.links.push(ChainLink { link, head_tree: TreeId(head.tree.clone()), left_out, inner });
        self.heads.push(entry.head.clone());
        Ok(Join::Linked)
    }

    /// The first-parent line between that commit and the tip, oldest first.
    fn between(&self, below: &Sha) -> GitResult<Vec<Link>> {
        let range = format!("{below}..{}", self.tip.0);
        let call =
            self.repo.call("log").args(["--first-parent", "--reverse", "--format=%H %T", &range, "--"]);
        let (command, text) = (call.shown(), call.text()?);
        let link = |line: &str| -> GitResult<Link> {
            let (commit, tree) = line.split_once(' ').unwrap_or((line, ""));
            Ok(Link { commit: parse_sha(&command, commit)?, tree: TreeId(parse_sha(&command, tree)?) })
        };
        let mut links = text.lines().map(link).collect::<GitResult<Vec<_>>>()?;
        links.pop();
        Ok(links)
    }

    /// A linear branch replayed on the base, commit by commit.
    pub(super) fn replayed(&self, head: &Sha) -> GitResult<Option<Sha>> {
        let names = self.commits(&self.base.0, head)?;
        if names.is_empty() || names.iter().any(|(_, parents)| parents.len() != 1) {
            return Ok(None);
        }
        match self.rebase(&self.base, &names, &Commit::read(self.repo, head)?)? {
            Joined::Commit(sha, _) => Ok(Some(sha)),
            _ => Ok(None),
        }
    }

    /// How the entry conflicts with the base alone, if it does.
    pub(super) fn conflict_with_base(&self, entry: &ChainEntry, head: &Commit) -> GitResult<Option<Clash>> {
        match self.joined(&self.base, entry, head)? {
            Joined::Conflict(clash) => Ok(Some(clash)),
            _ => Ok(None),
        }
    }

    fn joined(&self, onto: &(Sha, Commit), entry: &ChainEntry, head: &Commit) -> GitResult<Joined> {
        let joined = self.joined_as_a_whole(onto, entry, head)?;
        if !matches!(joined, Joined::Nothing | Joined::Conflict(_)) {
            return Ok(joined);
        }
        if let (Joined::Conflict(_), Some(rest)) = (&joined, self.rest_of_moved_stack(&onto.0, entry)?) {
            let joined = self.join_rest(onto, entry, head, &rest)?;
            if !matches!(joined, Joined::Conflict(_)) {
                return Ok(joined);
            }
        }
        Ok(self.joined_without_equivalents(onto, entry, head)?.unwrap_or(joined))
    }

    /// Joins as `git rebase` would: commits that have an equivalent in `onto` are left out, and the others
    /// are put on top. So the rest of a stack lands after its beginning, and a revert of what has landed does
    /// not vanish. `None`: there are no such commits, or there is a conflict even so.
    fn joined_without_equivalents(
        &self,
        onto: &(Sha, Commit),
        entry: &ChainEntry,
        head: &Commit,
    ) -> GitResult<Option<Joined>> {
        let names = self.commits(&onto.0, &entry.head)?;
        if names.is_empty() || names.iter().any(|(_, parents)| parents.len() != 1) {
            return Ok(None);
        }
        let range = format!("{}...{}", onto.0, entry.head);
        let call =
            self.repo.call("rev-list").args(["--right-only", "--cherry-pick", "--no-merges", &range, "--"]);
        let left = call.text()?;
        let own: Vec<(Sha, Vec<Sha>)> =
            names.iter().filter(|(sha, _)| left.lines().any(|line| line == sha.as_str())).cloned().collect();
        if own.len() == names.len() {
            return Ok(None);
        }
        if own.is_empty() {
            return Ok(Some(Joined::Nothing));
        }
        let (sha, replayed) = match self.replay(onto, &own, head, true)? {
            Joined::Commit(sha, commit) => (sha, commit),
            Joined::Nothing => return Ok(Some(Joined::Nothing)),
            Joined::Conflict(_) | Joined::Unrelated => return Ok(None),
        };
        let tree = replayed.tree.clone();
        Ok(Some(match entry.method.unwrap_or(self.method) {
            MergeMethod::Rebase => Joined::Commit(sha, replayed),
            MergeMethod::Merge => self.merge_commit(onto, entry, head, tree)?,
            MergeMethod::Squash => self.squash_commit(onto, entry, head, &own, tree)?,
        }))
    }

    /// Whether a branch would change anything on top of that commit.
    pub(super) fn brings_something(&self, branch: &str, head: &Sha) -> GitResult<bool> {
        let (branch, head) = (branch.to_owned(), head.clone());
        let commit = Commit::read(self.repo, &head)?;
        let entry = ChainEntry {
            entry: EntryId(0),
            pr: None,
            branch,
            head,
            title: String::new(),
            message: None,
            method: None,
        };
        Ok(!matches!(self.joined(&self.base, &entry, &commit)?, Joined::Nothing))
    }

    fn joined_as_a_whole(
        &self,
        onto: &(Sha, Commit),
        entry: &ChainEntry,
        head: &Commit,
    ) -> GitResult<Joined> {
        let names = self.commits(&onto.0, &entry.head)?;
        let Some((_, first_parents)) = names.first() else { return Ok(Joined::Nothing) };
        let linear = names.iter().all(|(_, parents)| parents.len() == 1);
        if !linear && !self.is_related(&onto.0, &entry.head)? {
            return Ok(Joined::Unrelated);
        }
        if let Some(returning) = self.returning(&onto.0, entry)? {
            return self.squash_own(onto, entry, head, &returning);
        }
        if let Some(rest) = self.rest_of_stack(&onto.0, entry, &names)? {
            return self.join_rest(onto, entry, head, &rest);
        }
        match entry.method.unwrap_or(self.method) {
            // If the branch is linear, the parent of its first commit is in the history of `onto`.
            MergeMethod::Rebase if linear && first_parents[0] == onto.0 => {
                Ok(Joined::Commit(entry.head.clone(), Box::new(head.clone())))
            }
            MergeMethod::Rebase if linear => self.rebase(onto, &names, head),
            MergeMethod::Rebase | MergeMethod::Merge => self.merge(onto, entry, head),
            MergeMethod::Squash => self.squash(onto, entry, head, &names),
        }
    }

    fn is_related(&self, onto: &Sha, head: &Sha) -> GitResult<bool> {
        Ok(self.repo.merge_base(onto, head)?.is_some())
    }

    /// The commits of the branch that are not there yet, oldest first, each with its parents.
    pub(super) fn commits(&self, onto: &Sha, head: &Sha) -> GitResult<Vec<(Sha, Vec<Sha>)>> {
        self.commits_without(onto, head, &[])
    }

    /// Those of them that none of `without` has.
    pub(super) fn commits_without(
        &self,
        onto: &Sha,
        head: &Sha,
        without: &[Sha],
    ) -> GitResult<Vec<(Sha, Vec<Sha>)>> {
        let range = format!("{onto}..{head}");
        let call = self.repo.call("rev-list");
        // A commit that no longer exists is in nothing that does.
        let call = call.args(["--ignore-missing", "--reverse", "--topo-order", "--parents", &range]);
        let call = call.args(without.iter().map(|tip| format!("^{tip}"))).arg("--");
        let command = call.shown();
        let list = call.text()?;
        let commit = |line: &str| -> GitResult<(Sha, Vec<Sha>)> {
            let mut names = line.split(' ').map(|word| parse_sha(&command, word));
            let first = names.next().expect("a split has a first part")?;
            Ok((first, names.collect::<GitResult<_>>()?))
        };
        list.lines().map(commit).collect()
    }

    fn rebase(&self, onto: &(Sha, Commit), names: &[(Sha, Vec<Sha>)], head: &Commit) -> GitResult<Joined> {
        self.replay(onto, names, head, false)
    }

    /// `apart`: the first commit's parent is not in the history of the base.
    pub(super) fn replay(
        &self,
        (base, base_commit): &(Sha, Commit),
        names: &[(Sha, Vec<Sha>)],
        head: &Commit,
        apart: bool,
    ) -> GitResult<Joined> {
        let commits = match names {
            [_only] if !apart => vec![head.clone()],
            _ => Commit::read_all(self.repo, &names.iter().map(|(sha, _)| sha).collect::<Vec<_>>())?,
        };
        let (mut onto, mut onto_commit) = (base.clone(), base_commit.clone());
        for (at, ((sha, _), commit)) in names.iter().zip(&commits).enumerate() {
            // The first commit's parent is in the history of what it goes on top of, so it is the merge base,
            // and the merge is a cherry-pick. For the others this is arranged with a stand-in: a commit with
            // their parent, and the tree they are to go on top of. (`--merge-base` says the same, but git
            // 2.39 does not know it.)
            let ours = if at == 0 && !apart {
                onto.clone()
            } else {
                stand_in(self.repo, commit.parents.clone(), &onto_commit, commit)?
            };
            let tree = match merge_trees(self.repo, &ours, sha)? {
                Ok(tree) => tree,
                Err(clash) => return Ok(Joined::Conflict(clash)),
            };
            if tree == onto_commit.tree {
                continue;
            }
            // Never dated before its parent, or history walks could go astray.
            let committed = commit.committed.clone().later(&onto_commit.committed);
            onto_commit = Commit { tree, parents: vec![onto], committed, ..commit.clone() };
            onto = onto_commit.write(self.repo)?;
        }
        Ok(if onto == *base { Joined::Nothing } else { Joined::Commit(onto, Box::new(onto_commit)) })
    }

    fn merge(&self, onto: &(Sha, Commit), entry: &ChainEntry, head: &Commit) -> GitResult<Joined> {
        let tree = match merge_trees(self.repo, &onto.0, &entry.head)? {
            Ok(tree) if tree == onto.1.tree => return Ok(Joined::Nothing),
            Ok(tree) => tree,
            Err(clash) => return Ok(Joined::Conflict(clash)),
        };
        self.merge_commit(onto, entry, head, tree)
    }

    pub(super) fn merge_commit(
        &self,
        onto: &(Sha, Commit),
        entry: &ChainEntry,
        head: &Commit,
        tree: Sha,
    ) -> GitResult<Joined> {
        let committed = head.committed.clone().later(&onto.1.committed);
        let message = merge_message(entry);
        let parents = vec![onto.0.clone(), entry.head.clone()];
        self.ours(tree, parents, committed, None, message)
    }

    fn squash(
        &self,
        onto: &(Sha, Commit),
        entry: &ChainEntry,
        head: &Commit,
        names: &[(Sha, Vec<Sha>)],
    ) -> GitResult<Joined> {
        self.squashed(onto, entry, head, names, &onto.0)
    }

    /// `ours`: what the entry is merged with; it has the tree of `onto`.
    pub(super) fn squashed(
        &self,
        onto: &(Sha, Commit),
        entry: &ChainEntry,
        head: &Commit,
        names: &[(Sha, Vec<Sha>)],
        ours: &Sha,
    ) -> GitResult<Joined> {
        let tree = match merge_trees(self.repo, ours, &entry.head)? {
            Ok(tree) if tree == onto.1.tree => return Ok(Joined::Nothing),
            Ok(tree) => tree,
            Err(clash) => return Ok(Joined::Conflict(clash)),
        };
        self.squash_commit(onto, entry, head, names, tree)
    }

    pub(super) fn squash_commit(
        &self,
        onto: &(Sha, Commit),
        entry: &ChainEntry,
        head: &Commit,
        names: &[(Sha, Vec<Sha>)],
        tree: Sha,
    ) -> GitResult<Joined> {
        let own: Vec<&Sha> = names.iter().filter(|(_, p)| p.len() < 2).map(|(sha, _)| sha).collect();
        let own = match own.as_slice() {
            [] => Vec::new(),
            [only] if **only == entry.head => vec![head.clone()],
            many => Commit::read_all(self.repo, many)?,
        };
        let author = own.first().map(|commit| commit.author.clone());
        let committed = head.committed.clone().later(&onto.1.committed);
        let message = squash_message(entry, &own);
        self.ours(tree, vec![onto.0.clone()], committed, author, message)
    }

    fn ours(
        &self,
        tree: Sha,
        parents: Vec<Sha>,
        committed: Stamp,
        author: Option<Vec<u8>>,
        message: String,
    ) -> GitResult<Joined> {
        let author = author.unwrap_or_else(|| factory(&committed));
        let commit = Commit {
            tree,
            parents,
            author,
            committed,
            encoding: None,
            message: message.into_bytes(),
            ours: true,
        };
        Ok(Joined::Commit(commit.write(self.repo)?, Box::new(commit)))
    }
}

/// A commit with the tree of `like` and other parents, so that git thinks the two branches parted there.
pub(super) fn stand_in(repo: &Repo, parents: Vec<Sha>, like: &Commit, of: &Commit) -> GitResult<Sha> {
    let commit = Commit {
        parents,
        author: factory(&of.committed),
        message: b"stand-in for the new parent\n".to_vec(),
        encoding: None,
        ..like.clone()
    };
    commit.write(repo)
}

/// The merged tree, or where the two conflict.
pub(super) fn merge_trees(repo: &Repo, ours: &Sha, theirs: &Sha) -> GitResult<Result<Sha, Clash>> {
    let call = repo.call("merge-tree").args(["--write-tree", "-z", "--name-only", "--no-messages"]);
    let call = call.args([ours.as_str(), theirs.as_str()]);
    let command = call.shown();
    let output = call.ending(&[0, 1])?;
    let mut fields = output.stdout.split(|byte| *byte == 0);
    let tree = parse_sha(&command, &String::from_utf8_lossy(fields.next().unwrap_or_default()))?;
    if output.code == 0 {
        return Ok(Ok(tree));
    }
    let files: Vec<Vec<u8>> = fields.take_while(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
    if files.is_empty() {
        // Git does not report a conflict as exit code 1 without a file.
        return Err(GitError::Answer { command, answer: "a conflict in no file".into() });
    }
    Ok(Err(Clash { tree, files }))
}
