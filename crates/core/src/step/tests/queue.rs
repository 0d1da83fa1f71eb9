//! The merge queue: built, checked, published by compare-and-swap, one at a time.

use super::*;
use crate::state::EntryState;

fn merging() -> Scene {
    Scene::merging(Policy::default(), 1)
}

fn candidate() -> Outcome {
    Outcome::Candidate { base: sha(10), commit: sha(20) }
}

fn published(scene: &mut Scene) -> Option<(Sha, Sha)> {
    scene.has("publish").then(|| match scene.take("publish") {
        Action::Publish { old, new, .. } => (old, new),
        _ => unreachable!(),
    })
}

#[test]
fn only_the_checked_candidate_is_published() {
    let mut scene = merging();
    scene.answer("build_candidate", candidate());
    assert!(!scene.has("publish"));
    scene.ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
}

#[test]
fn a_head_that_is_its_own_candidate_was_checked_already() {
    let mut scene = merging();
    scene.answer("build_candidate", Outcome::Candidate { base: sha(10), commit: sha(1) });
    assert_eq!(published(&mut scene), Some((sha(10), sha(1))));
}

#[test]
fn what_the_candidate_meets() {
    let check = |outcome: Outcome, state: &str, told: Option<&str>| {
        let mut scene = merging();
        let before = scene.unread().len();
        scene.answer("build_candidate", outcome.clone());
        assert_eq!(scene.state(), state, "{outcome:?}");
        assert_eq!(scene.unread().get(before).copied(), told, "{outcome:?}");
    };
    check(candidate(), "merging", None);
    check(Outcome::Conflict { base: sha(10), files: vec!["f".into()] }, "working", Some("MERGE_CONFLICT"));
    check(Outcome::NothingToMerge { base: sha(10) }, "finishing", None);
    check(Outcome::BranchMoved { head: Some(sha(9)) }, "publishing", None);
    check(Outcome::BranchMoved { head: None }, "publishing", None);
    check(Outcome::Impossible { why: "no disk".into() }, "finishing", None);
}

#[test]
fn a_candidates_verdicts() {
    let check = |verdict: CiVerdict, state: &str, publishes: bool| {
        let mut scene = merging();
        scene.answer("build_candidate", candidate()).ci(verdict);
        assert_eq!((scene.state(), scene.has("publish")), (state, publishes), "{verdict:?}");
    };
    check(CiVerdict::Green, "merging", true);
    check(CiVerdict::Red, "working", false);
    check(CiVerdict::TimedOut, "working", false);
    check(CiVerdict::Infra, "merging", false);
    check(CiVerdict::NoChecks, "working", false);
}

#[test]
fn machinery_that_keeps_failing_ends_in_a_block() {
    let mut scene = merging();
    scene.answer("build_candidate", candidate());
    scene.ci(CiVerdict::Infra).ci(CiVerdict::Infra).ci(CiVerdict::Infra);
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn somebody_was_faster_so_all_is_built_and_checked_anew() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::PrimaryMoved { head: sha(11) });
    assert_eq!(scene.state(), "merging");
    scene.answer("build_candidate", Outcome::Candidate { base: sha(11), commit: sha(21) });
    assert!(!scene.has("publish"));
    scene.ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(11), sha(21))));
}

#[test]
fn a_published_candidate_ends_the_job_as_merged() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::Published).settle();
    assert_eq!(scene.state(), "merged");
    assert_eq!(scene.job().merged, Some(sha(20)));
    assert_eq!(scene.noted(NoteKind::MergeComplete), 1);
}

#[test]
fn conflicts_are_bounded() {
    let mut scene = merging();
    for round in 1..=4 {
        scene.answer("build_candidate", Outcome::Conflict { base: sha(10), files: Vec::new() });
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
fn one_entry_at_a_time_in_the_order_of_their_approval() {
    let policy = Policy { max_jobs: 2, review_required: false, ..Policy::default() };
    let mut scene = Scene::working(policy);
    scene.issue(2, &["backlog"], &[]);
    scene
        .answer("prepare_worktree", Outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] });
    scene.start_session();
    scene.signal(Epoch(2), Phase::AwaitingReview).branch(5);
    scene.answer("open_pr", Outcome::PrOpen { pr: PrNumber(101) }).ci(CiVerdict::Green);
    scene.now = scene.now + Duration::from_secs(1);
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green);
    let building = |scene: &Scene| scene.names().iter().filter(|n| **n == "build_candidate").count();
    assert_eq!(building(&scene), 1);
    scene.answer("build_candidate", candidate()).ci(CiVerdict::Green);
    let first = scene.floor.entries.iter().find(|e| matches!(e.state, EntryState::Merging { .. }));
    assert_eq!(first.map(|e| e.issue), Some(IssueNumber(2)));
    assert_eq!(building(&scene), 0);
    scene.answer("publish", Outcome::Published);
    assert_eq!(building(&scene), 1);
}

#[test]
fn an_answer_for_a_withdrawn_entry_is_too_late() {
    let mut scene = merging();
    scene.answer("build_candidate", candidate());
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
    for outcome in [Outcome::PrimaryMoved { head: sha(11) }, Outcome::Impossible { why: "gone".into() }] {
        let mut scene = Scene::publishing(Policy::default(), 1);
        scene.event(cancel.clone()).answer("publish", outcome);
        assert!(!scene.has("build_candidate"));
        scene.settle();
        assert_eq!(scene.state(), "cancelled");
    }
}
