//! What crashes and people do to worktrees: each is put in order or reported, and nothing is lost.

use crate::floor::{Floor, branch, each, gits};
use crate::rescue::{files, git_dir, restored, snapshot};
use shopfloor_engine::ports::{PortError, Prepared, Workspace};
use shopfloor_engine::proof::RescueProof;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

fn ready(floor: &Floor, issue: u64) -> Prepared {
    floor.workspace.prepare(&floor.tree(issue), &branch(issue), None).expect("prepare")
}

fn unfinished(floor: &Floor, issue: u64) -> Option<String> {
    floor.workspace.branch_state(&floor.tree(issue), &branch(issue)).expect("state").unfinished
}

#[test]
fn a_deleted_worktree_comes_back_with_every_byte() {
    each(|floor| {
        floor.commit("Ada", 1, "committed", "v1\n", "work");
        let dir = floor.prepare(1);
        floor.write(&dir, "readme", "changed\n");
        floor.write(&dir, "committed", "changed and staged\n");
        floor.git_in(&dir, &["add", "committed"]);
        floor.write(&dir, "deep/down/new\nline", b"\x00\xff");
        let program = floor.write(&dir, "program", "#!/bin/sh\n");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("mode");
        std::os::unix::fs::symlink("/nonexistent", dir.join("link")).expect("link");
        let before = files(&dir);
        let head = floor.head(&dir, "HEAD");
        let taken = snapshot(floor, 1);
        std::fs::remove_dir_all(&dir).expect("remove");

        let again = ready(floor, 1);
        assert_eq!((Path::new(&again.path), &again.head), (dir.as_path(), &head));
        assert_eq!(files(&dir), before);
        assert!(again.notes[0].contains(&format!("with 5 files from {}", taken.reference)), "{again:?}");
        assert_eq!(ready(floor, 1).notes, Vec::<String>::new(), "once");
        // As uncommitted work, on the branch.
        assert_eq!(floor.git_in(&dir, &["symbolic-ref", "--short", "HEAD"]).trim(), branch(1));
        assert_eq!(snapshot(floor, 1).commit, taken.commit, "what it holds is what was kept");
    });
}

#[test]
fn what_was_committed_after_the_snapshot_is_not_undone() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.write(&dir, "readme", "draft\n");
        floor.write(&dir, "notes", "draft\n");
        floor.write(&dir, "loose", "never committed\n");
        snapshot(floor, 1);
        floor.write(&dir, "readme", "final\n");
        floor.git_in(&dir, &["add", "readme", "notes"]);
        floor.git_in(&dir, &["commit", "--quiet", "-m", "work"]);
        let head = floor.head(&dir, "HEAD");
        std::fs::remove_dir_all(&dir).expect("remove");
        let again = ready(floor, 1);
        assert_eq!(again.head, head);
        assert!(again.notes[0].contains("with 1 files") && again.notes[0].contains("1 more"), "{again:?}");
        assert_eq!(std::fs::read_to_string(dir.join("readme")).expect("read"), "final\n");
        assert_eq!(std::fs::read_to_string(dir.join("loose")).expect("read"), "never committed\n");
        assert_eq!(floor.git_in(&dir, &["status", "--porcelain"]), "?? loose\n");
    });
}

#[test]
fn a_released_worktree_begins_anew() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.write(&dir, "draft", "of the last job");
        let proof = RescueProof::obtain(&floor.workspace, &floor.tree(1)).expect("proof");
        floor.workspace.remove(proof).expect("remove");
        assert_eq!(ready(floor, 1).notes, Vec::<String>::new());
        assert!(!dir.join("draft").exists());
    });
}

#[test]
fn a_dead_gits_lock_goes_and_a_live_gits_stays() {
    each(|floor| {
        let dir = floor.prepare(1);
        let lock = floor.write(&git_dir(floor, &dir), "index.lock", "");
        // A git that waits for its input, in the worktree.
        let mut command = Command::new(&floor.program);
        command.args(["cat-file", "--batch"]).current_dir(&dir).env("HOME", floor.home.path());
        let mut git = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git");
        // It has changed folder and name once it answers.
        use std::io::{Read, Write};
        git.stdin.as_mut().expect("piped").write_all(b"HEAD\n").expect("asked");
        git.stdout.as_mut().expect("piped").read_exact(&mut [0; 10]).expect("answered");
        assert_eq!(ready(floor, 1).notes, Vec::<String>::new());
        assert!(lock.exists());
        drop(git.stdin.take());
        git.wait().expect("ended");
        let again = ready(floor, 1);
        assert_eq!(again.notes, ["index.lock was left by a git that died and is removed"]);
        assert!(!lock.exists());
    });
}

/// Leaves a conflict behind with `git WORD…`, on a branch whose change collides with origin's.
fn collide(floor: &Floor, words: &[&str]) -> std::path::PathBuf {
    floor.commit("Ada", 1, "readme", "ours\n", "edit");
    floor.human_push("readme", "theirs\n");
    let dir = floor.prepare(1);
    floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
    assert!(!floor.git_in_session(&dir, &branch(1), words).status.success(), "conflicts");
    dir
}

#[test]
fn an_operation_cut_short_is_told_and_not_pushed() {
    for (words, name) in [
        (&["rebase", "origin/main"][..], "a rebase (step 1 of 1)"),
        (&["merge", "origin/main"], "a merge"),
        (&["cherry-pick", "origin/main"], "a cherry-pick"),
    ] {
        each(|floor| {
            let dir = collide(floor, words);
            let half = files(&dir);
            let told = ready(floor, 1).notes;
            assert!(told[0].starts_with(&format!("{name} is in progress")), "{told:?}");
            assert!(unfinished(floor, 1).is_some_and(|why| why.starts_with(name)));
            assert_eq!(restored(floor, &snapshot(floor, 1)), half);
            floor.git_in(&dir, &[words[0], "--abort"]);
            assert_eq!(unfinished(floor, 1), None);
        });
    }
}

#[test]
fn commits_on_a_detached_head_are_told_and_kept() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.git_in(&dir, &["checkout", "--quiet", "--detach"]);
        assert_eq!(ready(floor, 1).notes, Vec::<String>::new(), "nothing is on it yet");
        let lone = floor.commit("Ada", 1, "a", "1", "on no branch");
        let told = ready(floor, 1).notes.remove(0);
        assert!(told.starts_with("HEAD is detached") && told.contains("1 commits"), "{told}");
        assert!(unfinished(floor, 1).is_some());
        let taken = snapshot(floor, 1);
        assert_eq!(floor.head(&floor.clone_repo(), &format!("{}^", taken.reference)), lone);
        // What the agent is told works.
        floor.git_in(&dir, &["switch", "--quiet", &branch(1)]);
        floor.git_in(&dir, &["merge", "--quiet", lone.as_str()]);
        assert_eq!((unfinished(floor, 1), floor.head(&dir, "HEAD")), (None, lone));
        floor.git_in(&dir, &["switch", "--quiet", "-c", "aside"]);
        floor.commit("Ada", 1, "b", "1", "on another branch");
        assert!(unfinished(floor, 1).is_some_and(|why| why.starts_with("branch aside is checked out")));
    });
}

#[test]
fn a_damaged_git_file_is_repaired() {
    each(|floor| {
        let dir = floor.prepare(1);
        let draft = floor.write(&dir, "draft", "x");
        for damage in ["", "garbage", "gitdir: /nowhere\n"] {
            std::fs::write(dir.join(".git"), damage).expect("damage");
            let again = ready(floor, 1);
            assert_eq!(again.notes, ["the worktree's .git file was damaged and is repaired"], "{damage:?}");
            assert!(draft.exists());
            let kept = restored(floor, &snapshot(floor, 1));
            assert_eq!(kept[OsStr::new("draft")].1, b"x");
        }
    });
}

#[test]
fn a_changed_submodule_is_told_and_its_files_are_kept() {
    each(|floor| {
        let library = floor.home.path().join("library");
        std::fs::create_dir(&library).expect("folder");
        floor.git_in(&library, &["init", "--quiet", "."]);
        floor.write(&library, "lib", "v1");
        floor.git_as("Ada", &library, &["add", "."]);
        floor.git_as("Ada", &library, &["commit", "--quiet", "-m", "lib"]);
        let dir = floor.prepare(1);
        let at = library.to_str().expect("utf-8");
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", at, "sub"];
        floor.git_in(&dir, &add);
        floor.git_in(&dir, &["commit", "--quiet", "-m", "a submodule"]);
        assert_eq!(ready(floor, 1).notes, Vec::<String>::new());
        let whole = snapshot(floor, 1);
        let listed = floor.git_in(&floor.clone_repo(), &["ls-tree", &whole.reference, "sub"]);
        assert!(listed.starts_with("160000 commit"), "{listed}");

        floor.write(&dir.join("sub"), "lib", "v2");
        floor.write(&dir.join("sub"), "fresh", "untracked");
        let told = ready(floor, 1).notes.remove(0);
        assert!(told.starts_with("submodule sub has changes"), "{told}");
        for committed in [false, true] {
            if committed {
                floor.git_as("Ada", &dir.join("sub"), &["commit", "--quiet", "-am", "never pushed"]);
                floor.git_in(&dir, &["add", "sub"]);
            }
            let taken = restored(floor, &snapshot(floor, 1));
            assert_eq!(taken[OsStr::new("sub/lib")].1, b"v2");
            assert_eq!(taken[OsStr::new("sub/fresh")].1, b"untracked");
        }
        let proof = RescueProof::obtain(&floor.workspace, &floor.tree(1)).expect("proof");
        floor.workspace.remove(proof).expect("remove");
    });
}

/// A disk that takes no more: git may not write a single block.
#[test]
fn a_full_disk_loses_nothing_and_passes() {
    for program in gits() {
        let mut floor = Floor::new(&program);
        floor.intercept("[ -f \"$HOME/full\" ] && ulimit -f 0");
        let dir = floor.prepare(1);
        floor.write(&dir, "draft", "x".repeat(10_000));
        let full = floor.write(floor.home.path(), "full", "");
        let refused = floor.workspace.snapshot(&floor.tree(1));
        assert!(matches!(refused, Err(PortError::Transient(_))), "{refused:?}");
        let refused = RescueProof::obtain(&floor.workspace, &floor.tree(1));
        assert!(refused.is_err(), "no proof, no removal");
        let refused = floor.workspace.prepare(&floor.tree(2), &branch(2), None);
        assert!(matches!(refused, Err(PortError::Transient(_))), "{refused:?}");
        std::fs::remove_file(full).expect("space again");
        let kept = restored(&floor, &snapshot(&floor, 1));
        assert_eq!(kept[OsStr::new("draft")].1, "x".repeat(10_000).as_bytes());
        floor.prepare(2);
    }
}

/// A folder that cannot be written to, also not by root.
#[test]
fn a_read_only_folder_is_reported() {
    for program in gits() {
        let mut floor = Floor::new(&program);
        floor.intercept(
            "[ \"$(id -u)\" = 0 ] && exec setpriv --bounding-set=-dac_override,-dac_read_search \"$real\" \"$@\"",
        );
        let dir = floor.prepare(1);
        floor.write(&dir, "draft", "x");
        let objects = floor.clone_repo().join("objects");
        let mode = |mode: u32| {
            for folder in std::fs::read_dir(&objects).expect("read").flatten().map(|e| e.path()) {
                std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode)).expect("mode");
            }
            std::fs::set_permissions(&objects, PermissionsExt::from_mode(mode)).expect("mode");
        };
        mode(0o555);
        let refused = floor.workspace.snapshot(&floor.tree(1));
        let proof = RescueProof::obtain(&floor.workspace, &floor.tree(1));
        mode(0o755);
        assert!(matches!(&refused, Err(e) if e.to_string().contains("ermission")), "{refused:?}");
        assert!(proof.is_err(), "no proof, no removal");
        snapshot(&floor, 1);
    }
}
