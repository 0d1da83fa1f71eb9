//! Worktrees, pushes and rescue refs in the model of git, with an account of what would be lost.

use crate::git::{Content, File, Worktree, branch_of, commit_of, path_of, sha};
use crate::world::{Mutation, Shared, World};
use shopfloor_core::effect::outcome::Packed;
use shopfloor_core::effect::{Taken, Tidy};
use shopfloor_core::ids::{PrNumber, ProjectName, Sha, Target};
use shopfloor_engine::ports::{
    BranchState, Final, PortError, PortResult, Prepared, Snapshot, Tree, Workspace,
};
use shopfloor_engine::proof::{MergedProof, RescueProof};
use std::collections::{BTreeMap, BTreeSet};

pub struct FakeWorkspace(pub Shared);

/// The tree without the branch its work is to land on, which is not part of its name.
pub(crate) fn named(tree: &Tree) -> Tree {
    tree.clone().onto(None)
}

fn gone(target: Option<&Target>) -> PortError {
    PortError::transient(format!("origin has no branch {} (simulated)", branch_of(target)))
}

/// Keeps a worktree's HEAD and changes under a new rescue ref, unless one keeps them already.
fn keep(world: &mut World, tree: &Tree) -> Option<Snapshot> {
    let git = &mut world.git;
    let worktree = git.trees.get(tree)?.clone();
    let head = git.head_of(&worktree);
    let content = git.tree_content(&worktree);
    let prefix = format!("refs/rescue/{}", tree.name());
    if world.mutation == Some(Mutation::RemoveWithoutRescue) {
        return Some(Snapshot { reference: format!("{prefix}/none"), commit: sha(head) });
    }
    if world.mutation == Some(Mutation::ForgetACommit) {
        // Only what no commit holds is kept; the commits are left to the branch.
        let committed = &git.commits[head as usize].content;
        let loose = content.iter().filter(|(file, v)| committed.get(*file) != Some(*v));
        let loose = loose.map(|(file, v)| (*file, *v)).collect();
        let commit = git.commit(Vec::new(), loose, false);
        let name = format!("{prefix}/{}", git.next_rescue());
        git.rescue.insert(name.clone(), commit);
        return Some(Snapshot { reference: name, commit: sha(commit) });
    }
    let known = git.rescue.iter().find(|(name, commit)| {
        let same = &git.commits[**commit as usize];
        name.starts_with(&prefix) && same.parents == [head] && same.content == content
    });
    let (reference, commit) = match known {
        Some((name, commit)) => (name.clone(), *commit),
        None => {
            let commit = git.commit(vec![head], content, false);
            let name = format!("{prefix}/{}", git.next_rescue());
            git.rescue.insert(name.clone(), commit);
            (name, commit)
        }
    };
    Some(Snapshot { reference, commit: sha(commit) })
}

/// The rescue refs whose time is up: beyond the newest ones of each worktree, and named by no job.
fn over(world: &World, tidy: &Tidy) -> Vec<String> {
    let mut by_tree: BTreeMap<&str, Vec<(u64, &String)>> = BTreeMap::new();
    for name in world.git.rescue.keys() {
        if let Some((tree, number)) = name.rsplit_once('/')
            && let Ok(number) = number.parse()
        {
            by_tree.entry(tree).or_default().push((number, name));
        }
    }
    let mut over = Vec::new();
    for refs in by_tree.values_mut() {
        refs.sort();
        let surplus = refs.len().saturating_sub(tidy.rescues_kept.max(1) as usize);
        over.extend(refs[..surplus].iter().map(|(_, name)| (*name).clone()));
    }
    over.retain(|name| !tidy.rescues_named.contains(name));
    over
}

/// What a worktree holds that no ref keeps.
pub(crate) fn unkept(world: &World, tree: &Tree) -> Vec<u64> {
    let Some(worktree) = world.git.trees.get(tree) else { return Vec::new() };
    let kept = world.git.kept_versions();
    world.git.tree_content(worktree).into_values().filter(|v| !kept.contains(v)).collect()
}

impl Workspace for FakeWorkspace {
    fn prepare(&self, tree: &Tree, branch: &str, at: Option<&Sha>) -> PortResult<Prepared> {
        self.0.call("prepare", |world| {
            let key = &named(tree);
            if let Some(at) = at {
                let at = commit_of(at);
                let moved = world.git.trees.get(key).is_some_and(|t| world.git.head_of(t) != at);
                if moved {
                    keep(world, key);
                }
                if moved || !world.git.trees.contains_key(key) {
                    let fresh = Worktree { branch: None, detached: at, dirty: Default::default() };
                    world.git.trees.insert(key.clone(), fresh);
                }
            } else {
                let git = &mut world.git;
                let onto = git.tip(tree.onto.as_ref()).ok_or_else(|| gone(tree.onto.as_ref()))?;
                if !git.local.contains_key(branch) {
                    let start = git.hub.get(branch).copied().unwrap_or(onto);
                    git.local.insert(branch.to_owned(), start);
                }
                world.crash_point("prepare", "crash inside a port call");
                if world.git.trees.get(key).is_some_and(|t| t.branch.as_deref() != Some(branch)) {
                    // Kept from work on another branch; what was left in it is kept elsewhere.
                    world.saw("worktree goes over to another branch");
                    keep(world, key);
                    world.git.trees.remove(key);
                }
                let branch = Some(branch.to_owned());
                world.git.trees.entry(key.clone()).or_insert(Worktree {
                    branch,
                    detached: 0,
                    dirty: Default::default(),
                });
            }
            let head = world.git.head_of(&world.git.trees[key]);
            let path = format!("work/{}", tree.name());
            Ok(Prepared { path, head: sha(head), notes: Vec::new() })
        })
    }

    fn branch_state(&self, tree: &Tree, branch: &str) -> PortResult<BranchState> {
        self.0.call("branch_state", |world| {
            let git = &world.git;
            let head = *git
                .local
                .get(branch)
                .ok_or_else(|| PortError::permanent(Final::Missing, "no such branch"))?;
            let onto = git.tip(tree.onto.as_ref()).ok_or_else(|| gone(tree.onto.as_ref()))?;
            let patch = git.patch(onto, head);
            world.patches.insert(head, patch);
            let git = &world.git;
            Ok(BranchState {
                head: sha(head),
                ahead: git.ahead(onto, head),
                dirty: git.trees.get(&named(tree)).map_or(0, |t| t.dirty.len() as u32),
                pushed: git.hub.get(branch).map(|c| sha(*c)),
                unfinished: None,
            })
        })
    }

    fn same_changes(
        &self,
        tree: &Tree,
        head: &Sha,
        reviewed: &[Sha],
        _each_commit: bool,
    ) -> PortResult<Vec<Sha>> {
        self.0.call("same_changes", |world| {
            let git = &world.git;
            let base = git.merge_base(git.onto(tree.onto.as_ref()), commit_of(head));
            let content = git.content(commit_of(head));
            let same = |of: &&Sha| {
                world.is(Mutation::EveryChangeIsTheSame)
                    || git.three_way(base, commit_of(of)).is_ok_and(|merged| merged == *content)
            };
            Ok(reviewed.iter().filter(|of| *of != head).filter(same).cloned().collect())
        })
    }

    fn leak(&self, _: &Tree, _: &str, _: &Sha) -> PortResult<Option<String>> {
        self.0.call("leak", |_| Ok(None))
    }

    fn stands_on(&self, tree: &Tree, head: &Sha) -> PortResult<Option<Sha>> {
        self.0.call("stands_on", |world| {
            let git = &world.git;
            Ok(Some(sha(git.merge_base(git.onto(tree.onto.as_ref()), commit_of(head)))))
        })
    }

    fn changed_paths(&self, _tree: &Tree, base: Option<&Sha>, head: &Sha) -> PortResult<Vec<String>> {
        self.0.call("changed_paths", |world| {
            let nothing = Content::new();
            let git = &world.git;
            let base = base.map_or(&nothing, |base| git.content(commit_of(base)));
            let content = git.content(commit_of(head));
            let files: BTreeSet<File> = base.keys().chain(content.keys()).copied().collect();
            let changed = files.into_iter().filter(|file| base.get(file) != content.get(file));
            let paths: Vec<String> = changed.map(path_of).collect();
            if world.is(Mutation::HidesWhatIsProtected) {
                return Ok(Vec::new());
            }
            Ok(paths)
        })
    }

    fn push(&self, _tree: &Tree, branch: &str) -> PortResult<Sha> {
        self.0.call("push", |world| {
            let git = &mut world.git;
            let head = *git
                .local
                .get(branch)
                .ok_or_else(|| PortError::permanent(Final::Missing, "no such branch"))?;
            if let Some(there) = git.hub.get(branch)
                && !git.is_ancestor(*there, head)
            {
                world.saw("push refused");
                return Err(PortError::permanent(Final::Rejected, "origin's branch is not an ancestor"));
            }
            git.hub.insert(branch.to_owned(), head);
            Ok(sha(head))
        })
    }

    fn work_done(&self, tree: &Tree, _bytes_max: usize) -> PortResult<String> {
        self.0.call("work_done", |world| {
            Ok(world.git.trees.get(&named(tree)).map_or(String::new(), |t| format!("{:?}", t.dirty)))
        })
    }

    fn review_diff(
        &self,
        _tree: &Tree,
        since: Option<&Sha>,
        head: &Sha,
        _bytes_max: usize,
    ) -> PortResult<String> {
        self.0.call("review_diff", |_| Ok(format!("{since:?}..{head}")))
    }

    fn change_of(&self, _tree: &Tree, head: &Sha, _bytes_max: usize) -> PortResult<String> {
        self.0.call("change_of", |_| Ok(head.to_string()))
    }

    fn changed_files(&self, _tree: &Tree, _snapshot: &Snapshot, _max: usize) -> PortResult<Vec<String>> {
        self.0.call("changed_files", |_| Ok(vec!["file".into()]))
    }

    fn snapshot(&self, tree: &Tree) -> PortResult<Option<Snapshot>> {
        self.0.call("snapshot", |world| {
            let snapshot = keep(world, &named(tree));
            if snapshot.is_some() {
                world.saw("rescue snapshot");
            }
            Ok(snapshot)
        })
    }

    fn snapshot_holds(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<bool> {
        self.0.call("snapshot_holds", |world| {
            if world.is(Mutation::RemoveWithoutRescue) || world.is(Mutation::ForgetACommit) {
                return Ok(true);
            }
            // An orphan of the session may still be writing.
            let roll = world.weather.interleave / 3;
            if world.rng.permille(roll) {
                world.edit(&named(tree), false);
            }
            let git = &world.git;
            let Some(worktree) = git.trees.get(&named(tree)) else { return Ok(true) };
            let commit = commit_of(&snapshot.commit);
            let holds = git.rescue.get(&snapshot.reference) == Some(&commit)
                && git.commits[commit as usize].parents == [git.head_of(worktree)]
                && *git.content(commit) == git.tree_content(worktree);
            if !holds {
                world.saw("worktree changed under its snapshot");
            }
            Ok(holds)
        })
    }

    fn share(&self, _tree: &Tree, _snapshot: &Snapshot) -> PortResult<()> {
        self.0.call("share", |_| Ok(()))
    }

    fn keep_up(&self, _: &Tidy) -> PortResult<Packed> {
        self.0.call("keep_up", |_| Ok(Packed::default()))
    }

    fn prune_rescues(&self, tidy: &Tidy) -> PortResult<u32> {
        self.0.call("prune_rescues", |world| {
            let before = world.git.kept_versions();
            let mut pruned = 0;
            for name in over(world, tidy) {
                let git = &world.git;
                let others = git.rescue.iter().filter(|(other, _)| **other != name).map(|(_, c)| *c);
                let others = git.reachable(others.chain([git.primary()]));
                let has: BTreeSet<u64> =
                    others.iter().flat_map(|c| git.content(*c).values().copied()).collect();
                let commit = git.rescue[&name];
                let elsewhere = git.content(commit).values().all(|v| has.contains(v))
                    && git.commits[commit as usize].parents.iter().all(|p| others.contains(p));
                if elsewhere || world.is(Mutation::PruneTheOnlyCopy) {
                    world.git.rescue.remove(&name);
                    world.saw("rescue ref pruned");
                    pruned += 1;
                }
                world.crash_point("prune_rescues", "crash inside a port call");
            }
            let after = world.git.kept_versions();
            if let Some(lost) = before.difference(&after).next() {
                world.broken("2 no work is lost", format!("version {lost} went with a rescue ref"));
            }
            Ok(pruned)
        })
    }

    fn remove(&self, proof: RescueProof) -> PortResult<()> {
        self.0.call("remove", |world| {
            let tree = &named(proof.tree());
            let lost = unkept(world, tree);
            if !lost.is_empty() {
                world.broken("2 no work is lost", format!("worktree {tree:?} removed with {lost:?}"));
            }
            world.git.trees.remove(tree);
            world.say(format!("worktree {} removed", tree.name()));
            Ok(())
        })
    }

    fn delete_branch(&self, branch: &str, proof: MergedProof) -> PortResult<()> {
        self.0.call("delete_branch", |world| {
            let head = commit_of(&proof.merged().head);
            let git = &mut world.git;
            if git.local.get(branch) == Some(&head)
                && !git.trees.values().any(|t| t.branch.as_deref() == Some(branch))
            {
                git.local.remove(branch);
            }
            if git.hub.get(branch) == Some(&head) {
                git.hub.remove(branch);
            }
            world.crash_point("delete_branch", "crash inside a port call");
            if !world.git.reachable(world.git.roots()).contains(&head) {
                world.broken("2 no work is lost", format!("branch {branch} deleted, c{head} unreachable"));
            }
            Ok(())
        })
    }

    fn is_merged(&self, _project: &ProjectName, target: Option<&Target>, commit: &Sha) -> PortResult<bool> {
        self.0.call("is_merged", |world| {
            let tip = world.git.tip(target);
            Ok(tip.is_some_and(|tip| world.git.is_ancestor(commit_of(commit), tip)))
        })
    }

    fn pin_pr(&self, _project: &ProjectName, pr: PrNumber, head: &Sha) -> PortResult<()> {
        self.0.call("pin_pr", |world| {
            world.git.pins.insert(pr.0, commit_of(head));
            Ok(())
        })
    }

    fn pin_merged(&self, _project: &ProjectName, head: &Sha) -> PortResult<()> {
        self.0.call("pin_merged", |world| {
            let commit = commit_of(head);
            // Beyond the numbers of pull requests.
            world.git.pins.insert(1_000_000 + u64::from(commit), commit);
            Ok(())
        })
    }

    fn take_checkout(&self, _project: &ProjectName) -> PortResult<Taken> {
        self.0.call("take_checkout", |_| Ok(Taken::Nothing))
    }

    fn sync_checkout(&self, _project: &ProjectName) -> PortResult<(bool, String)> {
        self.0.call("sync_checkout", |_| Ok((true, "checkout is up to date".into())))
    }
}
