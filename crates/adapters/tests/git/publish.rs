//! What was built goes to the hub: once, whole, and only if nobody was faster.

use crate::floor::{Floor, branch, each, gits};
use crate::merger::two_commits;
use shopfloor_core::effect::{EntryBranch, LandedEntry, MovedBranch};
use shopfloor_core::ids::{EntryId, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{Merger, NotPublished, PortError, PublishRequest};

#[test]
fn publishing_swaps_once_and_repeats_harmlessly() {
    each(|floor| {
        let head = two_commits(floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        let publish = |old: &Sha, new: &Sha| floor.publish(old, new);
        publish(&base, &commit).expect("publish").expect("was at base");
        assert_eq!(floor.head(&floor.hub(), "main"), commit);
        publish(&base, &commit).expect("publish").expect("is at new");
        // A human goes on from there: it is still published.
        floor.user(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
        let later = floor.human_push("d", "4");
        publish(&base, &commit).expect("publish").expect("contains new");
        assert_eq!(floor.head(&floor.hub(), "main"), later);
        // Never backwards.
        assert!(matches!(publish(&later, &commit), Err(PortError::Permanent { .. })));
        assert_eq!(floor.head(&floor.hub(), "main"), later);
    });
}

/// Its answer was cut off, and somebody took it off again before it was asked for once more.
#[test]
fn what_was_published_and_taken_off_is_not_published_again() {
    each(|floor| {
        let head = two_commits(floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Squash);
        floor.publish(&base, &commit).expect("publish").expect("was at base");
        floor.git_in(&floor.hub(), &["update-ref", "refs/heads/main", base.as_str()]);
        floor.publish(&base, &commit).expect("publish").expect("it was made");
        assert_eq!(floor.head(&floor.hub(), "main"), base);
        // For another entry that is the same change it is made.
        let (new, entries) = (&commit, &[EntryId(7)]);
        let request = PublishRequest { target: None, old: &base, new, tested: new, entries, branches: &[] };
        floor.merger.publish(&floor.lock(), &request).expect("publish").expect("is at base");
        assert_eq!(floor.head(&floor.hub(), "main"), commit);
    });
}

#[test]
fn a_human_who_is_faster_wins() {
    each(|floor| {
        let head = two_commits(floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Squash);
        let theirs = floor.human_push("d", "4");
        let published = floor.publish(&base, &commit).expect("publish");
        assert_eq!(published, Err(NotPublished::Primary(Some(theirs.clone()))));
        assert_eq!(floor.head(&floor.hub(), "main"), theirs);
    });
}

#[test]
fn a_branch_that_was_moved_or_deleted_in_the_meantime_does_not_land() {
    each(|floor| {
        let head = two_commits(floor);
        let (old, new) = floor.candidate(1, &head, MergeMethod::Squash);
        let at = |head: &Sha| vec![EntryBranch { entry: EntryId(1), branch: branch(1), head: head.clone() }];
        let publish = |branches: &[EntryBranch]| {
            let request = PublishRequest {
                target: None,
                old: &old,
                new: &new,
                tested: &new,
                entries: &[EntryId(1)],
                branches,
            };
            floor.merger.publish(&floor.lock(), &request).expect("tried")
        };
        let moved =
            |head: Option<Sha>| Err(NotPublished::Branches(vec![MovedBranch { entry: EntryId(1), head }]));
        let name = format!("refs/heads/{}", branch(1));
        floor.git_in(&floor.hub(), &["update-ref", &name, old.as_str()]);
        assert_eq!(publish(&at(&head)), moved(Some(old.clone())), "forced back");
        floor.git_in(&floor.hub(), &["update-ref", "-d", &name]);
        assert_eq!(publish(&at(&head)), moved(None), "deleted");
        assert_eq!(floor.head(&floor.hub(), "main"), old);
        floor.git_in(&floor.hub(), &["update-ref", &name, head.as_str()]);
        assert_eq!(publish(&at(&head)), Ok(()));
        // Whatever becomes of the branch then, it has landed.
        floor.git_in(&floor.hub(), &["update-ref", "-d", &name]);
        assert_eq!(publish(&at(&head)), Ok(()));
        assert_eq!(floor.head(&floor.hub(), "main"), new);
    });
}

#[test]
fn one_process_holds_the_queue() {
    each(|floor| {
        let held = floor.lock();
        assert!(matches!(floor.merger.take_lock(&floor.project.name), Err(PortError::Transient(_))));
        drop(held);
        floor.lock();
    });
}

#[test]
fn a_push_in_the_middle_of_publishing_wins_too() {
    for program in gits() {
        let mut floor = Floor::new(&program);
        let head = two_commits(&floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        let theirs = floor.human_push("d", "4");
        floor.git_in(&floor.hub(), &["update-ref", "refs/heads/main", base.as_str()]);
        let hub = floor.hub();
        floor.intercept(&format!(
            "case \" $* \" in *' update-ref '*--stdin*) \"$real\" --git-dir '{}' update-ref refs/heads/main {theirs};; esac",
            hub.display()
        ));
        let published = floor.publish(&base, &commit).expect("publish");
        assert_eq!(published, Err(NotPublished::Primary(Some(theirs.clone()))));
        assert_eq!(floor.head(&hub, "main"), theirs);
    }
}

#[test]
fn what_is_published_is_the_hubs_alone() {
    each(|floor| {
        let head = two_commits(floor);
        for (number, method) in
            [MergeMethod::Rebase, MergeMethod::Merge, MergeMethod::Squash].into_iter().enumerate()
        {
            let (base, commit) = floor.candidate(1, &head, method);
            if base != commit {
                floor.publish(&base, &commit).expect("publish").expect("was at base");
            }
            floor.human_push_from_hub(&format!("d{number}"), "4");
        }
        // The hub is whole without the queue's repository.
        std::fs::rename(floor.queue(), floor.home.path().join("gone")).expect("rename");
        floor.git_in(&floor.hub(), &["fsck", "--full", "--strict", "--connectivity-only", "main"]);
    });
}

#[test]
fn a_queue_that_borrows_nothing_fetches_and_sends() {
    each(|floor| {
        std::fs::remove_file(floor.queue().join("objects/info/alternates")).expect("alternates");
        let head = two_commits(floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        // What is packed cannot be linked.
        floor.git_in(&floor.queue(), &["repack", "-a", "-d", "--quiet"]);
        floor.publish(&base, &commit).expect("publish").expect("was at base");
        assert_eq!(floor.head(&floor.hub(), "main"), commit);
        floor.git_in(&floor.hub(), &["fsck", "--full", "--connectivity-only", "main"]);
        assert_eq!(floor.git_in(&floor.hub(), &["for-each-ref", "refs/shopfloor/"]), "");
    });
}

#[test]
fn only_a_commit_with_the_tree_that_was_checked_is_published() {
    each(|floor| {
        let head = two_commits(floor);
        let (old, new) = floor.candidate(1, &head, MergeMethod::Rebase);
        let (_, squashed) = floor.candidate(1, &head, MergeMethod::Squash);
        let publish = |tested: &Sha| {
            let request =
                PublishRequest { target: None, old: &old, new: &new, tested, entries: &[], branches: &[] };
            floor.merger.publish(&floor.lock(), &request)
        };
        assert!(matches!(publish(&head), Err(PortError::Permanent { .. })), "another tree");
        publish(&squashed).expect("publish").expect("the same tree");
    });
}

#[test]
fn what_is_missing_after_a_merge_is_noticed() {
    each(|floor| {
        let head = two_commits(floor);
        let (base, commit) = floor.candidate(1, &head, MergeMethod::Rebase);
        let landed =
            |commit: &Sha| LandedEntry { entry: EntryId(1), head: head.clone(), commit: commit.clone() };
        let incomplete = |commit| floor.merger.incomplete(&floor.project.name, &[landed(commit)]);
        assert_eq!(incomplete(&commit).expect("check"), []);
        assert_eq!(incomplete(&base).expect("check"), [EntryId(1)]);
        let half = floor.head(&floor.queue(), &format!("{commit}~1"));
        assert_eq!(incomplete(&half).expect("check"), [EntryId(1)]);
    });
}
