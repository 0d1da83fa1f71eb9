use crate::floor::{Floor, branch, each};
use shopfloor_engine::ports::{PortError, Snapshot, Workspace};
use shopfloor_engine::proof::RescueProof;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Every file below `dir` with its kind and content, `.git` aside.
pub fn files(dir: &Path) -> BTreeMap<OsString, (String, Vec<u8>)> {
    fn walk(top: &Path, dir: &Path, all: &mut BTreeMap<OsString, (String, Vec<u8>)>) {
        for entry in std::fs::read_dir(dir).expect("read_dir") {
            let path = entry.expect("entry").path();
            let meta = std::fs::symlink_metadata(&path).expect("metadata");
            let name = path.strip_prefix(top).expect("below").as_os_str().to_owned();
            if path.file_name() == Some(OsStr::new(".git")) {
                continue;
            }
            if meta.is_symlink() {
                let target = std::fs::read_link(&path).expect("link");
                all.insert(name, ("link".into(), target.as_os_str().as_bytes().to_vec()));
            } else if meta.is_dir() {
                walk(top, &path, all);
            } else {
                let kind = if meta.permissions().mode() & 0o100 != 0 { "program" } else { "file" };
                all.insert(name, (kind.into(), std::fs::read(&path).expect("read")));
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(dir, dir, &mut all);
    all
}

/// What somebody gets who checks the snapshot out.
pub fn restored(floor: &Floor, snapshot: &Snapshot) -> BTreeMap<OsString, (String, Vec<u8>)> {
    let dir = tempfile::tempdir_in(floor.home.path()).expect("tempdir");
    let path = dir.path().join("restored");
    let at = path.to_str().expect("utf-8");
    floor.git_in(&floor.clone_repo(), &["worktree", "add", "--quiet", "--detach", at, &snapshot.reference]);
    let all = files(&path);
    floor.git_in(&floor.clone_repo(), &["worktree", "remove", "--force", at]);
    all
}

pub fn snapshot(floor: &Floor, issue: u64) -> Snapshot {
    floor.workspace.snapshot(&floor.tree(issue)).expect("snapshot").expect("a worktree")
}

pub fn holds(floor: &Floor, issue: u64, snapshot: &Snapshot) -> bool {
    floor.workspace.snapshot_holds(&floor.tree(issue), snapshot).expect("holds")
}

pub fn git_dir(floor: &Floor, dir: &Path) -> PathBuf {
    PathBuf::from(floor.git_in(dir, &["rev-parse", "--absolute-git-dir"]).trim())
}

#[test]
fn a_snapshot_holds_odd_files_and_touches_nothing() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.write(&dir, "staged", "staged\n");
        floor.git_in(&dir, &["add", "staged"]);
        floor.write(&dir, "staged", "staged, then edited\n");
        std::fs::remove_file(dir.join("readme")).expect("remove");
        floor.write(&dir, "with space/and\nnewline", "x");
        floor.write(&dir, "-dash", "x");
        floor.write(&dir, ":(exclude)magic*", "x");
        floor.write(&dir, OsStr::from_bytes(b"not-utf8-\xff"), b"\x00\xff");
        floor.write(&dir, "crlf", "a\r\nb\n");
        let program = floor.write(&dir, "program", "#!/bin/sh\n");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("mode");
        symlink("/nonexistent/target", dir.join("link")).expect("symlink");
        floor.write(&dir, ".gitignore", "ignored\nforced\n");
        floor.write(&dir, "ignored", "not kept");
        floor.write(&dir, "forced", "ignored, but staged");
        floor.git_in(&dir, &["add", "--force", "forced"]);
        // The work of a git that was killed: its lock must not be in the way.
        floor.write(&git_dir(floor, &dir), "index.lock", "");

        let index = git_dir(floor, &dir).join("index");
        let before = (std::fs::read(&index).expect("index"), floor.head(&dir, "HEAD"), files(&dir));
        let taken = snapshot(floor, 1);
        let after = (std::fs::read(&index).expect("index"), floor.head(&dir, "HEAD"), files(&dir));
        assert_eq!(before, after);
        assert_eq!(taken.reference, "refs/rescue/dev-demo-1/1");
        assert!(holds(floor, 1, &taken));
        let mut kept = files(&dir);
        kept.remove(OsStr::new("ignored"));
        assert_eq!(restored(floor, &taken), kept);
        assert_eq!(floor.head(&floor.clone_repo(), &format!("{}^", taken.reference)), before.1);
    });
}

#[test]
fn a_snapshot_is_taken_once_for_each_state() {
    each(|floor| {
        let dir = floor.prepare(1);
        let clean = snapshot(floor, 1);
        assert_eq!(snapshot(floor, 1), clean);
        // Same size, same second: only the content tells.
        floor.write(&dir, "readme", "ONE\ntwo\nthree\n");
        assert!(!holds(floor, 1, &clean));
        let edited = snapshot(floor, 1);
        assert_eq!(edited.reference, "refs/rescue/dev-demo-1/2");
        floor.commit("Ada", 1, "readme", "ONE\ntwo\nthree\n", "edit");
        assert!(!holds(floor, 1, &edited), "the tree is the same, HEAD is not");
        let committed = snapshot(floor, 1);
        assert_eq!(committed.reference, "refs/rescue/dev-demo-1/3");
        assert_eq!(snapshot(floor, 1), committed);
    });
}

#[test]
fn flags_that_hide_a_file_do_not_hide_it_from_a_rescue() {
    each(|floor| {
        let dir = floor.prepare(1);
        for flag in ["--assume-unchanged", "--skip-worktree"] {
            floor.git_in(&dir, &["update-index", flag, "readme"]);
            floor.write(&dir, "readme", flag);
            let taken = snapshot(floor, 1);
            assert_eq!(restored(floor, &taken), files(&dir));
        }
    });
}

#[test]
fn files_of_nested_repositories_are_kept() {
    each(|floor| {
        let dir = floor.prepare(1);
        for name in ["empty", "committed", "staged"] {
            let nested = dir.join(name);
            floor.write(&nested, "deep/file", name);
            floor.git_in(&nested, &["init", "--quiet", "."]);
            if name != "empty" {
                floor.git_as("Ada", &nested, &["add", "."]);
                floor.git_as("Ada", &nested, &["commit", "--quiet", "-m", "nested"]);
                floor.write(&nested, "later", "not committed there");
            }
        }
        floor.git_in(&dir.join("committed"), &["init", "--quiet", "inner repository"]);
        floor.write(&dir, "committed/inner repository/file", "innermost");
        floor.git_in(&dir, &["-c", "advice.addEmbeddedRepo=false", "add", "staged"]);
        let taken = snapshot(floor, 1);
        assert_eq!(restored(floor, &taken), files(&dir));
        assert!(holds(floor, 1, &taken));
    });
}

#[test]
fn a_broken_index_or_an_unfinished_rebase_is_rescued_all_the_same() {
    each(|floor| {
        floor.commit("Ada", 1, "readme", "ours\n", "edit");
        floor.human_push("readme", "theirs\n");
        let dir = floor.prepare(1);
        floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
        let rebase = floor.git_in_session(&dir, &branch(1), &["rebase", "origin/main"]);
        assert!(!rebase.status.success(), "conflicts");
        let taken = snapshot(floor, 1);
        assert_eq!(restored(floor, &taken), files(&dir));
        // Preparing leaves the rebase as it is and reports where HEAD is.
        let ready = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare");
        assert!(ready.notes[0].starts_with("a rebase (step 1 of 1) is in progress"), "{ready:?}");
        assert_eq!(ready.head, floor.head(&dir, "HEAD"));
        assert!(git_dir(floor, &dir).join("rebase-merge").exists());

        floor.write(&git_dir(floor, &dir), "index", "garbage");
        floor.write(&dir, "later", "x");
        let taken = snapshot(floor, 1);
        assert_eq!(restored(floor, &taken), files(&dir));
    });
}

#[test]
fn removing_takes_proof_that_still_holds() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.write(&dir, "draft", "v1");
        let tree = floor.tree(1);
        let proof = RescueProof::obtain(&floor.workspace, &tree).expect("proof");
        floor.write(&dir, "draft", "v2");
        assert!(matches!(floor.workspace.remove(proof), Err(PortError::Transient(_))));
        assert!(dir.join("draft").exists());

        let proof = RescueProof::obtain(&floor.workspace, &tree).expect("proof");
        let taken = proof.snapshot().expect("snapshot").clone();
        floor.workspace.remove(proof).expect("remove");
        assert!(!dir.exists());
        assert_eq!(restored(floor, &taken)[OsStr::new("draft")].1, b"v2");
        assert!(holds(floor, 1, &taken));
        let proof = RescueProof::obtain(&floor.workspace, &tree).expect("nothing to rescue");
        assert!(proof.snapshot().is_none());
        floor.workspace.remove(proof).expect("remove again");
        // A proof that there was nothing does not cover what came after.
        let proof = RescueProof::obtain(&floor.workspace, &tree).expect("nothing to rescue");
        floor.prepare(1);
        assert!(matches!(floor.workspace.remove(proof), Err(PortError::Transient(_))));
    });
}
