//! Reviews count for the exact head, whoever wrote them and whenever they came.

use super::*;
use crate::effect::outcome;

/// A reviewer whose messages are typed has said that it is done.
fn typed_reviewer_done() -> Scene {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.start_session();
    alter(&mut scene.floor.sessions, &REVIEWER, |reviewer| reviewer.client.typed = true);
    scene.signal(REVIEWER, Phase::Done);
    scene
}

fn unusable() -> Outcome {
    Outcome::ReviewUnusable(outcome::ReviewUnusable { why: "its verdict \"ok\" is none".into() })
}

#[test]
fn a_result_that_is_of_no_use_may_be_repaired_once() {
    let mut scene = typed_reviewer_done();
    scene.answer("collect_review", unusable());
    assert_eq!((scene.state(), scene.unread()), ("reviewing", vec!["RESULT unusable"]));
    assert!(!scene.has("end_session"));
    // What it writes now is looked at when it says that it is done.
    scene.signal(REVIEWER, Phase::Done).answer("collect_review", reviewed(Verdict::Approve));
    assert!(scene.has("post_review"));

    let mut scene = typed_reviewer_done();
    scene.answer("collect_review", unusable());
    // What it says before it has read that is not held against it.
    scene.signal(REVIEWER, Phase::Done).answer("collect_review", unusable());
    assert!(!scene.has("end_session"));
    let message = scene.floor.next_message(REVIEWER).expect("the repair").id;
    scene.event(Event::MessageTaken { message, epoch: REVIEWER });
    scene.signal(REVIEWER, Phase::Done).answer("collect_review", unusable());
    assert!(scene.has("end_session"), "another reviewer takes its place");
}

fn reviewing() -> Scene {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.start_session();
    scene
}

#[test]
fn an_approval_of_the_head_queues_it() {
    let mut scene = reviewing();
    scene.review(1, 1, Verdict::Approve);
    assert_eq!((scene.state(), scene.unread()), ("merging", vec!["Review: APPROVE"]));
    assert!(scene.has("end_session"), "the reviewer is not needed any more");
}

#[test]
fn a_request_for_changes_or_a_discussion_is_the_agents_turn() {
    for verdict in [Verdict::RequestChanges, Verdict::Discuss] {
        let mut scene = reviewing();
        scene.review(1, 1, verdict);
        let first = format!("Review: {}", verdict.as_str());
        assert_eq!((scene.state(), scene.unread()), ("working", vec![first.as_str()]));
        // The same head again: the same review again, under its own name.
        scene.checking(Phase::AwaitingReview, 1);
        assert_eq!((scene.state(), scene.unread().pop()), ("working", Some(first.as_str())));
    }
}

#[test]
fn rounds_are_bounded() {
    let mut scene = Scene::reviewing(Policy { review_agent: false, ..Policy::default() }, 1);
    for round in 1..=5 {
        scene.review(round.into(), round, Verdict::RequestChanges);
        assert_eq!(scene.state(), "working");
        scene.checking(Phase::AwaitingReview, round + 1).ci(CiVerdict::Green);
    }
    scene.review(6, 6, Verdict::RequestChanges);
    assert!(scene.reason().contains("5 rounds"), "{}", scene.reason());
}

#[test]
fn a_review_of_another_head_does_not_count() {
    let mut scene = reviewing();
    scene.review(1, 7, Verdict::Approve);
    assert_eq!(scene.state(), "reviewing");
}

#[test]
fn a_review_that_came_early_counts_when_it_is_waited_for() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1);
    scene.review(1, 1, Verdict::Approve).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "working");
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!(scene.state(), "merging");
    assert!(!scene.has("start_session"), "no reviewer for what is approved");
}

#[test]
fn an_older_review_seen_again_changes_nothing() {
    let mut scene = reviewing();
    scene.review(5, 1, Verdict::RequestChanges);
    scene.review(4, 1, Verdict::Approve).review(5, 1, Verdict::RequestChanges);
    assert_eq!(scene.state(), "working");
    assert_eq!(scene.unread().len(), 1);
}

#[test]
fn without_a_review_required_green_is_enough() {
    let mut scene = Scene::working(Policy { review_required: false, ..Policy::default() });
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn a_reviewers_result_is_collected_posted_and_observed() {
    let mut scene = reviewing();
    scene.signal(REVIEWER, Phase::Done);
    scene.answer("collect_review", reviewed(Verdict::Approve)).done("post_review");
    assert_eq!(scene.state(), "reviewing", "only what the forge shows counts");
    scene.end_session().review(1, 1, Verdict::Approve);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn what_a_reviewer_said_of_an_old_head_is_not_said_of_the_new_one() {
    let mut scene = reviewing();
    scene.checking(Phase::AwaitingReview, 2).ci(CiVerdict::Green);
    assert_eq!(scene.state(), "reviewing");
    scene.signal(REVIEWER, Phase::Done);
    assert!(!scene.has("collect_review"));
    assert!(!scene.has("start_session"), "not before the old reviewer is gone");
    scene.end_session();
    let Action::StartSession(start) = scene.take("start_session") else { unreachable!() };
    assert_eq!(start.head, Some(sha(2)));
}

#[test]
fn a_result_that_came_while_nobody_waited_is_collected_later() {
    let mut scene = reviewing();
    scene.signal(DEV, Phase::AwaitingReview);
    scene.signal(REVIEWER, Phase::Done);
    assert!(!scene.has("collect_review"));
    scene.branch(1).answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR }));
    assert_eq!(scene.state(), "reviewing");
    assert!(scene.has("collect_review"));
}

#[test]
fn a_reviewer_that_fails_is_replaced_once_and_then_a_person_is_asked() {
    let mut scene = reviewing();
    scene.exited(REVIEWER, Some(1));
    assert!(!scene.has("collect_review"), "what one that died leaves may be a draft");
    assert!(!scene.has("start_session"), "never two reviewers in one worktree");
    scene.end_session();
    scene.start_session().signal(Epoch(3), Phase::Failed);
    assert!(scene.has("comment"));
    assert_eq!(scene.noted(NoteKind::Escalation), 1);
    scene.end_session();
    assert!(!scene.has("start_session"));
    // Signalling again does not buy more reviewers.
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!((scene.state(), scene.has("start_session")), ("reviewing", false));
}

#[test]
fn no_second_reviewer_beside_one_that_cannot_be_ended() {
    let mut scene = reviewing();
    scene.signal(REVIEWER, Phase::Failed);
    assert!(!scene.has("start_session"));
    scene.impossible("end_session");
    assert!(!scene.has("start_session") && scene.has("comment"));
}

#[test]
fn what_a_reviewer_writes_is_a_draft_until_it_is_done_or_ends() {
    for ends in [false, true] {
        let mut scene = reviewing();
        for _ in 0..15 {
            scene.event(Event::ResultWritten { epoch: REVIEWER });
        }
        // Nor is it looked at because the agent signals again.
        scene.checking(Phase::AwaitingReview, 1);
        assert_eq!((scene.state(), scene.has("collect_review")), ("reviewing", false));
        match ends {
            true => scene.exited(REVIEWER, Some(0)),
            false => scene.signal(REVIEWER, Phase::Done),
        };
        let Action::CollectReview { moved, .. } = scene.take("collect_review") else { unreachable!() };
        assert!(!moved, "whatever was in the result's place is gone: it need not name its commit");
        assert!(!scene.has("collect_review"));
    }
}

#[test]
fn a_reviewer_that_may_have_found_an_old_result_has_to_name_its_commit() {
    let mut scene = reviewing();
    // One that an older program started.
    alter(&mut scene.floor.sessions, &REVIEWER, |reviewer| reviewer.review.verdict.cleared = false);
    scene.signal(REVIEWER, Phase::Done);
    let Action::CollectReview { moved, .. } = scene.take("collect_review") else { unreachable!() };
    assert!(moved);
}

#[test]
fn one_cause_is_one_escalation_and_the_next_reviewer_is_told() {
    let mut scene = reviewing();
    let huge = || {
        Outcome::ReviewUnusable(outcome::ReviewUnusable {
            why: format!("it has {} bytes\n\u{1b}[2J", "9".repeat(999)),
        })
    };
    for (epoch, more) in [(REVIEWER, true), (Epoch(3), false)] {
        // Done, ended, and at it still: each is looked at, and all of them say the same.
        scene.signal(epoch, Phase::Done).signal(epoch, Phase::Done);
        scene.answer("collect_review", huge()).answer("collect_review", huge());
        scene.end_session().exited(epoch, Some(0));
        assert_eq!(scene.has("start_session"), more);
        if more {
            let at = scene.pending.iter().position(|a| a.name() == "start_session").expect("a start");
            let Action::StartSession(start) = &scene.pending[at] else { unreachable!() };
            let told = start.trouble.clone().expect("what was wrong");
            assert!(
                told.starts_with("the review cannot be used: it has 99")
                    && told.len() < 400
                    && !told.contains('\u{1b}'),
                "{told}"
            );
            scene.start_session();
        }
    }
    assert_eq!((scene.noted(NoteKind::ReviewUnusable), scene.noted(NoteKind::Escalation)), (2, 1));
    let recorded = |a: &&Action| matches!(a, Action::Escalate { trigger, .. } if trigger == "no_review");
    assert_eq!(scene.pending.iter().filter(recorded).count(), 1);
    assert_eq!(scene.noted(NoteKind::StaleSignal), 0);
    // A review that is usable is the end of it.
    scene.review(1, 1, Verdict::RequestChanges).checking(Phase::AwaitingReview, 2).ci(CiVerdict::Green);
    scene.start_session().signal(Epoch(4), Phase::Done).answer("collect_review", reviewed(Verdict::Approve));
    assert_eq!(scene.job().memo.review_trouble, None);
}

#[test]
fn a_later_request_for_changes_takes_the_change_out_of_the_queue() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.review(2, 1, Verdict::RequestChanges);
    assert_eq!(scene.state(), "working");
    scene.chain(&[20]);
    assert!(!scene.has("run_ci") && !scene.has("publish"));
}

#[test]
fn a_request_for_changes_during_the_publication_is_heeded_if_it_does_not_land() {
    let mut scene = Scene::publishing(Policy::default(), 1);
    scene.review(2, 1, Verdict::RequestChanges);
    assert_eq!(scene.state(), "merging");
    scene.answer("publish", Outcome::PrimaryMoved(outcome::PrimaryMoved { head: sha(11) }));
    assert_eq!(scene.state(), "working");
    scene.primary(11);
    assert!(!scene.has("build_chain") && !scene.has("run_ci"));
}

/// The head is published, and green.
fn next_head(scene: &mut Scene, head: u32, same_as: &[u32]) {
    let epoch = scene.job().session.expect("there is an agent");
    scene.signal(epoch, Phase::AwaitingReview).branch_like(head, same_as);
    scene.answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR })).ci(CiVerdict::Green);
}

fn by_people() -> Policy {
    Policy { review_agent: false, ..Policy::default() }
}

#[test]
fn an_approval_holds_for_the_same_change_and_for_no_other() {
    for (same_as, state) in [(&[1][..], "merging"), (&[], "reviewing")] {
        let mut scene = Scene::working(by_people());
        next_head(&mut scene, 1, &[]);
        scene.review(1, 1, Verdict::Approve);
        assert_eq!(scene.state(), "merging");
        scene.primary(10);
        // The branch moves in the queue: rebased, or changed.
        let Action::BuildChain { list, .. } = scene.pending.last().expect("a chain").clone() else {
            panic!("{:?}", scene.names())
        };
        let moved = vec![crate::effect::MovedBranch { entry: list[0].entry, head: Some(sha(2)) }];
        let link = Link { commit: sha(20), tree: TreeId(sha(1_020)) };
        let links = vec![ChainLink { link, head_tree: TreeId(sha(2_020)), left_out: 0, inner: vec![] }];
        scene.answer("build_chain", Outcome::Chain(outcome::Chain { primary: sha(10), moved, links }));
        let Some(Action::PushBranch { reviewed, .. }) = scene.pending.last() else {
            panic!("{:?}", scene.names())
        };
        assert_eq!(*reviewed, [sha(1)]);
        scene.branch_like(2, same_as).answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR }));
        scene.ci(CiVerdict::Green);
        assert_eq!(scene.state(), state);
        let carried = |n: &&Note| n.kind == NoteKind::ReviewResult && n.text.contains("holds for");
        assert_eq!(scene.notes.iter().filter(carried).count(), same_as.len());
    }
}

#[test]
fn an_approval_goes_from_head_to_head_as_it_will_land() {
    let published = |policy: &Policy| {
        let mut scene = Scene::reviewing(policy.clone(), 1);
        for head in 2..=3 {
            scene.event(Event::BranchTouched {
                project: project(),
                branch: scene.job().branch.clone(),
                head: Some(sha(head)),
            });
            scene
                .branch_like(head, &[head - 1])
                .answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR }));
            scene.ci(CiVerdict::Green);
        }
        scene
    };
    let mut scene = published(&by_people());
    scene.review(1, 1, Verdict::Approve);
    assert_eq!(scene.state(), "merging", "3 is 2 is 1");
    // What was compared as a whole says nothing of commits that land one by one.
    let mut scene = published(&by_people());
    let one_by_one = Policy { merge_method: crate::policy::MergeMethod::Rebase, ..by_people() };
    let checkout = scene.floor.projects.get(&project()).expect("a project").checkout.clone();
    scene.event(Event::ProjectSet { project: project(), checkout, policy: one_by_one });
    scene.review(1, 1, Verdict::Approve);
    assert_eq!(scene.state(), "reviewing");
}

#[test]
fn of_a_change_that_is_like_none_only_the_commit_counts() {
    let mut scene = Scene::working(by_people());
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green).review(1, 7, Verdict::Approve);
    assert_eq!(scene.state(), "reviewing");
}

#[test]
fn a_persons_request_for_changes_stands_until_a_person_lifts_it() {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    scene.start_session();
    scene.review_by("ann", 1, 1, Verdict::RequestChanges).end_session();
    next_head(&mut scene, 2, &[]);
    scene.start_session().review_by("agent", 2, 2, Verdict::Approve);
    assert_eq!((scene.state(), scene.noted(NoteKind::Escalation)), ("reviewing", 1));
    assert!(scene.has("comment"), "the person is told");
    let why = crate::step::may_merge(&scene.floor, scene.job()).unwrap_err();
    assert!(why.contains("ann asked for changes"), "{why}");
    // Something that is only said lifts nothing, and neither does an approval of another head.
    scene.review_by("ann", 3, 1, Verdict::Approve).review_by("ann", 4, 1, Verdict::RequestChanges);
    assert_eq!(scene.state(), "reviewing");
    scene.review_by("ann", 5, 2, Verdict::Approve);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn another_person_may_lift_it_and_an_agents_request_is_lifted_by_its_next_verdict() {
    let mut scene = Scene::reviewing(by_people(), 1);
    scene.review_by("ann", 1, 1, Verdict::RequestChanges);
    next_head(&mut scene, 2, &[]);
    scene.review_by("bob", 2, 2, Verdict::Approve);
    assert_eq!(scene.state(), "merging");

    let mut scene = Scene::reviewing(by_people(), 1);
    scene.review_by("agent", 1, 1, Verdict::RequestChanges);
    next_head(&mut scene, 2, &[]);
    scene.review_by("agent", 2, 2, Verdict::Approve);
    assert_eq!(scene.state(), "merging");
}

#[test]
fn an_objection_takes_the_change_out_of_the_queue_whatever_head_it_is_of() {
    let mut scene = Scene::reviewing(by_people(), 1);
    scene.review_by("agent", 1, 1, Verdict::Approve).primary(10);
    scene.review_by("ann", 2, 7, Verdict::RequestChanges);
    assert_eq!(scene.state(), "reviewing");
    scene.chain(&[20]);
    assert!(!scene.has("run_ci") && !scene.has("publish"));
}

#[test]
fn a_change_that_was_refused_is_not_reviewed_again_as_it_is() {
    let mut scene = Scene::reviewing(by_people(), 1);
    scene.review(1, 1, Verdict::RequestChanges);
    for _ in 0..2 {
        scene.checking(Phase::AwaitingReview, 1);
        assert_eq!(scene.state(), "working");
        assert!(!scene.has("start_session"));
    }
    scene.checking(Phase::AwaitingReview, 1);
    assert!(scene.reason().contains("what was reviewed"), "{}", scene.reason());
    assert_eq!(scene.job().rounds.review_rounds, 1);
}

#[test]
fn what_was_approved_and_came_back_from_the_queue_as_it_was_needs_no_other_review() {
    let mut scene = Scene::merging(Policy::default(), 1);
    scene.chain(&[20]).ci(CiVerdict::Red).chain(&[20]).ci(CiVerdict::Red);
    scene.ci(CiVerdict::Green);
    assert_eq!(scene.state(), "working");
    scene.checking(Phase::AwaitingReview, 1);
    assert_eq!((scene.state(), scene.has("start_session")), ("merging", false));
}

#[test]
fn a_review_that_comes_before_the_job_knows_its_pull_request_counts() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::AwaitingReview).branch(1);
    scene.review(1, 1, Verdict::Approve);
    scene.answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR })).ci(CiVerdict::Green);
    assert_eq!((scene.state(), scene.has("start_session")), ("merging", false));
    // And goes with the pull request.
    scene.observe(closed_pull(PR));
    assert!(scene.floor.pulls.is_empty());
}

#[test]
fn what_an_older_program_kept_with_the_job_is_taken_over() {
    let mut scene = Scene::reviewing(by_people(), 1);
    let old = format!(
        r#"{{"id":3,"head":"{}","verdict":"REQUEST_CHANGES","text":"t","author":"shopfloor"}}"#,
        sha(1)
    );
    let mut job = serde_json::to_value(scene.job()).unwrap();
    job["review"] = serde_json::from_str(&old).unwrap();
    job.as_object_mut().unwrap().remove("same_changes");
    scene.floor.jobs.load(serde_json::from_value(job).unwrap());
    scene.event(Event::Resumed);
    let pull = scene.floor.pull_of(scene.job()).expect("a pull request");
    assert_eq!((pull.reviews[0].id, pull.reviews[0].agent, scene.job().review.is_none()), (3, true, true));
}

#[test]
fn what_is_kept_of_reviews_is_bounded() {
    let mut pull = crate::state::Pull::new(project(), PR);
    let review = |id: u64| crate::state::SeenReview {
        id,
        head: sha(id as u32),
        verdict: Verdict::RequestChanges,
        text: "t".into(),
        author: if id == 1 { "ann".into() } else { "agent".into() },
        agent: id > 1,
    };
    assert!((1..=100).all(|id| pull.see(review(id))) && !pull.see(review(50 + 50)));
    assert_eq!((pull.reviews.len(), pull.reviews.iter().filter(|r| !r.text.is_empty()).count()), (40, 4));
    assert_eq!(pull.objection().map(|r| r.id), Some(1), "a person's word stays");
}

#[test]
fn what_its_author_took_back_says_nothing() {
    let mut scene = Scene::reviewing(by_people(), 1);
    scene.review(2, 1, Verdict::Approve);
    let (text, author, verdict) = ("t".into(), "someone".into(), Verdict::RequestChanges);
    let (pr, head, agent, dismissed) = (PR, sha(1), false, true);
    scene.observe(Observation::Review { pr, head, verdict, text, author, agent, dismissed, id: 1 });
    assert_eq!(scene.state(), "merging");
}
