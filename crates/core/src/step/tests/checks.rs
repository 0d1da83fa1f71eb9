//! From a signal to a verdict on the exact head.

use super::*;
use crate::effect::outcome;

fn checking() -> Scene {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1);
    assert_eq!(scene.state(), "checking");
    scene
}

#[track_caller]
fn check(verdict: CiVerdict, state: &str, told: &[&str]) {
    let mut scene = checking();
    scene.ci(verdict);
    assert_eq!(scene.state(), state, "{verdict:?}");
    assert_eq!(scene.unread(), told, "{verdict:?}");
}

#[test]
fn each_verdict_has_its_consequence() {
    check(CiVerdict::Green, "working", &["CI passed"]);
    // What is red is run once more before anybody is told.
    check(CiVerdict::Red, "checking", &[]);
    check(CiVerdict::TimedOut, "checking", &[]);
    check(CiVerdict::Infra, "retrying", &[]);
    check(CiVerdict::NoChecks, "finishing", &[]);
}

#[test]
fn no_checks_are_green_only_if_the_project_says_so() {
    let mut scene = Scene::working(Policy { allow_no_checks: true, ..Policy::default() });
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::NoChecks);
    assert_eq!(scene.unread(), ["CI passed"]);
}

#[test]
fn trouble_of_the_machinery_is_retried_twice_and_costs_no_fix() {
    let mut scene = checking();
    for pause in [30, 60] {
        scene.ci(CiVerdict::Infra).wait(Duration::from_secs(pause - 1));
        assert_eq!((scene.state(), scene.has("run_ci")), ("retrying", false));
        scene.wait(Duration::from_secs(1));
        assert_eq!((scene.state(), scene.job().rounds.ci_fixes), ("checking", 0));
    }
    scene.ci(CiVerdict::Infra);
    assert!(scene.reason().contains("the checks cannot run"), "{}", scene.reason());
}

#[test]
fn a_change_of_paths_that_need_no_checks_is_green_only_if_the_project_says_so() {
    let mut scene = Scene::working(Policy { may_skip_checks: true, ..Policy::default() });
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::Skipped);
    assert_eq!(scene.unread(), ["CI passed"]);
    let skipped =
        |a: &Action| matches!(a, Action::PostStatus { text, .. } if text.starts_with("checks skipped"));
    assert!(scene.pending.iter().any(skipped), "it is on record");
    // By a configuration that is not in force any more: they are run.
    let mut scene = checking();
    scene.ci(CiVerdict::Skipped);
    assert_eq!((scene.state(), scene.has("run_ci")), ("checking", true));
}

#[test]
fn fixes_are_counted_and_a_green_run_counts_anew() {
    let mut scene = checking();
    scene.red();
    scene.checking(Phase::AwaitingCi, 2).ci(CiVerdict::Red).ci(CiVerdict::TimedOut);
    assert_eq!(scene.job().rounds.ci_fixes, 2);
    scene.checking(Phase::AwaitingCi, 3).ci(CiVerdict::Green);
    assert_eq!(scene.job().rounds.ci_fixes, 0);
    for head in 4..=6 {
        scene.checking(Phase::AwaitingCi, head).red();
        assert_eq!(scene.state(), "working");
    }
    scene.checking(Phase::AwaitingCi, 7).red();
    assert!(scene.reason().contains("CI failed 4 times"), "{}", scene.reason());
}

#[test]
fn back_and_forth_between_green_and_red_has_an_end() {
    let mut scene = checking();
    let mut runs = 1;
    loop {
        if runs % 2 == 0 {
            scene.red();
        } else {
            scene.ci(CiVerdict::Green);
        }
        scene.checking(Phase::AwaitingCi, runs + 1);
        if scene.state() != "checking" {
            break;
        }
        runs += 1;
        assert!(runs < 100);
    }
    // Every second is red and was run twice.
    assert_eq!((runs, scene.job().rounds.ci_runs), (27, 41));
}

#[test]
fn a_green_head_is_not_checked_again_and_asking_on_and_on_is_not_work() {
    let mut scene = checking();
    scene.ci(CiVerdict::Green);
    for _ in 0..2 {
        scene.checking(Phase::AwaitingCi, 1);
        assert_eq!(scene.state(), "working");
        assert!(!scene.has("run_ci"));
    }
    scene.checking(Phase::AwaitingCi, 1);
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn an_empty_or_unpushable_branch_is_the_agents_to_sort_out() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::AwaitingCi).branch(0);
    assert_eq!((scene.state(), scene.unread()), ("working", vec!["CI failed"]));
    let note = Some("not a fast-forward".to_owned());
    scene.signal(DEV, Phase::AwaitingCi);
    scene.answer(
        "publish_branch",
        Outcome::Branch(outcome::Branch {
            head: sha(1),
            ahead: 1,
            dirty: 0,
            note,
            same_as: Vec::new(),
            protected: Vec::new(),
            base: None,
        }),
    );
    assert_eq!(scene.unread().len(), 2);
    assert!(!scene.has("open_pr"));
}

#[test]
fn a_verdict_that_is_not_waited_for_is_kept_but_moves_nothing() {
    let mut scene = checking();
    let old = scene.take("run_ci");
    scene.checking(Phase::AwaitingCi, 2);
    scene.pending.insert(0, old);
    scene.ci(CiVerdict::Green);
    assert_eq!(scene.state(), "checking");
    assert_eq!(scene.job().known.green.as_ref().map(|g| g.commit()), Some(&sha(1)));
    scene.red();
    assert_eq!(scene.unread(), ["CI failed"]);
}

#[test]
fn an_old_run_that_cannot_run_does_not_end_the_job() {
    let mut scene = checking();
    let old = scene.take("run_ci");
    scene.checking(Phase::AwaitingCi, 2);
    scene.pending.insert(0, old);
    scene.impossible("run_ci");
    assert_eq!(scene.state(), "checking");
    scene.impossible("run_ci");
    assert_eq!(scene.state(), "finishing");
}

#[test]
fn without_an_agent_a_green_head_goes_straight_to_review() {
    let mut scene = checking();
    scene.exited(DEV, Some(0)).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "reviewing");
}

#[test]
fn a_newer_signal_wins_over_an_older_look_at_the_branch() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::AwaitingCi).signal(DEV, Phase::AwaitingReview);
    scene.branch(1).branch(2);
    scene.answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR }));
    assert_eq!(scene.state(), "publishing");
    scene.answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR })).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "reviewing");
    assert_eq!(scene.job().head, Some(sha(2)));
}
