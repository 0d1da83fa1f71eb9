//! The merge queue's repository in the model of git.

use super::chain::{Links, between};
use crate::git::{branch_of, commit_of, sha};
use crate::world::{Mutation, Shared, World, short};
use shopfloor_core::effect::{
    BuiltLanding, ChainEntry, ChainLink, Conflict, EntryBranch, LandedEntry, LandingStep, MovedBranch,
};
use shopfloor_core::ids::{EntryId, ProjectName, Sha, Target};
use shopfloor_core::planner::Link;
use shopfloor_engine::ports::{
    BuildRequest, Built, Final, Merger, NotPublished, NotSigned, PortError, PortResult, PrimaryAt,
    PublishRequest,
};
use shopfloor_engine::proof::QueueLock;
use std::any::Any;
use std::collections::BTreeMap;

pub struct FakeMerger(pub Shared);

/// The first-parent commits after `below`, made again on top of `onto`; those that the queue made are signed
/// with its key, if it has one. What others committed lands unchanged, as long as it can.
fn put_on(world: &mut World, onto: u32, below: u32, link: u32, again: &mut BTreeMap<Sha, Sha>) -> u32 {
    let signed = world.policy.merge_signed;
    if below == onto && !signed {
        return link;
    }
    let mut line = Vec::new();
    let mut at = link;
    while at != below {
        line.push(at);
        at = world.git.commits[at as usize].parents[0];
    }
    let (mut tip, mut as_it_is) = (onto, below == onto);
    for link in line.into_iter().rev() {
        let commit = world.git.commits[link as usize].clone();
        as_it_is &= !commit.ours;
        if as_it_is {
            tip = link;
            continue;
        }
        let parents = std::iter::once(tip).chain(commit.parents.into_iter().skip(1)).collect();
        tip = world.git.derive_signed(parents, commit.content, signed);
        again.insert(sha(link), sha(tip));
    }
    tip
}

impl Merger for FakeMerger {
    fn take_lock(&self, _project: &ProjectName) -> PortResult<Box<dyn Any>> {
        self.0.call("take_lock", |_| Ok(Box::new(()) as Box<dyn Any>))
    }

    fn primary(
        &self,
        _project: &ProjectName,
        target: Option<&Target>,
        known: Option<&Sha>,
    ) -> PortResult<Option<PrimaryAt>> {
        self.0.call("primary", |world| {
            let Some(head) = world.git.tip(target) else { return Ok(None) };
            let continues = known.is_none_or(|known| world.git.is_ancestor(commit_of(known), head));
            Ok(Some(PrimaryAt { head: sha(head), continues, recorded: world.git.unrecorded.contains(&head) }))
        })
    }

    fn build(&self, _lock: &QueueLock, request: &BuildRequest<'_>) -> PortResult<Built> {
        self.0.call("build", |world| {
            let Some(primary) = world.git.tip(request.target).map(sha) else { return Ok(Built::NoPrimary) };
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
            let base = commit_of(request.base);
            let BuildRequest { method, removed, landed, .. } = *request;
            let mut chain = Links { base, tip: base, method, removed, landed, heads: Vec::new() };
            let mut links = Vec::new();
            for entry in request.list {
                let below = chain.tip;
                match chain.join(world, entry) {
                    Ok(left_out) => {
                        let commit = chain.tip;
                        if commit == below {
                            world.saw("nothing to merge");
                        }
                        let one = if world.is(Mutation::OneNameForAllTrees) { Some(0) } else { None };
                        let tree = world.git.tree(one.unwrap_or(commit));
                        let head_tree = world.git.tree(one.unwrap_or(commit_of(&entry.head)));
                        let link = Link { commit: sha(commit), tree };
                        let inner =
                            if request.each_commit { between(world, below, commit) } else { Vec::new() };
                        links.push(ChainLink { link, head_tree, left_out, inner });
                    }
                    Err(files) => {
                        world.saw("conflict");
                        let with_base = chain.conflicts_with_base(world, entry);
                        if !with_base {
                            world.saw("conflict among entries");
                        }
                        let files = files.iter().map(|f| format!("file{f}")).collect();
                        let (conflict, entry) = (Conflict { files, hunks: String::new() }, entry.entry);
                        return Ok(Built::Conflict { primary, moved, entry, with_base, conflict });
                    }
                }
            }
            Ok(Built::Chain { primary, moved, links })
        })
    }

    fn build_landing(
        &self,
        _lock: &QueueLock,
        old: &Sha,
        steps: &[LandingStep],
    ) -> PortResult<Result<BuiltLanding, NotSigned>> {
        self.0.call("build_landing", |world| {
            let signed = world.policy.merge_signed;
            if signed && world.key_is_away() {
                world.saw("key away");
                return Ok(Err(NotSigned("signing failed (simulated)".into())));
            }
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
                            world.git.derive_signed(vec![onto, last], content, signed)
                        }
                    };
                }
                landed.commits.push(Link { commit: sha(onto), tree: world.git.tree(onto) });
            }
            Ok(Ok(landed))
        })
    }

    fn publish(
        &self,
        _lock: &QueueLock,
        request: &PublishRequest<'_>,
    ) -> PortResult<Result<(), NotPublished>> {
        self.0.call("publish", |world| {
            let (expected, commit) = (commit_of(request.old), commit_of(request.new));
            let tested = commit_of(request.tested);
            if expected != commit && world.git.content(tested) != world.git.content(commit) {
                return Err(PortError::permanent(Final::Refused, "another tree was checked"));
            }
            let Some(actual) = world.git.tip(request.target) else {
                world.saw("target gone when it was published");
                return Ok(Err(NotPublished::Primary(None)));
            };
            let wanted = (expected, commit, request.entries.to_vec());
            let branch = branch_of(request.target);
            if world.published.get(branch) == Some(&wanted) && !world.is(Mutation::ForgetsWhatItPublished) {
                world.saw("published before");
                if !world.git.is_ancestor(commit, actual) {
                    world.saw("published and taken off again");
                }
                return Ok(Ok(()));
            }
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
            world.git.go(branch, Some(commit), Some(request.entries.to_vec()));
            // The branch's log, in the same transaction.
            world.published.insert(branch.to_owned(), wanted);
            let entries: Vec<String> = request.entries.iter().map(EntryId::to_string).collect();
            world.say(format!("{branch} -> {} (entries {})", short(request.new), entries.join(", ")));
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
