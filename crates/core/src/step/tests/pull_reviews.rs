//! Agents' reviews of pull requests that no job carries.

use super::*;
use crate::effect::outcome;
use crate::ids::{Assignment, Role};
use crate::policy::ReviewPeople;
use crate::state::{End, JobState};
use crate::step::{NotReviewed, may_ask_for_review};

const BRANCH: &str = "alice/fix";
/// The only sessions there are: reviewers, one after another.
const FIRST: Epoch = Epoch(1);
const SECOND: Epoch = Epoch(2);

fn policy(people: ReviewPeople) -> Policy {
    Policy { review_people: people, ..Policy::default() }
}

fn shown(head: u32) -> Observation {
    shown_as(PR, BRANCH, head, false)
}

fn shown_as(number: PrNumber, branch: &str, head: u32, ours: bool) -> Observation {
    Observation::Pr {
        number,
        open: true,
        branch: branch.into(),
        head: Some(sha(head)),
        fixes: vec![],
        title: "A fix".into(),
        ours,
        author: String::new(),
        labels: vec![],
        merged: None,
    }
}

fn asks(head: u32) -> Event {
    Event::ReviewAsked { project: project(), pr: PR, branch: BRANCH.into(), head: sha(head) }
}

/// A person's pull request at head 1, under review.
fn under_review(people: ReviewPeople) -> Scene {
    let mut scene = Scene::new(policy(people));
    scene.observe(shown(1));
    if people == ReviewPeople::Ask {
        scene.event(asks(1));
    }
    scene.start_session();
    scene
}

/// What it says is on the forge.
fn posted(scene: &mut Scene, epoch: Epoch, verdict: Verdict) {
    scene.signal(epoch, Phase::Done).answer("collect_review", reviewed(verdict)).done("post_review");
}

#[test]
fn it_is_reviewed_once_and_nothing_else_is_touched() {
    for people in [ReviewPeople::Ask, ReviewPeople::Always] {
        let mut scene = under_review(people);
        assert_eq!(scene.job().state, JobState::Reviewing { head: sha(1) });
        posted(&mut scene, FIRST, Verdict::RequestChanges);
        assert_eq!(scene.names(), ["end_session"]);
        scene.end_session();
        match scene.take("release_worktree") {
            action @ Action::ReleaseWorktree { role: Role::REVIEW, merged: None, .. } => {
                let outcome = Outcome::Released(outcome::Released { rescue: None, note: None });
                scene.event(Event::Performed { action, outcome });
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(scene.job().end(), Some(End::Reviewed));
        assert_eq!(scene.reason(), format!("REQUEST_CHANGES of {}", sha(1).short()));
        // What the forge shows of it starts nothing.
        scene.review_by("agent", 1, 1, Verdict::RequestChanges);
        scene.observe(shown(1)).wait(Duration::from_secs(86_400));
        assert_eq!((scene.floor.jobs.len(), scene.names()), (1, vec!["tidy"]));
    }
}

#[test]
fn who_is_asked_and_when() {
    // Nobody asked, or nobody may.
    for people in [ReviewPeople::Ask, ReviewPeople::Never] {
        assert!(Scene::new(policy(people)).observe(shown(1)).pending.is_empty());
    }
    let mut never = Scene::new(policy(ReviewPeople::Never));
    assert!(never.observe(shown(1)).event(asks(1)).pending.is_empty());
    assert_eq!(may_ask_for_review(&never.floor, &project(), PR, BRANCH), Err(NotReviewed::Never));
    let none = Policy { review_agent: false, ..policy(ReviewPeople::Always) };
    assert!(Scene::new(none).observe(shown(1)).event(asks(1)).pending.is_empty());
    // What the factory opened is its jobs' affair.
    let mut ours = Scene::new(policy(ReviewPeople::Always));
    assert!(ours.observe(shown_as(PR, "fix/issue-9", 1, true)).pending.is_empty());
    // Nor what somebody has decided to queue; but whoever asks is heard.
    let mut queued = Scene::new(policy(ReviewPeople::Always));
    queued.event(Event::BranchAsked { project: project(), ask: super::persons_branch::ask() });
    assert!(!queued.observe(shown(1)).has("start_session"));
    assert!(queued.event(asks(1)).has("start_session"));
    // A job sees to its own.
    let mut scene = Scene::reviewing(Policy::default(), 1);
    let job = may_ask_for_review(&scene.floor, &project(), PR, "fix/issue-1");
    assert_eq!(job, Err(NotReviewed::Job(Assignment::Issue(IssueNumber(1)))));
    scene.event(asks(1));
    assert_eq!(scene.floor.jobs.len(), 1);
}

#[test]
fn asked_again_it_is_reviewed_again_and_a_new_head_only_if_always() {
    for (people, begins) in [(ReviewPeople::Ask, false), (ReviewPeople::Always, true)] {
        let mut scene = under_review(people);
        posted(&mut scene, FIRST, Verdict::Approve);
        scene.settle();
        assert_eq!(scene.observe(shown(2)).has("start_session"), begins);
    }
    let mut scene = under_review(ReviewPeople::Ask);
    // One that is under way is enough.
    assert!(!scene.event(asks(1)).has("start_session"));
    posted(&mut scene, FIRST, Verdict::Approve);
    scene.review_by("agent", 1, 1, Verdict::Approve).settle();
    assert!(scene.event(asks(1)).has("start_session"));
    match scene.take("start_session") {
        Action::StartSession(start) => assert_eq!((start.reviewed, start.head), (None, Some(sha(1)))),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_review_follows_the_branch() {
    let mut scene = under_review(ReviewPeople::Ask);
    let head = Some(sha(2));
    scene.event(Event::BranchTouched { project: project(), branch: BRANCH.into(), head });
    assert_eq!(scene.job().state, JobState::Reviewing { head: sha(2) });
    assert_eq!(scene.names(), ["move_pr", "end_session"]);
    // What it said of the old head meanwhile ends nothing; never two in one worktree.
    scene.end_session().start_session();
    let heads: Vec<_> = scene.floor.sessions.iter().map(|s| s.review.head.clone()).collect();
    assert_eq!(heads, [Some(sha(1)), Some(sha(2))]);
    posted(&mut scene, SECOND, Verdict::Approve);
    scene.settle();
    assert_eq!(scene.reason(), format!("APPROVE of {}", sha(2).short()));

    // The old head's review was on its way: it is posted, and the new head is reviewed all the same.
    let mut scene = under_review(ReviewPeople::Always);
    scene.signal(FIRST, Phase::Done).answer("collect_review", reviewed(Verdict::Approve));
    scene.observe(shown(2)).done("post_review");
    assert_eq!(scene.state(), "reviewing");
    scene.end_session().start_session();
    posted(&mut scene, SECOND, Verdict::Approve);
    scene.settle();
    assert_eq!(scene.job().end(), Some(End::Reviewed));
}

#[test]
fn a_reviewer_that_leaves_nothing_is_replaced_and_then_its_author_is_told() {
    let mut scene = under_review(ReviewPeople::Always);
    for reviewer in [FIRST, SECOND] {
        let unusable =
            Outcome::ReviewUnusable(outcome::ReviewUnusable { why: "its verdict \"ok\" is none".into() });
        scene.signal(reviewer, Phase::Done).answer("collect_review", unusable);
        if reviewer == FIRST {
            scene.end_session().start_session();
        }
    }
    assert!(scene.has("comment_pr") && !scene.has("comment") && !scene.has("edit_labels"));
    scene.settle();
    assert_eq!(scene.job().end(), Some(End::Failed));
    // Not over and over; unless somebody asks.
    assert!(!scene.observe(shown(1)).has("start_session"));
    assert!(scene.event(asks(1)).has("start_session"));
}

#[test]
fn it_ends_with_the_pull_request_or_when_a_person_or_a_job_takes_over() {
    let closed = Event::Observed { project: project(), page: Page::of(closed_pull(PR)) };
    let cancelled = Event::Cancelled { project: project(), issue: IssueNumber(PR.0) };
    for event in [closed, cancelled] {
        let mut scene = under_review(ReviewPeople::Always);
        scene.event(event).settle();
        assert_eq!(scene.job().end(), Some(End::Cancelled));
    }
    // An issue that asks for work goes on with it.
    let mut scene = under_review(ReviewPeople::Always);
    let fixes = Observation::Pr {
        number: PR,
        open: true,
        branch: BRANCH.into(),
        head: Some(sha(1)),
        fixes: vec![IssueNumber(7)],
        title: String::new(),
        ours: false,
        author: String::new(),
        labels: vec![],
        merged: None,
    };
    scene.observe(fixes).issue(7, &["backlog"], &[]);
    assert_eq!(scene.reason(), "the job of issue #7 continues it");
    assert_eq!(scene.floor.job_on(&project(), BRANCH).and_then(Job::issue), Some(IssueNumber(7)));
}

#[test]
fn reviews_are_bounded_and_take_no_jobs_place() {
    let mut scene = Scene::new(Policy { max_jobs: 2, ..policy(ReviewPeople::Always) });
    for n in 0..5 {
        scene.observe(shown_as(PrNumber(200 + n), &format!("alice/{n}"), 1, false));
    }
    let starts = |scene: &Scene| scene.names().iter().filter(|n| **n == "start_session").count();
    assert_eq!(starts(&scene), 2);
    scene.issue(1, &["backlog"], &[]).issue(2, &["backlog"], &[]);
    assert_eq!(scene.floor.live_jobs(&project()).count(), 2);
    // The next begins when one has ended.
    scene.start_session();
    posted(&mut scene, FIRST, Verdict::Approve);
    scene.end_session();
    let outcome = Outcome::Released(outcome::Released { rescue: None, note: None });
    scene.answer("release_worktree", outcome);
    assert_eq!(scene.floor.all_live_jobs(&project()).filter(|j| j.is_review()).count(), 2);
}

#[test]
fn a_paused_project_begins_none_and_goes_on_later() {
    let pause = Event::WorkPaused { project: None, why: "lunch".into() };
    let mut scene = Scene::new(policy(ReviewPeople::Always));
    scene.event(pause).observe(shown(1));
    assert_eq!(scene.floor.jobs.len(), 0);
    scene.event(Event::WorkResumed { project: None });
    assert!(scene.has("start_session"));
}

#[test]
fn what_its_reviewer_asks_can_be_answered() {
    let mut scene = under_review(ReviewPeople::Always);
    scene.asks_to("May I?");
    let question = scene.ask().expect("it asks").id;
    let (issue, text) = (Some(IssueNumber(PR.0)), "1".to_owned());
    scene.event(Event::Answered { project: project(), issue, text, question: Some(question) });
    assert_eq!(scene.ask().expect("still up").answer.as_deref(), Some("1"));
}

#[test]
fn where_a_reviewer_could_not_be_ended_no_other_begins() {
    let mut scene = under_review(ReviewPeople::Always);
    posted(&mut scene, FIRST, Verdict::Approve);
    scene.impossible("end_session");
    assert_eq!(scene.job().end(), Some(End::Reviewed));
    assert!(!scene.observe(shown(2)).event(asks(2)).has("start_session"));
    // When it has ended by itself.
    assert!(scene.exited(FIRST, Some(0)).has("start_session"));
}

#[test]
fn it_ends_with_its_review_also_if_the_reviewer_ended_before() {
    let mut scene = under_review(ReviewPeople::Ask);
    scene.signal(FIRST, Phase::Done).answer("collect_review", reviewed(Verdict::Approve));
    scene.exited(FIRST, Some(0)).end_session();
    assert_eq!(scene.state(), "reviewing");
    let mut lost = under_review(ReviewPeople::Ask);
    lost.signal(FIRST, Phase::Done).answer("collect_review", reviewed(Verdict::Approve));
    lost.exited(FIRST, Some(0)).end_session().impossible("post_review");
    assert!(lost.has("comment_pr"));
    scene.done("post_review");
    // Asked again before all of it is gone: another follows.
    assert_eq!(scene.state(), "finishing");
    scene
        .event(asks(2))
        .answer("release_worktree", Outcome::Released(outcome::Released { rescue: None, note: None }));
    assert_eq!((scene.job().end(), scene.has("start_session")), (Some(End::Reviewed), true));
}

#[test]
fn what_is_asked_of_one_that_was_not_seen_waits_until_it_is() {
    let mut scene = Scene::new(policy(ReviewPeople::Ask));
    assert!(!scene.event(asks(1)).has("start_session"));
    assert!(scene.observe(shown(1)).has("start_session"));
}
