//! The merge queue: built, checked, published by compare-and-swap, what the planner orders.

use super::*;
use crate::effect::outcome;
use crate::effect::{BuiltLanding, CiPurpose, Conflict, MovedBranch};
use crate::ids::{EntryId, QueueId};
use crate::policy::MergeBatch;
use crate::state::{Entry, EntryState, Queue};
use crate::step::may_merge;

fn merging() -> Scene {
    Scene::merging(Policy::default(), 1)
}

pub(super) fn published(scene: &mut Scene) -> Option<(Sha, Sha)> {
    scene.has("publish").then(|| match scene.take("publish") {
        Action::Publish { old, new, .. } => (old, new),
        _ => unreachable!(),
    })
}

fn conflict(entry: u64) -> Outcome {
    Outcome::ChainConflict(outcome::ChainConflict {
        primary: sha(10),
        moved: Vec::new(),
        entry: EntryId(entry),
        with_base: true,
        conflict: Conflict { files: vec!["f".into()], hunks: "<<<<<<< ours\n".into() },
    })
}

fn moved(head: Option<Sha>) -> Outcome {
    let moved = vec![MovedBranch { entry: EntryId(1), head }];
    Outcome::Chain(outcome::Chain { primary: sha(10), moved, links: Vec::new() })
}

pub(super) fn queue(scene: &Scene) -> &Queue {
    scene.floor.queues.get(&QueueId::primary(&project())).expect("there is a queue")
}

pub(super) fn entry(scene: &Scene, id: u64) -> &Entry {
    scene.floor.entries.get(&EntryId(id)).expect("there is an entry")
}

pub(super) fn status(scene: &Scene, id: u64) -> &'static str {
    scene.floor.entry_status(entry(scene, id))
}

/// Several jobs, green and queued in the order of their numbers, with a base at 10.
pub(super) fn queued(policy: Policy, jobs: u64) -> Scene {
    let policy = Policy { max_jobs: jobs as usize, review_required: false, ..policy };
    let mut scene = Scene::new(policy);
    for number in 1..=jobs {
        scene.issue(number, &["backlog"], &[]).done("edit_labels");
        scene.answer(
            "prepare_worktree",
            Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
        );
        scene.start_session();
        scene.signal(Epoch(number), Phase::AwaitingReview).branch(number as u32);
        scene
            .answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PrNumber(100 + number) }))
            .ci(CiVerdict::Green);
        scene.now = scene.now + Duration::from_secs(1);
    }
    scene.primary(10);
    scene
}

pub(super) fn lists(scene: &Scene) -> Vec<Vec<u64>> {
    let list = |a: &Action| match a {
        Action::BuildChain { list, .. } => Some(list.iter().map(|e| e.entry.0).collect()),
        _ => None,
    };
    scene.pending.iter().filter_map(list).collect()
}

#[test]
fn only_the_checked_candidate_is_published() {
    let mut scene = merging();
    assert_eq!(status(&scene, 1), "preparing");
    scene.chain(&[20]);
    assert_eq!((status(&scene, 1), scene.has("publish")), ("testing", false));
    scene.ci(CiVerdict::Green);
    assert_eq!((status(&scene, 1), published(&mut scene)), ("merging", Some((sha(10), sha(20)))));
}

#[test]
fn a_head_that_is_its_own_candidate_was_checked_already() {
    let mut scene = merging();
    scene.chain(&[1]);
    // The head's own tree is 2001 there, so this is by commit: no. By tree: yes.
    assert!(scene.has("run_ci"));
    let mut scene = merging();
    let tree = TreeId(sha(77));
    let link = ChainLink {
        link: Link { commit: sha(20), tree: tree.clone() },
        head_tree: tree,
        left_out: 0,
        inner: vec![],
    };
    scene.answer(
        "build_chain",
        Outcome::Chain(outcome::Chain { primary: sha(10), moved: Vec::new(), links: vec![link] }),
    );
    assert!(!scene.has("run_ci"));
    match scene.take("publish") {
        Action::Publish { old, new, tested, .. } => {
            assert_eq!((old, new, tested), (sha(10), sha(20), sha(1)));
        }
        _ => unreachable!(),
    }
}

#[test]
fn verdicts_of_other_checks_are_not_reused() {
    let mut scene = merging();
    let policy = Policy { checks: "other".into(), ..Policy::default() };
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy });
    let tree = TreeId(sha(77));
    let link = ChainLink {
        link: Link { commit: sha(20), tree: tree.clone() },
        head_tree: tree,
        left_out: 0,
        inner: vec![],
    };
    let built = Outcome::Chain(outcome::Chain { primary: sha(10), moved: Vec::new(), links: vec![link] });
    // The first was ordered before, and is of no use.
    scene.answer("build_chain", built.clone());
    assert!(!scene.has("run_ci"));
    scene.answer("build_chain", built);
    assert!(!scene.has("publish"));
    // A report of the old checks says nothing.
    scene.ci(CiVerdict::Green);
    assert!(!scene.has("publish") && scene.has("build_chain"));
}

#[test]
fn what_the_candidate_meets() {
    let check = |outcome: Outcome, state: &str, told: Option<&str>| {
        let mut scene = merging();
        scene.answer("build_chain", outcome.clone());
        assert_eq!(scene.state(), state, "{outcome:?}");
        let news = scene.unread().into_iter().find(|first| *first != "Review: APPROVE");
        assert_eq!(news, told, "{outcome:?}");
    };
    check(conflict(1), "working", Some("MERGE_CONFLICT"));
    check(moved(Some(sha(9))), "publishing", None);
    check(moved(None), "publishing", None);
    check(
        Outcome::Unmergeable(outcome::Unmergeable { entry: EntryId(1), why: "no history".into() }),
        "finishing",
        None,
    );
    check(Outcome::Impossible(outcome::Impossible { why: "no disk".into() }), "merging", None);
}

#[test]
fn what_is_in_the_primary_branch_already_has_landed() {
    let mut scene = merging();
    scene.chain(&[10]).answer("publish", Outcome::Published).settle();
    assert_eq!(scene.state(), "merged");
}

#[test]
fn the_agent_is_shown_where_it_conflicts() {
    let mut scene = merging();
    scene.answer("build_chain", conflict(1));
    let text = &scene.floor.messages.iter().last().expect("a message").text;
    assert!(text.contains("- f\n") && text.contains("<<<<<<< ours"), "{text}");
    assert_eq!(status(&scene, 1), "conflicted");
}

#[test]
fn a_candidates_verdicts() {
    let check = |verdict: CiVerdict, state: &str, publishes: bool| {
        let mut scene = merging();
        scene.chain(&[20]).ci(verdict);
        assert_eq!((scene.state(), scene.has("publish")), (state, publishes), "{verdict:?}");
        // Whatever is not green is tried once more.
        assert_eq!(scene.has("build_chain"), !publishes, "{verdict:?}");
    };
    check(CiVerdict::Green, "merging", true);
    for other in
        [CiVerdict::Red, CiVerdict::TimedOut, CiVerdict::Infra, CiVerdict::NoChecks, CiVerdict::Cancelled]
    {
        check(other, "merging", false);
    }
}

/// Red twice, on a base that nobody checked.
fn red_twice() -> Scene {
    let mut scene = merging();
    scene.chain(&[20]).ci(CiVerdict::Red).chain(&[20]).ci(CiVerdict::Red);
    scene
}

#[test]
fn a_red_that_does_not_come_again_was_a_flake() {
    let mut scene = merging();
    scene.chain(&[20]).ci(CiVerdict::Red).chain(&[20]).ci(CiVerdict::Green);
    assert_eq!((scene.noted(NoteKind::CiFlake), published(&mut scene)), (1, Some((sha(10), sha(20)))));
}

#[test]
fn before_a_change_is_blamed_the_base_is_checked() {
    let mut scene = red_twice();
    assert_eq!((scene.state(), status(&scene, 1)), ("merging", "queued"));
    match scene.pending.iter().find(|a| a.name() == "run_ci") {
        Some(Action::RunCi { commit, purpose: CiPurpose::Base, .. }) => assert_eq!(*commit, sha(10)),
        other => panic!("{other:?}"),
    }
    scene.ci(CiVerdict::Green);
    assert_eq!((scene.state(), scene.unread().pop()), ("working", Some("MERGE_FAILED")));
    assert_eq!(status(&scene, 1), "failed");
}

#[test]
fn a_red_base_is_nobodys_fault_until_it_is_mended() {
    let mut scene = red_twice();
    scene.ci(CiVerdict::Red).ci(CiVerdict::Red);
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("merging", 1));
    // Nothing is done until somebody moves it.
    scene.wait(Duration::from_secs(61));
    assert!(!scene.has("build_chain") && !scene.has("find_primary"));
    scene.event(Event::PrimaryTouched { project: project(), target: None }).primary(11);
    assert_eq!((lists(&scene), queue(&scene).parked.len()), (vec![vec![1]], 0));
    scene.chain_seen(11, &[21]).ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(11), sha(21))));
}

#[test]
fn a_base_that_cannot_be_checked_protects_nobody() {
    let mut scene = red_twice();
    scene.ci(CiVerdict::Infra).ci(CiVerdict::Infra);
    assert_eq!(scene.state(), "working");
    let mut scene = red_twice();
    scene.impossible("run_ci");
    let text = &scene.floor.messages.iter().last().expect("a message").text;
    assert!(text.contains("is not known"), "{text}");
}

#[test]
fn what_landed_is_a_base_that_is_green() {
    let policy = Policy { merge_slots: 1, ..Policy::default() };
    let mut scene = queued(policy, 2);
    scene.chain(&[21, 22]).ci(CiVerdict::Red);
    // The first alone is green; the second on top of it is red, twice.
    scene.chain(&[21]).ci(CiVerdict::Green).answer("publish", Outcome::Published);
    scene.chain_seen(21, &[21, 22]).ci(CiVerdict::Red);
    assert!(!scene.has("run_ci"), "the base is known");
    assert_eq!((status(&scene, 1), status(&scene, 2)), ("merged", "failed"));
}

#[test]
fn nobody_is_charged_for_machinery_that_fails_whatever_is_tried() {
    let mut scene = merging();
    for _ in 0..4 {
        scene.chain(&[20]).ci(CiVerdict::Infra).chain(&[20]).ci(CiVerdict::Infra);
        assert!(!scene.has("build_chain"), "the queue stands still");
        scene.wait(Duration::from_secs(601));
    }
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("merging", 4));
    scene.impossible("build_chain").chain(&[20]).ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
}

#[test]
fn one_with_which_nothing_runs_is_charged_once_others_have_run() {
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 2);
    scene.chain(&[21, 22]).ci(CiVerdict::Infra);
    scene.chain(&[21]).ci(CiVerdict::Infra).chain(&[21]).ci(CiVerdict::Infra);
    // The second lands without it.
    scene.chain(&[22]).ci(CiVerdict::Green).answer("publish", Outcome::Published);
    assert_eq!((status(&scene, 1), status(&scene, 2)), ("queued", "merged"));
    for _ in 0..2 {
        scene.wait(Duration::from_secs(601));
        scene.chain_seen(22, &[21]).ci(CiVerdict::Infra).chain_seen(22, &[21]).ci(CiVerdict::Infra);
    }
    assert_eq!(status(&scene, 1), "failed");
}

#[test]
fn somebody_was_faster_so_all_is_built_and_checked_anew() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::PrimaryMoved(outcome::PrimaryMoved { head: sha(11) }));
    assert_eq!(scene.state(), "merging");
    scene.primary(11).chain_seen(11, &[21]);
    assert!(!scene.has("publish"));
    scene.ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(11), sha(21))));
    // Seen when the chain is built: nothing is checked that could not land.
    let mut scene = merging();
    scene.chain_seen(11, &[20]).primary(11);
    assert!(!scene.has("run_ci") && scene.has("build_chain"));
    // Seen by a second trial: the first is not worth its run any more.
    let mut scene = merging();
    scene.chain(&[20]);
    scene.event(Event::PrimaryTouched { project: project(), target: None }).primary(11);
    assert!(scene.has("cancel_ci"));
    scene.ci(CiVerdict::Green);
    assert!(!scene.has("publish"));
}

#[test]
fn a_published_candidate_ends_the_job_as_merged() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::Published);
    scene.answer("verify_landed", Outcome::Landed(outcome::Landed { incomplete: Vec::new() }));
    assert_eq!(scene.noted(NoteKind::Escalation), 0);
    scene.settle();
    assert_eq!(scene.state(), "merged");
    assert_eq!(scene.job().merged, Some(sha(20)));
    assert_eq!(scene.noted(NoteKind::MergeComplete), 1);
}

#[test]
fn a_change_that_is_not_all_there_is_reported() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::Published);
    scene.answer("verify_landed", Outcome::Landed(outcome::Landed { incomplete: vec![EntryId(1)] }));
    assert_eq!(scene.noted(NoteKind::Escalation), 1);
}

#[test]
fn a_publication_that_cannot_be_blocks_its_job() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    // Whether it moved the branch all the same, only git knows.
    scene.impossible("publish");
    assert_eq!((scene.state(), status(&scene, 1)), ("merging", "merging"));
    scene.answer(
        "find_primary",
        Outcome::Primary(outcome::Primary { head: sha(10), continues: false, recorded: false }),
    );
    assert_eq!((scene.state(), scene.has("build_chain")), ("finishing", false));
}

#[test]
fn a_publication_that_was_made_before_it_was_given_up_has_landed() {
    for head in [20, 30] {
        let mut scene = Scene::publishing(Policy::default(), 1);
        scene.impossible("publish");
        match scene.pending.last() {
            Some(Action::FindPrimary { known, .. }) => assert_eq!(*known, Some(sha(20))),
            other => panic!("{other:?}"),
        }
        scene.primary(head);
        assert_eq!((status(&scene, 1), scene.job().merged.clone()), ("merged", Some(sha(20))));
        // Somebody may have gone on from there.
        scene.primary(head);
        assert_eq!(queue(&scene).plan.base(), Some(&sha(head)));
    }
    // One that cannot be found out about has not.
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.impossible("publish").impossible("find_primary");
    assert_eq!(status(&scene, 1), "failed");
}

#[test]
fn conflicts_are_bounded() {
    let mut scene = merging();
    for round in 1..=4 {
        scene.answer("build_chain", conflict(u64::from(round)));
        if round == 4 {
            break;
        }
        assert_eq!(scene.state(), "working");
        scene.checking(Phase::AwaitingReview, 1 + round).ci(CiVerdict::Green);
        scene.review(u64::from(10 + round), 1 + round, Verdict::Approve);
    }
    assert!(scene.reason().contains("after 3 rounds"), "{}", scene.reason());
}

#[test]
fn several_land_together_in_the_order_of_their_approval() {
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 3);
    assert_eq!(lists(&scene), [[1, 2, 3]]);
    scene.chain(&[21, 22, 23]).ci(CiVerdict::Green);
    // Only the last was checked: they land as one commit, with each of them behind it.
    assert_eq!(published(&mut scene), None);
    landing(&mut scene, &[(30, 23)]);
    let publish = scene.pending.iter().find(|a| a.name() == "publish").expect("it is published");
    assert!(matches!(publish, Action::Publish { old, new, tested, entries, .. }
        if (old, new, tested, entries.len()) == (&sha(10), &sha(30), &sha(23), 3)));
    scene.answer("publish", Outcome::Published);
    let merged: Vec<Sha> = scene.floor.jobs.iter().filter_map(|j| j.merged.clone()).collect();
    assert_eq!(merged, [sha(21), sha(22), sha(30)]);
}

/// The commits that steps land as: each with the tree of that link.
pub(super) fn landing(scene: &mut Scene, commits: &[(u32, u32)]) {
    landing_again(scene, commits, &[]);
}

/// The same, where links had to be made again.
fn landing_again(scene: &mut Scene, commits: &[(u32, u32)], again: &[(u32, u32)]) {
    let link = |(commit, of): &(u32, u32)| Link { commit: sha(*commit), tree: TreeId(sha(1_000 + of)) };
    let commits = commits.iter().map(link).collect();
    let again = again.iter().map(|(before, now)| (sha(*before), sha(*now))).collect();
    scene.answer("build_landing", Outcome::LandingBuilt(BuiltLanding { commits, again }));
}

/// Their commits are in the primary branch, whatever became of those that were checked.
#[test]
fn what_was_made_again_is_what_landed() {
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 3);
    scene.chain(&[21, 22, 23]).ci(CiVerdict::Green);
    landing_again(&mut scene, &[(30, 23)], &[(21, 41), (22, 42), (23, 43)]);
    scene.answer("publish", Outcome::Published);
    let merged: Vec<Sha> = scene.floor.jobs.iter().filter_map(|j| j.merged.clone()).collect();
    assert_eq!(merged, [sha(41), sha(42), sha(30)]);
}

#[test]
fn with_loose_batches_only_the_last_is_asked_for() {
    let policy = Policy { merge_slots: 1, merge_batch: MergeBatch::Tip, ..Policy::default() };
    let mut scene = queued(policy, 3);
    scene.chain(&[21, 22, 23]).ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(10), sha(23))));
}

#[test]
fn a_commit_with_another_tree_than_was_checked_is_not_published() {
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 3);
    scene.chain(&[21, 22, 23]).ci(CiVerdict::Green);
    landing(&mut scene, &[(30, 22)]);
    assert_eq!((published(&mut scene), scene.noted(NoteKind::Escalation)), (None, 1));
    assert_eq!(status(&scene, 1), "preparing");
}

#[test]
fn what_cannot_be_made_to_land_leaves_the_queue() {
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 2);
    scene.chain(&[21, 22]).ci(CiVerdict::Green);
    assert_eq!(status(&scene, 1), "merging");
    scene.impossible("build_landing");
    assert_eq!((status(&scene, 1), status(&scene, 2)), ("failed", "failed"));
}

#[test]
fn slots_are_trials_at_once() {
    for slots in 1..=4 {
        let scene = queued(Policy { merge_slots: slots, ..Policy::default() }, 9);
        assert_eq!(lists(&scene).len(), slots, "{:?}", lists(&scene));
    }
    // More slots are used at once, fewer not before something ends.
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 9);
    let policy = Policy { merge_slots: 3, max_jobs: 9, review_required: false, ..Policy::default() };
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy });
    assert_eq!(lists(&scene).len(), 3);
}

#[test]
fn a_label_or_a_person_makes_it_sooner() {
    // One is being tried; of the others the labelled one is next.
    let mut scene = queued(Policy { merge_slots: 1, ..Policy::default() }, 1);
    scene.event(Event::QueuePaused { project: project(), target: None, why: Some("w".into()), below: None });
    let order = |scene: &Scene| queue(scene).plan.order();
    for number in 2..=4 {
        alter(&mut scene.floor.projects, &project(), |project| project.policy.max_jobs = 4);
        scene.issue(number, &["backlog"], &[]).done("edit_labels");
        scene.answer(
            "prepare_worktree",
            Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
        );
        scene.start_session();
        scene.signal(Epoch(number), Phase::AwaitingReview).branch(number as u32);
        scene
            .answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PrNumber(100 + number) }))
            .ci(CiVerdict::Green);
        scene.now = scene.now + Duration::from_secs(1);
    }
    assert_eq!(order(&scene), [1, 2, 3, 4].map(EntryId));
    scene.issue(3, &["in-progress", "priority"], &[]);
    assert_eq!(order(&scene), [1, 3, 2, 4].map(EntryId));
    scene.event(Event::MergeAsked { project: project(), issue: IssueNumber(4), urgent: true, alone: false });
    assert_eq!(order(&scene), [1, 4, 3, 2].map(EntryId));
    scene.issue(3, &["in-progress"], &[]);
    assert_eq!(order(&scene), [1, 4, 2, 3].map(EntryId));
}

#[test]
fn a_paused_queue_begins_and_publishes_nothing() {
    let pause = |why: Option<&str>| Event::QueuePaused {
        project: project(),
        target: None,
        why: why.map(str::to_owned),
        below: None,
    };
    let mut scene = merging();
    scene.chain(&[20]).event(pause(Some("a release"))).ci(CiVerdict::Green);
    assert!(!scene.has("publish"));
    // It is kept, and said once.
    scene.event(pause(Some("a release")));
    assert_eq!(scene.noted(NoteKind::QueueState), 1);
    scene.event(pause(None));
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
}

#[test]
fn taken_out_by_a_person_and_put_back() {
    let refuse = Event::MergeRefused { project: project(), issue: IssueNumber(1) };
    let ask = Event::MergeAsked { project: project(), issue: IssueNumber(1), urgent: false, alone: false };
    let mut scene = merging();
    scene.chain(&[20]).event(refuse.clone());
    assert_eq!(
        (scene.state(), status(&scene, 1), scene.has("cancel_ci")),
        ("needs_human", "cancelled", true)
    );
    scene.event(ask.clone());
    assert_eq!((scene.state(), status(&scene, 2)), ("merging", "preparing"));
    // Its publication cannot be called back.
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.event(refuse);
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("merging", 1));
}

#[test]
fn only_what_is_green_and_approved_may_be_put_in() {
    let ask = Event::MergeAsked { project: project(), issue: IssueNumber(1), urgent: false, alone: false };
    let check = |mut scene: Scene, why: &str| {
        assert!(may_merge(&scene.floor, scene.job()).expect_err(why).contains(why), "{why}");
        let before = scene.floor.entries.len();
        scene.event(ask.clone());
        assert_eq!(scene.floor.entries.len(), before, "{why}");
    };
    check(Scene::working(Policy::default()), "no pull request");
    check(Scene::reviewing(Policy::default(), 1), "not approved");
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::Red);
    check(scene, "not passed the checks");
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::Published).settle();
    check(scene, "merged");
}

#[test]
fn a_blocked_change_that_is_green_and_approved_goes_on() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.impossible("publish").settle();
    assert_eq!(scene.state(), "blocked");
    scene.event(Event::MergeAsked { project: project(), issue: IssueNumber(1), urgent: false, alone: false });
    assert_eq!(scene.state(), "merging");
    scene.chain(&[20]).answer("publish", Outcome::Published).settle();
    assert_eq!(scene.state(), "merged");
}

#[test]
fn what_failed_or_conflicted_can_be_queued_again() {
    let ask = Event::MergeAsked { project: project(), issue: IssueNumber(1), urgent: false, alone: false };
    let mut scene = red_twice();
    scene.ci(CiVerdict::Green);
    assert_eq!((status(&scene, 1), scene.state()), ("failed", "working"));
    scene.event(ask.clone());
    assert_eq!((status(&scene, 2), scene.state()), ("preparing", "merging"));
    let mut scene = merging();
    scene.answer("build_chain", conflict(1));
    assert_eq!((status(&scene, 1), scene.state()), ("conflicted", "working"));
    scene.event(ask);
    assert_eq!((status(&scene, 2), scene.state()), ("preparing", "merging"));
}

#[test]
fn one_that_waits_too_long_is_reported_once() {
    let mut scene = merging();
    scene.event(Event::QueuePaused { project: project(), target: None, why: Some("w".into()), below: None });
    let alarms =
        |scene: &Scene| scene.notes.iter().filter(|n| n.text.contains("waited in the merge")).count();
    scene.wait(Duration::from_secs(3600));
    assert_eq!(alarms(&scene), 0);
    scene.wait(Duration::from_secs(3601)).wait(Duration::from_secs(60));
    assert_eq!(alarms(&scene), 1);
}

#[test]
fn an_answer_for_a_withdrawn_entry_is_too_late() {
    let mut scene = merging();
    scene.chain(&[20]);
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
    scene.ci(CiVerdict::Green);
    assert!(!scene.has("publish"));
    scene.settle();
    assert_eq!(scene.state(), "cancelled");
}

#[test]
fn cancelled_during_the_publication() {
    let cancel = Event::Cancelled { project: project(), issue: IssueNumber(1) };
    // It lands: then it has landed.
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.event(cancel.clone());
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("merging", 1));
    scene.answer("publish", Outcome::Published).settle();
    assert_eq!(scene.state(), "merged");
    // It does not: then the person's word holds.
    for outcome in [
        Outcome::PrimaryMoved(outcome::PrimaryMoved { head: sha(11) }),
        Outcome::Impossible(outcome::Impossible { why: "gone".into() }),
    ] {
        let mut scene = Scene::publishing(Policy::default(), 1);
        scene.event(cancel.clone()).answer("publish", outcome);
        scene.settle();
        assert_eq!(scene.state(), "cancelled");
    }
}

#[test]
fn entries_of_an_older_program_are_planned_for() {
    let mut scene = merging();
    scene.floor.queues.unload(&[Queue::key_text(&QueueId::primary(&project()))].into());
    scene.pending.clear();
    scene.event(Event::Resumed).primary(10);
    assert_eq!((lists(&scene), entry(&scene, 1).state.clone()), (vec![vec![1]], EntryState::Queued));
}

#[test]
fn a_queue_is_read_back_as_it_was() {
    let mut scene = queued(Policy { merge_slots: 2, ..Policy::default() }, 3);
    let list: Vec<u32> = lists(&scene)[0].iter().map(|e| 20 + *e as u32).collect();
    scene.chain(&list).ci(CiVerdict::Red);
    let text = serde_json::to_string(queue(&scene)).expect("string keys only");
    assert_eq!(serde_json::from_str::<Queue>(&text).expect("readable"), *queue(&scene));
}
