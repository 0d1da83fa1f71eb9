//! What a branch changes: its name, and what a reviewer is shown of it.

use crate::floor::{Floor, branch, each};
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::Workspace;

fn patch(floor: &Floor) -> String {
    let state = floor.workspace.branch_state(&floor.tree(1), &branch(1)).expect("state");
    state.patch.expect("it has a name")
}

fn shown(floor: &Floor, since: Option<&Sha>, head: &Sha, bytes_max: usize) -> String {
    floor.workspace.review_diff(&floor.project.name, since, head, bytes_max).expect("a diff")
}

#[test]
fn a_change_keeps_its_name_through_a_clean_rebase_and_through_nothing_else() {
    each(|floor| {
        let text: String = (1..40).map(|n| format!("line {n}\n")).collect();
        floor.human_push("text", &text);
        let dir = floor.prepare(1);
        assert_eq!(floor.workspace.branch_state(&floor.tree(1), &branch(1)).expect("state").patch, None);
        floor.write(&dir, "blob", [0u8, 159, 146, 150]);
        floor.commit("Ada", 1, "text", &text.replace("line 30\n", "line thirty\n"), "change");
        let name = patch(floor);
        assert_eq!(patch(floor), name);
        // Others change other files, and other places in the same one.
        floor.human_push("other", "1");
        floor.human_push("text", &format!("a new line\n{text}"));
        floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
        assert_eq!(patch(floor), name, "nothing happened to the branch");
        floor.git_in(&dir, &["rebase", "--quiet", "origin/main"]);
        assert_eq!(patch(floor), name, "rebased");
        floor.human_push("other", "2");
        floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
        floor.git_in(&dir, &["merge", "--quiet", "--no-edit", "origin/main"]);
        assert_eq!(patch(floor), name, "merged");
        // Anything else is another change: also a space, an executable bit, a byte of a binary file.
        let mut names = vec![name];
        for change in ["space", "mode", "byte"] {
            match change {
                "space" => drop(floor.write(&dir, "spaced", "a b")),
                "mode" => drop(floor.git_in(&dir, &["update-index", "--add", "--chmod=+x", "spaced"])),
                _ => drop(floor.write(&dir, "blob", [0u8, 159, 146, 151])),
            }
            if change != "mode" {
                floor.git_in(&dir, &["add", "-A"]);
            }
            floor.git_in(&dir, &["commit", "--quiet", "-m", change]);
            floor.git_in(&dir, &["reset", "--quiet", "--hard"]);
            let next = patch(floor);
            assert!(!names.contains(&next), "{change}");
            names.push(next);
        }
        floor.write(&dir, "spaced", "a  b");
        floor.git_in(&dir, &["commit", "--quiet", "-am", "white space"]);
        assert!(!names.contains(&patch(floor)));
    });
}

#[test]
fn a_reviewer_is_shown_whole_files_and_which_are_left_out() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.write(&dir, "a/small", "one\n\u{1b}[2Jdiff --git a/x b/x\n");
        floor.write(&dir, "binary", [0u8, 1, 2, 3]);
        floor.write(&dir, "large", "word\n".repeat(2000));
        floor.write(&dir, "with \"quotes\"", "quoted\n");
        let first = floor.commit("Ada", 1, "z", "last\n", "much");
        floor.push(1);
        let diff = shown(floor, None, &first, 4096);
        for expect in
            ["+++ b/a/small", "+one", "Binary files", "+quoted", "+last", "1 files:\n- large (+2000 -0)\n"]
        {
            assert!(diff.contains(expect), "{expect}: {diff}");
        }
        assert!(!diff.contains("+word") && !diff.contains('\u{1b}') && diff.len() < 5000, "{diff}");
        assert!(shown(floor, None, &first, 1 << 20).contains("+word"));
        // What is new since a review, and not what came in from elsewhere.
        floor.human_push("others", "theirs");
        floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
        floor.git_in(&dir, &["merge", "--quiet", "--no-edit", "origin/main"]);
        let second = floor.commit("Ada", 1, "z", "better\n", "more");
        floor.push(1);
        let news = shown(floor, Some(&first), &second, 4096);
        assert!(news.contains("-last") && news.contains("+better"), "{news}");
        assert!(!news.contains("theirs") && !news.contains("+one"), "{news}");
        assert_eq!(shown(floor, Some(&second), &second, 4096), "(no file differs)");
        let gone: Sha = "0123456789".repeat(4).try_into().expect("forty digits");
        assert!(shown(floor, Some(&gone), &second, 4096).contains("not to be had"));
    });
}
