//! What git is asked, counted: the start of its processes is most of what an issue costs, on any machine.

use crate::checkout::behind;
use crate::floor::{Floor, branch, gits};
use shopfloor_core::effect::Tidy;
use shopfloor_engine::ports::Workspace;
use shopfloor_engine::proof::RescueProof;

/// Each call of the floor's, on a line of `$HOME/asked`, its words apart by tabs: several may be written at once.
const LOG: &str = r#"words=$(printf '%s\t' "$@")
echo "$words" >>"$HOME/asked""#;

fn floor() -> Option<Floor> {
    if std::env::var_os("SHOPFLOOR_TEST_ISOLATION").is_some() {
        println!("skipped: a git in a jail cannot note that it was called");
        return None;
    }
    let mut floor = Floor::new(&gits()[0]);
    floor.intercept(LOG);
    Some(floor)
}

/// The subcommands since the last call.
fn asked(floor: &Floor) -> Vec<String> {
    let file = floor.home.path().join("asked");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    // There may be none.
    let _ = std::fs::remove_file(file);
    text.lines().map(subcommand).collect()
}

fn subcommand(line: &str) -> String {
    let mut words = line.split('\t');
    while let Some(word) = words.next() {
        match word {
            "-c" | "-C" | "--git-dir" | "--work-tree" => drop(words.next()),
            word => return word.to_owned(),
        }
    }
    panic!("no subcommand in {line:?}")
}

fn times(asked: &[String], subcommand: &str) -> usize {
    asked.iter().filter(|other| *other == subcommand).count()
}

/// Until a capture is remembered: what was written in the clock's last tick is left to git.
fn settle(floor: &Floor) {
    loop {
        asked(floor);
        floor.workspace.snapshot(&floor.tree(1)).expect("a snapshot");
        if asked(floor).is_empty() {
            return;
        }
    }
}

#[test]
fn a_worktree_is_removed_after_one_look_of_gits() {
    let Some(floor) = floor() else { return };
    let (tree, dir) = (floor.tree(1), floor.prepare(1));
    floor.write(&dir, "draft", "v1");
    settle(&floor);
    let proof = RescueProof::obtain(&floor.workspace, &tree).expect("a proof");
    floor.workspace.remove(proof).expect("removed");
    let asked = asked(&floor);
    assert!(!dir.exists());
    assert_eq!((times(&asked, "add"), times(&asked, "rev-list")), (1, 1), "{asked:?}");
    assert_eq!(times(&asked, "write-tree"), 0, "the same index is the same tree: {asked:?}");
}

#[test]
fn what_is_written_between_the_proof_and_the_removal_keeps_the_worktree() {
    let Some(floor) = floor() else { return };
    let (tree, dir) = (floor.tree(1), floor.prepare(1));
    floor.write(&dir, "draft", "v1");
    settle(&floor);
    let proof = RescueProof::obtain(&floor.workspace, &tree).expect("a proof");
    floor.write(&dir, "draft", "v2");
    assert!(floor.workspace.remove(proof).is_err());
    assert_eq!(std::fs::read_to_string(dir.join("draft")).expect("it is there"), "v2");
    let proof = RescueProof::obtain(&floor.workspace, &tree).expect("a proof");
    floor.workspace.remove(proof).expect("removed");
}

#[test]
fn a_branch_is_looked_through_for_secrets_once_and_needs_no_transport_to_the_hub() {
    let Some(floor) = floor() else { return };
    let (tree, branch) = (floor.tree(1), branch(1));
    let head = floor.commit("Ada", 1, "a", "1", "the work");
    asked(&floor);
    floor.workspace.push(&tree, &branch).expect("pushed");
    let pushed = asked(&floor);
    assert_eq!((times(&pushed, "log"), times(&pushed, "push")), (1, 0), "{pushed:?}");
    assert_eq!(pushed.len(), 8, "{pushed:?}");
    assert_eq!(floor.head(&floor.hub(), &format!("refs/heads/{branch}")), head);
    assert_eq!(floor.workspace.leak(&tree, &branch, &head).expect("looked"), None);
    floor.workspace.push(&tree, &branch).expect("it is there");
    assert_eq!(asked(&floor), Vec::<String>::new());
}

#[test]
fn where_a_branch_stands_is_one_question_and_after_a_capture_its_files_are_none() {
    let Some(floor) = floor() else { return };
    let (tree, branch) = (floor.tree(1), branch(1));
    floor.commit("Ada", 1, "a", "1", "the work");
    let dir = floor.prepare(1);
    floor.write(&dir, "untracked", "2");
    floor.write(&dir, "readme", "other");
    settle(&floor);
    assert_eq!(floor.workspace.branch_ahead(&tree, &branch).expect("known").1, 1);
    let first = asked(&floor);
    assert_eq!(first, ["rev-list"]);
    let state = floor.workspace.branch_state(&tree, &branch).expect("known");
    assert_eq!((state.ahead, state.dirty), (1, 2));
    assert_eq!(asked(&floor), Vec::<String>::new());
    // What git says of it, when it is asked.
    floor.write(&dir, "second", "3");
    assert_eq!(floor.workspace.branch_state(&tree, &branch).expect("known").dirty, 3);
    assert_eq!(asked(&floor), ["status"]);
}

#[test]
fn rescue_refs_that_go_go_in_one_transaction() {
    let Some(floor) = floor() else { return };
    let dir = floor.prepare(1);
    for text in ["v1", "v2", "v3", "v4"] {
        floor.write(&dir, text, text);
        floor.workspace.snapshot(&floor.tree(1)).expect("a snapshot");
    }
    asked(&floor);
    let tidy = Tidy { rescues_kept: 1, rescues_named: Vec::new(), ..floor.tidy(false) };
    assert_eq!(floor.workspace.prune_rescues(&tidy).expect("pruned"), 3);
    let asked = asked(&floor);
    assert_eq!(times(&asked, "update-ref"), 1, "{asked:?}");
}

/// A checkout that nobody touched is brought forward without a second look at all of its files; one in which a file was
/// only touched is brought forward, too.
#[test]
fn a_checkout_is_looked_at_again_only_if_git_refuses() {
    for touched in [false, true] {
        let Some(floor) = floor() else { return };
        let (_, theirs) = behind(&floor);
        let checkout = floor.project.checkout.clone();
        if touched {
            let file = std::fs::File::options().write(true).open(checkout.join("readme")).expect("opened");
            file.set_modified(std::time::UNIX_EPOCH).expect("set");
        }
        asked(&floor);
        let (updated, told) = floor.workspace.sync_checkout(&floor.project.name).expect("brought forward");
        assert!(updated, "{told}");
        assert_eq!(floor.head(&checkout, "main"), theirs);
        let asked = asked(&floor);
        assert!(touched || times(&asked, "update-index") == 0, "{asked:?}");
    }
}
