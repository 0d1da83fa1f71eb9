//! What a branch changes: its name, and what a reviewer is shown of it.

use crate::floor::{Floor, each};
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::Workspace;
use std::os::unix::fs::PermissionsExt;

fn is_same(floor: &Floor, of: &Sha, each_commit: bool) -> bool {
    let head = floor.head(&floor.prepare(1), "HEAD");
    let of = std::slice::from_ref(of);
    let same = floor.workspace.same_changes(&floor.tree(1), &head, of, each_commit).expect("compared");
    same == of
}

fn shown(floor: &Floor, since: Option<&Sha>, head: &Sha, bytes_max: usize) -> String {
    floor.workspace.review_diff(&floor.review_tree(1), since, head, bytes_max).expect("a diff")
}

#[test]
fn a_change_is_the_same_through_a_clean_rebase_or_merge_and_through_nothing_else() {
    each(|floor| {
        let text: String = (1..40).map(|n| format!("line {n}\n")).collect();
        floor.human_push("text", &text);
        let dir = floor.prepare(1);
        floor.write(&dir, "blob", [0u8, 159, 146, 150]);
        let first = floor.commit("Ada", 1, "text", &text.replace("line 30\n", "line thirty\n"), "change");
        let update = |how: &[&str]| {
            floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
            floor.git_in(&dir, how);
        };
        // Others change other files, and other places in the same one.
        floor.human_push("other", "1");
        floor.human_push("text", &format!("a new line\n{text}"));
        update(&["rebase", "--quiet", "origin/main"]);
        assert!(is_same(floor, &first, false) && is_same(floor, &first, true), "rebased");
        floor.human_push("other", "2");
        let rebased = floor.head(&dir, "HEAD");
        update(&["merge", "--quiet", "--no-edit", "origin/main"]);
        assert!(is_same(floor, &rebased, false) && is_same(floor, &rebased, true), "merged");
        assert!(is_same(floor, &first, false), "rebased and merged");
        // Anything else is another change: also a space, an executable bit, a byte of a binary file.
        for change in ["space", "mode", "byte", "submodule"] {
            let before = floor.head(&dir, "HEAD");
            match change {
                "space" => drop(floor.write(&dir, "spaced", "a b")),
                "mode" => drop(floor.git_in(&dir, &["update-index", "--add", "--chmod=+x", "spaced"])),
                "byte" => drop(floor.write(&dir, "blob", [0u8, 159, 146, 151])),
                _ => {
                    let link = format!("160000,{first},sub");
                    floor.git_in(&dir, &["update-index", "--add", "--cacheinfo", &link]);
                }
            }
            if change == "space" || change == "byte" {
                floor.git_in(&dir, &["add", "-A"]);
            }
            floor.git_in(&dir, &["commit", "--quiet", "-m", change]);
            floor.git_in(&dir, &["reset", "--quiet", "--hard"]);
            assert!(!is_same(floor, &before, false) && !is_same(floor, &first, false), "{change}");
        }
    });
}

#[test]
fn the_same_lines_in_another_place_are_another_change() {
    each(|floor| {
        let section = |name: &str| format!("[{name}]\n\n\n\ntimeout = 1\ndebug = false\nlevel = 1\n\n\n\n");
        let text = format!("{}{}", section("test"), section("production"));
        floor.human_push("settings", &text);
        floor.prepare(1);
        let in_test = text.replacen("debug = false", "debug = true", 1);
        let approved = floor.commit("Ada", 1, "settings", &in_test, "debug the tests");
        floor.commit("Ada", 1, "settings", &text, "take it back");
        let (tests, production) = text.split_once("[production]").expect("two sections");
        let moved = format!("{tests}[production]{}", production.replace("debug = false", "debug = true"));
        floor.commit("Ada", 1, "settings", &moved, "debug the tests");
        assert!(!is_same(floor, &approved, false) && !is_same(floor, &approved, true));
    });
}

#[test]
fn where_commits_land_one_by_one_each_has_to_be_the_same() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.commit("Ada", 1, "a", "1", "one");
        let approved = floor.commit("Ada", 1, "b", "2", "two");
        floor.human_push("other", "1");
        floor.git_in(&dir, &["fetch", "--quiet", "origin"]);
        floor.git_in(&dir, &["rebase", "--quiet", "origin/main"]);
        assert!(is_same(floor, &approved, true), "each is there");
        let rebased = floor.head(&dir, "HEAD");
        // What comes and goes is in no diff, and would be in the history.
        floor.commit("Eve", 1, "secret", "x", "come");
        floor.git_in(&dir, &["rm", "--quiet", "secret"]);
        floor.git_in(&dir, &["commit", "--quiet", "-m", "gone"]);
        for of in [&approved, &rebased] {
            assert!(is_same(floor, of, false) && !is_same(floor, of, true));
        }
        floor.git_in(&dir, &["reset", "--quiet", "--hard", rebased.as_str()]);
        floor.git_in(&dir, &["commit", "--quiet", "--amend", "-m", "another message"]);
        assert!(is_same(floor, &approved, false) && !is_same(floor, &approved, true));
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

/// A rename touches both names, a removal the one; odd names are whole, and so is what becomes executable.
#[test]
fn the_paths_of_a_change_are_all_of_them() {
    each(|floor| {
        floor.human_push("AGENTS.md", "rules");
        floor.human_push("run.sh", "true");
        let dir = floor.prepare(1);
        let base = floor.head(&dir, "HEAD");
        floor.git_in(&dir, &["mv", "AGENTS.md", "notes.md"]);
        std::fs::set_permissions(dir.join("run.sh"), PermissionsExt::from_mode(0o755)).expect("executable");
        let head = floor.commit("Ada", 1, "with \"quotes\" and ümlauts", "x", "change");
        let paths = floor.workspace.changed_paths(&floor.tree(1), Some(&base), &head).expect("looked at");
        assert_eq!(paths, ["AGENTS.md", "notes.md", "run.sh", "with \"quotes\" and ümlauts"]);
    });
}
