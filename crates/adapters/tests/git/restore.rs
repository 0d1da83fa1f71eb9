use crate::floor::{Floor, branch, each};
use crate::rescue::{files, snapshot};
use shopfloor_adapters::git::Rescued;
use shopfloor_engine::ports::{PortError, Snapshot, Workspace};
use shopfloor_engine::proof::RescueProof;
use std::path::PathBuf;

fn all(floor: &Floor) -> Vec<Rescued> {
    floor.workspace.rescues(&floor.project.name).expect("rescues")
}

fn find(floor: &Floor, snapshot: &Snapshot) -> Rescued {
    all(floor).into_iter().find(|r| r.reference == snapshot.reference).expect("listed")
}

/// A worktree with something of everything, and what keeps it.
fn worked(floor: &Floor) -> (PathBuf, Snapshot) {
    floor.commit("Ada", 1, "a", "committed\n", "work");
    let dir = floor.prepare(1);
    floor.write(&dir, "readme", "changed\n");
    floor.write(&dir, "new/file", "untracked\n");
    std::fs::remove_file(dir.join("a")).expect("remove");
    (dir, snapshot(floor, 1))
}

#[test]
fn rescue_refs_say_what_they_hold_and_what_else_has_it() {
    each(|floor| {
        let clean = snapshot_of_clean(floor);
        let (dir, taken) = worked(floor);
        let listed = all(floor);
        assert_eq!(listed.iter().map(|r| r.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((listed[0].files, listed[0].also_in.as_deref()), (0, Some("main")));
        assert_eq!(listed[0].commit, clean.commit);
        let second = &listed[1];
        assert_eq!((second.agent.as_str(), second.files, &second.also_in), ("dev-demo-1", 3, &None));
        assert_eq!(second.head.as_ref(), Some(&floor.head(&dir, "HEAD")));
        let project = &floor.project.name;
        let stat = floor.workspace.rescued_changes(project, second, false, 4096).expect("stat");
        assert!(stat.contains("new/file") && stat.contains("3 files changed"), "{stat}");
        let patch = floor.workspace.rescued_changes(project, second, true, 4096).expect("patch");
        assert!(patch.contains("+untracked"), "{patch}");
        let short = floor.workspace.rescued_changes(project, second, true, 100).expect("patch");
        assert!(short.len() < 160 && short.contains("left out"), "{short}");
        // Committed as it is: now the branch has it too.
        floor.git_in(&dir, &["add", "-A"]);
        floor.git_in(&dir, &["commit", "--quiet", "-m", "all of it"]);
        assert_eq!(find(floor, &taken).also_in, Some(branch(1)));
    });
}

fn snapshot_of_clean(floor: &Floor) -> Snapshot {
    floor.prepare(1);
    snapshot(floor, 1)
}

#[test]
fn a_folder_gets_every_byte_and_is_never_overwritten() {
    each(|floor| {
        let (dir, taken) = worked(floor);
        let rescued = find(floor, &taken);
        let project = &floor.project.name;
        let to = floor.home.path().join("some where/restored");
        floor.workspace.restore_to(project, &rescued, &to).expect("restored");
        assert_eq!(files(&to), files(&dir));
        let again = floor.workspace.restore_to(project, &rescued, &to);
        assert!(
            matches!(&again, Err(PortError::Permanent { why, .. }) if why.contains("not empty")),
            "{again:?}"
        );
        let left = std::fs::read_dir(to.parent().expect("parent")).expect("read").count();
        assert_eq!(left, 1, "nothing is left of the attempt");
    });
}

#[test]
fn a_branch_is_made_once() {
    each(|floor| {
        let (_, taken) = worked(floor);
        let rescued = find(floor, &taken);
        let project = &floor.project.name;
        floor.workspace.restore_branch(project, &rescued, "saved").expect("branch");
        assert_eq!(floor.head(&floor.hub(), "saved"), taken.commit);
        for name in ["saved", "main", &branch(1), "-x"] {
            let refused = floor.workspace.restore_branch(project, &rescued, name);
            assert!(matches!(refused, Err(PortError::Permanent { .. })), "{name}: {refused:?}");
        }
    });
}

#[test]
fn the_worktree_is_made_as_it_was_and_what_it_held_is_kept() {
    each(|floor| {
        let (dir, taken) = worked(floor);
        let (before, tree) = (files(&dir), floor.tree(1));
        let rescued = find(floor, &taken);
        // Other work since, and files where there were none and none where there were.
        floor.write(&dir, "a", "back again\n");
        std::fs::remove_dir_all(dir.join("new")).expect("remove");
        floor.write(&dir, "new", "a file now\n");
        floor.write(&dir, "later", "x");
        let later = files(&dir);
        let done = floor.workspace.restore_in_place(&tree, &branch(1), &rescued).expect("restored");
        assert_eq!((files(&dir), &done.other_head), (before.clone(), &None));
        let undone = floor
            .workspace
            .restore_in_place(&tree, &branch(1), &find(floor, &done.before))
            .expect("restored");
        assert_eq!((files(&dir), undone.head), (later, done.head));

        // The worktree is released: it is made again.
        let proof = RescueProof::obtain(&floor.workspace, &tree).expect("proof");
        floor.workspace.remove(proof).expect("remove");
        floor.workspace.restore_in_place(&tree, &branch(1), &rescued).expect("restored");
        assert_eq!(files(&dir), before);
    });
}

#[test]
fn ignored_files_and_later_commits_stand() {
    each(|floor| {
        let (dir, taken) = worked(floor);
        let rescued = find(floor, &taken);
        std::fs::remove_dir_all(dir.join("new")).expect("remove");
        floor.write(&dir, ".gitignore", "/new/\n");
        floor.write(&dir, "new/file", "ignored: no snapshot has this");
        let refused = floor.workspace.restore_in_place(&floor.tree(1), &branch(1), &rescued);
        assert!(
            matches!(&refused, Err(PortError::Permanent { why, .. }) if why.contains("new/file")),
            "{refused:?}"
        );
        assert!(dir.join("new/file").exists());

        std::fs::remove_dir_all(dir.join("new")).expect("remove");
        let head = floor.commit("Ada", 1, "b", "2", "more");
        let done = floor.workspace.restore_in_place(&floor.tree(1), &branch(1), &rescued).expect("restored");
        assert_eq!((&done.head, &done.other_head), (&head, &rescued.head), "commits are not dropped");
        assert!(!dir.join("b").exists(), "its files are as the snapshot has them");
    });
}
