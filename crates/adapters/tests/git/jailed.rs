//! Gits that work in what agents write, in jails: they do what they do outside, and reach nothing else.

use crate::floor::{Floor, branch, gits};
use crate::rescue::{restored, snapshot};
use shopfloor_engine::ports::Workspace;
use shopfloor_engine::proof::RescueProof;
use std::ffi::OsStr;
use std::path::Path;

/// Floors whose gits are in jails.
fn each_jailed(story: impl Fn(&mut Floor)) {
    for program in gits() {
        let mut floor = Floor::new(&program);
        floor.jail();
        story(&mut floor);
    }
}

fn nest(floor: &Floor, dir: &Path, name: &str) {
    let nested = dir.join(name);
    floor.git_in(dir, &["init", "--quiet", name]);
    floor.write(&nested, "inner", "committed");
    floor.git_as("Ada", &nested, &["add", "."]);
    floor.git_as("Ada", &nested, &["commit", "--quiet", "-m", "inner"]);
    floor.write(&nested, "loose", "in it");
}

#[test]
fn a_trees_life_is_the_same_in_a_jail() {
    each_jailed(|floor| {
        let dir = floor.prepare(1);
        let head = floor.commit("Ada", 1, "a", "1", "work");
        nest(floor, &dir, "nested");
        floor.write(&dir, "readme", "stashed");
        floor.git_in(&dir, &["stash", "--quiet"]);
        floor.write(&dir, "loose", "loose");
        let kept = snapshot(floor, 1);
        let files = restored(floor, &kept);
        for (name, content) in
            [("a", "1"), ("loose", "loose"), ("nested/inner", "committed"), ("nested/loose", "in it")]
        {
            assert_eq!(files[OsStr::new(name)].1, content.as_bytes(), "{name}");
        }
        assert_eq!(floor.push(1), head);
        let state = floor.workspace.branch_state(&floor.tree(1), &branch(1)).expect("state");
        assert_eq!((&state.head, state.ahead), (&head, 1));
        let proof = RescueProof::obtain(&floor.workspace, &floor.tree(1)).expect("proof");
        floor.workspace.remove(proof).expect("removed");
        assert!(!dir.exists());
        // Others moved the branch; whoever takes it up has that, and what was left of it.
        floor.human_push("other", "theirs");
        let again = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepared");
        assert_eq!(again.head, head);
    });
}

/// As if git itself could be brought to do what it should not: it looks around, and notes what it found in the tree.
#[test]
fn a_git_that_is_taken_over_reaches_its_tree_and_nothing_else() {
    for program in gits() {
        let mut floor = Floor::new(&program);
        let (mine, other) = (floor.prepare(1), floor.prepare(2));
        floor.write(&other, "draft", "a secret of another");
        let key = floor.write(floor.home.path(), ".ssh/id", "a secret of the person");
        let look = |what: &Path| format!("cat '{}'", what.display());
        let put = |what: &Path| format!("echo x > '{}'", what.display());
        let tries = [
            look(&key),
            look(&other.join("draft")),
            look(&floor.repository(2).join("HEAD")),
            look(&floor.queue().join("HEAD")),
            put(&floor.hub().join("refs/heads/main")),
            put(&floor.layout.root().join("floor.toml")),
            put(&floor.project.checkout.join("readme")),
            "test $(ls /proc | grep -c '^[0-9]') -gt 20".to_owned(),
        ];
        let log = mine.join("reached");
        let all: String = tries
            .iter()
            .enumerate()
            .map(|(at, attempt)| {
                format!("({attempt}) > /dev/null 2>&1 && echo {at} >> '{}'\n", log.display())
            })
            .collect();
        let main = floor.head(&floor.hub(), "main");
        // Only where there is a tree: elsewhere it is not in a jail, and behaves.
        floor.intercept(&format!(
            "case \"$*\" in *--work-tree*worktrees/issue-1*)\necho in >> '{}'\n{all}\nesac",
            log.display()
        ));
        floor.jail();
        floor.write(&mine, "draft", "mine");
        let kept = snapshot(&floor, 1);
        let said = std::fs::read_to_string(&log).expect("it looked around");
        assert!(said.lines().all(|line| line == "in"), "{said}");
        assert_eq!(restored(&floor, &kept)[OsStr::new("draft")].1, b"mine");
        assert_eq!(floor.head(&floor.hub(), "main"), main);
    }
}

/// What an index or a link names elsewhere is nobody's to keep for this tree.
#[test]
fn what_is_named_elsewhere_is_not_kept() {
    each_jailed(|floor| {
        let dir = floor.prepare(1);
        let secret = floor.home.path().join("secret");
        std::fs::create_dir(&secret).expect("a folder");
        nest(floor, floor.home.path(), "secret");
        floor.git_in(&secret, &["branch", "hidden"]);
        let commit = floor.head(&secret, "HEAD");
        // A repository of the person's, as a submodule: by its `.git` file, and by a link in place of its folder.
        std::fs::create_dir(dir.join("sub")).expect("a folder");
        std::fs::write(dir.join("sub/.git"), format!("gitdir: {}/.git\n", secret.display()))
            .expect("written");
        for name in ["sub", "link"] {
            let entry = format!("160000,{commit},{name}");
            floor.git_in(&dir, &["update-index", "--add", "--cacheinfo", &entry]);
        }
        std::os::unix::fs::symlink(&secret, dir.join("link")).expect("linked");
        floor.git_as("Ada", &dir, &["commit", "--quiet", "-m", "a submodule"]);
        floor.write(&dir, "sub/mine", "mine");
        let kept = snapshot(floor, 1);
        let files = restored(floor, &kept);
        assert_eq!(files[OsStr::new("sub/mine")].1, b"mine");
        assert!(
            !files.contains_key(OsStr::new("link/inner")) && !files.contains_key(OsStr::new("sub/inner"))
        );
        let keeper = floor.clone_repo();
        assert!(
            floor
                .workspace
                .work_done(&floor.tree(1), 10_000)
                .expect("told")
                .lines()
                .all(|line| !line.contains("inner"))
        );
        let all = floor.git_in(&keeper, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
        assert!(!all.contains(commit.as_str()), "the person's commits stay where they are");
    });
}

/// What an agent puts in place of git's own files: links to somebody's, pipes, and what only looks like a number.
#[test]
fn what_is_in_place_of_gits_files_is_neither_read_nor_waited_for() {
    each_jailed(|floor| {
        let dir = floor.prepare(1);
        floor.commit("Ada", 1, "a", "1", "work");
        floor.write(&dir, "draft", "mine");
        let (own, keeper) = (floor.repository(1), floor.clone_repo());
        let key = floor.write(floor.home.path(), ".ssh/id", "a secret of the person");
        // Its index is the person's file: what is captured begins with HEAD.
        std::fs::rename(own.join("index"), own.join("index.mine")).expect("moved");
        std::os::unix::fs::symlink(&key, own.join("index")).expect("linked");
        let files = restored(floor, &snapshot(floor, 1));
        assert_eq!(
            (files[OsStr::new("draft")].1.as_slice(), files[OsStr::new("a")].1.as_slice()),
            (&b"mine"[..], &b"1"[..])
        );
        for folder in [&own, &keeper] {
            let names = std::fs::read_dir(folder).expect("read").flatten().map(|e| e.file_name());
            assert!(!names.into_iter().any(|name| name.to_string_lossy().starts_with("shopfloor-index")));
        }
        std::fs::rename(own.join("index.mine"), own.join("index")).expect("moved");
        // As if a rebase were in progress.
        std::fs::create_dir(own.join("rebase-merge")).expect("made");
        for name in ["msgnum", "end"] {
            std::os::unix::fs::symlink(&key, own.join("rebase-merge").join(name)).expect("linked");
        }
        let notes = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepared").notes;
        assert!(notes.iter().any(|note| note.contains("a rebase")), "{notes:?}");
        assert!(!format!("{notes:?}").contains("secret"), "{notes:?}");
        // A pipe that nobody writes to.
        std::fs::remove_file(own.join("HEAD")).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(own.join("HEAD")).status().expect("it runs");
        assert!(made.success());
        let failed = floor.workspace.snapshot(&floor.tree(1)).expect_err("it cannot be told where it is");
        assert!(failed.to_string().contains("HEAD is not as git made it"), "{failed}");
        assert!(dir.join("draft").exists(), "and stays");
    });
}

/// Objects that a tree's repository borrows from somewhere else are not published.
#[test]
fn what_is_borrowed_from_elsewhere_is_not_published() {
    each_jailed(|floor| {
        let dir = floor.prepare(1);
        nest(floor, floor.home.path(), "secret");
        let secret = floor.home.path().join("secret");
        let hidden = floor.head(&secret, "HEAD");
        let own = floor.repository(1);
        let near = std::fs::read_to_string(own.join("objects/info/alternates")).expect("it borrows");
        let both = format!("{near}{}\n", secret.join(".git/objects").display());
        std::fs::write(own.join("objects/info/alternates"), both).expect("written");
        let tree = floor.git_in(&secret, &["rev-parse", "HEAD^{tree}"]).trim().to_owned();
        let main = floor.head(&floor.hub(), "main");
        let commit = floor
            .git_as("Ada", &dir, &["commit-tree", &tree, "-p", main.as_str(), "-m", "stolen"])
            .trim()
            .to_owned();
        floor.git_in(&dir, &["update-ref", &format!("refs/heads/{}", branch(1)), &commit]);
        assert!(floor.workspace.push(&floor.tree(1), &branch(1)).is_err());
        let all = floor
            .git_in(&floor.clone_repo(), &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
        assert!(!all.contains(hidden.as_str()) && !all.contains(&tree), "the person's stay where they are");
    });
}
