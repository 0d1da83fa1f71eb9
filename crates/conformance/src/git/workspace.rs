//! What every [`Workspace`](shopfloor_engine::ports::Workspace) does.

use super::{GitWorld, PRIMARY, branch};
use shopfloor_core::effect::Merged;
use shopfloor_core::ids::{Assignment, IssueNumber, Role};
use shopfloor_engine::ports::{Final, PortError, Tree};
use shopfloor_engine::proof::{MergedProof, RescueProof};

pub fn what_exists_already_is_kept_as_it_is(world: &impl GitWorld) {
    let (workspace, tree) = (world.workspace(), world.tree(1));
    let first = workspace.prepare(&tree, &branch(1), None).expect("prepared");
    world.write(&tree, 10, 1);
    let head = world.commit(&tree);
    world.write(&tree, 11, 1);
    world.push(PRIMARY, 12, 1);
    let again = workspace.prepare(&tree, &branch(1), None).expect("prepared");
    assert_eq!((again.path, again.head), (first.path, head));
    assert_eq!(workspace.branch_state(&tree, &branch(1)).expect("looked at").dirty, 1);
}

pub fn a_new_branch_starts_at_origins_branch_of_that_name(world: &impl GitWorld) {
    let theirs = world.push(&branch(1), 10, 1);
    let made = world.workspace().prepare(&world.tree(1), &branch(1), None).expect("prepared");
    assert_eq!(made.head, theirs);
}

pub fn a_new_branch_else_starts_at_origins_primary_branch(world: &impl GitWorld) {
    let primary = world.push(PRIMARY, 10, 1);
    let made = world.workspace().prepare(&world.tree(1), &branch(1), None).expect("prepared");
    assert_eq!(made.head, primary);
}

pub fn a_review_tree_has_that_commit_checked_out(world: &impl GitWorld) {
    let head = world.published(1, 10, 1);
    let review = Tree::of_job(&world.project(), Role::REVIEW, Assignment::Issue(IssueNumber(1)));
    let made = world.workspace().prepare(&review, &branch(1), Some(&head)).expect("prepared");
    assert_eq!(made.head, head);
    let next = world.published(1, 10, 2);
    let moved = world.workspace().prepare(&review, &branch(1), Some(&next)).expect("prepared");
    assert_eq!((moved.path, moved.head), (made.path, next));
}

pub fn a_branch_is_described_by_what_the_primary_branch_lacks(world: &impl GitWorld) {
    let (workspace, tree) = (world.workspace(), world.tree(1));
    let primary = world.at(PRIMARY).expect("a primary branch");
    workspace.prepare(&tree, &branch(1), None).expect("prepared");
    let new = workspace.branch_state(&tree, &branch(1)).expect("looked at");
    assert_eq!((new.head, new.ahead, new.dirty, new.pushed), (primary, 0, 0, None));
    let head = world.published(1, 10, 1);
    world.write(&tree, 11, 1);
    let state = workspace.branch_state(&tree, &branch(1)).expect("looked at");
    assert_eq!((&state.head, state.ahead, state.dirty, state.pushed.as_ref()), (&head, 1, 1, Some(&head)));
    // What others do to the primary branch is not the branch's.
    world.push(PRIMARY, 12, 1);
    assert_eq!(workspace.branch_state(&tree, &branch(1)).expect("looked at").ahead, 1);
}

pub fn a_push_goes_forward_only(world: &impl GitWorld) {
    let (workspace, tree) = (world.workspace(), world.tree(1));
    let head = world.published(1, 10, 1);
    assert_eq!(world.at(&branch(1)), Some(head));
    let theirs = world.push(&branch(1), 11, 1);
    match workspace.push(&tree, &branch(1)) {
        Err(PortError::Permanent { cause: Final::Rejected, .. }) => {}
        other => panic!("it would drop what somebody pushed: {other:?}"),
    }
    assert_eq!(world.at(&branch(1)), Some(theirs));
}

pub fn a_snapshot_keeps_head_and_the_dirty_tree_without_touching_them(world: &impl GitWorld) {
    let (workspace, tree) = (world.workspace(), world.tree(1));
    workspace.prepare(&tree, &branch(1), None).expect("prepared");
    world.write(&tree, 10, 1);
    let before = workspace.branch_state(&tree, &branch(1)).expect("looked at");
    let kept = workspace.snapshot(&tree).expect("kept").expect("a worktree");
    assert!(workspace.snapshot_holds(&tree, &kept).expect("looked at"));
    assert_eq!(workspace.branch_state(&tree, &branch(1)).expect("looked at"), before);
    let same = workspace.snapshot(&tree).expect("kept").expect("a worktree");
    assert!(workspace.snapshot_holds(&tree, &same).expect("looked at"));
    world.write(&tree, 10, 2);
    assert!(!workspace.snapshot_holds(&tree, &kept).expect("looked at"), "more was written since");
}

pub fn what_is_not_there_has_no_snapshot(world: &impl GitWorld) {
    let (workspace, tree) = (world.workspace(), world.tree(9));
    assert_eq!(workspace.snapshot(&tree).expect("looked at"), None);
    let proof = RescueProof::obtain(workspace, &tree).expect("nothing can be lost");
    workspace.remove(proof).expect("there is nothing to remove");
}

pub fn a_worktree_is_removed_with_a_proof_and_its_work_is_kept(world: &impl GitWorld) {
    let (workspace, tree) = (world.workspace(), world.tree(1));
    let head = world.published(1, 10, 1);
    world.write(&tree, 11, 1);
    let proof = RescueProof::obtain(workspace, &tree).expect("kept");
    assert!(proof.snapshot().is_some());
    workspace.remove(proof).expect("removed");
    assert_eq!(workspace.snapshot(&tree).expect("looked at"), None, "it is gone");
    let again = workspace.prepare(&tree, &branch(1), None).expect("prepared");
    assert_eq!(again.head, head);
}

pub fn a_head_stands_on_the_newest_commit_of_the_primary_branch_in_it(world: &impl GitWorld) {
    let primary = world.at(PRIMARY).expect("a primary branch");
    let head = world.published(1, 10, 1);
    world.push(PRIMARY, 11, 1);
    assert_eq!(world.workspace().stands_on(&world.tree(1), &head).expect("looked at"), Some(primary));
}

pub fn a_change_names_every_path_that_it_touches(world: &impl GitWorld) {
    let primary = world.at(PRIMARY).expect("a primary branch");
    let head = world.published(1, 10, 1);
    // What others change meanwhile is not its.
    world.push(PRIMARY, 11, 1);
    let paths = |base| world.workspace().changed_paths(&world.tree(1), base, &head).expect("looked at");
    assert_eq!(paths(Some(&primary)), ["file-10"]);
    assert!(paths(None).contains(&"file-10".to_owned()));
    assert_eq!(paths(Some(&head)), [""; 0]);
}

pub fn what_landed_is_merged_and_nothing_else(world: &impl GitWorld) {
    let head = world.published(1, 10, 1);
    let primary = world.push(PRIMARY, 11, 1);
    let is_merged = |commit| world.workspace().is_merged(&world.project(), None, commit).expect("looked at");
    assert!(is_merged(&primary) && !is_merged(&head));
}

pub fn a_merged_branch_is_deleted_only_where_it_was_merged(world: &impl GitWorld) {
    let (workspace, project) = (world.workspace(), world.project());
    let head = world.push(PRIMARY, 10, 1);
    let theirs = world.push(&branch(1), 11, 1);
    let merged = |head| Merged { pr: None, head, commit: world.at(PRIMARY).expect("there"), target: None };
    let proof = |merged: &Merged| MergedProof::obtain(workspace, &project, merged).expect("it landed");
    workspace.delete_branch(&branch(1), proof(&merged(head))).expect("looked at");
    assert_eq!(world.at(&branch(1)), Some(theirs.clone()), "it has moved since: it is somebody's");
    let unproven = Merged { pr: None, head: theirs.clone(), commit: theirs.clone(), target: None };
    assert!(MergedProof::obtain(workspace, &project, &unproven).is_err(), "it did not land");
    for _ in 0..2 {
        workspace.delete_branch(&branch(1), proof(&merged(theirs.clone()))).expect("deleted");
        assert_eq!(world.at(&branch(1)), None);
    }
}

pub fn the_same_change_on_another_base_is_the_same(world: &impl GitWorld) {
    let reviewed = world.published(1, 10, 1);
    world.push(PRIMARY, 11, 1);
    let head = world.published(2, 10, 1);
    let other = world.published(3, 10, 2);
    let all = [reviewed.clone(), other];
    let same = world.workspace().same_changes(&world.tree(2), &head, &all, false).expect("compared");
    assert_eq!(same, [reviewed]);
}

pub fn every_call_can_be_made_again(world: &impl GitWorld) {
    let (workspace, tree, project) = (world.workspace(), world.tree(1), world.project());
    let head = world.published(1, 10, 1);
    let before = workspace.branch_state(&tree, &branch(1)).expect("looked at");
    let kept = workspace.snapshot(&tree).expect("kept").expect("there is a worktree");
    for _ in 0..2 {
        assert_eq!(workspace.push(&tree, &branch(1)).expect("pushed"), head);
        workspace.pin_merged(&project, &head).expect("pinned");
        workspace.work_done(&tree, 1000).expect("looked at");
        assert!(workspace.changed_files(&tree, &kept, 10).expect("looked at").len() <= 10);
        assert_eq!(workspace.branch_state(&tree, &branch(1)).expect("looked at"), before);
    }
}
