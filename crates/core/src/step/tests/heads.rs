//! The head of a job: red only if it was twice, nobody's fault on a red base, and not checked by itself where the
//! project does not want that.

use super::queue::{queue, status};
use super::*;
use crate::effect::CiPurpose;
use crate::effect::outcome;
use crate::policy::HeadChecks;
use crate::state::{Parked, Urgency, Who};
use crate::step::{is_wanted, may_merge};

/// A head that stands on 10, where the primary branch is, and is red twice.
fn red_twice() -> Scene {
    red_twice_on(10)
}

/// The same, on an earlier commit.
fn red_twice_on(base: u32) -> Scene {
    let mut scene = Scene::working(Policy::default());
    scene.base = Some(sha(base));
    scene.checking(Phase::AwaitingCi, 1).primary(10).red();
    assert_eq!((scene.state(), scene.unread().len(), scene.job().rounds.ci_fixes), ("parked", 0, 0));
    scene
}

fn base_run(scene: &Scene) -> Option<&Sha> {
    scene.pending.iter().find_map(|a| match a {
        Action::RunCi { commit, purpose: CiPurpose::Base, .. } => Some(commit),
        _ => None,
    })
}

fn last_message(scene: &Scene) -> &str {
    &scene.floor.messages.iter().last().expect("a message").text
}

fn moved(scene: &mut Scene, to: u32) {
    scene.event(Event::PrimaryTouched { project: project(), target: None }).primary(to);
}

#[test]
fn one_red_run_is_told_to_nobody_and_a_green_one_after_it_is_a_flake() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::Red);
    assert_eq!((scene.state(), scene.unread().len(), scene.has("run_ci")), ("checking", 0, true));
    let record = scene.floor.records.iter().next().expect("a record");
    assert!(!record.tests_status.contains("failed"), "{}", record.tests_status);
    scene.ci(CiVerdict::Green);
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["CI passed"]));
    assert_eq!((scene.noted(NoteKind::CiFlake), scene.job().rounds.ci_fixes), (1, 0));
}

#[test]
fn an_agent_is_told_that_it_was_red_twice() {
    let mut scene = red_twice();
    scene.ci(CiVerdict::Green);
    assert_eq!(
        (scene.state(), scene.unread(), scene.job().rounds.ci_fixes),
        ("working", vec!["CI failed"], 1)
    );
    assert!(last_message(&scene).contains("again when it ran a second time"), "{}", last_message(&scene));
    assert!(queue(&scene).parked.is_empty());
}

#[test]
fn the_same_commit_shown_again_is_run_once_and_not_twice() {
    let mut scene = red_twice();
    scene.ci(CiVerdict::Green);
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::Red);
    assert_eq!((scene.state(), scene.job().rounds.ci_fixes), ("working", 2));
    assert!(last_message(&scene).contains("each of 3 runs"), "{}", last_message(&scene));
}

#[test]
fn where_nothing_ran_a_second_run_would_tell_no_more() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1);
    let report = CiReport {
        verdict: CiVerdict::Red,
        step: Some("shopfloor.toml".into()),
        excerpt: "e".into(),
        log: "l".into(),
        steps_run: 0,
        at: None,
        duration_ms: 1,
        checks: String::new(),
    };
    scene.answer("run_ci", Outcome::CiFinished(report));
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["CI failed"]));
}

#[test]
fn trouble_between_two_red_runs_is_neither() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::Red).ci(CiVerdict::Infra);
    assert_eq!((scene.state(), scene.unread().len()), ("retrying", 0));
    scene.wait(Duration::from_secs(31)).ci(CiVerdict::Red);
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["CI failed"]));
}

#[test]
fn a_red_base_holds_the_job_and_blames_nobody_until_it_is_mended() {
    let mut scene = red_twice();
    assert_eq!(base_run(&scene), Some(&sha(10)));
    scene.ci(CiVerdict::Red).ci(CiVerdict::Red);
    assert_eq!((scene.state(), scene.job().rounds.ci_fixes), ("parked", 0));
    assert_eq!((scene.unread(), scene.noted(NoteKind::Escalation)), (vec!["CI waits"], 1));
    // Somebody moves it, and it is as red as before.
    moved(&mut scene, 11);
    assert_eq!(base_run(&scene), Some(&sha(11)));
    scene.red();
    assert_eq!((scene.state(), scene.unread()), ("parked", vec!["CI waits"]), "told once");
    moved(&mut scene, 12);
    scene.ci(CiVerdict::Green);
    assert_eq!((scene.state(), scene.job().rounds.ci_fixes), ("working", 0));
    assert_eq!(scene.unread(), ["CI waits", "CI passed"]);
    assert!(last_message(&scene).contains("as part of the merge"), "{}", last_message(&scene));
    assert!(
        queue(&scene).parked.is_empty() && may_merge(&scene.floor, scene.job()).is_err(),
        "no review yet"
    );
    // On top of the mended one it is checked, whatever is known of its head.
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!((scene.state(), scene.has("run_ci")), ("reviewing", false));
    scene.start_session();
    scene.review(1, 1, Verdict::Approve).end_session().chain_seen(12, &[21]);
    assert_eq!((status(&scene, 1), scene.has("publish"), scene.has("run_ci")), ("testing", false, true));
}

#[test]
fn a_head_on_an_earlier_commit_is_judged_by_that_one() {
    // The newest is not asked for; the one it stands on is green.
    let mut scene = red_twice_on(9);
    assert_eq!(base_run(&scene), Some(&sha(9)));
    scene.ci(CiVerdict::Green);
    assert_eq!(scene.unread(), ["CI failed"]);
    // It is red, and the primary branch has moved on already.
    let mut scene = red_twice_on(9);
    scene.red();
    assert_eq!((scene.state(), base_run(&scene)), ("parked", Some(&sha(10))));
    scene.ci(CiVerdict::Green);
    assert_eq!((scene.unread(), scene.job().rounds.ci_fixes), (vec!["CI waits", "CI passed"], 0));
}

#[test]
fn a_base_check_that_is_under_way_when_the_primary_branch_moves_goes_on() {
    let mut scene = red_twice();
    moved(&mut scene, 11);
    assert_eq!((base_run(&scene), scene.has("cancel_ci")), (Some(&sha(10)), false));
    let run = scene.pending.iter().find(|a| a.name() == "run_ci").expect("it runs");
    assert!(is_wanted(&scene.floor, run));
    scene.ci(CiVerdict::Green);
    assert_eq!(scene.unread(), ["CI failed"]);
}

#[test]
fn a_base_that_cannot_be_checked_protects_no_head() {
    let mut scene = red_twice();
    scene.ci(CiVerdict::Infra).ci(CiVerdict::Infra);
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["CI failed"]));
    assert!(last_message(&scene).contains("is not known"), "{}", last_message(&scene));
    let mut scene = red_twice();
    scene.impossible("run_ci");
    assert_eq!(scene.unread(), ["CI failed"]);
    // The one it stands on is red; of the newest nobody can know, so its trial tells.
    let mut scene = red_twice_on(9);
    scene.red().impossible("run_ci");
    assert_eq!(scene.unread(), ["CI waits", "CI passed"]);
}

#[test]
fn heads_and_entries_wait_for_one_check_of_the_base() {
    let policy = Policy { max_jobs: 2, review_required: false, ..Policy::default() };
    let mut scene = Scene::working(policy);
    scene.base = Some(sha(10));
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green).primary(10);
    scene.chain(&[20]).ci(CiVerdict::Red).chain(&[20]).ci(CiVerdict::Red);
    scene.issue(2, &["backlog"], &[]).done("edit_labels");
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    scene.start_session();
    let base = scene.take("run_ci");
    scene
        .signal(Epoch(2), Phase::AwaitingCi)
        .branch(2)
        .answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PrNumber(102) }));
    scene.red();
    assert!(!scene.has("run_ci"), "the base is being checked already");
    assert_eq!(queue(&scene).parked.len(), 2);
    scene.pending.push(base);
    scene.red();
    assert_eq!((queue(&scene).parked.len(), scene.noted(NoteKind::Escalation)), (2, 1));
    // Both go on when it is mended: the entry at once, the head when that is known.
    moved(&mut scene, 11);
    assert_eq!((status(&scene, 1), queue(&scene).parked.len()), ("preparing", 1));
    scene.take("build_chain");
    scene.ci(CiVerdict::Green);
    assert!(queue(&scene).parked.is_empty());
}

#[test]
fn a_head_that_comes_to_a_base_known_to_be_red_runs_nothing_more() {
    let mut scene = red_twice();
    scene.red();
    scene.checking(Phase::AwaitingCi, 2).red();
    assert_eq!((scene.state(), scene.has("run_ci")), ("parked", false));
    assert_eq!(scene.unread(), ["CI waits", "CI waits"], "another head");
}

#[test]
fn whatever_ends_the_wait_ends_the_check_it_waited_for() {
    let check = |what: &dyn Fn(&mut Scene), state: &str| {
        let mut scene = red_twice();
        what(&mut scene);
        assert_eq!(scene.state(), state);
        assert!(queue(&scene).parked.is_empty() && queue(&scene).base_check.is_none());
        assert!(scene.has("cancel_ci"));
        // Its late answer changes nothing.
        scene.ci(CiVerdict::Green);
        assert_eq!(scene.unread(), [""; 0]);
    };
    let issue = IssueNumber(1);
    check(&|s| _ = s.event(Event::Cancelled { project: project(), issue }), "finishing");
    check(&|s| _ = s.signal(DEV, Phase::AwaitingCi), "publishing");
    check(&|s| _ = s.signal(DEV, Phase::NeedsHuman), "needs_human");
    check(&|s| _ = s.issue_is(1, &["in-progress"], &[], false), "finishing");
}

#[test]
fn an_agent_that_leaves_while_its_job_is_parked_is_not_missed() {
    let mut scene = red_twice();
    scene.exited(DEV, Some(0)).red();
    assert_eq!(scene.state(), "parked");
    moved(&mut scene, 11);
    scene.ci(CiVerdict::Green);
    assert_eq!(scene.state(), "reviewing");
}

#[test]
fn a_push_to_a_parked_branch_and_a_merge_by_hand_are_noticed() {
    let mut scene = red_twice();
    scene.red();
    let (branch, head) = (scene.job().branch.clone(), Some(sha(2)));
    scene.event(Event::BranchTouched { project: project(), branch, head });
    assert_eq!((scene.state(), queue(&scene).parked.len()), ("publishing", 0));
    let mut scene = red_twice();
    scene.red();
    moved(&mut scene, 11);
    match scene.take("find_merged") {
        Action::FindMerged { heads, .. } => assert_eq!(heads[0].head, sha(1)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_checks_are_another_question() {
    let mut scene = red_twice();
    scene.red();
    let policy = Policy { checks: "other".into(), ..Policy::default() };
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy });
    assert_eq!((scene.state(), queue(&scene).parked.len()), ("checking", 0));
    assert!(queue(&scene).base_check.is_none());
}

#[test]
fn a_primary_branch_that_stays_red_is_told_of_again() {
    let mut scene = red_twice();
    scene.red();
    let told = scene.noted(NoteKind::Escalation);
    scene.wait(Duration::from_secs(6 * 3600));
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("parked", told + 1));
    assert!(scene.job().deadline.is_some());
}

#[test]
fn who_is_parked_is_read_as_older_programs_wrote_it() {
    let old: Parked = serde_json::from_str(r#"{"entry":7,"reason":"r","message":"m"}"#).expect("it is read");
    assert_eq!((old.who, old.on, old.red), (Who::Entry(crate::ids::EntryId(7)), None, false));
    let new =
        Parked { who: Who::Job(JOB), reason: "r".into(), message: "m".into(), on: Some(sha(1)), red: true };
    let text = serde_json::to_string(&new).expect("it is written");
    assert_eq!(serde_json::from_str::<Parked>(&text).expect("and read"), new);
}

#[test]
fn a_person_who_ends_the_job_ends_the_run_of_its_head() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::Red);
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
    assert!(scene.has("cancel_ci"));
    scene.ci(CiVerdict::Cancelled).settle();
    assert_eq!(scene.state(), "cancelled");
}

// ---- heads that are not checked by themselves --------------------------------------------------

fn heads(head_checks: HeadChecks) -> Policy {
    Policy { head_checks, ..Policy::default() }
}

#[test]
fn where_heads_are_never_checked_the_agent_does_not_wait_and_the_trial_tells() {
    let mut scene = Scene::working(heads(HeadChecks::Never));
    scene.checking(Phase::AwaitingCi, 1);
    assert_eq!((scene.state(), scene.unread(), scene.has("run_ci")), ("working", vec!["CI passed"], false));
    assert!(last_message(&scene).contains("as part of the merge"), "{}", last_message(&scene));
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!(scene.state(), "reviewing");
    scene.start_session();
    assert!(may_merge(&scene.floor, scene.job()).is_err_and(|why| why.contains("not approved")));
    scene.review(1, 1, Verdict::Approve).end_session().primary(10).chain(&[20]);
    assert!(scene.has("run_ci") && !scene.has("publish"), "nothing lands that did not pass");
    scene.ci(CiVerdict::Green);
    assert!(scene.has("publish"));
}

#[test]
fn an_agent_that_asks_on_and_on_for_checks_that_are_not_run_is_not_at_work() {
    let mut scene = Scene::working(heads(HeadChecks::Never));
    for _ in 0..3 {
        scene.checking(Phase::AwaitingCi, 1);
        assert_eq!(scene.state(), "working");
    }
    scene.checking(Phase::AwaitingCi, 1);
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn a_project_without_checks_is_told_so_whatever_it_says_of_heads() {
    let mut scene = Scene::working(Policy { has_checks: false, ..heads(HeadChecks::Never) });
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::NoChecks);
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn when_idle_a_head_is_checked_only_if_the_queue_wants_no_room() {
    let policy = Policy { max_jobs: 2, review_required: false, ..heads(HeadChecks::WhenIdle) };
    let mut scene = Scene::working(policy);
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!(scene.state(), "checking");
    scene.ci(CiVerdict::Green).primary(10);
    assert_eq!(status(&scene, 1), "preparing");
    scene.issue(2, &["backlog"], &[]).done("edit_labels");
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    scene.start_session();
    scene.signal(Epoch(2), Phase::AwaitingReview).branch(2);
    scene.answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PrNumber(102) }));
    assert_eq!((status(&scene, 2), scene.has("run_ci")), ("queued", false));
}

#[test]
fn what_is_about_to_land_is_run_before_heads_and_what_is_urgent_before_the_rest() {
    let policy = Policy { max_jobs: 2, review_required: false, ..Policy::default() };
    let mut scene = Scene::working(policy);
    let urgency = |scene: &Scene| {
        let run = scene.pending.iter().rev().find(|a| a.name() == "run_ci").expect("a run");
        scene.floor.urgency(run)
    };
    scene.base = Some(sha(10));
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!(urgency(&scene), Some(Urgency::Head));
    scene.ci(CiVerdict::Green).primary(10).chain(&[20]);
    assert_eq!(urgency(&scene), Some(Urgency::Trial));
    scene.event(Event::MergeAsked { project: project(), issue: IssueNumber(1), urgent: true, alone: false });
    assert_eq!(urgency(&scene), Some(Urgency::UrgentTrial));
    scene.issue(2, &["backlog", "priority"], &[]).done("edit_labels");
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
    );
    scene.start_session();
    scene.signal(Epoch(2), Phase::AwaitingCi).branch(2);
    scene.answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PrNumber(102) }));
    assert_eq!(urgency(&scene), Some(Urgency::UrgentHead));
    // What a red head stands on is asked for by others as well.
    scene.pending.retain(|a| !matches!(a, Action::RunCi { purpose: CiPurpose::Trial(_), .. }));
    scene.red();
    assert_eq!(urgency(&scene), Some(Urgency::Trial));
    assert!(Urgency::UrgentTrial < Urgency::Trial && Urgency::Trial < Urgency::UrgentHead);
    assert!(Urgency::UrgentHead < Urgency::Head);
}
