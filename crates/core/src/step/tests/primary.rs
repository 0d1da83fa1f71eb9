//! Where the primary branch is: moved by others, rewound, deleted, put back, accepted.

use super::queue::{lists, published, queue, status};
use super::*;
use crate::effect::outcome;
use crate::state::LostPrimary;

fn touched(scene: &mut Scene) -> &mut Scene {
    scene.event(Event::PrimaryTouched { project: project(), target: None })
}

fn rewound(scene: &mut Scene, head: u32) -> &mut Scene {
    touched(scene).answer(
        "find_primary",
        Outcome::Primary(outcome::Primary { head: sha(head), continues: false, recorded: true }),
    )
}

fn resume(scene: &mut Scene) -> &mut Scene {
    scene.event(Event::QueuePaused { project: project(), target: None, why: None, below: None })
}

fn known(action: &Action) -> Option<Sha> {
    match action {
        Action::FindPrimary { known, .. } => known.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_push_by_somebody_else_voids_what_is_being_tried() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]);
    touched(&mut scene).ci(CiVerdict::Green);
    // Nothing is published before it is known where the branch is.
    assert!(!scene.has("publish"));
    let before = scene.noted(NoteKind::QueueState);
    scene.primary(11);
    assert_eq!((lists(&scene), scene.noted(NoteKind::QueueState)), (vec![vec![1]], before + 1));
    scene.chain_seen(11, &[21]).ci(CiVerdict::Green);
    assert_eq!(published(&mut scene), Some((sha(11), sha(21))));
}

/// Nothing was queued yet: what was rewound before that would come back with the first branch that has it.
#[test]
fn it_is_on_record_before_it_is_needed() {
    let mut scene = Scene::working(Policy::default());
    touched(&mut scene).primary(10);
    rewound(&mut scene, 9);
    assert!(queue(&scene).lost.is_some());
}

#[test]
fn what_a_person_took_off_it_does_not_come_back() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]);
    scene.pending.clear();
    rewound(&mut scene, 9);
    resume(&mut scene);
    scene.primary(9);
    match scene.pending.iter().find(|a| a.name() == "build_chain") {
        Some(Action::BuildChain { removed, .. }) => assert_eq!(*removed, [sha(9), sha(10)]),
        other => panic!("{other:?}"),
    }
    let link = Link { commit: sha(21), tree: TreeId(sha(1_021)) };
    let links = vec![ChainLink { link, head_tree: TreeId(sha(2_021)), left_out: 2, inner: vec![] }];
    scene.answer("build_chain", Outcome::Chain(outcome::Chain { primary: sha(9), moved: Vec::new(), links }));
    assert!(scene.notes.iter().any(|n| n.text.contains("2 commits that were taken off")));
    scene.ci(CiVerdict::Green).answer("publish", Outcome::Published);
    assert_eq!(status(&scene, 1), "merged");
    assert!(!scene.has("verify_landed"), "not all of its branch landed, and that is meant");
}

#[test]
fn moved_again_while_it_is_looked_for() {
    let mut scene = Scene::merging(Policy::default(), 1);
    touched(&mut scene);
    touched(&mut scene).primary(11);
    assert!(scene.has("find_primary"));
    scene.primary(12);
    assert_eq!(queue(&scene).plan.base(), Some(&sha(12)));
}

#[test]
fn one_that_was_rewound_stops_the_queue_until_it_is_put_back() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]);
    let before = scene.noted(NoteKind::Escalation);
    rewound(&mut scene, 9).ci(CiVerdict::Green);
    assert!(!scene.has("publish") && !scene.has("build_chain"));
    assert_eq!(scene.noted(NoteKind::Escalation), before + 1);
    assert!(queue(&scene).lost.as_ref().is_some_and(|l| l.tell().contains("rewound")));
    // Said once, and asked against what is known to have landed.
    rewound(&mut scene, 9);
    assert_eq!(scene.noted(NoteKind::Escalation), before + 1);
    assert_eq!(queue(&scene).primary_known(), Some(vec![sha(9)]));
    touched(&mut scene);
    assert_eq!(scene.pending.last().map(known), Some(Some(sha(10))));
    scene.primary(10);
    assert_eq!(queue(&scene).lost, None);
    // What was found out on it still holds.
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
}

/// What was pushed to a branch that was rewound, and went when that was put back, does not come with a branch that was
/// begun on it.
#[test]
fn what_was_there_instead_does_not_come_back_either() {
    let mut scene = Scene::merging(Policy::default(), 1);
    let job = scene.job().id;
    alter(&mut scene.floor.jobs, &job, |job| job.known.makes_same_change(&sha(2), &[sha(1)], true));
    rewound(&mut scene, 8);
    assert!(scene.job().known.is_same_change(&sha(1), &sha(2), true));
    rewound(&mut scene, 9);
    assert!(
        !scene.job().known.is_same_change(&sha(1), &sha(2), true),
        "it was found out on top of what is gone"
    );
    touched(&mut scene).primary(10);
    assert_eq!((queue(&scene).lost.clone(), &queue(&scene).removed[..]), (None, &[sha(8), sha(9)][..]));
    rewound(&mut scene, 8);
    resume(&mut scene);
    scene.primary(8);
    assert_eq!(queue(&scene).removed, [sha(9), sha(8), sha(10)]);
}

#[test]
fn a_person_may_accept_it() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]).ci(CiVerdict::Red);
    scene.pending.clear();
    rewound(&mut scene, 9);
    resume(&mut scene);
    assert_eq!(scene.pending.last().map(known), Some(None));
    scene.primary(9);
    assert_eq!((queue(&scene).lost.clone(), queue(&scene).plan.base()), (None, Some(&sha(9))));
    assert_eq!(lists(&scene), [[1]]);
}

#[test]
fn one_that_is_gone_stops_the_queue() {
    let gone = |scene: &mut Scene, name: &str| {
        let before = scene.noted(NoteKind::Escalation);
        if name != "find_primary" {
            scene.answer(name, Outcome::NoPrimary);
        } else {
            touched(scene);
        }
        scene.answer("find_primary", Outcome::NoPrimary);
        assert_eq!(scene.noted(NoteKind::Escalation), before + 1, "{name}");
        assert!(queue(scene).lost.as_ref().is_some_and(|l| l.tell().contains("deleted")), "{name}");
        assert!(!scene.has("build_chain") && !scene.has("publish"), "{name}");
        // Nobody is sent back for it.
        assert_eq!((scene.state(), status(scene, 1)), ("merging", "queued"), "{name}");
        touched(scene).primary(10);
        assert!(scene.has("build_chain"), "{name}");
    };
    let mut scene = Scene::merging(Policy::default(), 1);
    gone(&mut scene, "build_chain");
    let mut scene = Scene::publishing(Policy::default(), 1);
    gone(&mut scene, "publish");
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.event(Event::QueuePaused { project: project(), target: None, why: Some("w".into()), below: None });
    scene.pending.clear();
    touched(&mut scene).answer("find_primary", Outcome::NoPrimary);
    assert!(queue(&scene).lost.is_some());
}

#[test]
fn one_that_was_put_right_while_nobody_saw_it_is_asked_for_at_the_start() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]).ci(CiVerdict::Red);
    scene.pending.clear();
    rewound(&mut scene, 9);
    assert!(queue(&scene).lost.is_some() && !queue(&scene).finding);
    scene.event(Event::Resumed);
    assert!(queue(&scene).finding);
    scene.primary(10);
    assert_eq!(queue(&scene).lost, None);
}

#[test]
fn one_that_never_was_stops_the_queue_as_well() {
    let mut scene = Scene::approved(Policy::default(), 1);
    scene.answer("find_primary", Outcome::NoPrimary);
    assert!(queue(&scene).lost.as_ref().is_some_and(|l| l.tell() == "origin has no primary branch"));
    assert_eq!((scene.state(), status(&scene, 1)), ("merging", "queued"));
    assert_eq!(scene.noted(NoteKind::Escalation), 1);
    touched(&mut scene).primary(10);
    assert!(queue(&scene).lost.is_none() && scene.has("build_chain"));
}

#[test]
fn a_rewind_seen_when_a_publication_fails_is_not_built_upon() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.answer("publish", Outcome::PrimaryMoved(outcome::PrimaryMoved { head: sha(9) }));
    assert!(!scene.has("build_chain"));
    scene.answer(
        "find_primary",
        Outcome::Primary(outcome::Primary { head: sha(9), continues: false, recorded: true }),
    );
    assert!(!scene.has("build_chain") && queue(&scene).lost.is_some());
    assert_eq!(status(&scene, 1), "queued");
}

#[test]
fn an_answer_from_before_a_publication_is_asked_for_again() {
    // Asked while 10 -> 20 was published: an answer compared with 10 says nothing about 20.
    let mut scene = Scene::publishing(Policy::default(), 1);
    touched(&mut scene);
    scene.answer("publish", Outcome::Published);
    scene.answer(
        "find_primary",
        Outcome::Primary(outcome::Primary { head: sha(10), continues: true, recorded: false }),
    );
    assert_eq!(scene.pending.last().map(known), Some(Some(sha(20))));
    scene.answer(
        "find_primary",
        Outcome::Primary(outcome::Primary { head: sha(10), continues: false, recorded: true }),
    );
    assert!(queue(&scene).lost.is_some());
}

#[test]
fn another_primary_branch_is_no_rewind() {
    let mut scene = Scene::merging(Policy::default(), 1);
    let policy = Policy { primary_branch: "trunk".into(), ..Policy::default() };
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy });
    assert_eq!(scene.pending.last().map(known), Some(None));
    scene.primary(30);
    assert_eq!((queue(&scene).plan.base(), queue(&scene).lost.clone()), (Some(&sha(30)), None));
}

fn moved(scene: &mut Scene, head: u32) -> &mut Scene {
    let primary = outcome::Primary { head: sha(head), continues: true, recorded: true };
    touched(scene).answer("find_primary", Outcome::Primary(primary))
}

fn pushed(scene: &mut Scene, branch: &str, old: u32, new: u32) {
    let (branch, by) = (branch.to_owned(), "alice".to_owned());
    scene.event(Event::BranchPushed { project: project(), branch, old: Some(sha(old)), new: sha(new), by });
}

#[test]
fn what_nobody_is_known_to_have_put_there_is_not_built_upon() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]);
    let before = scene.noted(NoteKind::Escalation);
    moved(&mut scene, 11).ci(CiVerdict::Green);
    assert!(!scene.has("publish") && !scene.has("build_chain"));
    assert_eq!(scene.noted(NoteKind::Escalation), before + 1);
    let told = queue(&scene).lost.as_ref().map(LostPrimary::tell).unwrap_or_default();
    assert!(told.contains("not by the merge queue") && told.contains("merge-queue accept"), "{told}");
    // Somebody's push on top of it does not make it theirs.
    pushed(&mut scene, "main", 11, 12);
    moved(&mut scene, 12);
    assert_eq!(queue(&scene).lost.as_ref().and_then(|lost| lost.found.clone()), Some(sha(12)));
    // A person has looked at it.
    resume(&mut scene);
    let primary = outcome::Primary { head: sha(12), continues: true, recorded: true };
    scene.answer("find_primary", Outcome::Primary(primary));
    assert_eq!((queue(&scene).lost.clone(), queue(&scene).plan.base()), (None, Some(&sha(12))));
}

#[test]
fn what_nobody_put_there_and_a_person_took_off_is_forgotten() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]);
    moved(&mut scene, 11);
    moved(&mut scene, 10).ci(CiVerdict::Green);
    assert_eq!((queue(&scene).lost.clone(), &queue(&scene).removed[..]), (None, &[sha(11)][..]));
    assert_eq!(published(&mut scene), Some((sha(10), sha(20))));
}

#[test]
fn peoples_pushes_are_known_one_after_another() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]);
    pushed(&mut scene, "main", 10, 11);
    pushed(&mut scene, "elsewhere", 11, 12);
    pushed(&mut scene, "main", 11, 13);
    moved(&mut scene, 13);
    assert_eq!((queue(&scene).lost.clone(), queue(&scene).plan.base()), (None, Some(&sha(13))));
    assert!(scene.notes.iter().any(|note| note.text.starts_with("alice moved")), "{:?}", scene.notes);
    moved(&mut scene, 12);
    assert!(queue(&scene).lost.is_some(), "that push was to another branch");
}
