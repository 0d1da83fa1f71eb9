//! How a branch joins what is there, where plain text and a straight history are not all there is.

use crate::floor::{Floor, branch, each};
use shopfloor_adapters::git::branches;
use shopfloor_core::effect::LandedEntry;
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{Built, Merger};

const METHODS: [MergeMethod; 3] = [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash];

fn show(floor: &Floor, commit: &Sha, path: &str) -> String {
    floor.git_in(&floor.queue(), &["show", &format!("{commit}:{path}")])
}

fn files(floor: &Floor, commit: &Sha) -> String {
    floor.git_in(&floor.queue(), &["ls-tree", "-r", "--name-only", commit.as_str()])
}

#[test]
fn what_attributes_say_of_merging_holds() {
    each(|floor| {
        floor.write(&floor.project.checkout, ".gitattributes", "log merge=union\n");
        floor.write(&floor.project.checkout, "sub/.gitattributes", "*.lock -merge\n");
        let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n{last}\n");
        floor.write(&floor.project.checkout, "sub/a.lock", lines("1", "8"));
        floor.human_push("log", "one\n");
        floor.prepare(1);
        floor.prepare(2);
        let union = floor.commit("Ada", 1, "log", "one\nours\n", "to the log");
        let locked = floor.commit("Ada", 2, "sub/a.lock", &lines("first", "8"), "the lock");
        floor.push(1);
        floor.push(2);
        floor.write(&floor.project.checkout, "sub/a.lock", lines("1", "last"));
        floor.human_push("log", "one\ntheirs\n");
        for method in METHODS {
            let (_, commit) = floor.candidate(1, &union, method);
            assert_eq!(show(floor, &commit, "log"), "one\ntheirs\nours\n");
            // And it is found to be whole.
            let landed = [LandedEntry { entry: EntryId(1), head: union.clone(), commit }];
            assert_eq!(floor.merger.incomplete(&floor.project.name, &landed).expect("looked at"), []);
            match floor.build(2, &locked, method).expect("tried") {
                Built::Conflict { conflict, .. } => assert_eq!(conflict.files, ["sub/a.lock"]),
                other => panic!("merged as text: {other:?}"),
            }
        }
        // They hold on later bases, for as long as they are there.
        floor.human_push("other", "1\n");
        let (_, commit) = floor.candidate(1, &union, MergeMethod::Squash);
        assert_eq!(show(floor, &commit, "log"), "one\ntheirs\nours\n");
        floor.human_push(".gitattributes", "other merge=union\n");
        assert!(matches!(floor.build(1, &union, MergeMethod::Squash), Ok(Built::Conflict { .. })));
    });
}

#[test]
fn a_revert_of_what_has_landed_is_not_nothing() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.commit("Ada", 1, "feature", "1\n", "feature");
        floor.git_in(&dir, &["revert", "--no-edit", "HEAD"]);
        let head = floor.push(1);
        // The same change landed otherwise.
        floor.human_push("feature", "1\n");
        let found = branches::branch(&*floor.origin(), "main", &branch(1)).expect("there is something to it");
        assert_eq!(found.head, head);
        for method in METHODS {
            let (base, commit) = floor.candidate(1, &head, method);
            assert_ne!(base, commit);
            assert!(!files(floor, &commit).contains("feature"), "{method:?}");
        }
    });
}

#[test]
fn of_a_stack_what_has_landed_is_skipped() {
    each(|floor| {
        let text = |first: &str, second: &str| format!("{first}\n{second}\n");
        floor.human_push("text", &text("a", "b"));
        floor.prepare(1);
        floor.commit("Ada", 1, "text", &text("A", "b"), "first of the stack");
        let head = floor.commit("Ada", 1, "text", &text("A", "B"), "second of the stack");
        floor.push(1);
        // The first has landed, and what it changed was changed again.
        floor.human_push("text", &text("A", "b"));
        floor.human_push("other", "1\n");
        for method in METHODS {
            let (_, commit) = floor.candidate(1, &head, method);
            assert_eq!(show(floor, &commit, "text"), "A\nB\n", "{method:?}");
        }
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        let range = format!("{base}..{commit}");
        assert_eq!(
            floor.git_in(&floor.queue(), &["log", "--format=%s", &range]).trim(),
            "second of the stack"
        );
    });
}

#[test]
fn a_date_from_the_future_does_not_stick() {
    each(|floor| {
        floor.prepare(1);
        let head = floor.commit("Ada", 1, "a", "1\n", "a");
        floor.push(1);
        floor.write(&floor.project.checkout, "b", "1\n");
        floor.user(&["add", "-A"]);
        let tree = floor.user(&["write-tree"]);
        let stamp = "Eve <eve@example.org> 3786912000 +0000";
        let parent = floor.user(&["rev-parse", "HEAD"]);
        let commit = format!(
            "tree {}\nparent {}\nauthor {stamp}\ncommitter {stamp}\n\nin 2090\n",
            tree.trim(),
            parent.trim()
        );
        let file = floor.write(floor.home.path(), "in-2090", commit);
        let ahead = floor.user(&["hash-object", "-t", "commit", "-w", file.to_str().expect("text")]);
        floor.user(&["push", "--quiet", "shopfloor", &format!("{}:refs/heads/main", ahead.trim())]);
        for method in METHODS {
            let (base, commit) = floor.candidate(1, &head, method);
            assert_eq!(base.as_str(), ahead.trim());
            let date = floor.git_in(&floor.queue(), &["log", "-1", "--format=%ct", commit.as_str()]);
            assert!(date.trim().parse::<u64>().expect("a date") < 3_786_912_000, "{method:?}");
        }
    });
}

#[test]
fn what_a_link_adds_to_the_first_parent_line_is_told() {
    each(|floor| {
        floor.prepare(1);
        for number in 1..=2 {
            floor.commit("Ada", 1, "feature", &format!("{number}\n"), &format!("try {number}"));
        }
        let head = floor.commit("Ada", 1, "feature", "3\n", "it works");
        floor.push(1);
        floor.human_push("other", "1\n");
        for method in METHODS {
            let Built::Chain { links, .. } = floor.build(1, &head, method).expect("built") else {
                panic!("it is clean")
            };
            let inner: Vec<String> =
                links[0].inner.iter().map(|l| show(floor, &l.commit, "feature")).collect();
            match method {
                MergeMethod::Rebase => assert_eq!(inner, ["1\n", "2\n"]),
                MergeMethod::Merge | MergeMethod::Squash => assert!(inner.is_empty(), "{inner:?}"),
            }
            for link in &links[0].inner {
                let tree = floor.git_in(&floor.queue(), &["rev-parse", &format!("{}^{{tree}}", link.commit)]);
                assert_eq!(
                    (tree.trim(), show(floor, &link.commit, "other").as_str()),
                    (link.tree.0.as_str(), "1\n")
                );
            }
        }
    });
}
