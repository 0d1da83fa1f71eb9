//! The merge queue's repository on the model of git.

use crate::git::{commit_of, sha};
use crate::world::{Mutation, Shared, short};
use shopfloor_core::ids::{EntryId, ProjectName, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{BuildRequest, Built, Merger, PortError, PortResult};
use shopfloor_engine::proof::QueueLock;
use std::any::Any;

pub struct FakeMerger(pub Shared);

impl Merger for FakeMerger {
    fn take_lock(&self, _project: &ProjectName) -> PortResult<Box<dyn Any>> {
        self.0.call("take_lock", |_| Ok(Box::new(()) as Box<dyn Any>))
    }

    fn build(&self, _lock: &QueueLock, request: &BuildRequest<'_>) -> PortResult<Built> {
        self.0.call("build", |world| {
            let head = commit_of(request.head);
            let git = &mut world.git;
            let there = git.hub.get(request.branch).copied();
            if there != Some(head) {
                world.saw("branch moved in the queue");
                return Ok(Built::BranchMoved { head: there.map(sha) });
            }
            let base = git.primary();
            if git.is_ancestor(head, base) {
                world.saw("nothing to merge");
                return Ok(Built::NothingToMerge { base: sha(base) });
            }
            let content = match git.three_way(base, head) {
                Ok(content) => content,
                Err(files) => {
                    world.saw("conflict");
                    let files = files.iter().map(|f| format!("file{f}")).collect();
                    return Ok(Built::Conflict { base: sha(base), files });
                }
            };
            if content == *git.content(base) {
                world.saw("nothing to merge");
                return Ok(Built::NothingToMerge { base: sha(base) });
            }
            let commit = match request.method {
                MergeMethod::Rebase if git.is_ancestor(base, head) => head,
                MergeMethod::Merge => git.commit(vec![base, head], content, false),
                MergeMethod::Rebase | MergeMethod::Squash => git.commit(vec![base], content, false),
            };
            Ok(Built::Candidate { base: sha(base), commit: sha(commit) })
        })
    }

    fn publish(
        &self,
        _lock: &QueueLock,
        entry: EntryId,
        old: &Sha,
        new: &Sha,
    ) -> PortResult<Result<(), Sha>> {
        self.0.call("publish", |world| {
            let actual = world.git.primary();
            let (expected, commit) = (commit_of(old), commit_of(new));
            if actual != expected && !world.is(Mutation::PublishWithoutCas) {
                if world.git.is_ancestor(commit, actual) {
                    world.saw("published before");
                    return Ok(Ok(()));
                }
                world.saw("primary moved");
                return Ok(Err(sha(actual)));
            }
            if !world.git.is_ancestor(expected, commit) {
                return Err(PortError::permanent("would drop commits"));
            }
            world.git.move_primary(commit, Some(entry));
            world.say(format!("primary -> {} (entry {entry})", short(new)));
            Ok(Ok(()))
        })
    }
}
