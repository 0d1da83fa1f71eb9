//! People's branches in the merge queue: no job, no agent.

use super::queue::{entry, lists, published, status};
use super::*;
use crate::effect::outcome;
use crate::effect::{CiPurpose, Conflict, MovedBranch};
use crate::event::BranchAsk;
use crate::ids::{Assignment, EntryId};
use crate::state::EntryState;
use crate::step::{Hindrance, may_queue};

pub(super) const BRANCH: &str = "alice/fix";

pub(super) fn ask() -> BranchAsk {
    BranchAsk {
        branch: BRANCH.into(),
        head: sha(1),
        tree: TreeId(sha(2_020)),
        title: "A fix".into(),
        message: None,
        pr: None,
        by: "alice".into(),
        author: Some("Ann <ann@x>".into()),
        approved_by: Some("bob".into()),
        urgent: false,
        alone: false,
        target: None,
        after: Vec::new(),
        unapproved: Vec::new(),
    }
}

fn asked(policy: Policy, ask: BranchAsk) -> Scene {
    let mut scene = Scene::new(policy);
    scene.event(Event::BranchAsked { project: project(), ask });
    scene
}

/// Its head has passed, and its candidate is being built.
fn admitted() -> Scene {
    let mut scene = asked(Policy::default(), ask());
    scene.ci(CiVerdict::Green).primary(10);
    scene.pending.retain(|a| a.name() != "post_status");
    scene
}

fn told(scene: &Scene, kind: NoteKind) -> Option<&str> {
    scene.notes.iter().rfind(|n| n.kind == kind).map(|n| n.text.as_str())
}

#[test]
fn it_goes_the_whole_way_and_its_branch_goes() {
    let mut scene = asked(Policy::default(), ask());
    match scene.pending.iter().find(|a| a.name() == "run_ci") {
        Some(Action::RunCi { job: None, commit, purpose: CiPurpose::Entry(EntryId(1)), .. }) => {
            assert_eq!(*commit, sha(1));
        }
        other => panic!("{other:?}"),
    }
    // Nothing of it is tried before its own head is green.
    assert_eq!((status(&scene, 1), scene.has("build_chain")), ("testing", false));
    scene.ci(CiVerdict::Green).primary(10);
    assert_eq!(status(&scene, 1), "preparing");
    scene.chain(&[30]);
    assert_eq!(status(&scene, 1), "testing");
    scene.ci(CiVerdict::Green);
    assert_eq!(status(&scene, 1), "merging");
    scene.answer("publish", Outcome::Published);
    assert_eq!(entry(&scene, 1).state, EntryState::Merged { commit: sha(30) });
    match scene.take("retire_branch") {
        Action::RetireBranch { branch, merged, issue: None, .. } => {
            assert_eq!(
                (branch.as_str(), merged.pr, merged.head, merged.commit),
                (BRANCH, None, sha(1), sha(30))
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(scene.has("verify_landed") && scene.has("sync_checkout"));
    assert_eq!(told(&scene, NoteKind::MergeComplete), Some(format!("{BRANCH}: {}", sha(30)).as_str()));
    assert_eq!(scene.floor.jobs.len(), 0);
}

#[test]
fn a_verdict_on_its_tree_is_not_asked_for_twice() {
    let mut scene = admitted();
    // Its candidate has the tree 1030; another branch with that tree comes.
    scene.chain(&[30]).ci(CiVerdict::Green).answer("publish", Outcome::Published);
    scene.pending.clear();
    let other = BranchAsk { branch: "carol/same".into(), head: sha(5), tree: TreeId(sha(1_030)), ..ask() };
    scene.event(Event::BranchAsked { project: project(), ask: other });
    assert!(!scene.has("run_ci") && scene.has("build_chain"));
    // Not if the checks have changed since.
    let policy = Policy { checks: "other".into(), ..Policy::default() };
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy });
    scene.pending.clear();
    let third = BranchAsk { branch: "dave/same".into(), head: sha(6), tree: TreeId(sha(1_030)), ..ask() };
    scene.event(Event::BranchAsked { project: project(), ask: third });
    assert!(scene.has("run_ci"));
}

#[test]
fn what_may_not_be_queued() {
    let no = |policy: Policy, ask: BranchAsk| {
        let scene = asked(policy, ask.clone());
        assert_eq!((scene.floor.entries.len(), scene.pending.len()), (0, 0));
        assert_eq!(scene.noted(NoteKind::StaleSignal), 1);
        may_queue(&scene.floor, &project(), &ask).expect_err("refused")
    };
    let unapproved = BranchAsk { approved_by: None, ..ask() };
    assert_eq!(no(Policy::default(), unapproved.clone()), Hindrance::NotApproved(sha(1)));
    let unchecked = Policy { has_checks: false, ..Policy::default() };
    assert_eq!(no(unchecked.clone(), ask()), Hindrance::NoChecks);
    assert_eq!(no(Policy::default(), BranchAsk { branch: "main".into(), ..ask() }), Hindrance::Primary);
    // Where the project says so, neither is needed.
    let lenient = Policy { review_required: false, allow_no_checks: true, ..unchecked };
    let mut scene = asked(lenient, unapproved);
    scene.ci(CiVerdict::NoChecks).primary(10);
    assert_eq!(lists(&scene), [[1]]);
    // A job's branch is the job's.
    let mut scene = Scene::working(Policy::default());
    let ask = BranchAsk { branch: "fix/issue-1".into(), ..ask() };
    assert_eq!(
        may_queue(&scene.floor, &project(), &ask),
        Err(Hindrance::Job(Assignment::Issue(IssueNumber(1))))
    );
    scene.event(Event::BranchAsked { project: project(), ask });
    assert_eq!(scene.floor.entries.len(), 0);
}

#[test]
fn only_green_is_green() {
    for verdict in [CiVerdict::Red, CiVerdict::TimedOut, CiVerdict::NoChecks] {
        let mut scene = asked(Policy::default(), ask());
        scene.ci(verdict);
        if verdict != CiVerdict::NoChecks {
            assert_eq!((status(&scene, 1), scene.has("run_ci")), ("testing", true), "once more");
            scene.ci(verdict);
        }
        assert_eq!((status(&scene, 1), scene.has("build_chain")), ("failed", false), "{verdict:?}");
        assert!(told(&scene, NoteKind::MergeFailed).is_some_and(|t| t.starts_with(BRANCH)), "{verdict:?}");
    }
    // What says nothing is tried again, later and not for ever.
    for verdict in [CiVerdict::Infra, CiVerdict::Cancelled, CiVerdict::Skipped] {
        let mut scene = asked(Policy::default(), ask());
        scene.ci(verdict);
        assert_eq!((status(&scene, 1), scene.has("run_ci")), ("testing", false), "{verdict:?}");
        let at = scene.floor.next_deadline().expect("a wait has a deadline");
        scene.wait(at.since(scene.now)).ci(verdict);
        let at = scene.floor.next_deadline().expect("a wait has a deadline");
        scene.wait(at.since(scene.now)).ci(verdict);
        assert_eq!(status(&scene, 1), "failed", "{verdict:?}");
    }
    let mut scene = asked(Policy::default(), ask());
    scene.impossible("run_ci");
    assert_eq!(status(&scene, 1), "failed");
}

/// The same rule as in the queue: red twice, and not because the primary branch is.
#[test]
fn a_head_that_fails_with_the_primary_branch_waits_until_that_is_mended() {
    let red_twice = || {
        let mut scene = asked(Policy::default(), ask());
        scene.primary(10).ci(CiVerdict::Red).ci(CiVerdict::Red);
        match scene.pending.iter().find(|a| a.name() == "run_ci") {
            Some(Action::RunCi { commit, purpose: CiPurpose::Base, .. }) => assert_eq!(*commit, sha(10)),
            other => panic!("{other:?}"),
        }
        scene
    };
    let mut scene = red_twice();
    scene.ci(CiVerdict::Green);
    assert_eq!(status(&scene, 1), "failed", "it is its own fault");
    let mut scene = red_twice();
    scene.ci(CiVerdict::Red).ci(CiVerdict::Red);
    assert_eq!((status(&scene, 1), scene.has("build_chain")), ("queued", false));
    scene.event(Event::PrimaryTouched { project: project(), target: None }).primary(11);
    assert_eq!(lists(&scene), [[1]], "mended: it is tried as it would land");
    // A red that does not come again is no red.
    let mut scene = asked(Policy::default(), ask());
    scene.ci(CiVerdict::Red).ci(CiVerdict::Green).primary(10);
    assert_eq!(status(&scene, 1), "preparing");
}

#[test]
fn trouble_is_told_to_people_and_it_can_be_queued_again() {
    let conflict = Outcome::ChainConflict(outcome::ChainConflict {
        primary: sha(10),
        moved: Vec::new(),
        entry: EntryId(1),
        with_base: true,
        conflict: Conflict { files: vec!["a.txt".into()], hunks: String::new() },
    });
    let mut scene = admitted();
    scene.answer("build_chain", conflict);
    assert_eq!(status(&scene, 1), "conflicted");
    assert!(told(&scene, NoteKind::MergeConflict).is_some_and(|t| t.contains("in a.txt")));
    scene.event(Event::BranchAsked { project: project(), ask: ask() });
    assert_eq!((status(&scene, 2), lists(&scene)), ("preparing", vec![vec![2]]));

    for head in [None, Some(sha(9))] {
        let mut scene = admitted();
        let moved = vec![MovedBranch { entry: EntryId(1), head }];
        scene.answer(
            "build_chain",
            Outcome::Chain(outcome::Chain { primary: sha(10), moved, links: Vec::new() }),
        );
        assert_eq!(status(&scene, 1), "cancelled");
        assert!(told(&scene, NoteKind::MergeFailed).is_some_and(|t| t.contains("after its approval")));
    }

    let mut scene = admitted();
    scene.chain(&[30]).ci(CiVerdict::Red).chain(&[30]).ci(CiVerdict::Red);
    // The base is checked before anybody is blamed.
    scene.ci(CiVerdict::Green);
    assert_eq!(status(&scene, 1), "failed");
    let mut scene = admitted();
    scene.answer(
        "build_chain",
        Outcome::Unmergeable(outcome::Unmergeable { entry: EntryId(1), why: "no".into() }),
    );
    assert_eq!(status(&scene, 1), "failed");
}

#[test]
fn asked_twice_it_is_queued_once_and_sooner() {
    let mut scene = admitted();
    let urgent = BranchAsk { urgent: true, approved_by: None, ..ask() };
    scene.event(Event::BranchAsked { project: project(), ask: urgent });
    assert_eq!((scene.floor.entries.len(), entry(&scene, 1).priority.0), (1, 2));
    // A newer head takes its place; not while the old one is being published.
    let newer = BranchAsk { head: sha(2), tree: TreeId(sha(2_002)), ..ask() };
    scene.event(Event::BranchAsked { project: project(), ask: newer.clone() });
    assert_eq!((status(&scene, 1), status(&scene, 2)), ("cancelled", "testing"));
    let mut scene = admitted();
    scene.chain(&[30]).ci(CiVerdict::Green);
    assert_eq!(may_queue(&scene.floor, &project(), &newer), Err(Hindrance::Landing));
}

#[test]
fn taken_out_by_a_person_a_review_or_a_closed_pull_request() {
    let with_pr = || BranchAsk { pr: Some((PR, Some(IssueNumber(7)))), ..ask() };
    let refuse = Event::BranchRefused { project: project(), branch: BRANCH.into() };
    let closed = closed_pull(PR);
    // While its head is checked: that is stopped.
    let mut scene = asked(Policy::default(), with_pr());
    scene.event(refuse.clone());
    assert_eq!((status(&scene, 1), scene.has("cancel_ci")), ("cancelled", true));
    assert!(!scene.ci(CiVerdict::Green).has("build_chain"));
    let mut scene = asked(Policy::default(), with_pr());
    scene.observe(closed);
    assert_eq!(status(&scene, 1), "cancelled");
    let mut scene = asked(Policy::default(), with_pr());
    scene.review(1, 9, Verdict::RequestChanges).review(2, 1, Verdict::Approve);
    assert_eq!(status(&scene, 1), "testing");
    scene.review(3, 1, Verdict::RequestChanges);
    assert_eq!(status(&scene, 1), "cancelled");
    // While it is being published: heeded if it does not land.
    for (outcome, end) in [
        (Outcome::Published, "merged"),
        (Outcome::PrimaryMoved(outcome::PrimaryMoved { head: sha(11) }), "cancelled"),
    ] {
        let mut scene = asked(Policy::default(), with_pr());
        scene.ci(CiVerdict::Green).primary(10).chain(&[30]).ci(CiVerdict::Green);
        scene.event(refuse.clone());
        assert_eq!((status(&scene, 1), scene.noted(NoteKind::Escalation)), ("merging", 1));
        scene.answer("publish", outcome);
        assert_eq!(status(&scene, 1), end);
    }
}

#[test]
fn a_word_that_decides_nothing_or_an_agents_takes_nothing_out() {
    let mut scene = asked(Policy::default(), BranchAsk { pr: Some((PR, None)), ..ask() });
    scene.review(1, 1, Verdict::Discuss).review_by("agent", 2, 1, Verdict::RequestChanges);
    assert_eq!(status(&scene, 1), "testing");
}

#[test]
fn a_pull_request_follows_its_branch_and_is_known_to_what_is_queued() {
    let shown = |head: u32, open: bool| Observation::Pr {
        number: PR,
        open,
        branch: BRANCH.into(),
        head: Some(sha(head)),
        fixes: vec![],
        title: String::new(),
        ours: false,
        author: String::new(),
        labels: vec![],
        merged: None,
    };
    let touched = |head| Event::BranchTouched { project: project(), branch: BRANCH.into(), head };
    // Opened after it was queued: closing it withdraws it still.
    let mut scene = asked(Policy::default(), ask());
    scene.observe(shown(1, true));
    assert_eq!(entry(&scene, 1).pr, Some(PR));
    scene.event(touched(Some(sha(1))));
    assert!(!scene.has("move_pr"));
    scene.event(touched(Some(sha(5))));
    assert_eq!(status(&scene, 1), "cancelled");
    match scene.take("move_pr") {
        Action::MovePr { pr: PR, head, .. } => assert_eq!(head, sha(5)),
        other => panic!("{other:?}"),
    }
    // Seen again, it is where it was followed to; gone, it stays as it was.
    scene.event(touched(Some(sha(5)))).event(touched(None)).event(touched(None));
    assert!(!scene.has("move_pr"));
    let mut scene = asked(Policy::default(), ask());
    scene.observe(shown(1, true)).observe(shown(1, false));
    assert_eq!(status(&scene, 1), "cancelled");
}

#[test]
fn one_that_landed_closes_what_it_was_for() {
    let mut scene = asked(Policy::default(), BranchAsk { pr: Some((PR, Some(IssueNumber(7)))), ..ask() });
    scene.ci(CiVerdict::Green).primary(10).chain(&[30]).ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(10), sha(30))));
    let action = Action::Publish {
        target: None,
        project: project(),
        old: sha(10),
        new: sha(30),
        tested: sha(30),
        entries: vec![],
        branches: vec![],
    };
    scene.event(Event::Performed { action, outcome: Outcome::Published });
    match scene.take("retire_branch") {
        Action::RetireBranch { issue, merged, .. } => {
            assert_eq!((issue, merged.pr), (Some(IssueNumber(7)), Some(PR)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_waits_its_turn_among_jobs_and_is_kept_apart_from_them() {
    let mut scene = Scene::merging(Policy { merge_slots: 1, ..Policy::default() }, 2);
    scene.pending.retain(|a| a.name() == "build_chain");
    scene.event(Event::BranchAsked { project: project(), ask: ask() });
    scene.ci(CiVerdict::Green).chain(&[20]).ci(CiVerdict::Green).answer("publish", Outcome::Published);
    assert_eq!((status(&scene, 1), lists(&scene)), ("merged", vec![vec![1, 2]]));
    // The job's end takes nothing of it along.
    scene.pending.retain(|a| a.name() != "build_chain");
    scene.settle();
    assert_eq!((scene.state(), status(&scene, 2)), ("merged", "preparing"));
}

#[test]
fn one_that_moves_or_goes_leaves_the_queue_wherever_it_is() {
    let touched = |scene: &mut Scene, head: Option<u32>| {
        let head = head.map(sha);
        scene.event(Event::BranchTouched { project: project(), branch: BRANCH.into(), head });
    };
    for head in [Some(2), None] {
        let mut checking = asked(Policy::default(), ask());
        touched(&mut checking, Some(1));
        assert_eq!(status(&checking, 1), "testing", "it is where it was");
        touched(&mut checking, head);
        assert_eq!((status(&checking, 1), checking.has("cancel_ci")), ("cancelled", true));

        let mut trial = admitted();
        trial.chain(&[30]);
        touched(&mut trial, head);
        assert_eq!((status(&trial, 1), trial.has("cancel_ci")), ("cancelled", true));
        assert!(told(&trial, NoteKind::MergeFailed).is_some_and(|t| t.contains("merge-queue add alice/fix")));

        // Too late to be noticed: then git does not move the primary branch.
        let mut landing = admitted();
        landing.chain(&[30]).ci(CiVerdict::Green);
        match landing.pending.iter().find(|a| a.name() == "publish") {
            Some(Action::Publish { branches, .. }) => assert_eq!(branches[0].head, sha(1)),
            other => panic!("{other:?}"),
        }
        touched(&mut landing, head);
        assert_eq!(status(&landing, 1), "merging");
        let moved = vec![crate::effect::MovedBranch { entry: EntryId(1), head: head.map(sha) }];
        landing.answer("publish", Outcome::BranchesMoved(outcome::BranchesMoved { moved }));
        assert_eq!(status(&landing, 1), "cancelled");
        landing.primary(10);
        assert!(!landing.has("build_chain"));
    }
}

#[test]
fn a_head_need_not_be_checked_where_its_trial_tells() {
    use crate::policy::HeadChecks;
    let with = |head_checks| Policy { head_checks, ..Policy::default() };
    let mut scene = asked(with(HeadChecks::Never), ask());
    assert!(!scene.has("run_ci"));
    scene.primary(10).chain(&[30]).ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(10), sha(30))));
    let mut scene = asked(with(HeadChecks::WhenIdle), ask());
    assert!(scene.has("run_ci"), "nobody else wants to be checked");
    let second = BranchAsk { branch: "bob/fix".into(), head: sha(2), tree: TreeId(sha(2_021)), ..ask() };
    scene.event(Event::BranchAsked { project: project(), ask: second });
    assert_eq!((status(&scene, 1), status(&scene, 2)), ("testing", "queued"));
}
