//! A repository of its own for each tree: what one agent does in it, no other sees; what only it has, its
//! snapshots keep.

use crate::floor::{Floor, branch, each, gits};
use crate::rescue::{files, restored, snapshot};
use shopfloor_adapters::git::{PartKind, Rescued};
use shopfloor_core::ids::HandName;
use shopfloor_engine::ports::{Snapshot, Tree, Workspace};
use shopfloor_engine::proof::RescueProof;
use std::path::{Path, PathBuf};

fn listed(floor: &Floor, snapshot: &Snapshot) -> Rescued {
    let all = floor.workspace.rescues(&floor.project.name).expect("rescues");
    all.into_iter().find(|r| r.reference == snapshot.reference).expect("listed")
}

fn remove(floor: &Floor, issue: u64) -> Snapshot {
    let proof = RescueProof::obtain(&floor.workspace, &floor.tree(issue)).expect("proof");
    let kept = proof.snapshot().expect("a snapshot").clone();
    floor.workspace.remove(proof).expect("removed");
    kept
}

/// What an agent may do to its own repository.
fn vandalise(floor: &Floor, dir: &Path, others: &str) {
    let git = |args: &[&str]| floor.git_in(dir, args);
    git(&["remote", "set-url", "origin", "/nowhere"]);
    for (name, value) in [
        ("commit.gpgsign", "true"),
        ("gpg.program", "/bin/false"),
        ("core.hooksPath", "/bin"),
        ("extensions.worktreeConfig", "true"),
        ("user.name", "Mallory"),
        ("core.autocrlf", "true"),
    ] {
        git(&["config", name, value]);
    }
    floor.write(dir, "hidden", "in a stash");
    git(&["stash", "push", "--quiet", "--include-untracked"]);
    git(&["gc", "--quiet", "--prune=now"]);
    let aside = dir.with_extension("aside");
    git(&["worktree", "add", "--quiet", "-b", others, aside.to_str().expect("utf-8")]);
    git(&["worktree", "remove", "--force", aside.to_str().expect("utf-8")]);
    git(&["branch", "--quiet", "-D", others]);
    git(&["update-ref", "-d", "refs/remotes/origin/main"]);
}

#[test]
fn what_one_agent_does_to_its_repository_no_other_sees() {
    each(|floor| {
        let (mallory, ada) = (floor.prepare(1), floor.prepare(2));
        let base = floor.head(&floor.hub(), "main");
        let review = floor.workspace.prepare(&floor.review_tree(3), &branch(3), Some(&base)).expect("review");
        std::thread::scope(|scope| {
            scope.spawn(|| (0..3).for_each(|_| vandalise(floor, &mallory, &branch(2))));
            scope.spawn(|| {
                for n in 0..5 {
                    floor.git_in(&ada, &["fetch", "--quiet", "origin"]);
                    assert_eq!(floor.git_in(&ada, &["stash", "list"]), "");
                    floor.write(&ada, "work", format!("{n}\n"));
                    floor.git_as("Ada", &ada, &["add", "-A"]);
                    floor.git_as("Ada", &ada, &["commit", "--quiet", "-m", "work"]);
                    floor.git_as("Ada", &ada, &["push", "--quiet", "origin", "HEAD"]);
                }
            });
            scope.spawn(|| {
                for n in 10..14 {
                    floor.prepare(n);
                    floor.workspace.prepare(&floor.review_tree(n), "x", Some(&base)).expect("review");
                    floor.git_in(review.path.as_ref(), &["fetch", "--quiet", "origin"]);
                    remove(floor, n);
                }
            });
        });
        let config = floor.git_in(&ada, &["config", "--list", "--local"]);
        assert!(!config.contains("gpg") && !config.contains("nowhere"), "{config}");
        assert_eq!(floor.git_in(&ada, &["log", "-1", "--format=%an"]), "Ada\n");
        assert_eq!(floor.head(&floor.hub(), &branch(2)), floor.head(&ada, "HEAD"));
        // Nothing of it was written where all borrow from, and the factory publishes to origin all the same.
        let refs = floor.git_in(&floor.hub(), &["for-each-ref", "--format=%(refname)"]);
        assert_eq!(refs, format!("refs/heads/{}\nrefs/heads/main\n", branch(2)));
        floor.write(&mallory, "mine", "work");
        floor.git_in(&mallory, &["-c", "commit.gpgsign=false", "add", "-A"]);
        floor.git_in(&mallory, &["-c", "core.hooksPath=/dev/null", "commit", "--no-gpg-sign", "-qm", "x"]);
        let pushed = floor.push(1);
        assert_eq!(floor.head(&floor.hub(), &branch(1)), pushed);
    });
}

#[test]
fn a_fetch_copies_nothing_and_nothing_borrowed_can_be_pruned() {
    each(|floor| {
        let dir = floor.prepare(1);
        for n in 0..3 {
            floor.human_push("big", &format!("{n}").repeat(10_000));
        }
        floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
        let count = floor.git_in(&dir, &["count-objects", "-v"]);
        assert!(count.contains("count: 0\n") && count.contains("in-pack: 0\n"), "{count}");
        // A branch that is gone: its commits are borrowed, and stay.
        let lone = floor.commit("Ada", 1, "a", "1", "work");
        floor.push(1);
        floor.git_in(&floor.hub(), &["update-ref", "-d", &format!("refs/heads/{}", branch(1))]);
        floor.git_in(&floor.hub(), &["gc", "--quiet", "--prune=now"]);
        let pruned = floor.git_in_session(&floor.hub(), "x", &["prune"]);
        assert!(!pruned.status.success(), "git refuses");
        floor.git_in(&floor.hub(), &["cat-file", "-e", lone.as_str()]);
    });
}

#[test]
fn stashes_branches_and_tags_are_kept_told_of_and_put_back() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.write(&dir, "readme", "first stash\n");
        floor.git_in(&dir, &["stash", "push", "--quiet", "-m", "the first\x1b[31m"]);
        floor.write(&dir, "fresh", "untracked\n");
        floor.git_in(&dir, &["stash", "push", "--quiet", "--include-untracked"]);
        floor.git_in(&dir, &["switch", "--quiet", "-c", "aside"]);
        let aside = floor.commit("Ada", 1, "b", "1", "aside");
        floor.git_in(&dir, &["tag", "-m", "with a message", "v1"]);
        floor.git_as("Ada", &dir, &["commit", "--quiet", "--allow-empty", "-m", "more"]);
        floor.git_in(&dir, &["switch", "--quiet", &branch(1)]);
        let told = floor.workspace.work_done(&floor.tree(1), 10_000).expect("told");
        for part in ["Stashed", "stash@{1}: ", "the first", "fresh | 1 +", "readme | ", "aside (", "v1 ("] {
            assert!(told.contains(part), "{part:?} in {told}");
        }
        assert!(!told.contains('\x1b'), "{told}");

        let taken = snapshot(floor, 1);
        assert_eq!(snapshot(floor, 1), taken, "once");
        let stashes = floor.git_in(&dir, &["stash", "list", "--format=%H"]);
        let rescued = listed(floor, &taken);
        let kinds: Vec<PartKind> = rescued.parts.iter().map(|part| part.kind).collect();
        assert_eq!(kinds, [PartKind::Stash, PartKind::Stash, PartKind::Branch, PartKind::Tag]);
        assert_eq!((rescued.parts[3].name.as_str(), &rescued.parts[3].commit), ("v1", &aside));
        assert_eq!((rescued.files, rescued.also_in.as_ref()), (0, None));
        // One more stash is one more thing to keep, though no file differs.
        floor.git_in(&dir, &["stash", "drop", "--quiet"]);
        assert!(!floor.workspace.snapshot_holds(&floor.tree(1), &taken).expect("asked"));

        remove(floor, 1);
        assert!(!floor.repository(1).exists() && !dir.exists());
        floor.git_in(&floor.clone_repo(), &["rev-list", "--objects", "--quiet", &taken.reference]);
        let done = floor.workspace.restore_in_place(&floor.tree(1), &branch(1), &rescued).expect("restored");
        assert_eq!(done.parts.len(), 4);
        assert_eq!(floor.git_in(&dir, &["stash", "list", "--format=%H"]), stashes);
        floor.git_in(&dir, &["stash", "pop", "--quiet"]);
        assert_eq!(std::fs::read_to_string(dir.join("fresh")).expect("popped"), "untracked\n");
        assert_eq!(floor.head(&dir, "v1"), aside);

        // As a branch, without the stashes among its parents; and each part by itself.
        let project = &floor.project.name;
        floor.workspace.restore_branch(project, &rescued, "saved").expect("branch");
        assert_eq!(floor.git_in(&floor.hub(), &["rev-list", "--count", "main..saved"]), "1\n");
        let part = floor.workspace.rescued_part(project, &rescued, 2).expect("asked").expect("there");
        let to = floor.home.path().join("the stash");
        floor.workspace.restore_to(project, &part, &to).expect("restored");
        assert_eq!(std::fs::read_to_string(to.join("readme")).expect("file"), "first stash\n");
        assert!(floor.workspace.rescued_part(project, &rescued, 5).expect("asked").is_none());
    });
}

/// Makes a library and takes it into the worktree as a submodule, committed.
fn with_submodule(floor: &Floor, dir: &Path) -> PathBuf {
    let library = floor.home.path().join("library");
    std::fs::create_dir(&library).expect("folder");
    floor.git_in(&library, &["init", "--quiet", "."]);
    floor.write(&library, "lib", "v1");
    floor.git_as("Ada", &library, &["add", "."]);
    floor.git_as("Ada", &library, &["commit", "--quiet", "-m", "lib"]);
    let at = library.to_str().expect("utf-8");
    floor.git_in(dir, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", at, "sub"]);
    floor.git_in(dir, &["commit", "--quiet", "-m", "a submodule"]);
    dir.join("sub")
}

#[test]
fn commits_made_in_a_submodule_are_kept() {
    each(|floor| {
        let dir = floor.prepare(1);
        let sub = with_submodule(floor, &dir);
        assert_eq!(listed(floor, &snapshot(floor, 1)).parts, [], "its origin has all of it");
        floor.write(&sub, "lib", "v2");
        floor.git_as("Ada", &sub, &["commit", "--quiet", "-am", "never pushed"]);
        let lone = floor.head(&sub, "HEAD");
        floor.write(&sub, "lib", "v3");
        floor.git_in(&sub, &["stash", "--quiet"]);
        floor.git_in(&dir, &["commit", "--quiet", "-am", "bumped"]);
        let parts = listed(floor, &snapshot(floor, 1)).parts;
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!((names[0], &parts[0].commit), ("sub", &lone));
        assert!(names.len() == 2 && names[1].starts_with("sub stash WIP on"), "{names:?}");
        let told = floor.workspace.work_done(&floor.tree(1), 10_000).expect("told");
        assert!(told.contains("Committed in submodules"), "{told}");

        let kept = remove(floor, 1);
        let rescued = listed(floor, &kept);
        floor.git_in(&floor.clone_repo(), &["rev-list", "--objects", "--quiet", &kept.reference]);
        let project = &floor.project.name;
        let part = floor.workspace.rescued_part(project, &rescued, 1).expect("asked").expect("there");
        floor.workspace.restore_branch(project, &part, "rescued-sub").expect("a branch");
        assert_eq!(floor.head(&floor.hub(), "rescued-sub"), lone);
    });
}

#[test]
fn unpublished_commits_of_a_removed_tree_are_where_the_next_begins() {
    each(|floor| {
        let head = floor.commit("Ada", 1, "a", "1", "never pushed");
        remove(floor, 1);
        let again = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare");
        assert_eq!(again.head, head);
        floor.git_in(again.path.as_ref(), &["fsck", "--connectivity-only"]);
        // Its own repository has them: what keeps them may go.
        let bare = floor.repository(1);
        floor.git_in(&bare, &["cat-file", "-e", head.as_str()]);
    });
}

#[test]
fn a_tree_need_not_belong_to_an_issue() {
    each(|floor| {
        let name = HandName::parse("hand-demo-dev-1-2-h3").expect("a name");
        let tree = Tree::of_hand(&floor.project.name, name);
        let ready = floor.workspace.prepare(&tree, "topic", None).expect("prepare");
        assert_eq!(Path::new(&ready.path), floor.layout.tree(&tree));
        floor.write(ready.path.as_ref(), "by hand", "x");
        let kept = floor.workspace.snapshot(&tree).expect("kept").expect("a worktree");
        assert_eq!(kept.reference, "refs/rescue/hand-demo-dev-1-2-h3/1");
        assert_eq!(listed(floor, &kept).tree_of(&floor.project.name), Some(tree.clone()));
        floor.git_in(ready.path.as_ref(), &["add", "-A"]);
        floor.git_in(ready.path.as_ref(), &["commit", "--quiet", "-m", "by hand"]);
        let pushed = floor.workspace.push(&tree, "topic").expect("pushed");
        assert_eq!(floor.head(&floor.hub(), "topic"), pushed);
        let proof = RescueProof::obtain(&floor.workspace, &tree).expect("proof");
        floor.workspace.remove(proof).expect("removed");
        assert!(floor.layout.written_by(&tree).iter().all(|path| !path.exists()));
    });
}

#[test]
fn a_configuration_that_git_cannot_read_is_put_aside() {
    each(|floor| {
        let dir = floor.prepare(1);
        let draft = floor.write(&dir, "draft", "x");
        let config = floor.write(&floor.repository(1), "config", "[core\nbroken");
        // What it holds is kept whatever is configured there.
        assert_eq!(restored(floor, &snapshot(floor, 1)), files(&dir));
        floor.human_push("c", "3");
        let notes = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare").notes;
        assert!(notes[0].contains("written anew") && notes[0].contains("config.broken"), "{notes:?}");
        assert!(draft.exists() && config.with_extension("broken").exists());
        floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
    });
}

/// A floor as earlier builds had them: worktrees of the clone, which has its own copy of everything.
fn old_worktree(floor: &Floor, issue: u64) -> PathBuf {
    let (clone, hub) = (floor.clone_repo(), floor.hub());
    let _ = std::fs::remove_file(clone.join("objects/info/alternates"));
    floor.git_in(
        &clone,
        &["fetch", "--quiet", hub.to_str().expect("utf-8"), "+refs/heads/*:refs/remotes/origin/*"],
    );
    let dir = floor.layout.tree(&floor.tree(issue));
    let at = dir.to_str().expect("utf-8");
    floor.git_in(
        &clone,
        &["worktree", "add", "--quiet", "-b", &branch(issue), at, "refs/remotes/origin/main"],
    );
    let mark = clone.join(format!("worktrees/issue-{issue}/shopfloor-ready"));
    std::fs::write(mark, format!("refs/heads/{}", branch(issue))).expect("mark");
    dir
}

#[test]
fn worktrees_of_an_earlier_build_go_on_and_lose_nothing() {
    each(|floor| {
        let dir = old_worktree(floor, 1);
        floor.git_in(&dir, &["switch", "--quiet", &branch(1)]);
        floor.write(&dir, "a", "committed");
        floor.git_as("Ada", &dir, &["add", "-A"]);
        floor.git_as("Ada", &dir, &["commit", "--quiet", "-m", "work"]);
        let head = floor.head(&dir, "HEAD");
        floor.write(&dir, "readme", "stashed");
        floor.git_in(&dir, &["stash", "--quiet"]);
        floor.write(&dir, "staged", "staged");
        floor.git_in(&dir, &["add", "staged"]);
        floor.write(&dir, "loose", "loose");
        let (before, status) = (files(&dir), floor.git_in(&dir, &["status", "--porcelain"]));

        // Looked at, prepared and snapshotted: all as it was.
        let ready = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare");
        assert_eq!((ready.head, ready.notes), (head.clone(), vec![]));
        let state = floor.workspace.branch_state(&floor.tree(1), &branch(1)).expect("state");
        assert_eq!((&state.head, state.ahead, state.dirty), (&head, 1, 2));
        assert_eq!((files(&dir), floor.git_in(&dir, &["status", "--porcelain"])), (before.clone(), status));
        assert!(floor.git_in(&dir, &["stash", "list"]).contains("WIP on"));
        assert_eq!(restored(floor, &snapshot(floor, 1)), before);
        assert_eq!(floor.push(1), head);
        // Its `.git` file is damaged: repaired as ever.
        std::fs::write(dir.join(".git"), "garbage").expect("damage");
        let notes = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare").notes;
        assert_eq!(notes, ["the worktree's .git file was damaged and is repaired"]);

        // Its folder is deleted: the next has a repository of its own, and everything is there.
        std::fs::remove_dir_all(&dir).expect("deleted");
        let again = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare");
        assert_eq!((again.head, files(&dir)), (head, before));
        assert!(floor.repository(1).exists() && again.notes[0].contains("was gone"), "{:?}", again.notes);
        assert_eq!(floor.git_in(&floor.clone_repo(), &["worktree", "list"]).lines().count(), 1);
        // The stash was the clone's, and is still.
        floor.git_in(&floor.clone_repo(), &["rev-parse", "--verify", "--quiet", "refs/stash"]);
    });
}

#[test]
fn a_worktree_of_an_earlier_build_is_removed_and_its_branch_retired() {
    each(|floor| {
        let dir = old_worktree(floor, 1);
        floor.write(&dir, "loose", "loose");
        let kept = remove(floor, 1);
        assert!(!dir.exists());
        assert_eq!(restored(floor, &kept)[std::ffi::OsStr::new("loose")].1, b"loose");
        let again = floor.prepare(1);
        assert!(floor.repository(1).exists() && !again.join("loose").exists());
        // One that was deleted by hand is off the record when it is released.
        let dir = old_worktree(floor, 2);
        std::fs::remove_dir_all(&dir).expect("deleted");
        let proof = RescueProof::obtain(&floor.workspace, &floor.tree(2)).expect("nothing to rescue");
        floor.workspace.remove(proof).expect("removed");
        assert_eq!(floor.git_in(&floor.clone_repo(), &["worktree", "list"]).lines().count(), 1);
    });
}

#[test]
fn a_removal_that_was_cut_short_is_finished_and_a_making_begun_anew() {
    let floor = Floor::new(&gits()[0]);
    let dir = floor.prepare(1);
    let repository = floor.repository(1);
    // Everything was rescued, the folder is half deleted.
    std::fs::write(repository.with_extension("removing"), "").expect("mark");
    std::fs::remove_file(dir.join("readme")).expect("half");
    assert!(floor.workspace.snapshot(&floor.tree(1)).expect("asked").is_none());
    assert!(!dir.exists() && !repository.exists());
    // The folder was gone, the repository renamed away and half deleted; another half made.
    for leftover in ["old-1", "new-1"] {
        floor.write(&repository.with_extension(format!("git.{leftover}")), "HEAD", "half");
    }
    floor.prepare(1);
    assert!(dir.join("readme").exists());
    let repos = repository.parent().expect("a folder");
    assert_eq!(std::fs::read_dir(repos).expect("read").count(), 1, "nothing is left of it");
    // Made, and no folder yet.
    std::fs::remove_dir_all(&dir).expect("removed");
    std::fs::remove_file(repository.join("shopfloor-ready")).expect("mark");
    let ready = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare");
    assert!(dir.join("readme").exists() && ready.notes.is_empty(), "{:?}", ready.notes);
}
