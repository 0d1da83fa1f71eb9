//! What runs, or says what may run, lands with a person's approval of that very change, whoever else has approved it.

use super::*;
use crate::state::PersonsWord;
use crate::step::may_merge;

fn comments(scene: &Scene) -> usize {
    scene.pending.iter().filter(|action| action.name() == "comment_pr").count()
}

/// Under review by an agent, and it changes what is protected.
fn reviewing(policy: Policy) -> Scene {
    let mut scene = Scene::working(policy);
    scene.protected = vec!["AGENTS.md".into()];
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "reviewing");
    scene
}

#[test]
fn an_agents_approval_alone_queues_nothing() {
    let mut scene = reviewing(Policy::default());
    scene.start_session();
    scene.review_by("agent", 1, 1, Verdict::Approve);
    assert_eq!((scene.state(), comments(&scene)), ("reviewing", 1));
    assert!(scene.unread().is_empty(), "its agent waits as before: {:?}", scene.unread());
    let why = may_merge(&scene.floor, scene.job()).expect_err("a person's word is missing");
    assert!(why.contains("AGENTS.md"), "{why}");
    // Nor does asking for it get around that.
    scene.event(Event::MergeAsked { project: project(), issue: IssueNumber(1), urgent: true, alone: false });
    assert_eq!(scene.state(), "reviewing");
    scene.review_by("agent", 2, 1, Verdict::Approve);
    assert_eq!((scene.state(), comments(&scene)), ("reviewing", 1), "people are told once");
    scene.review_by("ann", 3, 1, Verdict::Approve);
    assert_eq!((scene.state(), scene.unread()), ("merging", vec!["Review: APPROVE"]));
}

#[test]
fn a_persons_word_may_come_first_and_may_be_taken_back() {
    let mut scene = reviewing(Policy::default());
    scene.start_session();
    scene.review_by("ann", 1, 1, Verdict::Approve);
    assert_eq!((scene.state(), comments(&scene)), ("merging", 0));

    let mut scene = reviewing(Policy { review_agent: false, ..Policy::default() });
    scene.review_by("ann", 1, 1, Verdict::RequestChanges);
    assert_eq!(scene.state(), "working");
    scene.checking(Phase::AwaitingReview, 2).ci(CiVerdict::Green);
    scene.review_by("agent", 2, 2, Verdict::Approve);
    assert_eq!(scene.state(), "reviewing");
}

#[test]
fn where_no_review_is_required_a_person_is_asked_all_the_same() {
    let policy = Policy { review_required: false, ..Policy::default() };
    let mut scene = reviewing(policy.clone());
    assert_eq!(comments(&scene), 1);
    assert!(!scene.has("start_session"), "no agent could give it");
    scene.review_by("ann", 1, 1, Verdict::Approve);
    assert_eq!(scene.state(), "merging");

    // What touches nothing of the kind goes on by itself; so does everything where nothing is protected.
    let mut scene = Scene::working(policy.clone());
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "merging");
    let mut scene = Scene::working(Policy { protected: Vec::new(), ..policy });
    scene.protected = vec!["AGENTS.md".into()];
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn the_word_is_of_the_change_and_holds_for_its_other_forms() {
    let mut scene = reviewing(Policy::default());
    scene.start_session();
    scene.review_by("ann", 1, 1, Verdict::Approve);
    // The same change on top of another commit; then another change.
    let word = |scene: &Scene, head| scene.floor.persons_word(scene.job(), &sha(head));
    assert_eq!(word(&scene, 1), PersonsWord::Given);
    alter(&mut scene.floor.jobs, &JobId(1), |job| {
        job.known.makes_same_change(&sha(2), &[sha(1)], true);
        job.known.protected.as_mut().expect("looked at").head = sha(2);
    });
    assert_eq!(word(&scene, 2), PersonsWord::Given);
    alter(&mut scene.floor.jobs, &JobId(1), |job| {
        job.known.protected.as_mut().expect("looked at").head = sha(3);
    });
    assert_eq!(word(&scene, 3), PersonsWord::Needed(vec!["AGENTS.md".into()]));
}

/// An older program did not look, and other patterns may be accepted meanwhile.
#[test]
fn what_was_not_looked_at_is_looked_at_first() {
    let mut scene = reviewing(Policy::default());
    scene.start_session();
    let protected = vec!["other/**".to_owned()];
    let policy = Policy { protected, ..Policy::default() };
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy });
    assert_eq!(scene.floor.persons_word(scene.job(), &sha(1)), PersonsWord::Unknown);
    scene.review_by("agent", 1, 1, Verdict::Approve);
    assert_eq!(scene.state(), "publishing");
    scene.protected.clear();
    scene.branch(1).answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR }));
    assert_eq!(scene.state(), "merging");
}

#[test]
fn nobody_says_anything_and_people_are_told_again() {
    let mut scene = reviewing(Policy { review_required: false, ..Policy::default() });
    let told = scene.noted(NoteKind::Escalation);
    scene.now = scene.job().deadline.expect("every wait has one");
    scene.event(Event::Tick);
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("reviewing", told + 1));
}
