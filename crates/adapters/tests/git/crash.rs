//! An issue's whole way through git, with git killed at each call in turn: what was cut short is
//! called again and ends as if nothing had happened.

use crate::floor::{Floor, branch, gits};
use shopfloor_core::effect::Merged;
use shopfloor_core::ids::{EntryId, PrNumber, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{Built, Merger, PortError, PortResult, Workspace};
use shopfloor_engine::proof::{MergedProof, RescueProof};
use std::path::Path;

/// `$HOME/fuse` holds how many more calls go well, and whether the killed one does its work first.
const FUSE: &str = r#"
if [ -f "$HOME/fuse" ]; then
    read -r left when <"$HOME/fuse"
    if [ "$left" -eq 0 ]; then
        rm "$HOME/fuse"
        [ "$when" = after ] && "$real" "$@" >/dev/null
        kill -9 $$
    fi
    echo "$((left - 1)) $when" >"$HOME/fuse"
fi"#;

/// Git dies once in a story, so the second call goes well; the first may only ask to be repeated.
fn again<T>(mut call: impl FnMut() -> PortResult<T>) -> T {
    match call() {
        Ok(value) => value,
        Err(PortError::Transient(_)) => call().expect("the second time"),
        Err(PortError::Permanent(why)) => panic!("given up: {why}"),
    }
}

fn carry(floor: &Floor, issue: u64) {
    let (tree, branch) = (floor.tree(issue), branch(issue));
    let (dir, _) = again(|| floor.workspace.prepare(&tree, &branch, None));
    let dir = Path::new(&dir);
    assert!(dir.join("readme").exists(), "checked out whole");
    floor.write(dir, format!("file-{issue}"), "work");
    floor.git_as("Ada", dir, &["add", "-A"]);
    floor.git_as("Ada", dir, &["commit", "--quiet", "-m", "work"]);
    floor.write(dir, "draft", "not committed");
    floor.user(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
    floor.human_push("human", &issue.to_string());

    let head = again(|| floor.workspace.push(&tree, &branch));
    let state = again(|| floor.workspace.branch_state(&tree, &branch));
    assert_eq!((state.ahead, state.dirty, state.pushed), (1, 1, Some(head.clone())));
    let (base, commit) = match again(|| floor.build(issue, &head, MergeMethod::Rebase)) {
        Built::Candidate { base, commit } => (base, commit),
        other => panic!("not a candidate: {other:?}"),
    };
    let publish = || floor.merger.publish(&floor.lock(), EntryId(issue), &base, &commit);
    again(publish).expect("nobody else pushed");

    let rescued = again(|| {
        let proof = RescueProof::obtain(&floor.workspace, &tree)?;
        let snapshot = proof.snapshot().cloned();
        floor.workspace.remove(proof).map(|()| snapshot)
    });
    if let Some(rescued) = rescued {
        let draft = floor.git_in(&floor.clone_repo(), &["show", &format!("{}:draft", rescued.commit)]);
        assert_eq!(draft, "not committed");
    }
    assert!(!dir.exists());
    let merged = Merged { pr: PrNumber(issue), head: head.clone(), commit: commit.clone() };
    again(|| {
        let proof = MergedProof::obtain(&floor.workspace, &floor.project.name, &merged)?;
        floor.workspace.delete_branch(&branch, proof)
    });
    check(floor, issue, &head, &commit);
}

fn check(floor: &Floor, issue: u64, head: &Sha, commit: &Sha) {
    assert_eq!(floor.head(&floor.hub(), "main"), *commit);
    assert_eq!(floor.head(&floor.hub(), &format!("refs/pull/{issue}/head")), *head);
    for repo in [floor.hub(), floor.clone_repo()] {
        let branches = floor.git_in(&repo, &["for-each-ref", "refs/heads/fix/"]);
        assert_eq!(branches, "", "{}", repo.display());
    }
    let kept =
        floor.git_in(&floor.clone_repo(), &["for-each-ref", &format!("refs/rescue/dev-demo-{issue}/")]);
    assert!(!kept.is_empty(), "the draft is kept");
}

#[test]
fn git_killed_at_any_call_changes_nothing_in_the_end() {
    let mut floor = Floor::new(&gits()[0]);
    floor.intercept(FUSE);
    let fuse = floor.home.path().join("fuse");
    let mut issue = 0;
    for when in ["before", "after"] {
        for calls in 0.. {
            issue += 1;
            std::fs::write(&fuse, format!("{calls} {when}\n")).expect("fuse");
            carry(&floor, issue);
            if fuse.exists() {
                assert!(calls > 20, "the story has many calls");
                std::fs::remove_file(&fuse).expect("fuse");
                break;
            }
        }
    }
}
