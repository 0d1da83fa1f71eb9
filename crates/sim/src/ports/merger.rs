//! The merge queue's repository on the model of git.

use crate::git::{Git, commit_of, sha};
use crate::world::{Mutation, Shared, World, short};
use shopfloor_core::effect::{
    BuiltLanding, ChainEntry, ChainLink, Conflict, EntryBranch, LandedEntry, LandingStep, MovedBranch,
};
use shopfloor_core::ids::{EntryId, ProjectName, Sha, Target};
use shopfloor_core::planner::Link;
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{
    BuildRequest, Built, Final, Merger, NotPublished, PortError, PortResult, PrimaryAt, PublishRequest,
};
use shopfloor_engine::proof::QueueLock;
use std::any::Any;
use std::collections::BTreeMap;

pub struct FakeMerger(pub Shared);

/// The commit that puts `head` on top of `onto`, or the files in conflict.
fn join(world: &mut World, method: MergeMethod, onto: u32, head: u32) -> Result<u32, Vec<u64>> {
    let git = &mut world.git;
    if git.is_ancestor(head, onto) {
        return Ok(onto);
    }
    let content = git.three_way(onto, head)?;
    if content == *git.content(onto) {
        return Ok(onto);
    }
    Ok(match method {
        MergeMethod::Rebase if line(git, onto, head).is_some() => head,
        // One with merges in it has no linear form.
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

/// What a link adds to the first-parent line beside its last commit.
fn between(world: &mut World, below: u32, link: u32) -> Vec<Link> {
    let mut line = line(&world.git, below, link).unwrap_or_default();
    line.pop();
    line.into_iter().map(|commit| Link { commit: sha(commit), tree: world.git.tree(commit) }).collect()
}

/// The first-parent commits after `below`, made again on top of `onto`.
fn put_on(world: &mut World, onto: u32, below: u32, link: u32, again: &mut BTreeMap<Sha, Sha>) -> u32 {
    if below == onto {
        return link;
    }
    let commit = world.git.commits[link as usize].clone();
    let first = match commit.parents.first() {
        Some(parent) if *parent != below => put_on(world, onto, below, *parent, again),
        _ => onto,
    };
    let parents = std::iter::once(first).chain(commit.parents.into_iter().skip(1)).collect();
    let made = world.git.derive(parents, commit.content);
    again.insert(sha(link), sha(made));
    made
}

impl Merger for FakeMerger {
    fn take_lock(&self, _project: &ProjectName) -> PortResult<Box<dyn Any>> {
        self.0.call("take_lock", |_| Ok(Box::new(()) as Box<dyn Any>))
    }

    fn primary(
        &self,
        _project: &ProjectName,
        _target: Option<&Target>,
        known: Option<&Sha>,
    ) -> PortResult<Option<PrimaryAt>> {
        self.0.call("primary", |world| {
            let head = world.git.primary();
            let goes_on = known.is_none_or(|known| world.git.is_ancestor(commit_of(known), head));
            Ok(Some(PrimaryAt { head: sha(head), goes_on }))
        })
    }

    fn build(&self, _lock: &QueueLock, request: &BuildRequest<'_>) -> PortResult<Built> {
        self.0.call("build", |world| {
            let primary = sha(world.git.primary());
            let base = commit_of(request.base);
            let there = |e: &ChainEntry| world.git.hub.get(&e.branch).map(|c| sha(*c));
            let moved: Vec<MovedBranch> = request
                .list
                .iter()
                .map(|e| MovedBranch { entry: e.entry, head: there(e) })
                .zip(request.list)
                .filter(|(moved, e)| moved.head.as_ref() != Some(&e.head))
                .map(|(moved, _)| moved)
                .collect();
            if !moved.is_empty() {
                world.saw("branch moved in the queue");
            }
            if request.list.len() > 1 {
                world.saw("chain of several");
            }
            let mut onto = base;
            let mut links = Vec::new();
            for ChainEntry { entry, head, .. } in request.list {
                let head = commit_of(head);
                match join(world, request.method, onto, head) {
                    Ok(commit) => {
                        if commit == onto {
                            world.saw("nothing to merge");
                        }
                        let below = std::mem::replace(&mut onto, commit);
                        let one = if world.is(Mutation::OneNameForAllTrees) { Some(0) } else { None };
                        let (tree, head_tree) =
                            (world.git.tree(one.unwrap_or(commit)), world.git.tree(one.unwrap_or(head)));
                        let link = Link { commit: sha(commit), tree };
                        let inner =
                            if request.each_commit { between(world, below, commit) } else { Vec::new() };
                        links.push(ChainLink { link, head_tree, left_out: 0, inner });
                    }
                    Err(files) => {
                        world.saw("conflict");
                        let with_base = join(world, request.method, base, head).is_err();
                        if !with_base {
                            world.saw("conflict among entries");
                        }
                        let files = files.iter().map(|f| format!("file{f}")).collect();
                        let conflict = Conflict { files, hunks: String::new() };
                        return Ok(Built::Conflict { primary, moved, entry: *entry, with_base, conflict });
                    }
                }
            }
            Ok(Built::Chain { primary, moved, links })
        })
    }

    fn build_landing(&self, _lock: &QueueLock, old: &Sha, steps: &[LandingStep]) -> PortResult<BuiltLanding> {
        self.0.call("build_landing", |world| {
            let mut onto = commit_of(old);
            let mut landed = BuiltLanding::default();
            for step in steps {
                let (below, link) = (commit_of(&step.below), commit_of(&step.link));
                if link != below {
                    let last = put_on(world, onto, below, link, &mut landed.again);
                    onto = match step.linear {
                        true => last,
                        false => {
                            world.saw("batch as one");
                            let content = world.git.content(last).clone();
                            world.git.derive(vec![onto, last], content)
                        }
                    };
                }
                landed.commits.push(Link { commit: sha(onto), tree: world.git.tree(onto) });
            }
            Ok(landed)
        })
    }

    fn publish(
        &self,
        _lock: &QueueLock,
        request: &PublishRequest<'_>,
    ) -> PortResult<Result<(), NotPublished>> {
        self.0.call("publish", |world| {
            let actual = world.git.primary();
            let (expected, commit) = (commit_of(request.old), commit_of(request.new));
            if actual != expected && !world.is(Mutation::PublishWithoutCas) {
                if world.git.is_ancestor(commit, actual) {
                    world.saw("published before");
                    return Ok(Ok(()));
                }
                world.saw("primary moved");
                return Ok(Err(NotPublished::Primary(Some(sha(actual)))));
            }
            let there = |e: &EntryBranch| world.git.hub.get(&e.branch).map(|c| sha(*c));
            let left = request.branches.iter().filter(|e| there(e).as_ref() != Some(&e.head));
            let moved: Vec<MovedBranch> =
                left.map(|e| MovedBranch { entry: e.entry, head: there(e) }).collect();
            if !moved.is_empty() && commit != actual {
                world.saw("branch moved before it landed");
                return Ok(Err(NotPublished::Branches(moved)));
            }
            if !world.git.is_ancestor(expected, commit) {
                return Err(PortError::permanent(Final::Rejected, "would drop commits"));
            }
            if commit == actual {
                world.saw("nothing to publish");
                return Ok(Ok(()));
            }
            if request.entries.len() > 1 {
                world.saw("several landed at once");
            }
            if request.tested != request.new {
                world.saw("verdict reused by tree");
            }
            world.git.move_primary(commit, Some(request.entries.to_vec()));
            let entries: Vec<String> = request.entries.iter().map(EntryId::to_string).collect();
            world.say(format!("primary -> {} (entries {})", short(request.new), entries.join(", ")));
            Ok(Ok(()))
        })
    }

    fn incomplete(&self, _project: &ProjectName, landed: &[LandedEntry]) -> PortResult<Vec<EntryId>> {
        self.0.call("incomplete", |world| {
            let git = &world.git;
            let whole = |l: &&LandedEntry| {
                let (commit, head) = (commit_of(&l.commit), commit_of(&l.head));
                git.is_ancestor(head, commit)
                    || git.three_way(commit, head).is_ok_and(|c| c == *git.content(commit))
            };
            Ok(landed.iter().filter(|l| !whole(l)).map(|l| l.entry).collect())
        })
    }
}
