//! What is at hand, and what is on the shelf.

use super::*;
use crate::state::{Issue, Shelf, Shelvable};
use crate::step::wanted;

fn few() -> Policy {
    Policy { jobs_at_hand: 2, max_jobs: 8, ..Policy::default() }
}

fn key(number: u64) -> (ProjectName, IssueNumber) {
    (project(), IssueNumber(number))
}

fn shelf(number: u64) -> Shelf {
    Shelf::Number(project(), IssueNumber(number))
}

impl Scene {
    fn is_at_hand(&self, number: u64) -> bool {
        self.floor.issues.get(&key(number)).is_some()
    }

    /// The shelves of whatever was put there, in the order of the tables.
    fn shelved(&mut self) -> Vec<String> {
        let floor = &mut self.floor;
        let issues = floor.issues.take_shelved().iter().map(|row| format!("issue {}", row.shelf())).collect();
        let jobs = floor.jobs.take_shelved().iter().map(|row| format!("job {}", row.shelf())).collect();
        let agents = floor.agents.take_shelved().iter().map(|row| format!("agent {}", row.shelf())).collect();
        let sessions =
            floor.sessions.take_shelved().iter().map(|row| format!("session {}", row.shelf())).collect();
        let all: [Vec<String>; 4] = [issues, jobs, agents, sessions];
        all.concat()
    }

    fn wants(&self, event: &Event) -> Vec<Shelf> {
        wanted(&self.floor, event).into_iter().collect()
    }
}

fn seen(number: u64, deps: &[u64], after: &[&str]) -> Event {
    let hints = Hints { after: labelled(after), ..Hints::default() };
    let observation = Observation::Issue {
        number: IssueNumber(number),
        title: String::new(),
        labels: vec![],
        open: true,
        deps: deps.iter().map(|n| IssueNumber(*n)).collect(),
        created_at: Time(0),
        by: None,
        revision: 0,
        version: Version::numbered(100),
        hints,
    };
    Event::Observed { project: project(), page: Page::of(observation) }
}

#[test]
fn a_closed_issue_is_shelved_unless_an_open_one_waits_for_it() {
    let mut scene = Scene::new(few());
    scene.issue_is(1, &[], &[], false);
    assert!(!scene.is_at_hand(1));
    assert_eq!(scene.shelved(), ["issue p/1"]);
    scene.issue(3, &[], &[2]).issue_is(2, &[], &[], false);
    assert!(scene.is_at_hand(2) && scene.is_at_hand(3));
    scene.issue_is(3, &[], &[2], false).wait(Duration::from_secs(60));
    assert!(!scene.is_at_hand(2) && !scene.is_at_hand(3));
}

#[test]
fn a_closed_issue_with_a_label_on_its_way_is_at_hand() {
    let mut scene = Scene::working(few());
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
    scene.issue_is(1, &[], &[], false);
    assert!(scene.is_at_hand(1), "its job is not over");
}

#[test]
fn what_an_agent_found_is_taken_down_with_the_issue_and_a_closed_issue_with_its_jobs() {
    let mut scene = Scene::new(few());
    scene.issue(1, &[], &[]);
    alter(&mut scene.floor.issues, &key(1), |issue| issue.deps = vec![IssueNumber(3)]);
    assert_eq!(scene.wants(&seen(1, &[], &[])), [shelf(3)]);
    alter(&mut scene.floor.issues, &key(1), |issue| issue.open = false);
    assert_eq!(scene.wants(&seen(1, &[], &[])), [shelf(1), shelf(3)]);
}

#[test]
fn an_event_takes_down_what_it_is_about() {
    let mut scene = Scene::new(few());
    scene.issue(1, &[], &[]);
    let (branch, known) = (|name: &str| Shelf::Branch(project(), name.into()), seen(1, &[1, 7], &["b"]));
    assert_eq!(scene.wants(&known), [shelf(7), branch("b")]);
    assert_eq!(scene.wants(&seen(2, &[1], &[])), [shelf(2)]);
    let cancelled = |issue| Event::Cancelled { project: project(), issue: IssueNumber(issue) };
    assert_eq!((scene.wants(&cancelled(1)), scene.wants(&cancelled(9))), (vec![], vec![shelf(9)]));
    assert_eq!(scene.wants(&Event::Tick), []);
}

/// Jobs that end one after another, each for an issue that is closed afterwards.
fn ended(count: u64) -> Scene {
    let mut scene = Scene::new(few());
    for number in 1..=count {
        scene.issue(number, &["backlog"], &[]);
        scene.event(Event::Cancelled { project: project(), issue: IssueNumber(number) }).settle();
        scene.issue_is(number, &[], &[], false);
    }
    scene
}

#[test]
fn only_the_newest_ended_jobs_are_at_hand_and_their_issues_with_them() {
    let mut scene = ended(5);
    let at_hand: Vec<u64> = scene.floor.jobs.iter().map(|job| job.number().expect("an issue").0).collect();
    assert_eq!(at_hand, [4, 5]);
    assert!(!scene.is_at_hand(3) && scene.is_at_hand(4) && scene.is_at_hand(5));
    let shelved = scene.shelved();
    assert!(shelved.contains(&"job p/1".into()) && shelved.contains(&"issue p/1".into()), "{shelved:?}");
    assert!(!shelved.iter().any(|line| line.ends_with("/4")), "{shelved:?}");
}

#[test]
fn an_open_issue_keeps_its_newest_jobs_at_hand() {
    let mut scene = Scene::new(few());
    for _ in 0..13 {
        scene.issue(1, &["backlog"], &[]);
        scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) }).settle();
    }
    assert_eq!(scene.floor.jobs.len(), 10);
    assert_eq!(scene.floor.jobs.iter().next().map(|job| job.id.0), Some(4), "the oldest went");
    assert!(scene.is_at_hand(1));
}

#[test]
fn a_daemon_that_starts_puts_away_what_an_older_build_left() {
    let mut scene = Scene::new(few());
    scene.issue(9, &[], &[]);
    let open = scene.floor.issues.get(&key(9)).expect("it is there").clone();
    scene.floor.issues.load(Issue { number: IssueNumber(8), open: false, ..open });
    scene.event(Event::Resumed);
    assert!(!scene.is_at_hand(8) && scene.is_at_hand(9));
}
