//! Commits that cannot be signed: what waits for that holds up nobody else, and can be taken out.

use super::persons_branch::{BRANCH, ask};
use super::queue::{landing, lists, published, queue, queued, status};
use super::*;
use crate::effect::outcome;
use crate::event::BranchAsk;

fn unsigned() -> Policy {
    Policy { merge_slots: 1, merge_signed: true, ..Policy::default() }
}

/// Two are green together and are about to land.
fn landing_of_two() -> Scene {
    let mut scene = queued(unsigned(), 2);
    scene.chain(&[21, 22]).ci(CiVerdict::Green);
    assert_eq!(status(&scene, 1), "merging");
    scene
}

fn not_signed(scene: &mut Scene) {
    scene.answer(
        "build_landing",
        Outcome::NotSigned(outcome::NotSigned { why: "the key is not there".into() }),
    );
}

fn troubles(scene: &Scene) -> Vec<String> {
    let project = scene.floor.projects.iter().next().expect("a project");
    project.troubles.iter().map(|t| format!("{}: {}", t.what, t.why)).collect()
}

#[test]
fn it_is_tried_again_and_shown_until_it_works() {
    let mut scene = landing_of_two();
    not_signed(&mut scene);
    assert_eq!(troubles(&scene), ["sign_commits: the key is not there"]);
    // The lane is free.
    assert!(!scene.has("build_landing"));
    for _ in 0..3 {
        scene.wait(Duration::from_secs(60));
        not_signed(&mut scene);
    }
    assert_eq!((troubles(&scene).len(), scene.noted(NoteKind::Trouble)), (1, 1));
    scene.wait(Duration::from_secs(60));
    landing(&mut scene, &[(30, 22)]);
    assert_eq!(published(&mut scene), Some((sha(10), sha(30))));
    assert_eq!(troubles(&scene), Vec::<String>::new());
}

/// Nobody's answer is lost for good: an effect that was not answered at all is asked for again.
#[test]
fn it_is_not_asked_for_twice_at_once() {
    let mut scene = landing_of_two();
    not_signed(&mut scene);
    scene.wait(Duration::from_secs(60)).wait(Duration::from_secs(60));
    assert_eq!(scene.names().iter().filter(|name| **name == "build_landing").count(), 1);
}

#[test]
fn what_waits_for_a_signature_can_be_taken_out() {
    let mut scene = landing_of_two();
    not_signed(&mut scene);
    scene.event(Event::MergeRefused { project: project(), issue: IssueNumber(1) });
    assert_eq!((status(&scene, 1), status(&scene, 2)), ("cancelled", "preparing"));
    assert_eq!((lists(&scene), queue(&scene).landing.is_some()), (vec![vec![2]], false));
    assert_eq!(troubles(&scene), Vec::<String>::new());
    // What comes late is nobody's.
    scene.wait(Duration::from_secs(60));
    assert!(!scene.has("build_landing"));
}

#[test]
fn what_is_paused_before_it_is_published_waits_and_is_not_run_again() {
    let mut scene = landing_of_two();
    let why = Some("a release".to_owned());
    scene.event(Event::QueuePaused { project: project(), target: None, why, below: None });
    landing(&mut scene, &[(30, 22)]);
    assert_eq!((published(&mut scene), status(&scene, 1)), (None, "queued"));
    scene.event(Event::QueuePaused { project: project(), target: None, why: None, below: None });
    scene.chain(&[21, 22]);
    assert!(!scene.has("run_ci"), "{:?}", scene.names());
    landing(&mut scene, &[(30, 22)]);
    assert_eq!(published(&mut scene), Some((sha(10), sha(30))));
}

#[test]
fn a_newer_head_takes_the_place_of_one_that_waits_for_a_signature() {
    let mut scene = Scene::new(Policy { review_required: false, ..unsigned() });
    scene.event(Event::BranchAsked { project: project(), ask: ask() });
    scene.ci(CiVerdict::Green).primary(10).chain(&[21]).ci(CiVerdict::Green);
    not_signed(&mut scene);
    let newer = BranchAsk { head: sha(2), ..ask() };
    assert_eq!(crate::step::may_queue(&scene.floor, &project(), &newer), Ok(()));
    scene.event(Event::BranchAsked { project: project(), ask: newer });
    let mine = scene.floor.queued_by_person(&project(), BRANCH).expect("it is queued");
    assert_eq!((mine.head.clone(), status(&scene, 1)), (sha(2), "cancelled"));
}
