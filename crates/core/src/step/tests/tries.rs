//! Branches that are tried as they would land, without landing.

use super::*;
use crate::effect::outcome;
use crate::effect::{CiPurpose, Conflict};
use crate::event::TryAsk;
use crate::ids::{EntryId, RunId, Target, TryId};
use crate::policy::MergeMethod;
use crate::state::{Try, TryState};
use crate::step::may_try;

const TRY: TryId = TryId(1);

fn ask(head: u32) -> TryAsk {
    TryAsk {
        branch: "alice/fix".into(),
        head: sha(head),
        title: "A fix".into(),
        on: None,
        base: sha(10),
        issue: None,
        pr: None,
        of_agent: false,
        by: "alice".into(),
    }
}

fn asked(policy: Policy, ask: TryAsk) -> Scene {
    let mut scene = Scene::new(policy);
    scene.event(Event::TryAsked { project: project(), ask });
    scene
}

fn tried(scene: &Scene) -> &Try {
    scene.floor.tries.get(&TRY).expect("it is there")
}

/// It is put on its base as that commit.
fn built(scene: &mut Scene, commit: u32) -> &mut Scene {
    let link = Link { commit: sha(commit), tree: TreeId(sha(1_000 + commit)) };
    let links = vec![ChainLink { link, head_tree: TreeId(sha(2_000 + commit)), left_out: 0, inner: vec![] }];
    scene.answer("build_try", Outcome::Chain(outcome::Chain { primary: sha(10), moved: vec![], links }))
}

#[test]
fn it_is_checked_as_it_would_land_and_never_lands() {
    for (verdict, state) in
        [(CiVerdict::Green, "green"), (CiVerdict::Red, "red"), (CiVerdict::Infra, "unknown")]
    {
        let mut scene = asked(Policy::default(), ask(1));
        match &scene.pending[0] {
            Action::BuildTry { base, method: MergeMethod::Merge, entry, target: None, .. } => {
                assert_eq!((base, &entry.head), (&sha(10), &sha(1)));
            }
            other => panic!("{other:?}"),
        }
        built(&mut scene, 30);
        match &scene.pending[0] {
            Action::RunCi { job: None, commit, purpose, about, .. } => {
                assert_eq!((commit, purpose.as_str()), (&sha(30), "try"));
                assert_eq!((about.base.as_ref(), *purpose), (Some(&sha(10)), CiPurpose::Try(TRY)));
            }
            other => panic!("{other:?}"),
        }
        scene.ci(verdict);
        assert_eq!(tried(&scene).state.name(), state);
        // Nothing follows from it: no queue, no status, no landing, and no verdict to land anything by.
        assert!(scene.pending.is_empty(), "{:?}", scene.names());
        assert!(scene.floor.entries.is_empty());
        assert!(scene.floor.queues.iter().all(|q| q.greens.is_empty() && q.plan.trials().next().is_none()));
    }
}

#[test]
fn a_conflict_and_what_cannot_be_found_out_are_told() {
    let mut scene = asked(Policy::default(), ask(1));
    let conflict = Conflict { files: vec!["a.txt".into()], hunks: "<<<<".into() };
    let (entry, primary) = (EntryId(0), sha(10));
    scene.answer(
        "build_try",
        Outcome::ChainConflict(outcome::ChainConflict {
            primary,
            moved: vec![],
            entry,
            with_base: true,
            conflict,
        }),
    );
    let TryState::Conflicted { files, .. } = &tried(&scene).state else { panic!("{:?}", tried(&scene)) };
    assert_eq!((files.as_slice(), scene.noted(NoteKind::MergeConflict)), (&["a.txt".to_owned()][..], 0));
    for fails in ["build_try", "run_ci"] {
        let mut scene = asked(Policy::default(), ask(1));
        if fails == "run_ci" {
            built(&mut scene, 30);
        }
        scene.impossible(fails);
        assert_eq!((tried(&scene).state.name(), scene.pending.len()), ("unknown", 0));
    }
    // Its branch went while it was being built.
    let mut scene = asked(Policy::default(), ask(1));
    scene.answer(
        "build_try",
        Outcome::Chain(outcome::Chain { primary: sha(10), moved: vec![], links: vec![] }),
    );
    assert_eq!(tried(&scene).state.name(), "unknown");
}

#[test]
fn what_has_passed_before_or_brings_nothing_is_not_checked() {
    // Nothing new: it is the base.
    let mut scene = asked(Policy::default(), ask(1));
    built(&mut scene, 10);
    assert_eq!((tried(&scene).state.name(), scene.pending.len()), ("green", 0));
    // Its tree has landed.
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::Published);
    scene.pending.clear();
    scene.event(Event::TryAsked { project: project(), ask: ask(7) });
    built(&mut scene, 20);
    let TryState::Green { run, .. } = tried(&scene).state else { panic!("{:?}", tried(&scene)) };
    assert_eq!((run, scene.has("run_ci")), (Some(RunId(2)), false));
}

#[test]
fn the_same_is_tried_once_others_beside_and_not_without_end() {
    let mut scene = asked(Policy::default(), ask(1));
    scene.event(Event::TryAsked { project: project(), ask: ask(1) });
    assert_eq!((scene.floor.tries.len(), scene.pending.len()), (1, 1));
    let elsewhere = TryAsk { on: Some(Target::try_from("next".to_owned()).expect("a name")), ..ask(1) };
    scene.event(Event::TryAsked { project: project(), ask: TryAsk { of_agent: true, ..elsewhere } });
    match scene.pending.last() {
        Some(Action::BuildTry { target: Some(target), method, .. }) => {
            assert_eq!((target.branch(), *method), ("next", Policy::default().merge_method));
        }
        other => panic!("{other:?}"),
    }
    for head in 2..40 {
        scene.event(Event::TryAsked { project: project(), ask: ask(head) });
    }
    assert_eq!(scene.floor.tries.len(), 20);
    assert!(may_try(&scene.floor, &project()).is_err());
    // Nobody wants to know any more: what runs is ended.
    built(&mut scene, 30);
    scene.event(Event::TryDropped { project: project(), branch: "alice/fix".into() });
    assert!(scene.has("cancel_ci") && scene.floor.tries.iter().all(|t| !t.state.is_live()));
    assert!(may_try(&scene.floor, &project()).is_ok());
    // An answer that comes late changes nothing.
    scene.ci(CiVerdict::Green);
    assert_eq!(tried(&scene).state.name(), "unknown");
}

#[test]
fn a_project_without_checks_is_not_tried_unless_it_wants_none() {
    let unchecked = Policy { has_checks: false, ..Policy::default() };
    let scene = asked(unchecked.clone(), ask(1));
    assert_eq!((scene.floor.tries.len(), scene.noted(NoteKind::StaleSignal)), (0, 1));
    let mut scene = asked(Policy { allow_no_checks: true, ..unchecked }, ask(1));
    built(&mut scene, 30).ci(CiVerdict::NoChecks);
    assert_eq!(tried(&scene).state.name(), "green");
}
