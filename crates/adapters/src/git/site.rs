//! A project's repositories at hand: origin with the repository near it, and the keeper of what agents' trees
//! held.

use super::GitProject;
use super::commit::Commit;
use super::origin::Origin;
use super::run::{Git, GitError, GitResult, Repo, parse_sha};
use super::worktree::Worktree;
use super::{refs, transfer};
use shopfloor_core::ids::{Sha, Target};
use shopfloor_core::text;
use shopfloor_engine::ports::{PortError, PortResult};
use std::path::Path;
use std::sync::Arc;

pub(super) struct Site {
    pub(super) project: GitProject,
    pub(super) origin: Arc<dyn Origin>,
    /// The keeper also sees the objects near origin.
    pub(super) keeper: Repo,
    /// The full name of the primary branch, or of the target that work is to land on.
    pub(super) primary: String,
}

impl Site {
    /// Whether work lands on the branch of that full name, so that only the merge queue may move it.
    pub(super) fn is_landed_on(&self, full: &str) -> bool {
        let others = self.project.targets.iter().map(Target::branch);
        let all = others.chain([self.project.primary_branch.as_str()]);
        full == self.primary || all.into_iter().any(|branch| full.strip_prefix("refs/heads/") == Some(branch))
    }

    /// The repository near origin.
    pub(super) fn near(&self) -> &Repo {
        self.origin.near()
    }

    /// Where the ref of that full name was last seen on origin.
    pub(super) fn on_origin(&self, full: &str) -> Option<Sha> {
        self.origin.seen(full)
    }

    pub(super) fn primary_now(&self) -> PortResult<Sha> {
        self.on_origin(&self.primary).ok_or_else(|| {
            let branch = self.primary.trim_start_matches("refs/heads/");
            PortError::transient(format!("origin has no branch {branch}"))
        })
    }

    /// Where a tree's branch is; without a tree, where the keeper has it.
    pub(super) fn branch(&self, worktree: Option<&Worktree>, full: &str) -> Option<Sha> {
        match worktree {
            Some(worktree) => worktree.at_ref(full),
            None => refs::read(self.keeper.path(), full),
        }
    }

    /// The keeper, with a tree's own objects to look into; anything written goes to the keeper.
    pub(super) fn looking_into(&self, worktree: Option<&Worktree>) -> Repo {
        let objects = worktree.filter(|worktree| !worktree.is_linked()).map(Worktree::objects);
        self.keeper.lending(objects.as_deref())
    }

    /// A folder as a working tree of the keeper, with a tree's own objects to look into.
    pub(super) fn folder(&self, git: &Git, worktree: &Worktree, folder: &Path) -> Repo {
        let objects = worktree.objects();
        git.folder(self.keeper.path(), folder).lending((!worktree.is_linked()).then_some(objects.as_path()))
    }

    /// Commits that the keeper is known to have, for whatever is to be brought there.
    pub(super) fn known(&self, branch: Option<&str>) -> Vec<Sha> {
        let names = branch.into_iter().chain([self.primary.as_str()]);
        names.filter_map(|name| self.on_origin(name)).collect()
    }

    /// Brings the commits and their history from the keeper into a tree's own repository.
    pub(super) fn bring(&self, commits: &[&Sha], into: &Repo) -> GitResult<()> {
        let known = self.known(None);
        transfer::transfer(&self.keeper, into, commits, &known.iter().collect::<Vec<_>>())
    }

    /// Where origin has a branch if somebody else continued from our head there, else our head. What the
    /// branch was before, according to its log, is the agent's own: what it pushed and then dropped stays
    /// dropped.
    pub(super) fn gone_on(
        &self,
        worktree: Option<&Worktree>,
        full: &str,
        ours: Sha,
        theirs: Option<&Sha>,
    ) -> GitResult<Sha> {
        let Some(theirs) = theirs.filter(|theirs| **theirs != ours) else { return Ok(ours) };
        let logs = worktree.map_or(self.keeper.path(), |worktree| &worktree.common);
        if refs::log(logs, full).iter().any(|line| line.new == *theirs) {
            return Ok(ours);
        }
        let continues = self.looking_into(worktree).is_ancestor(&ours, theirs)?;
        Ok(if continues { theirs.clone() } else { ours })
    }

    /// Where a branch begins that no tree has yet: where origin has it, unless what is kept of an earlier
    /// tree continues from there; else at the primary branch. Also returns whether that commit has to be
    /// brought from the keeper.
    pub(super) fn start(&self, full: &str) -> PortResult<(Sha, bool)> {
        match (self.branch(None, full), self.on_origin(full)) {
            (Some(kept), Some(theirs)) if kept == theirs || self.keeper.is_ancestor(&kept, &theirs)? => {
                Ok((theirs, false))
            }
            (Some(kept), _) => Ok((kept, true)),
            (None, Some(theirs)) => Ok((theirs, false)),
            (None, None) => Ok((self.primary_now()?, false)),
        }
    }
}

/// What a head has and the primary branch lacks.
pub(super) struct Own {
    pub commits: u32,
    /// Where they began; `None`: the two share no history.
    pub base: Option<Sha>,
    /// They leave the tree as it was there. If the two share no history, the branch adds all it has.
    pub changes_nothing: bool,
    /// What the head holds, if there are any.
    pub tree: Option<Sha>,
}

impl Repo {
    /// Found out once, by one process, which tells the base as well.
    pub(super) fn own(&self, primary: &Sha, head: &Sha) -> GitResult<Own> {
        let range = format!("{primary}..{head}");
        let how = ["--boundary", "--no-commit-header", "--format=%m %H %T"];
        let call = self.call("rev-list").args(how).args([&range, "--"]);
        let command = call.shown();
        let listed = self.lasting(call, &[0])?.text();
        let unexpected =
            |line: &str| GitError::Answer { command: command.clone(), answer: text::one_line(line, 200) };
        let (mut own, mut began) = (Vec::new(), Vec::new());
        for line in listed.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(mark), Some(commit), Some(tree)) = (words.next(), words.next(), words.next()) else {
                return Err(unexpected(line));
            };
            let commit = (parse_sha(&command, commit)?, parse_sha(&command, tree)?);
            match mark {
                ">" => own.push(commit),
                // One that both have, and the first of them on its way.
                "-" => began.push(commit),
                _ => return Err(unexpected(line)),
            }
        }
        let commits = u32::try_from(own.len()).unwrap_or(u32::MAX);
        let Some(tree) = own.into_iter().find(|(commit, _)| commit == head).map(|(_, tree)| tree) else {
            return Ok(Own { commits, base: Some(head.clone()), changes_nothing: true, tree: None });
        };
        let (base, before) = match &began[..] {
            [] => (None, None),
            // All ways back lead there.
            [(base, before)] => {
                self.know_merge_base(primary, head, base);
                (Some(base.clone()), Some(before.clone()))
            }
            _ => {
                let base = self.merge_base(primary, head)?;
                let before = base.as_ref().map(|base| Commit::read(self, base)).transpose()?;
                (base, before.map(|before| before.tree))
            }
        };
        Ok(Own { commits, base, changes_nothing: before.as_ref() == Some(&tree), tree: Some(tree) })
    }

    /// Where a head left the primary branch; the primary branch itself if they share no history.
    pub(super) fn base(&self, primary: &Sha, head: &Sha) -> GitResult<String> {
        if primary == head {
            return Ok(primary.to_string());
        }
        Ok(self.own(primary, head)?.base.unwrap_or_else(|| primary.clone()).to_string())
    }
}
