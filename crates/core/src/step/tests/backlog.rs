//! How many issues an event looks at: what it is about, however many are open.

use super::*;
use crate::state::Issue;
use crate::state::backlog::looks;
use crate::step::{Standings, Waiting};

const FEW: u64 = 20;
const MANY: u64 = 400;

/// One issue is at work; the others wait for one another in a chain that begins with one that is blocked. There is a
/// slot all the time.
fn chain(long: u64) -> Scene {
    let mut scene = Scene::working(Policy { max_jobs: 3, ..Policy::default() });
    scene.issue(2, &["blocked"], &[]);
    for n in 3..=long {
        scene.issue(n, &["backlog"], &[n - 1]);
    }
    scene.wait(Duration::from_secs(60));
    assert_eq!(scene.floor.live_jobs(&project()).count(), 1, "one is at work, and there are slots");
    scene
}

fn looked_at(scene: &mut Scene, what: impl FnOnce(&mut Scene) -> &mut Scene) -> usize {
    looks::take();
    what(scene);
    looks::take()
}

#[test]
fn an_event_looks_at_as_many_issues_of_a_long_backlog_as_of_a_short_one() {
    type Happens = fn(&mut Scene, u64) -> &mut Scene;
    let cases: [(&str, Happens); 5] = [
        ("a phase", |scene, _| scene.signal(DEV, Phase::AwaitingCi)),
        ("an issue that is new", |scene, long| scene.issue(long + 2, &[], &[2])),
        ("an issue that is ready", |scene, long| scene.issue(long + 3, &["backlog"], &[])),
        ("what others wait for is closed", |scene, _| scene.issue_is(2, &[], &[], false)),
        ("time", |scene, _| scene.event(Event::Tick)),
    ];
    for (what, happens) in cases {
        let [few, many] = [FEW, MANY].map(|long| looked_at(&mut chain(long), |scene| happens(scene, long)));
        assert_eq!(few, many, "{what}: so many issues are looked at of {FEW} and of {MANY}");
        assert!(many < 10, "{what}: {many}");
    }
}

#[test]
fn a_process_that_has_just_loaded_the_floor_looks_at_each_issue_once_or_twice() {
    let mut scene = chain(MANY);
    let mut floor = Floor::default();
    scene.floor.projects.iter().for_each(|project| floor.projects.load(project.clone()));
    scene.floor.issues.iter().for_each(|issue| floor.issues.load(issue.clone()));
    scene.floor.jobs.iter().for_each(|job| floor.jobs.load(job.clone()));
    scene.floor = floor;
    let first = looked_at(&mut scene, |scene| scene.event(Event::Tick));
    assert!(first <= 3 * MANY as usize, "{first}");
    assert!(looked_at(&mut scene, |scene| scene.event(Event::Tick)) < 10);
}

/// The simulator compares what a process that followed along knows with what one that begins anew does.
#[test]
fn a_floor_that_was_followed_looks_like_one_that_was_loaded() {
    let mut followed = Scene::new(Policy::default());
    followed.issue(1, &["backlog", "blocked"], &[]).issue(2, &["backlog"], &[1]);
    followed.floor.issues.take_touched();
    let mut loaded = followed.floor.clone();
    loaded.issues = Table::default();
    loaded.backlog = Default::default();
    followed.floor.issues.iter().for_each(|issue| loaded.issues.load(issue.clone()));
    assert_eq!(format!("{loaded:?}"), format!("{:?}", followed.floor));
}

/// Whatever happens to issues, by steps and by others whose rows are loaded, those that are ready are started.
#[test]
fn what_is_ready_is_found_however_it_came_about() {
    let mut scene = Scene::new(Policy { max_jobs: 1000, ..Policy::default() });
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let all: [&[&str]; 6] = [
        &["backlog"],
        &["backlog", "blocked"],
        &[],
        &["in-progress"],
        &["backlog", "priority"],
        &["underspecified"],
    ];
    for _ in 0..600 {
        let number = 1 + random(40);
        let deps: Vec<u64> = (0..random(3)).map(|_| 1 + random(40)).collect();
        let labels = all[random(6) as usize];
        match random(6) {
            0 => {
                let place = (project(), IssueNumber(number));
                let key = Issue::key_text(&place);
                scene.floor.issues.unload(&[key].into());
            }
            1 if scene.floor.issues.get(&(project(), IssueNumber(number))).is_some() => {
                alter(&mut scene.floor.issues, &(project(), IssueNumber(number)), |issue| {
                    issue.deps = deps.iter().map(|n| IssueNumber(*n)).collect();
                    issue.edits_pending = 0;
                });
            }
            open => {
                scene.issue_is(number, labels, &deps, open != 2);
            }
        }
        scene.event(Event::Tick);
        let standings = Standings::of(&scene.floor);
        let ready = scene.floor.issues.iter().find(|issue| standings.why(issue) == Waiting::Ready);
        assert_eq!(ready, None, "ready, and not started");
    }
    assert!(scene.floor.jobs.len() > 10, "some were started");
}
