//! The hub as people use it, and two who publish to it at once.

use crate::floor::{Floor, commit_of, each};
use shopfloor_adapters::git::branches::{self, BranchProblem};
use shopfloor_adapters::git::{GitMerger, Projects, repos};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::planner::TrialId;
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{
    BuildRequest, Built, Merger, NotPublished, PortResult, PrimaryAt, PublishRequest,
};
use shopfloor_engine::proof::QueueLock;
use std::sync::{Arc, Barrier};

fn look(floor: &Floor, name: &str) -> Result<branches::OriginBranch, BranchProblem> {
    branches::branch(&*floor.origin(), "main", name)
}

#[test]
fn only_a_branch_with_something_new_is_one_to_merge() {
    each(|floor| {
        let problem = |name: &str| look(floor, name).expect_err(name).to_string();
        assert!(problem("a..b").contains("not a valid branch name"));
        assert!(problem("nowhere").contains("has no branch"));
        floor.user(&["push", "--quiet", "shopfloor", "main:refs/heads/same"]);
        assert!(problem("same").contains("has no commit that main lacks"));
        floor.user(&["checkout", "--quiet", "-b", "work"]);
        floor.user(&["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
        floor.user(&["push", "--quiet", "shopfloor", "work:refs/heads/hollow"]);
        assert!(problem("hollow").contains("changes nothing"));
        floor.write(&floor.project.checkout, "new", "1\n");
        floor.user(&["add", "."]);
        floor.user(&["commit", "--quiet", "-m", "A change\n\nat length"]);
        floor.user(&["push", "--quiet", "shopfloor", "work:refs/heads/good"]);
        let found = look(floor, "good").expect("a branch to merge");
        assert_eq!((found.head, found.subject.as_str()), (floor.head(&floor.hub(), "good"), "A change"));
        assert_eq!(found.tree.0, floor.head(&floor.hub(), "good^{tree}"));
        assert_eq!(found.unfinished, None);
        for subject in ["fixup! A change", "WIP", "wip: more", "squash! x", "Amend! y", "WIP on it"] {
            floor.user(&["commit", "--quiet", "--allow-empty", "-m", subject]);
            floor.user(&["commit", "--quiet", "--allow-empty", "-m", "Wiper: wipe"]);
            floor.user(&["push", "--quiet", "shopfloor", "work:refs/heads/undone"]);
            assert_eq!(look(floor, "undone").expect("a branch").unfinished.as_deref(), Some(subject));
            floor.user(&["reset", "--quiet", "--hard", "HEAD~2"]);
            floor.user(&["push", "--quiet", "shopfloor", ":refs/heads/undone"]);
        }
        // Landed as another commit, it has nothing new either.
        floor.user(&["checkout", "--quiet", "main"]);
        floor.human_push("new", "1\n");
        assert!(problem("good").contains("changes nothing"));
    });
}

#[test]
fn where_the_primary_branch_is_needs_no_git_to_read() {
    each(|floor| {
        let at = || floor.head(&floor.hub(), "main");
        assert_eq!(floor.origin().branch("main"), Some(at()));
        floor.git_in(&floor.hub(), &["pack-refs", "--all"]);
        assert_eq!(floor.origin().branch("main"), Some(at()));
        floor.human_push("d", "4");
        assert_eq!(floor.origin().branch("main"), Some(at()));
        floor.git_in(&floor.hub(), &["update-ref", "-d", "refs/heads/main"]);
        assert_eq!(floor.origin().branch("main"), None);
    });
}

#[test]
fn a_primary_branch_that_does_not_go_on_is_told_from_one_that_does() {
    each(|floor| {
        let primary =
            |known: &Sha| floor.merger.primary(&floor.project.name, None, Some(known)).expect("found");
        let set = |to: &Sha| floor.git_in(&floor.hub(), &["update-ref", "refs/heads/main", to.as_str()]);
        let first = floor.head(&floor.hub(), "main");
        let second = floor.human_push("d", "4");
        assert_eq!(
            primary(&first),
            Some(PrimaryAt { head: second.clone(), continues: true, recorded: true })
        );
        assert_eq!(
            primary(&second),
            Some(PrimaryAt { head: second.clone(), continues: true, recorded: true })
        );
        set(&first);
        assert_eq!(
            primary(&second),
            Some(PrimaryAt { head: first.clone(), continues: false, recorded: true })
        );
        let unheard_of: Sha = "1".repeat(40).parse().expect("a name");
        assert_eq!(primary(&unheard_of), Some(PrimaryAt { head: first, continues: false, recorded: true }));
        // Nothing is built on top of a branch that is gone, and nothing is published there.
        floor.prepare(1);
        let head = floor.commit("Ada", 1, "a", "1", "one");
        floor.push(1);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Merge);
        floor.git_in(&floor.hub(), &["update-ref", "-d", "refs/heads/main"]);
        assert_eq!(primary(&second), None);
        let list = [floor.entry(1, &head)];
        assert!(matches!(floor.chain(&base, &list, MergeMethod::Merge), Ok(Built::NoPrimary)));
        assert_eq!(floor.publish(&base, &commit).expect("tried"), Err(NotPublished::Primary(None)));
    });
}

/// A merger of another floor at the same hub: no lock keeps the two apart.
fn rival(floor: &Floor) -> GitMerger {
    let layout = Layout::new(floor.home.path().join("another floor"));
    std::fs::create_dir_all(layout.project(&floor.project.name)).expect("a folder");
    std::os::unix::fs::symlink(floor.hub(), layout.hub(&floor.project.name)).expect("a link");
    repos::ensure(&floor.git, &layout, &floor.project).expect("repositories");
    let known = floor.project.clone();
    let projects: Projects = Arc::new(move |wanted| (*wanted == known.name).then(|| known.clone()));
    GitMerger::new(floor.git.clone(), layout, projects)
}

#[test]
fn of_two_who_publish_at_once_exactly_one_wins() {
    each(|floor| {
        let rival = rival(floor);
        let name = &floor.project.name;
        let build = |merger: &GitMerger, base: &Sha, issue: u64, head: &Sha| {
            let lock = QueueLock::acquire(merger, name).expect("each has its own");
            let list = [floor.entry(issue, head)];
            let (trial, method) = (TrialId(issue), MergeMethod::Rebase);
            let request = BuildRequest {
                project: name,
                target: None,
                trial,
                base,
                method,
                list: &list,
                removed: &[],
                landed: &[],
                each_commit: false,
            };
            commit_of(merger.build(&lock, &request).expect("built")).1
        };
        let publish = |merger: &GitMerger, old: &Sha, new: &Sha| -> PortResult<Result<(), NotPublished>> {
            let lock = QueueLock::acquire(merger, name).expect("each has its own");
            merger.publish(
                &lock,
                &PublishRequest {
                    target: None,
                    old,
                    new,
                    tested: new,
                    entries: &[EntryId(1)],
                    branches: &[],
                },
            )
        };
        for round in 0..8 {
            let (ours, theirs) = (2 * round + 1, 2 * round + 2);
            let heads = [ours, theirs].map(|issue| {
                floor.prepare(issue);
                let head = floor.commit("Ada", issue, &format!("f{issue}"), "1", "change");
                floor.push(issue);
                head
            });
            // On top of something else, so that both are new commits.
            let base = floor.human_push_from_hub(&format!("h{round}"), "1");
            let first = build(&floor.merger, &base, ours, &heads[0]);
            let second = build(&rival, &base, theirs, &heads[1]);
            let barrier = Barrier::new(2);
            let race = |merger: &GitMerger, new: &Sha| {
                barrier.wait();
                loop {
                    // A lock of the other's git may be in the way for a moment.
                    if let Ok(done) = publish(merger, &base, new) {
                        return done;
                    }
                }
            };
            let (one, two) = std::thread::scope(|scope| {
                let one = scope.spawn(|| race(&floor.merger, &first));
                let two = scope.spawn(|| race(&rival, &second));
                (one.join().expect("no panic"), two.join().expect("no panic"))
            });
            let (won, loser, issue, head) = match (&one, &two) {
                (Ok(()), Err(NotPublished::Primary(Some(at)))) => (at, &rival, theirs, &heads[1]),
                (Err(NotPublished::Primary(Some(at))), Ok(())) => (at, &floor.merger, ours, &heads[0]),
                both => panic!("{both:?}"),
            };
            assert_eq!(*won, floor.head(&floor.hub(), "main"));
            assert_eq!(*won, if one.is_ok() { first.clone() } else { second.clone() });
            // The other is put on top of that, as a commit that was never checked.
            let again = build(loser, won, issue, head);
            assert!(again != first && again != second);
            publish(loser, won, &again).expect("published").expect("was there");
        }
        floor.git_in(&floor.hub(), &["fsck", "--strict", "--no-progress"]);
    });
}
