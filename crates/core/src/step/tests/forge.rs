//! The mirror of the forge: what people say there is heard once, what a review suggests becomes an issue, and a call
//! waits for others about the same thing only.

use super::*;
use crate::effect::{FollowUp, outcome};
use crate::forge::{Cursor, Subject};

fn comment(on: Subject, id: u64, revision: u64) -> Observation {
    let (author, text) = ("ann".into(), "/shopfloor retry".into());
    Observation::Comment { on, id, author, text, revision, created_at: Time(1) }
}

#[test]
fn what_a_person_says_is_kept_as_heard_until_they_say_it_otherwise() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &[], &[]);
    let one = Subject::Issue(IssueNumber(1));
    let heard = |scene: &Scene| scene.floor.issues.get(&(project(), IssueNumber(1))).unwrap().heard.clone();
    scene.observe(comment(one, 5, 10));
    let first = heard(&scene);
    assert!(!first.is_empty());
    // The forge shows it again, and the issue, too.
    scene.observe(comment(one, 5, 10)).issue(1, &[], &[]);
    assert_eq!(heard(&scene), first);
    scene.observe(comment(one, 5, 11));
    assert_ne!(heard(&scene), first);
    assert!(scene.pending.is_empty(), "nothing follows from it yet");
}

#[test]
fn what_is_said_of_nothing_known_is_not_kept() {
    let mut scene = Scene::new(Policy::default());
    scene.observe(comment(Subject::Issue(IssueNumber(9)), 1, 1));
    scene.observe(comment(Subject::Pr(PrNumber(9)), 1, 1));
    assert!(scene.floor.issues.is_empty() && scene.floor.pulls.is_empty());
    scene.issue_is(1, &[], &[], false);
    scene.observe(comment(Subject::Issue(IssueNumber(1)), 1, 1));
    assert!(scene.floor.issues.iter().all(|issue| issue.heard.is_empty()), "a closed one is over");
}

#[test]
fn what_a_review_suggests_becomes_an_issue_unless_there_is_one() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &[], &[]);
    let head: Sha = "a".repeat(40).parse().unwrap();
    let suggest = |title: &str| FollowUp { title: title.into(), body: "b".into() };
    let follow_ups = vec![suggest("Tidy up"), suggest("tidy UP"), suggest("ISSUE 1"), suggest("Other")];
    let review = Review { verdict: Verdict::Approve, reason: "r".into(), markdown: "m".into(), follow_ups };
    let action = Action::PostReview {
        job: JobId(1),
        project: project(),
        pr: PrNumber(2),
        head,
        epoch: Epoch(3),
        review,
    };
    // Two reviews say the same before what the first led to was seen.
    scene.event(Event::Performed { action: action.clone(), outcome: Outcome::Done });
    scene.event(Event::Performed { action, outcome: Outcome::Done });
    let made: Vec<(String, String)> = scene
        .pending
        .iter()
        .filter_map(|action| match action {
            Action::CreateIssue { title, marker, labels, .. } => {
                assert_eq!(labels, &["tech-debt"]);
                Some((title.clone(), marker.clone()))
            }
            _ => None,
        })
        .collect();
    let titles: Vec<&str> = made.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles, ["Tidy up", "Other", "Tidy up", "Other"]);
    assert_eq!(made[..2], made[2..], "by the same marker it is made once");
    assert_ne!(made[0].1, made[1].1);
}

#[test]
fn a_call_waits_for_others_about_the_same_thing_only() {
    let project = project;
    let issue = |n: u64| -> [Action; 3] {
        let issue = IssueNumber(n);
        [
            Action::EditLabels { project: project(), issue, add: vec![], remove: vec![] },
            Action::Comment { project: project(), issue, marker: "m".into(), body: "b".into() },
            Action::CloseIssue { project: project(), issue },
        ]
    };
    let lanes =
        |actions: &[Action]| actions.iter().map(Action::lane).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(lanes(&issue(1)).len(), 1, "labels, then the end");
    assert!(lanes(&issue(1)).is_disjoint(&lanes(&issue(2))));
    let pr = PrNumber(1);
    let head: Sha = "a".repeat(40).parse().unwrap();
    let pull = [
        Action::MovePr { project: project(), pr, head: head.clone() },
        Action::CommentPr { project: project(), pr, marker: "m".into(), body: "b".into() },
        Action::ClosePr { project: project(), pr, merged: None },
    ];
    assert_eq!(lanes(&pull).len(), 1);
    assert!(lanes(&pull).is_disjoint(&lanes(&issue(1))));
}

#[test]
fn trouble_in_a_lane_of_an_earlier_build_does_not_last_for_ever() {
    let mut scene = Scene::new(Policy::default());
    for lane in ["forge:app", "branches:app", "queue:app"] {
        let lane = lane.replace("app", project().as_str());
        let (what, why) = ("w".to_owned(), "y".to_owned());
        scene.event(Event::TroubleSeen { project: project(), lane, what, issue: None, why });
    }
    scene.event(Event::Resumed);
    let left = &scene.floor.projects.get(&project()).unwrap().troubles;
    assert!(left.len() == 1 && left[0].lane.starts_with("queue:"), "{left:?}");
}

#[test]
fn a_page_is_taken_in_as_a_whole_and_nothing_is_begun_before_the_last() {
    let mut scene = Scene::new(Policy::default());
    let seen = |number: u64| Observation::Issue {
        number: IssueNumber(number),
        title: format!("issue {number}"),
        labels: vec!["backlog".into()],
        open: true,
        deps: vec![],
        created_at: Time(number),
        by: None,
        revision: 0,
        version: Version::numbered(number),
        hints: Hints::default(),
    };
    let page = |numbers: &[u64], after: &str, cursor: &str, more| Page {
        seen: crate::event::Seen(numbers.iter().map(|n| seen(*n)).collect()),
        after: Some(Cursor::new(after)),
        cursor: Cursor::new(cursor),
        more,
    };
    scene.event(Event::Observed { project: project(), page: page(&[1, 2], "", "a", true) });
    assert!(scene.floor.issues.len() == 2 && scene.floor.jobs.is_empty(), "who is first is not known yet");
    scene.event(Event::Observed { project: project(), page: page(&[], "a", "b", false) });
    assert!(!scene.floor.jobs.is_empty());
    scene.answer("edit_labels", Outcome::Labelled(outcome::Labelled { version: Version::numbered(9) }));
}
