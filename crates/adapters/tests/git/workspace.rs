use crate::floor::{Floor, branch, each};
use shopfloor_core::effect::Merged;
use shopfloor_core::ids::{PrNumber, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{PortError, Workspace};
use shopfloor_engine::proof::{MergedProof, RescueProof};

fn state(floor: &Floor, issue: u64) -> (u32, u32, Option<Sha>) {
    let state = floor.workspace.branch_state(&floor.tree(issue), &branch(issue)).expect("state");
    assert_eq!(state.head, floor.head(&floor.repository(issue), &branch(issue)));
    (state.ahead, state.dirty, state.pushed)
}

#[test]
fn an_issue_is_worked_on_and_pushed() {
    each(|floor| {
        let dir = floor.prepare(1);
        assert_eq!(floor.git_in(&dir, &["symbolic-ref", "--short", "HEAD"]).trim(), branch(1));
        assert_eq!(state(floor, 1), (0, 0, None));
        floor.write(&dir, "new/a", "1");
        floor.write(&dir, "new/b", "2");
        floor.write(&dir, "readme", "changed");
        assert_eq!(state(floor, 1), (0, 3, None));
        // No global configuration says who commits here.
        floor.git_in(&dir, &["add", "-A"]);
        floor.git_in(&dir, &["commit", "--quiet", "-m", "work"]);
        assert_eq!(
            floor.git_in(&dir, &["log", "-1", "--format=%an <%ae>"]),
            "Shopfloor <shopfloor@localhost>\n"
        );
        assert_eq!(state(floor, 1), (1, 0, None));
        let pushed = floor.push(1);
        assert_eq!(floor.push(1), pushed, "once more is the same");
        assert_eq!(state(floor, 1), (1, 0, Some(pushed.clone())));
        assert_eq!(floor.head(&floor.hub(), &branch(1)), pushed);
        // A primary branch that moved is seen without being asked for.
        floor.human_push("c", "3");
        assert_eq!(state(floor, 1).0, 1);
    });
}

#[test]
fn what_is_there_is_kept() {
    each(|floor| {
        let dir = floor.prepare(1);
        let file = floor.write(&dir, "draft", "x");
        floor.git_in(&dir, &["checkout", "--quiet", "--detach"]);
        let lock = floor.write(&floor.repository(1), "index.lock", "");
        assert_eq!(floor.prepare(1), dir);
        assert!(file.exists() && !lock.exists());
        // The `.git` file is what ties the folder to its repository.
        std::fs::remove_file(dir.join(".git")).expect("remove");
        assert_eq!(floor.prepare(1), dir);
        assert!(file.exists());
        assert_eq!(state(floor, 1).1, 1);
    });
}

#[test]
fn a_new_branch_starts_where_origin_has_it() {
    each(|floor| {
        floor.user(&["checkout", "--quiet", "-b", &branch(1)]);
        floor.user(&["commit", "--quiet", "--allow-empty", "-m", "begun by a human"]);
        floor.user(&["push", "--quiet", "shopfloor", "HEAD"]);
        let head = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare").head;
        assert_eq!(head, floor.head(&floor.project.checkout, "HEAD"));
        // The human goes on while the worktree is away: the branch follows.
        let proof = RescueProof::obtain(&floor.workspace, &floor.tree(1)).expect("proof");
        floor.workspace.remove(proof).expect("remove");
        floor.user(&["commit", "--quiet", "--allow-empty", "-m", "more"]);
        floor.user(&["push", "--quiet", "shopfloor", "HEAD"]);
        let head = floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepare").head;
        assert_eq!(head, floor.head(&floor.project.checkout, "HEAD"));
    });
}

#[test]
fn a_deleted_folder_is_made_again_and_its_commits_are_kept() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.git_in(&dir, &["checkout", "--quiet", "--detach"]);
        let lone = floor.commit("Ada", 1, "a", "1", "on no branch");
        std::fs::remove_dir_all(&dir).expect("remove");
        assert!(floor.workspace.snapshot(&floor.tree(1)).expect("snapshot").is_none());
        assert_eq!(floor.prepare(1), dir);
        assert_eq!(floor.head(&floor.clone_repo(), "refs/rescue/dev-demo-1/1"), lone);
        assert_eq!(floor.git_in(&dir, &["symbolic-ref", "--short", "HEAD"]).trim(), branch(1));
    });
}

#[test]
fn a_worktree_whose_making_was_cut_short_is_made_anew() {
    each(|floor| {
        let dir = floor.prepare(1);
        std::fs::remove_file(floor.repository(1).join("shopfloor-ready")).expect("marker");
        std::fs::remove_file(floor.repository(1).join("index")).expect("index");
        std::fs::remove_file(dir.join("readme")).expect("file");
        assert_eq!(floor.prepare(1), dir);
        assert!(dir.join("readme").exists());
        assert_eq!(state(floor, 1), (0, 0, None));
    });
}

#[test]
fn something_else_in_a_worktrees_place_is_left_alone() {
    each(|floor| {
        let dir = floor.layout.tree(&floor.tree(1));
        let file = floor.write(&dir, "whose", "?");
        let refused = floor.workspace.prepare(&floor.tree(1), &branch(1), None);
        assert!(matches!(refused, Err(PortError::Permanent { .. })), "{refused:?}");
        assert!(floor.workspace.snapshot(&floor.tree(1)).is_err());
        // Not even when a repository lies above it.
        floor.git_in(floor.layout.root(), &["init", "--quiet", "."]);
        assert!(floor.workspace.snapshot(&floor.tree(1)).is_err());
        // Nor when the folder was made a repository of its own.
        floor.git_in(&dir, &["init", "--quiet", "."]);
        assert!(floor.workspace.snapshot(&floor.tree(1)).is_err());
        assert!(file.exists());
    });
}

#[test]
fn a_branch_that_another_tree_has_checked_out_is_nobodys_concern() {
    each(|floor| {
        let head = floor.commit("Ada", 1, "a", "1", "work");
        floor.push(1);
        let review =
            floor.workspace.prepare(&floor.review_tree(1), &branch(1), Some(&head)).expect("review").path;
        floor.git_in(review.as_ref(), &["checkout", "--quiet", "-b", &branch(1)]);
        let other = floor.prepare(2);
        floor.git_in(&other, &["checkout", "--quiet", "-b", &branch(3)]);
        floor.git_as("Bob", &other, &["commit", "--quiet", "--allow-empty", "-m", "on his own"]);
        let third = floor.workspace.prepare(&floor.tree(3), &branch(3), None).expect("prepare");
        assert_eq!(third.head, floor.head(&floor.hub(), "main"));
        assert_eq!(state(floor, 3), (0, 0, None));
    });
}

#[test]
fn a_review_is_of_its_commit() {
    each(|floor| {
        let first = floor.commit("Ada", 1, "a", "1", "one");
        floor.push(1);
        let tree = floor.review_tree(1);
        let prepare = |at: &Sha| {
            let ready = floor.workspace.prepare(&tree, &branch(1), Some(at)).expect("prepare");
            (ready.path, ready.head)
        };
        let (dir, head) = prepare(&first);
        assert_eq!(head, first);
        let second = floor.commit("Ada", 1, "a", "2", "two");
        floor.push(1);
        floor.write(dir.as_ref(), "a", "a reviewer tried something");
        floor.write(dir.as_ref(), "notes", "untracked");
        assert_eq!(prepare(&first).1, first, "the same commit: left as it is");
        assert_eq!(prepare(&second), (dir.clone(), second));
        assert_eq!(std::fs::read(format!("{dir}/a")).expect("read"), b"2");
        let kept = floor.git_in(&floor.clone_repo(), &["show", "refs/rescue/review-demo-1/1:a"]);
        assert_eq!(kept, "a reviewer tried something");
        let missing: Sha = "0123456789abcdef0123456789abcdef01234567".parse().expect("sha");
        assert!(matches!(
            floor.workspace.prepare(&tree, &branch(1), Some(&missing)),
            Err(PortError::Permanent { .. })
        ));
    });
}

#[test]
fn a_push_never_drops_what_others_pushed() {
    each(|floor| {
        floor.commit("Ada", 1, "a", "1", "one");
        floor.push(1);
        floor.user(&["fetch", "--quiet", "shopfloor"]);
        floor.user(&["checkout", "--quiet", "-b", "topic", &format!("shopfloor/{}", branch(1))]);
        floor.user(&["commit", "--quiet", "--allow-empty", "-m", "a human's"]);
        floor.user(&["push", "--quiet", "shopfloor", &format!("HEAD:{}", branch(1))]);
        floor.commit("Ada", 1, "a", "2", "two");
        let refused = floor.workspace.push(&floor.tree(1), &branch(1));
        assert!(
            matches!(&refused, Err(PortError::Permanent { why, .. }) if why.contains("lacks")),
            "{refused:?}"
        );
        for bad in ["main", "--mirror", "a b", "HEAD:main"] {
            assert!(floor.workspace.push(&floor.tree(1), bad).is_err(), "{bad}");
        }
    });
}

#[test]
fn what_others_put_on_top_is_the_branch_and_what_the_agent_dropped_is_not() {
    each(|floor| {
        let head =
            || floor.workspace.branch_state(&floor.tree(1), &branch(1)).expect("state").head.to_string();
        floor.commit("Ada", 1, "a", "1", "one");
        floor.push(1);
        floor.user(&["fetch", "--quiet", "shopfloor"]);
        floor.user(&["checkout", "--quiet", "-b", "topic", &format!("shopfloor/{}", branch(1))]);
        floor.user(&["commit", "--quiet", "--allow-empty", "-m", "a human's"]);
        floor.user(&["push", "--quiet", "shopfloor", &format!("HEAD:{}", branch(1))]);
        let theirs = floor.user(&["rev-parse", "HEAD"]);
        // As often as it is asked: the first look may have been cut short after its fetch.
        assert_eq!([head(), head()], [theirs.trim(), theirs.trim()]);

        floor.commit("Ada", 2, "b", "1", "one");
        let kept = floor.push(2);
        floor.commit("Ada", 2, "b", "2", "a mistake");
        floor.push(2);
        let dir = floor.prepare(2);
        floor.git_in(&dir, &["reset", "--quiet", "--hard", "HEAD~1"]);
        let state = floor.workspace.branch_state(&floor.tree(2), &branch(2)).expect("state");
        assert_eq!(state.head, kept);
    });
}

#[test]
fn a_successor_is_told_what_was_done() {
    each(|floor| {
        floor.commit("Ada", 1, "a", "committed\n", "one\x1b[31m");
        let dir = floor.prepare(1);
        floor.write(&dir, "draft", "untracked\n");
        floor.human_push("c", "not the agent's\n");
        let told = floor.workspace.work_done(&floor.tree(1), 10_000).expect("work done");
        for part in ["one\n", "+committed", "+untracked", "draft"] {
            assert!(told.contains(part), "{part:?} in {told}");
        }
        assert!(!told.contains("not the agent's") && !told.contains('\x1b'), "{told}");
        let short = floor.workspace.work_done(&floor.tree(1), 200).expect("work done");
        assert!(short.len() <= 200 && short.contains("left out"), "{short}");
    });
}

#[test]
fn a_branch_is_deleted_once_merged_and_only_at_its_merged_head() {
    each(|floor| {
        floor.commit("Ada", 1, "a", "1", "one");
        let head = floor.push(1);
        floor.human_push("c", "3");
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Squash);
        let merged =
            Merged { pr: Some(PrNumber(9)), head: head.clone(), commit: commit.clone(), target: None };
        let proof = || MergedProof::obtain(&floor.workspace, &floor.project.name, &merged);
        assert!(proof().is_err(), "not merged yet");
        floor.publish(&base, &commit).expect("publish").expect("cas");

        let refs = || floor.git_in(&floor.hub(), &["for-each-ref", "--format=%(refname)"]);
        let rescue = RescueProof::obtain(&floor.workspace, &floor.tree(1)).expect("proof");
        floor.workspace.remove(rescue).expect("remove");
        for _ in 0..2 {
            floor.workspace.delete_branch(&branch(1), proof().expect("proof")).expect("delete");
        }
        assert_eq!(refs(), "refs/heads/main\nrefs/pull/9/head\n");
        assert_eq!(floor.head(&floor.hub(), "refs/pull/9/head"), head);
        // A branch of that name with other commits is somebody's work.
        floor.commit("Ada", 1, "b", "1", "again");
        floor.push(1);
        floor.workspace.delete_branch(&branch(1), proof().expect("proof")).expect("left alone");
        assert!(refs().contains(&branch(1)));
        assert!(floor.workspace.delete_branch("main", proof().expect("proof")).is_err());
    });
}

#[test]
fn a_kept_worktree_goes_over_to_another_branch_unless_that_would_leave_something_behind() {
    each(|floor| {
        let head = floor.commit("Ann", 9, "theirs", "theirs", "half");
        floor.push(9);
        let go = |issue| floor.workspace.prepare(&floor.tree(issue), "theirs", None).expect("prepared");
        let on = |issue| {
            let kept = floor.layout.tree(&floor.tree(issue));
            floor.git_in(&kept, &["symbolic-ref", "--short", "HEAD"]).trim().to_owned()
        };
        // What is not committed, or committed there alone, stays where it is.
        let kept = floor.prepare(1);
        let loose = floor.write(&kept, "loose", "x");
        // Somebody's branch, which the clone has not seen.
        floor.git_in(&floor.hub(), &["branch", "theirs", head.as_str()]);
        go(1);
        assert_eq!(on(1), branch(1));
        std::fs::remove_file(loose).expect("removed");
        floor.commit("Ann", 1, "mine", "mine", "mine");
        let notes = go(1).notes.join(" ");
        assert!(notes.contains("commits that theirs lacks"), "{notes}");
        assert_eq!(on(1), branch(1));
        // One in which nothing is left to lose goes over, once: an agent may go where it likes.
        let kept = floor.prepare(2);
        let ready = go(2);
        assert_eq!((ready.head, ready.notes, on(2)), (head, vec![], "theirs".into()));
        floor.git_in(&kept, &["switch", "--quiet", "--create", "aside"]);
        go(2);
        assert_eq!(on(2), "aside");
    });
}

#[test]
fn what_a_commit_brings_is_told_though_no_branch_has_it() {
    each(|floor| {
        let head = floor.commit("Ann", 1, "new.txt", "one\n", "half \x1b[31mof it");
        floor.push(1);
        let told = floor.workspace.change_of(&floor.tree(1), &head, 1000).expect("told");
        assert!(told.contains("of it") && told.contains("new.txt | 1 +") && !told.contains('\x1b'), "{told}");
        let cut = floor.workspace.change_of(&floor.tree(1), &head, 80).expect("told");
        assert!(cut.len() <= 80, "{cut}");
        let nowhere = "1234567890123456789012345678901234567890".parse().expect("a name");
        assert_eq!(floor.workspace.change_of(&floor.tree(1), &nowhere, 1000).expect("told"), "");
    });
}
