//! Which of the ready issues is started first, what it goes on with, and what is told of dependencies
//! that nobody can meet.

use super::*;
use crate::effect::outcome;
use crate::hints::Hints;
use crate::ids::branch_for;
use crate::label::Label;

impl Scene {
    /// An issue with hints in its text.
    fn hinted(&mut self, number: u64, labels: &[&str], hints: Hints) -> &mut Self {
        self.observe(Observation::Issue {
            number: IssueNumber(number),
            title: format!("issue {number}"),
            labels: super::labelled(labels),
            open: true,
            deps: vec![],
            created_at: Time(number),
            by: None,
            revision: 0,
            version: Default::default(),
            hints,
        })
    }

    fn pull(&mut self, number: u64, branch: &str, fixes: &[u64], open: bool) -> &mut Self {
        let fixes = fixes.iter().map(|n| IssueNumber(*n)).collect();
        self.observe(Observation::Pr {
            number: PrNumber(number),
            open,
            branch: branch.into(),
            head: None,
            fixes,
            title: String::new(),
            ours: false,
            author: String::new(),
            labels: vec![],
            merged: None,
        })
    }

    fn newest(&self) -> &Job {
        self.floor.jobs.iter().last().expect("a job")
    }
}

fn paths(list: &[&str]) -> Hints {
    Hints { paths: list.iter().map(|p| (*p).to_owned()).collect(), ..Hints::default() }
}

fn named(pr: u64) -> Hints {
    Hints { pr: Some(PrNumber(pr)), ..Hints::default() }
}

/// Ends the only job there is room for, again and again: the order in which the others are begun.
fn order(scene: &mut Scene, count: usize) -> Vec<u64> {
    (0..count)
        .map(|_| {
            let issue = scene.newest().number().expect("an issue");
            scene.event(Event::Cancelled { project: project(), issue }).settle();
            scene.newest().number().expect("an issue").0
        })
        .collect()
}

#[test]
fn orphans_then_stuck_pull_requests_then_priority_then_the_oldest() {
    let mut scene = Scene::working(Policy::default());
    scene.issue(2, &["backlog"], &[]).issue(3, &["backlog", "priority"], &[]);
    scene.issue(4, &["in-progress"], &[]).issue(5, &["backlog"], &[]).issue(6, &["backlog"], &[]);
    // Stuck: one by its branch that nobody labelled, one by what it says.
    scene.issue(7, &[], &[]).pull(70, "fix/issue-7", &[], true).pull(60, "somebodys", &[6], true);
    assert_eq!(order(&mut scene, 6), [4, 6, 7, 3, 2, 5]);
}

#[test]
fn nothing_is_begun_before_all_that_was_read_is_taken_in() {
    let mut scene = Scene::new(Policy::default());
    let mut see = |number: u64, labels: &[&str], more: bool| {
        let observation = Observation::Issue {
            number: IssueNumber(number),
            title: String::new(),
            labels: super::labelled(labels),
            open: true,
            deps: vec![],
            created_at: Time(number),
            by: None,
            revision: 0,
            version: Default::default(),
            hints: Hints::default(),
        };
        scene.event(Event::Observed { project: project(), page: Page { more, ..Page::of(observation) } });
        scene.event(Event::Tick);
        scene.floor.jobs.iter().map(|j| j.number().expect("an issue").0).collect::<Vec<_>>()
    };
    assert_eq!(see(1, &["backlog"], true), [0; 0]);
    assert_eq!(see(2, &["backlog", "priority"], true), [0; 0]);
    assert_eq!(see(3, &[], false), [2]);
}

#[test]
fn a_pull_request_that_somebody_else_made_asks_for_nothing() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &[], &[]).pull(10, "somebodys", &[1], true);
    assert_eq!(scene.floor.jobs.len(), 0);
    // Nor does one of ours after a job of ours: that ended for a reason.
    let mut scene = Scene::working(Policy::default());
    scene.pull(10, "fix/issue-1", &[1], true);
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) }).settle();
    assert_eq!(scene.floor.jobs.len(), 1);
    // Until somebody asks for it.
    scene.issue(1, &["backlog"], &[]);
    assert_eq!((scene.newest().id, scene.newest().pr), (JobId(2), Some(PrNumber(10))));
}

#[test]
fn what_was_begun_is_found_by_the_text_then_the_branch_then_what_it_is_for() {
    let check = |hints: Hints, pulls: &[(u64, &str, &[u64], bool)], expect: Option<(u64, &str)>| {
        let mut scene = Scene::new(Policy::default());
        for (number, branch, fixes, open) in pulls {
            scene.pull(*number, branch, fixes, *open);
        }
        scene.hinted(1, &["backlog"], hints);
        let job = scene.job();
        let own = branch_for(IssueNumber(1));
        let expect = expect.map_or((None, own), |(pr, branch)| (Some(PrNumber(pr)), branch.to_owned()));
        assert_eq!((job.pr, job.branch.clone()), expect, "{pulls:?}");
        let Action::PrepareWorktree { branch, .. } = scene.take("prepare_worktree") else { panic!() };
        assert_eq!(branch, expect.1);
    };
    let all: &[(u64, &str, &[u64], bool)] =
        &[(7, "a", &[1], true), (8, "fix/issue-1", &[], true), (9, "b", &[1], true), (10, "c", &[2], true)];
    check(named(10), all, Some((10, "c")));
    check(named(99), all, Some((8, "fix/issue-1")));
    check(Hints::default(), all, Some((8, "fix/issue-1")));
    check(Hints::default(), &[(7, "a", &[1], true), (9, "b", &[1], true)], Some((9, "b")));
    check(Hints::default(), &[(7, "a", &[2], true)], None);
    check(named(7), &[(7, "a", &[1], true), (7, "a", &[1], false)], None);
    check(named(7), &[(7, "main", &[1], true)], None);
}

#[test]
fn no_two_jobs_go_on_with_one_branch() {
    let mut scene = Scene::new(Policy { max_jobs: 2, ..Policy::default() });
    scene.pull(9, "shared", &[1], true).hinted(1, &["backlog"], named(9)).hinted(2, &["backlog"], named(9));
    let branches: Vec<&str> = scene.floor.jobs.iter().map(|j| j.branch.as_str()).collect();
    assert_eq!(branches, ["shared", "fix/issue-2"]);
}

/// Issue 1 changes `src/a.rs`; 2, 3 and 4 wait for the second slot.
fn crowd(two: &[&str], two_labels: &[&str]) -> u64 {
    let mut scene = Scene::new(Policy { max_jobs: 2, ..Policy::default() });
    scene.hinted(1, &["backlog"], paths(&["src/a.rs"])).hinted(9, &["backlog"], paths(&["z.rs"]));
    scene.hinted(2, two_labels, paths(two)).hinted(3, &["backlog"], paths(&["src/b.rs"]));
    scene.hinted(4, &["backlog"], Hints::default());
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(9) }).settle();
    scene.newest().number().expect("an issue").0
}

#[test]
fn what_collides_with_work_in_flight_lets_its_peers_go_first() {
    assert_eq!(crowd(&["src/c.rs"], &["backlog"]), 2);
    assert_eq!(crowd(&["src/a.rs"], &["backlog"]), 3);
    assert_eq!(crowd(&["src/"], &["backlog"]), 3);
    // Only its peers: what is more urgent goes first all the same.
    assert_eq!(crowd(&["src/a.rs"], &["backlog", "priority"]), 2);
}

#[test]
fn nothing_waits_for_a_collision_when_there_is_nobody_else() {
    let mut scene = Scene::new(Policy { max_jobs: 3, ..Policy::default() });
    for number in 1..=3 {
        scene.hinted(number, &["backlog"], paths(&["src/a.rs"]));
    }
    assert_eq!(scene.floor.jobs.len(), 3);
}

#[test]
fn what_was_changed_counts_like_what_was_named() {
    let mut scene = Scene::working(Policy { max_jobs: 1, ..Policy::default() });
    scene.hinted(2, &["backlog"], paths(&["src/a.rs"]));
    let issue = |scene: &Scene| scene.floor.issues.get(&(project(), IssueNumber(2))).expect("seen").clone();
    assert_eq!(super::super::overlap(&scene.floor, &issue(&scene)), None);
    scene.signal(DEV, Phase::AwaitingCi);
    let files = vec!["src/a.rs".to_owned()];
    let rescue = Some("refs/rescue/dev-p-1/1".to_owned());
    scene.answer(
        "checkpoint",
        Outcome::Checkpoint(outcome::Checkpoint {
            rescue,
            head: Some(sha(1)),
            ahead: None,
            files,
            note: None,
        }),
    );
    let overlap = super::super::overlap(&scene.floor, &issue(&scene)).expect("it is being changed");
    assert_eq!((overlap.file.as_str(), overlap.with), ("src/a.rs", IssueNumber(1)));
}

fn told(scene: &Scene) -> Vec<(u64, String)> {
    let comment = |a: &Action| match a {
        Action::Comment { issue, body, .. } => Some((issue.0, body.clone())),
        _ => None,
    };
    scene.pending.iter().filter_map(comment).collect()
}

const LONG: Duration = Duration::from_secs(11);

#[test]
fn dependencies_on_nothing_are_told_once_and_not_before_all_is_read() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[2, 3]).issue(2, &[], &[]).issue(3, &[], &[]).wait(LONG);
    assert_eq!((told(&scene), scene.noted(NoteKind::Escalation)), (vec![], 0));
    scene.issue(1, &["backlog"], &[2, 7, 8]);
    assert!(scene.floor.next_deadline().is_some_and(|at| at <= scene.now + LONG));
    scene.wait(LONG);
    let [(1, text)] = &told(&scene)[..] else { panic!("{:?}", told(&scene)) };
    assert!(text.contains("#7, #8, and there is no such issue"), "{text}");
    scene.issue(1, &["backlog"], &[2, 7, 8]).wait(LONG).wait(LONG);
    assert_eq!((told(&scene).len(), scene.noted(NoteKind::Escalation)), (1, 1));
    // Something else is wrong: that is news.
    scene.issue(1, &["backlog"], &[9]).wait(LONG);
    assert_eq!(told(&scene).len(), 2);
}

#[test]
fn a_circle_is_told_once_for_all_of_it() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(1, &["backlog"], &[3]).issue(2, &["backlog"], &[1]).issue(3, &["backlog"], &[2]);
    scene.issue(1, &["backlog"], &[3]).issue(2, &["backlog"], &[1]).wait(LONG).wait(LONG);
    let told = told(&scene);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].1.contains("it waits for itself: #"), "{told:?}");
    assert_eq!(scene.noted(NoteKind::Escalation), 1);
    assert_eq!(scene.floor.jobs.len(), 0);
}

#[test]
fn projects_take_turns_where_the_floor_has_a_limit() {
    let mut scene = Scene::new(Policy { floor_max_jobs: Some(1), ..Policy::default() });
    let (first, second): (ProjectName, ProjectName) = (project(), "other".parse().expect("a name"));
    let set = Event::ProjectSet {
        project: second.clone(),
        checkout: "/elsewhere".into(),
        policy: scene.floor.policy(&first),
    };
    scene.event(set).settle();
    for project in [&first, &second] {
        for number in 1..=3 {
            let observation = Observation::Issue {
                number: IssueNumber(number),
                title: format!("issue {number}"),
                labels: super::super::labels(&[Label::Backlog]),
                open: true,
                deps: vec![],
                created_at: Time(number),
                by: None,
                revision: 0,
                version: Version::default(),
                hints: Hints::default(),
            };
            scene.event(Event::Observed { project: project.clone(), page: Page::of(observation) });
        }
    }
    let mut begun = Vec::new();
    for _ in 0..4 {
        scene.settle();
        let job = scene.newest();
        begun.push(job.project.clone());
        let (project, issue) = (job.project.clone(), job.number().expect("an issue"));
        scene.event(Event::Cancelled { project, issue });
    }
    assert_eq!(
        begun,
        [first.clone(), second.clone(), first, second],
        "by their names alone the first had all"
    );
}
