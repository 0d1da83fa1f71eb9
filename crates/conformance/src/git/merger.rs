//! What every [`Merger`](shopfloor_engine::ports::Merger) does.

use super::{GitWorld, PRIMARY, branch};
use shopfloor_core::effect::{ChainEntry, EntryBranch, LandedEntry, MovedBranch};
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::planner::TrialId;
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{BuildRequest, Built, NotPublished, PublishRequest};
use shopfloor_engine::proof::QueueLock;

const METHODS: [MergeMethod; 3] = [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash];

fn entry(issue: u64, head: &Sha) -> ChainEntry {
    ChainEntry {
        entry: EntryId(issue),
        pr: None,
        branch: branch(issue),
        head: head.clone(),
        title: format!("change {issue}"),
        message: None,
        method: None,
    }
}

fn build(world: &impl GitWorld, method: MergeMethod, list: &[ChainEntry]) -> Built {
    let (project, base) = (world.project(), primary(world));
    let lock = QueueLock::acquire(world.merger(), &project).expect("the queue is free");
    let request = BuildRequest {
        project: &project,
        target: None,
        trial: TrialId(1),
        base: &base,
        method,
        list,
        removed: &[],
        landed: &[],
        each_commit: false,
    };
    world.merger().build(&lock, &request).expect("built")
}

fn commits(built: Built) -> Vec<Sha> {
    match built {
        Built::Chain { links, .. } => links.into_iter().map(|link| link.link.commit).collect(),
        other => panic!("not a chain: {other:?}"),
    }
}

fn primary(world: &impl GitWorld) -> Sha {
    let found = world.merger().primary(&world.project(), None, None).expect("looked at");
    found.expect("a primary branch").head
}

fn publish(
    world: &impl GitWorld,
    old: &Sha,
    new: &Sha,
    branches: &[EntryBranch],
) -> Result<(), NotPublished> {
    let lock = QueueLock::acquire(world.merger(), &world.project()).expect("the queue is free");
    let entries = [EntryId(1)];
    let request = PublishRequest { target: None, old, new, tested: new, entries: &entries, branches };
    world.merger().publish(&lock, &request).expect("answered")
}

pub fn the_primary_branch_is_where_origin_has_it(world: &impl GitWorld) {
    let known = primary(world);
    assert_eq!(Some(&known), world.at(PRIMARY).as_ref());
    let moved = world.push(PRIMARY, 10, 1);
    let found = world.merger().primary(&world.project(), None, Some(&known)).expect("looked at");
    let found = found.expect("a primary branch");
    assert_eq!((found.head, found.continues), (moved, true));
}

pub fn the_same_request_gives_the_same_commits(world: &impl GitWorld) {
    let list = [entry(1, &world.published(1, 10, 1)), entry(2, &world.published(2, 11, 1))];
    world.push(PRIMARY, 12, 1);
    for method in METHODS {
        let first = commits(build(world, method, &list));
        assert_eq!(first, commits(build(world, method, &list)));
        assert_eq!(first.len(), 2, "one link for each entry");
    }
}

pub fn one_that_brings_nothing_new_has_the_commit_of_the_one_before(world: &impl GitWorld) {
    let (first, second) = (world.published(1, 10, 1), world.published(2, 10, 1));
    world.push(PRIMARY, 12, 1);
    for method in METHODS {
        let links = commits(build(world, method, &[entry(1, &first), entry(2, &second)]));
        assert_eq!(links[0], links[1], "{method:?}");
    }
}

pub fn a_conflict_says_whether_it_is_with_the_base_alone(world: &impl GitWorld) {
    let list = [entry(1, &world.published(1, 10, 1)), entry(2, &world.published(2, 10, 2))];
    for method in METHODS {
        match build(world, method, &list) {
            Built::Conflict { entry: EntryId(2), with_base: false, .. } => {}
            other => panic!("they conflict with each other: {other:?}"),
        }
    }
    world.push(PRIMARY, 10, 3);
    for method in METHODS {
        match build(world, method, &list) {
            Built::Conflict { entry: EntryId(1), with_base: true, .. } => {}
            other => panic!("the first conflicts with the base: {other:?}"),
        }
    }
}

pub fn a_branch_that_moved_is_told(world: &impl GitWorld) {
    let head = world.published(1, 10, 1);
    let now = world.push(&branch(1), 11, 1);
    let expected = vec![MovedBranch { entry: EntryId(1), head: Some(now) }];
    match build(world, MergeMethod::Rebase, &[entry(1, &head)]) {
        Built::Chain { moved, .. } => assert_eq!(moved, expected),
        other => panic!("not a chain: {other:?}"),
    }
}

pub fn a_publication_is_a_compare_and_swap(world: &impl GitWorld) {
    let list = [entry(1, &world.published(1, 10, 1))];
    let old = primary(world);
    let new = commits(build(world, MergeMethod::Squash, &list)).remove(0);
    let theirs = world.push(PRIMARY, 11, 1);
    assert_eq!(publish(world, &old, &new, &[]), Err(NotPublished::Primary(Some(theirs.clone()))));
    assert_eq!(world.at(PRIMARY), Some(theirs.clone()), "somebody was faster, and nothing of theirs is lost");
    let new = commits(build(world, MergeMethod::Squash, &list)).remove(0);
    // Once more is success.
    for _ in 0..2 {
        assert_eq!(publish(world, &theirs, &new, &[]), Ok(()));
        assert_eq!(world.at(PRIMARY), Some(new.clone()));
    }
}

pub fn nothing_is_published_if_a_branch_is_not_where_it_was_queued(world: &impl GitWorld) {
    let head = world.published(1, 10, 1);
    let old = primary(world);
    let new = commits(build(world, MergeMethod::Squash, &[entry(1, &head)])).remove(0);
    let queued = |head: Sha| [EntryBranch { entry: EntryId(1), branch: branch(1), head }];
    let now = world.push(&branch(1), 11, 1);
    let moved = vec![MovedBranch { entry: EntryId(1), head: Some(now) }];
    assert_eq!(publish(world, &old, &new, &queued(head)), Err(NotPublished::Branches(moved)));
    assert_eq!(world.at(PRIMARY), Some(old));
}

pub fn what_landed_has_every_change_of_its_branch(world: &impl GitWorld) {
    let head = world.published(1, 10, 1);
    let (old, project) = (primary(world), world.project());
    let new = commits(build(world, MergeMethod::Squash, &[entry(1, &head)])).remove(0);
    publish(world, &old, &new, &[]).expect("published");
    let landed = |commit: &Sha| LandedEntry { entry: EntryId(1), head: head.clone(), commit: commit.clone() };
    let incomplete =
        |commit: &Sha| world.merger().incomplete(&project, &[landed(commit)]).expect("looked at");
    assert_eq!(incomplete(&new), []);
    assert_eq!(incomplete(&old), [EntryId(1)]);
}
