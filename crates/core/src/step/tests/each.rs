//! `check_commits = "each"`: every commit that would land on the first-parent line has passed by itself.

use super::queue::{entry, published, queue, status};
use super::*;
use crate::effect::CiPurpose;
use crate::effect::outcome;
use crate::ids::RunId;
use crate::policy::{CheckCommits, MergeBatch, MergeMethod};
use crate::state::EntryState;

fn policy() -> Policy {
    let (merge_method, check_commits) = (MergeMethod::Rebase, CheckCommits::Each);
    Policy { merge_method, check_commits, ..Policy::default() }
}

fn link(commit: u32) -> Link {
    Link { commit: sha(commit), tree: TreeId(sha(1_000 + commit)) }
}

/// The chain is one link with these commits inside.
fn built(scene: &mut Scene, inner: &[u32], commit: u32, head_tree: u32) {
    let inner = inner.iter().map(|n| link(*n)).collect();
    let links = vec![ChainLink { link: link(commit), head_tree: TreeId(sha(head_tree)), left_out: 0, inner }];
    scene
        .answer("build_chain", Outcome::Chain(outcome::Chain { primary: sha(10), moved: Vec::new(), links }));
}

/// The commits of the run that is under way.
fn run(scene: &Scene) -> Vec<Sha> {
    scene
        .pending
        .iter()
        .find_map(|a| match a {
            Action::RunCi { purpose: CiPurpose::Trial(_), about, .. } => Some(about.each.clone()),
            _ => None,
        })
        .expect("a trial is run")
}

fn red_at(scene: &mut Scene, at: &str) {
    let report = CiReport {
        verdict: CiVerdict::Red,
        step: Some("test".into()),
        excerpt: "e".into(),
        log: "l".into(),
        steps_run: 1,
        at: Some(at.into()),
        duration_ms: 1,
        checks: String::new(),
    };
    scene.answer("run_ci", Outcome::CiFinished(report));
}

#[test]
fn each_commit_is_run_in_order_before_anything_lands() {
    let mut scene = Scene::merging(policy(), 1);
    assert!(matches!(scene.pending.last(), Some(Action::BuildChain { each_commit: true, .. })));
    built(&mut scene, &[18, 19], 20, 2_020);
    assert_eq!(run(&scene), [sha(18), sha(19), sha(20)]);
    scene.ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
    for commit in [18, 19, 20] {
        assert!(queue(&scene).green(&sha(commit)).is_some(), "{commit} is on record");
    }
}

#[test]
fn a_head_that_was_green_says_nothing_of_the_commits_inside() {
    // The candidate has the tree of the head, which passed by itself.
    let mut scene = Scene::merging(policy(), 1);
    built(&mut scene, &[18, 19], 20, 1_020);
    assert_eq!((scene.has("publish"), run(&scene)), (false, vec![sha(18), sha(19)]), "the last is known");
    scene.ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
    // Where only the last counts, nothing is run.
    let last = Policy { check_commits: CheckCommits::Last, ..policy() };
    let mut scene = Scene::merging(last, 1);
    built(&mut scene, &[18, 19], 20, 1_020);
    assert!(scene.has("publish") && !scene.has("run_ci"));
}

#[test]
fn what_is_known_to_be_green_is_not_run_again() {
    let mut scene = Scene::merging(policy(), 1);
    built(&mut scene, &[18, 19], 20, 2_020);
    scene
        .ci(CiVerdict::Green)
        .answer("publish", Outcome::PrimaryMoved(outcome::PrimaryMoved { head: sha(11) }))
        .primary(11);
    // Another base, and the same trees.
    let again = |commit: u32, tree: u32| Link { commit: sha(commit), tree: TreeId(sha(1_000 + tree)) };
    let (link, inner) = (again(30, 20), vec![again(28, 18), again(29, 99)]);
    let links = vec![ChainLink { link, head_tree: TreeId(sha(2_020)), left_out: 0, inner }];
    scene
        .answer("build_chain", Outcome::Chain(outcome::Chain { primary: sha(11), moved: Vec::new(), links }));
    assert_eq!(run(&scene), [sha(29)]);
    scene.ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(11), sha(30))));
}

#[test]
fn a_red_commit_inside_fails_the_entry_and_is_named() {
    let mut scene = Scene::merging(policy(), 1);
    built(&mut scene, &[18, 19], 20, 2_020);
    red_at(&mut scene, "abc123 (first try)");
    built(&mut scene, &[18, 19], 20, 2_020);
    red_at(&mut scene, "abc123 (first try)");
    // The base, of which nobody knew.
    scene.ci(CiVerdict::Green);
    assert_eq!(status(&scene, 1), "failed");
    let EntryState::Failed { reason } = &entry(&scene, 1).state else { panic!("it failed") };
    assert!(reason.contains("abc123 (first try)"), "{reason}");
    let text = &scene.floor.messages.iter().last().expect("a message").text;
    assert!(text.starts_with("MERGE_FAILED") && text.contains("needs_human"), "{text}");
    assert!(!text.contains("Merge the primary branch into yours"), "that would not help: {text}");
}

#[test]
fn what_is_checked_together_lands_as_one_commit_whatever_the_batch_is() {
    let policy = Policy { merge_batch: MergeBatch::Tip, ..policy() };
    assert!(crate::state::Queue::new(crate::ids::QueueId::primary(&project())).terms(&policy).strict);
}

#[test]
fn what_was_found_when_only_the_last_counted_does_not_do_any_more() {
    let mut scene = Scene::merging(Policy { check_commits: CheckCommits::Last, ..policy() }, 1);
    built(&mut scene, &[], 20, 2_020);
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy: policy() });
    scene.ci(CiVerdict::Green);
    assert!(!scene.has("publish"));
    built(&mut scene, &[18], 20, 2_020);
    assert_eq!(run(&scene), [sha(18), sha(20)]);
}

#[test]
fn a_run_of_an_older_program_is_read() {
    let old = r#"{"run":3,"commit":"C","tree":"C","tip":1,"since":5}"#.replace('C', sha(1).as_str());
    let run: crate::state::TrialRun = serde_json::from_str(&old).expect("it is read");
    assert_eq!((run.run, run.each.len(), run.known), (RunId(3), 0, None));
}
