//! Snapshots take in so much and no more, and say what they left out.

use crate::floor::{Floor, each_mut};
use crate::rescue::{files, holds, restored, snapshot};
use shopfloor_adapters::git::{Caps, Left};
use shopfloor_engine::ports::{Final, PortError, Workspace};
use shopfloor_engine::proof::RescueProof;
use std::ffi::OsStr;
use std::path::Path;

fn huge(dir: &Path, name: &str, bytes: u64) {
    let file = std::fs::File::create(dir.join(name)).expect("made");
    file.set_len(bytes).expect("as long as that");
}

fn left(floor: &Floor) -> Vec<(String, u64, bool)> {
    let all = floor.workspace.rescues(&floor.project.name).expect("listed");
    let newest = all.last().expect("one");
    newest.left.iter().map(|Left { path, bytes, ignored }| (path.clone(), *bytes, *ignored)).collect()
}

#[test]
fn a_huge_file_is_left_out_and_said_and_its_worktree_is_kept() {
    each_mut(|floor| {
        let dir = floor.prepare(1);
        huge(&dir, "x", 3 << 30);
        floor.write(&dir, "deep/note", "kept");
        floor.write(&dir, "nested/file", "kept");
        floor.git_in(&dir.join("nested"), &["init", "--quiet", "."]);
        huge(&dir.join("nested"), "inner", 2 << 30);
        floor.write(&dir, ".gitignore", "*.o\n");
        huge(&dir, "big.o", 1 << 30);
        std::fs::remove_file(dir.join("readme")).expect("removed");

        let taken = snapshot(floor, 1);
        assert!(holds(floor, 1, &taken));
        assert_eq!(snapshot(floor, 1), taken, "it is taken once");
        let kept = restored(floor, &taken);
        let names: Vec<&OsStr> = kept.keys().map(|name| name.as_os_str()).collect();
        assert_eq!(names, [".gitignore", "deep/note", "nested/file"]);
        let expected = [
            ("x".into(), 3 << 30, false),
            ("nested/inner".into(), 2 << 30, false),
            ("big.o".into(), 1 << 30, true),
        ];
        assert_eq!(left(floor), expected);

        let proof = RescueProof::obtain(&floor.workspace, &floor.tree(1)).expect("all else is kept");
        match floor.workspace.remove(proof) {
            Err(PortError::Permanent { cause: Final::InTheWay, why }) => {
                assert!(why.contains("is kept: x (3.0 GiB), nested/inner (2.0 GiB)"), "{why}");
            }
            other => panic!("removed: {other:?}"),
        }
        assert!(dir.join("x").exists());

        // What is ignored goes with the worktree, as ever.
        std::fs::remove_file(dir.join("x")).expect("removed");
        std::fs::remove_file(dir.join("nested/inner")).expect("removed");
        let proof = RescueProof::obtain(&floor.workspace, &floor.tree(1)).expect("kept");
        floor.workspace.remove(proof).expect("removed");
        assert!(!dir.exists());
        assert_eq!(left(floor), [("big.o".into(), 1 << 30, true)]);
    });
}

#[test]
fn of_too_much_the_largest_is_left_out() {
    each_mut(|floor| {
        floor.cap(Caps { file: 1000, total: 1500 });
        let dir = floor.prepare(1);
        for (name, bytes) in [("a", 400), ("b", 900), ("c", 500), ("d", 600)] {
            floor.write(&dir, name, vec!["x"; bytes].concat());
        }
        let taken = snapshot(floor, 1);
        assert_eq!(left(floor), [("b".into(), 900, false)]);
        let mut there = files(&dir);
        there.remove(OsStr::new("b"));
        assert_eq!(restored(floor, &taken), there);
    });
}

#[test]
fn of_a_tracked_file_that_grew_the_version_that_was_added_stays() {
    each_mut(|floor| {
        floor.cap(Caps { file: 1000, total: 10_000 });
        let dir = floor.prepare(1);
        let before = files(&dir);
        huge(&dir, "readme", 2000);
        let taken = snapshot(floor, 1);
        assert_eq!(left(floor), [("readme".into(), 2000, false)]);
        assert_eq!(restored(floor, &taken), before);
        // Nothing puts an older version in its place.
        let rescued = floor.workspace.rescues(&floor.project.name).expect("listed").pop().expect("one");
        let branch = crate::floor::branch(1);
        let refused = floor.workspace.restore_in_place(&floor.tree(1), &branch, &rescued);
        assert!(refused.is_err_and(|e| e.to_string().contains("is too large for a snapshot")));
        assert_eq!(std::fs::metadata(dir.join("readme")).expect("there").len(), 2000);
        // What is committed is kept, whatever its size.
        floor.git_as("Ada", &dir, &["commit", "--quiet", "-am", "grown"]);
        snapshot(floor, 1);
        assert!(left(floor).is_empty());
    });
}
