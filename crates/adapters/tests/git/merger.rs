use crate::floor::{Floor, branch, commit_of, each, gits};
use shopfloor_core::effect::{ChainEntry, LandedEntry, LandingStep, MovedBranch};
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{Built, Merger};

fn log(floor: &Floor, format: &str, range: &str) -> String {
    floor.git_in(&floor.queue(), &["log", "--reverse", &format!("--format={format}"), range])
}

fn show(floor: &Floor, commit: &Sha, path: &str) -> String {
    floor.git_in(&floor.queue(), &["show", &format!("{commit}:{path}")])
}

/// Two commits by two authors on issue 1, and a human's commit on the primary branch.
pub fn two_commits(floor: &Floor) -> Sha {
    floor.commit("Ada", 1, "a", "1\n", "add a\n\nbody -- of it");
    floor.commit("Bob", 1, "b", "2\n", "add b");
    let head = floor.push(1);
    floor.human_push("c", "3\n");
    head
}

#[test]
fn a_branch_on_top_is_its_own_candidate() {
    each(|floor| {
        floor.commit("Ada", 1, "a", "1\n", "add a");
        let head = floor.push(1);
        assert_eq!(floor.candidate(1, &head, MergeMethod::Rebase).1, head);
    });
}

#[test]
fn rebasing_keeps_authors_dates_and_messages_and_repeats_exactly() {
    each(|floor| {
        let head = two_commits(floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        assert_eq!(base, floor.head(&floor.hub(), "main"));
        let range = |tip: &Sha| format!("{base}..{tip}");
        let authored = "%an <%ae> %ad%n%B";
        assert_eq!(log(floor, authored, &range(&commit)), log(floor, authored, &range(&head)));
        assert_eq!(log(floor, "%cn <%ce>", &range(&commit)), "Shopfloor <shopfloor@localhost>\n".repeat(2));
        assert_eq!(log(floor, "%p", &format!("{commit}~1")).lines().last(), Some(&base.as_str()[..7]));
        for (path, content) in [("a", "1\n"), ("b", "2\n"), ("c", "3\n")] {
            assert_eq!(show(floor, &commit, path), content);
        }
        assert_eq!(floor.candidate(1, &head, MergeMethod::Rebase).1, commit);
    });
}

#[test]
fn a_message_that_is_not_utf8_comes_through() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.write(&dir, "a", "1");
        floor.write(floor.home.path(), "message", b"gr\xfc\xdfe\n");
        floor.git_as("Ada", &dir, &["add", "-A"]);
        let message = floor.home.path().join("message");
        let message = message.to_str().expect("utf-8");
        floor.git_as("Ada", &dir, &["-c", "i18n.commitEncoding=latin1", "commit", "--quiet", "-F", message]);
        let head = floor.push(1);
        floor.human_push("c", "3\n");
        let (_, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        assert_eq!(floor.git_in(&floor.queue(), &["show", "-s", "--format=%s", commit.as_str()]), "grüße\n");
        // Together with others it is said in UTF-8.
        floor.commit("Ada", 1, "b", "2\n", "more");
        let head = floor.push(1);
        let (_, commit) = floor.candidate(1, &head, MergeMethod::Squash);
        let said = floor.git_in(&floor.queue(), &["show", "-s", "--format=%b", commit.as_str()]);
        assert_eq!(said.trim_end(), "* grüße\n* more");
    });
}

#[test]
fn commits_already_there_are_left_out() {
    each(|floor| {
        floor.commit("Ada", 1, "a", "1\n", "add a");
        floor.commit("Ada", 1, "b", "2\n", "add b");
        let head = floor.push(1);
        floor.human_push("a", "1\n");
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        assert_eq!(log(floor, "%s", &format!("{base}..{commit}")), "add b\n");
        floor.human_push("b", "2\n");
        for method in [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash] {
            let (base, commit) = floor.candidate(1, &head, method);
            assert_eq!(base, commit, "{method:?}");
        }
    });
}

#[test]
fn a_branch_without_commits_has_nothing_to_merge() {
    each(|floor| {
        floor.prepare(1);
        let head = floor.push(1);
        assert_eq!(floor.candidate(1, &head, MergeMethod::Rebase), (head.clone(), head));
    });
}

#[test]
fn a_branch_with_merges_is_joined_by_a_merge() {
    each(|floor| {
        floor.commit("Ada", 1, "a", "1\n", "add a");
        floor.human_push("c", "3\n");
        let dir = floor.prepare(1);
        floor.git_as("Ada", &dir, &["fetch", "--quiet", "origin"]);
        floor.git_as("Ada", &dir, &["merge", "--quiet", "--no-edit", "origin/main"]);
        let head = floor.push(1);
        floor.human_push("d", "4\n");
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        assert_eq!(log(floor, "%P", &commit.to_string()).lines().last(), Some(&*format!("{base} {head}")));
        for path in ["a", "c", "d"] {
            show(floor, &commit, path);
        }
    });
}

#[test]
fn a_merge_has_both_parents_and_a_tame_title() {
    each(|floor| {
        let head = two_commits(floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Merge);
        let show = |format: &str| {
            floor.git_in(&floor.queue(), &["show", "-s", &format!("--format={format}"), commit.as_str()])
        };
        assert_eq!(show("%P"), format!("{base} {head}\n"));
        assert_eq!(show("%s"), "-m Add it now (#1)\n");
        assert_eq!(show("%an <%ae>"), "Shopfloor <shopfloor@localhost>\n");
        assert_eq!(floor.candidate(1, &head, MergeMethod::Merge).1, commit);
    });
}

#[test]
fn a_squash_credits_everybody() {
    each(|floor| {
        floor.commit("Ada", 1, "x", "0\n", "add x\n\nCo-authored-by: Cy <cy@example.org>");
        let head = two_commits(floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Squash);
        let show =
            floor.git_in(&floor.queue(), &["show", "-s", "--format=%P%n%an <%ae>%n%B", commit.as_str()]);
        let expected = format!(
            "{base}\nAda <Ada@example.org>\n-m Add it now (#1)\n\n* add x\n* add a\n\n  body -- of it\n\n* add b\n\n\
             Co-authored-by: Cy <cy@example.org>\nCo-authored-by: Bob <Bob@example.org>\n"
        );
        assert_eq!(show.trim_end(), expected.trim_end());
        assert_eq!(floor.candidate(1, &head, MergeMethod::Squash).1, commit);
    });
}

#[test]
fn a_squash_keeps_trailers_and_nothing_that_looks_like_them() {
    each(|floor| {
        floor.prepare(1);
        floor.commit("Ada", 1, "x", "1\n", "add x\n\nNote: this is prose,\nnot a trailer.");
        floor.commit("Ada", 1, "y", "1\n", "add y\n\nwhy\n\nSigned-off-by: Ada <a@b>\nChange-Id: I1");
        let message = "add z\n\nSigned-off-by: Ada <a@b>\nReviewed-by: Bob <b@b>\nCo-authored-by: Cy <c@b>";
        floor.commit("Ada", 1, "z", "1\n", message);
        let head = floor.push(1);
        let commit = floor.candidate(1, &head, MergeMethod::Squash).1;
        let said = floor.git_in(&floor.queue(), &["show", "-s", "--format=%B", commit.as_str()]);
        let trailers =
            "Signed-off-by: Ada <a@b>\nChange-Id: I1\nReviewed-by: Bob <b@b>\nCo-authored-by: Cy <c@b>";
        let bodies = "* add x\n\n  Note: this is prose,\n  not a trailer.\n\n* add y\n\n  why\n\n* add z";
        assert_eq!(said.trim_end(), format!("-m Add it now (#1)\n\n{bodies}\n\n{trailers}"));
        // Rebased, a message stays as it is.
        floor.human_push("d", "4");
        let commit = floor.candidate(1, &head, MergeMethod::Rebase).1;
        let said = floor.git_in(&floor.queue(), &["show", "-s", "--format=%B", commit.as_str()]);
        assert_eq!(said.trim_end(), message);
    });
}

#[test]
fn conflicts_name_their_files() {
    each(|floor| {
        floor.commit("Ada", 1, "readme", "ours\n", "edit");
        floor.commit("Ada", 1, "other file", "fine\n", "fine");
        let head = floor.push(1);
        let base = floor.human_push("readme", "theirs\n");
        for method in [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash] {
            match floor.build(1, &head, method).expect("build") {
                Built::Conflict { primary, with_base, conflict, .. } => {
                    assert_eq!((primary, with_base), (base.clone(), true));
                    assert_eq!(conflict.files, ["readme"]);
                    let shown = ["--- readme", "<<<<<<<", "ours", "=======", "theirs", ">>>>>>>"];
                    assert!(shown.iter().all(|part| conflict.hunks.contains(part)), "{}", conflict.hunks);
                }
                other => panic!("no conflict: {other:?}"),
            }
        }
    });
}

#[test]
fn a_branch_that_moved_or_went_is_reported() {
    each(|floor| {
        floor.commit("Ada", 1, "a", "1\n", "add a");
        let head = floor.push(1);
        let moved = floor.commit("Ada", 1, "a", "2\n", "change a");
        floor.push(1);
        let seen = || match floor.build(1, &head, MergeMethod::Rebase).expect("build") {
            Built::Chain { moved, .. } => moved,
            other => panic!("not a chain: {other:?}"),
        };
        assert_eq!(seen(), [MovedBranch { entry: EntryId(1), head: Some(moved) }]);
        floor.user(&["push", "--quiet", "shopfloor", &format!(":{}", branch(1))]);
        assert_eq!(seen(), [MovedBranch { entry: EntryId(1), head: None }]);
        // Also when nothing is left of it.
        floor.git_in(&floor.hub(), &["reflog", "expire", "--expire=now", "--all"]);
        floor.git_in(&floor.hub(), &["gc", "--quiet", "--prune=now"]);
        assert_eq!(seen(), [MovedBranch { entry: EntryId(1), head: None }]);
    });
}

/// A branch that was begun before the primary branch was rewound has what was taken off it.
#[test]
fn what_was_taken_off_the_primary_branch_does_not_come_back() {
    each(|floor| {
        let kept = floor.human_push("kept", "1\n");
        floor.human_push("p2", "2\n");
        let removed = floor.human_push("p3", "3\n");
        floor.commit("Ada", 1, "a", "1\n", "add a");
        floor.commit("Ada", 1, "b", "2\n", "add b");
        let head = floor.push(1);
        floor.git_in(&floor.hub(), &["update-ref", "refs/heads/main", kept.as_str()]);
        for method in [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash] {
            let list = [floor.entry(1, &head)];
            let tips = [removed.clone()];
            let Built::Chain { links, .. } = floor.chain_without(&kept, &list, method, &tips).expect("built")
            else {
                panic!("a conflict")
            };
            assert_eq!(links[0].left_out, 2);
            let commit = &links[0].link.commit;
            let files = floor.git_in(&floor.queue(), &["ls-tree", "--name-only", commit.as_str()]);
            assert_eq!(files.split_whitespace().collect::<Vec<_>>(), ["a", "b", "kept", "readme"]);
            let history = log(floor, "%H", &format!("{kept}..{commit}"));
            assert_eq!(history.lines().collect::<Vec<_>>(), [commit.as_str()]);
            // Who has nothing else means just that.
            let back = ChainEntry { head: removed.clone(), ..floor.entry(1, &head) };
            let built = floor.chain_without(&kept, &[back], method, &tips).expect("built");
            let Built::Chain { links, .. } = built else { panic!("a conflict") };
            assert_eq!((links[0].left_out, show(floor, &links[0].link.commit, "p3").as_str()), (0, "3\n"));
        }
    });
}

/// The same of a branch that has commits of more than one rewind.
#[test]
fn what_was_taken_off_at_several_times_does_not_come_back() {
    each(|floor| {
        let kept = floor.human_push("kept", "1\n");
        floor.commit("Ada", 1, "a", "1\n", "add a");
        let head = floor.push(1);
        let hub = floor.hub();
        let mut removed = Vec::new();
        for file in ["p2", "p3"] {
            removed.push(floor.human_push(file, "2\n"));
            floor.git_in(&hub, &["update-ref", "refs/heads/main", kept.as_str()]);
            floor.user(&["reset", "--quiet", "--hard", kept.as_str()]);
        }
        let join = |one: &Sha, other: &Sha| -> Sha {
            let tree = floor.git_in(&hub, &["merge-tree", "--write-tree", one.as_str(), other.as_str()]);
            let make = ["commit-tree", tree.trim(), "-p", one.as_str(), "-p", other.as_str(), "-m", "join"];
            floor.git_as("Ada", &hub, &make).trim().parse().expect("a commit")
        };
        let head = join(&join(&removed[0], &removed[1]), &head);
        floor.git_in(&hub, &["update-ref", &format!("refs/heads/{}", branch(1)), head.as_str()]);
        let list = [floor.entry(1, &head)];
        let built = floor.chain_without(&kept, &list, MergeMethod::Squash, &removed).expect("built");
        let Built::Chain { links, .. } = built else { panic!("a conflict") };
        assert_eq!(links[0].left_out, 2);
        let commit = links[0].link.commit.as_str();
        let files = floor.git_in(&floor.queue(), &["ls-tree", "--name-only", commit]);
        assert_eq!(files.split_whitespace().collect::<Vec<_>>(), ["a", "kept", "readme"]);
    });
}

#[test]
fn a_sha256_repository_goes_the_whole_way() {
    for program in gits() {
        let floor = Floor::with_objects(&program, "sha256");
        let head = two_commits(&floor);
        assert_eq!(head.as_str().len(), 64);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        floor.publish(&base, &commit).expect("publish").expect("was at base");
        assert_eq!(floor.head(&floor.hub(), "main"), commit);
    }
}

#[test]
fn a_chain_is_one_commit_after_another_and_its_beginnings_are_the_same() {
    each(|floor| {
        let heads: Vec<Sha> = (1..=3)
            .map(|issue| {
                floor.commit("Ada", issue, &format!("f{issue}"), "1\n", &format!("add {issue}"));
                floor.push(issue)
            })
            .collect();
        let base = floor.human_push("c", "3\n");
        let list: Vec<_> = heads.iter().zip(1..).map(|(head, issue)| floor.entry(issue, head)).collect();
        for method in [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash] {
            let links = |n: usize| match floor.chain(&base, &list[..n], method).expect("build") {
                Built::Chain { links, .. } => links,
                other => panic!("not a chain: {other:?}"),
            };
            let all = links(3);
            assert_eq!(links(2), all[..2], "{method:?}");
            let parents = log(floor, "%P", all[2].link.commit.as_str());
            let first = parents.lines().last().and_then(|line| line.split(' ').next());
            assert_eq!(first, Some(all[1].link.commit.as_str()), "{method:?}");
            for path in ["f1", "f2", "f3", "c"] {
                show(floor, &all[2].link.commit, path);
            }
            for (link, head) in all.iter().zip(&heads) {
                let tree = |of: &Sha| floor.head(&floor.queue(), &format!("{of}^{{tree}}"));
                assert_eq!((&link.link.tree.0, &link.head_tree.0), (&tree(&link.link.commit), &tree(head)));
            }
        }
    });
}

/// What lands in one publication is checked as one commit; what goes on from it later has each change once.
#[test]
fn changes_that_were_checked_together_land_as_one_commit() {
    let methods = [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash];
    let all = gits().into_iter().flat_map(|git| methods.map(|method| (git.clone(), method)));
    for (git, method) in all {
        let floor = Floor::new(&git);
        let heads: Vec<Sha> = (1..=5)
            .map(|issue| {
                floor.commit("Ada", issue, &format!("f{issue}"), "1\n", &format!("add {issue}"));
                floor.push(issue)
            })
            .collect();
        let old = floor.human_push("c", "3\n");
        let list: Vec<_> = heads.iter().zip(1..).map(|(head, issue)| floor.entry(issue, head)).collect();
        let Built::Chain { links, .. } = floor.chain(&old, &list, method).expect("build") else {
            panic!("not a chain")
        };
        let link = |n: usize| links[n - 1].link.clone();
        let step = |below: &Sha, from: usize, to: usize| LandingStep {
            below: below.clone(),
            link: link(to).commit,
            linear: from == to,
            list: list[from - 1..to].to_vec(),
        };
        let build = |old: &Sha, steps: &[LandingStep]| {
            let landed = floor.merger.build_landing(&floor.lock(), old, steps).expect("built");
            assert_eq!(floor.merger.build_landing(&floor.lock(), old, steps).expect("again"), landed);
            landed.expect("nothing is signed").commits
        };
        // One that was checked alone lands as it is; the next two as one.
        let landed = build(&old, &[step(&old, 1, 1), step(&link(1).commit, 2, 3)]);
        assert_eq!(landed[0], link(1));
        assert_eq!(landed[1].tree, link(3).tree);
        assert_ne!(landed[1].commit, link(3).commit);
        floor.publish(&old, &landed[1].commit).expect("published").expect("swapped");
        // The chain was built on its own links, and not on what landed.
        let base = landed[1].commit.clone();
        let landed = build(&base, &[step(&link(3).commit, 4, 4), step(&link(4).commit, 5, 5)]);
        assert_eq!([&landed[0].tree, &landed[1].tree], [&link(4).tree, &link(5).tree]);
        floor.publish(&base, &landed[1].commit).expect("published").expect("swapped");

        let range = format!("{old}..{}", landed[1].commit);
        let first = floor.git_in(&floor.hub(), &["log", "--first-parent", "--format=%T", &range]);
        let trees: Vec<String> = [5, 4, 3, 1].map(|n| link(n).tree.0.to_string()).to_vec();
        assert_eq!(first.lines().collect::<Vec<_>>(), trees, "{method:?}");
        let subjects = floor.git_in(&floor.hub(), &["log", "--no-merges", "--format=%s", &range]);
        for n in 1..=5 {
            let name = if method == MergeMethod::Squash { format!("(#{n})") } else { format!("add {n}") };
            assert_eq!(subjects.lines().filter(|s| s.contains(&name)).count(), 1, "{method:?} {subjects}");
        }
        let batch = floor.git_in(&floor.hub(), &["log", "-1", "--format=%B", base.as_str()]);
        assert!(batch.starts_with("Merge 2 changes that were checked together\n\n* "), "{batch}");
    }
}

#[test]
fn a_conflict_among_entries_is_not_one_with_the_base() {
    each(|floor| {
        for (issue, content) in [(1, "one\n"), (2, "two\n")] {
            floor.commit("Ada", issue, "readme", content, "edit");
        }
        let heads = [floor.push(1), floor.push(2)];
        let base = floor.human_push("c", "3\n");
        let list = [floor.entry(1, &heads[0]), floor.entry(2, &heads[1])];
        match floor.chain(&base, &list, MergeMethod::Rebase).expect("build") {
            Built::Conflict { entry, with_base, conflict, .. } => {
                assert_eq!(
                    (entry, with_base, conflict.files),
                    (EntryId(2), false, vec!["readme".to_owned()])
                );
            }
            other => panic!("no conflict: {other:?}"),
        }
    });
}

#[test]
fn a_branch_of_another_history_can_never_be_merged() {
    each(|floor| {
        let dir = floor.prepare(1);
        floor.git_as("Ada", &dir, &["checkout", "--quiet", "--orphan", "other"]);
        floor.git_as("Ada", &dir, &["commit", "--quiet", "-m", "nothing in common"]);
        floor.git_as("Ada", &dir, &["push", "--quiet", "origin", &format!("HEAD:{}", branch(1))]);
        let head = floor.head(&dir, "HEAD");
        let built = floor.build(1, &head, MergeMethod::Rebase).expect("build");
        assert!(matches!(built, Built::Unmergeable { entry: EntryId(1), .. }), "{built:?}");
    });
}

/// What a repository may hold beside plain text, all on one branch.
fn odd_things(floor: &Floor, dir: &std::path::Path) {
    use std::os::unix::ffi::OsStrExt;
    let submodule = floor.head(dir, "HEAD");
    floor.write(dir, "crlf.txt", "one\r\ntwo\r\n");
    floor.write(dir, "pointer.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    floor.write(dir, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt merge=union\n");
    floor.write(dir, std::ffi::OsStr::from_bytes(b"caf\xe9 \xff"), "bytes\n");
    floor.write(dir, "new\nline", "odd name\n");
    floor.write(dir, "tool", "#!/bin/sh\n");
    std::os::unix::fs::symlink("../outside", dir.join("link")).expect("link");
    floor.git_as("Ada", dir, &["mv", "readme", "docs.md"]);
    floor.git_as("Ada", dir, &["add", "-A"]);
    floor.git_as("Ada", dir, &["update-index", "--chmod=+x", "tool"]);
    let entry = format!("160000,{submodule},vendored");
    floor.git_as("Ada", dir, &["update-index", "--add", "--cacheinfo", &entry]);
    floor.git_as("Ada", dir, &["commit", "--quiet", "-m", "odd things"]);
}

#[test]
fn odd_things_land_as_they_are() {
    each(|floor| {
        let dir = floor.prepare(1);
        odd_things(floor, &dir);
        let head = floor.push(1);
        // The file that was renamed is changed meanwhile.
        let base = floor.human_push("readme", "zero\none\ntwo\nthree\n");
        for method in [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash] {
            let commit = commit_of(floor.chain(&base, &[floor.entry(1, &head)], method).expect("build")).1;
            assert_eq!(show(floor, &commit, "docs.md"), "zero\none\ntwo\nthree\n", "{method:?}");
            let listed = |of: &Sha| floor.git_in(&floor.queue(), &["ls-tree", "-r", "-z", of.as_str()]);
            let others = |of: &Sha| -> Vec<String> {
                let all = listed(of);
                all.split('\0').filter(|line| !line.ends_with("\tdocs.md")).map(str::to_owned).collect()
            };
            assert_eq!(others(&commit), others(&head), "{method:?}: modes, links, names and bytes stay");
            assert!(listed(&commit).contains("160000 commit") && listed(&commit).contains("120000 blob"));
        }
        let commit = floor.candidate(1, &head, MergeMethod::Rebase).1;
        floor.publish(&base, &commit).expect("publish").expect("was at base");
        floor.git_in(&floor.hub(), &["fsck", "--connectivity-only", "main"]);
        let landed = LandedEntry { entry: EntryId(1), head, commit };
        assert_eq!(floor.merger.incomplete(&floor.project.name, &[landed]).expect("check"), []);
    });
}

#[test]
fn a_conflict_in_odd_files_is_told_in_tame_words() {
    each(|floor| {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9\n\x1b[31m");
        let dir = floor.prepare(1);
        floor.write(&dir, name, "ours \x1b[2J\n");
        floor.write(&dir, "binary", b"\x00ours");
        floor.git_as("Ada", &dir, &["add", "-A"]);
        floor.git_as("Ada", &dir, &["commit", "--quiet", "-m", "odd"]);
        let head = floor.push(1);
        floor.write(&floor.project.checkout, name, "theirs\n");
        floor.human_push("binary", "\x00theirs");
        match floor.build(1, &head, MergeMethod::Rebase).expect("build") {
            Built::Conflict { conflict, .. } => {
                assert_eq!(conflict.files.len(), 2, "{conflict:?}");
                let text = format!("{}{}", conflict.files.concat(), conflict.hunks);
                assert!(
                    !text.contains('\x1b') && text.contains("ours") && text.contains("theirs"),
                    "{text:?}"
                );
            }
            other => panic!("no conflict: {other:?}"),
        }
    });
}
