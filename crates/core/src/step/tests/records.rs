//! Work records: a successor goes on with its predecessor's, from the newest point, however often.

use super::*;
use crate::state::{WorkPhase, WorkRecord};

fn record(scene: &Scene) -> &WorkRecord {
    scene.floor.records.iter().next().expect("a record")
}

fn checkpoint(scene: &mut Scene, n: u32, files: &[&str]) {
    let outcome = Outcome::Checkpoint {
        rescue: Some(format!("refs/rescue/dev-p-1/{n}")),
        head: Some(sha(n)),
        files: files.iter().map(|f| (*f).to_owned()).collect(),
        note: None,
    };
    scene.answer("checkpoint", outcome);
}

/// What the next session is told, when the present one is killed. It comes to work.
fn crash(scene: &mut Scene) -> crate::effect::Resume {
    let epoch = scene.job().session.expect("an agent");
    scene.exited(epoch, None);
    // What it left is looked at before anybody goes on.
    let order = |name| scene.names().iter().position(|n| *n == name);
    assert!(order("checkpoint") < order("end_session"), "{:?}", scene.names());
    let before = record(scene).clone();
    scene.answer("checkpoint", Outcome::Checkpoint { rescue: None, head: None, files: vec![], note: None });
    assert_eq!(record(scene), &before, "a worktree that is gone says nothing");
    scene.end_session().wait(Duration::from_secs(8));
    let start = scene.take("start_session");
    let Action::StartSession(ordered) = &start else { panic!("a start") };
    let resume = ordered.resume.clone().expect("a successor");
    scene.pending.insert(0, start);
    scene.start_session();
    resume
}

#[test]
fn each_successor_resumes_from_the_newest_point() {
    type Act = fn(&mut Scene);
    let policy = Policy { respawns_max: 20, ..Policy::default() };
    let mut scene = Scene::working(policy);
    // What the agent does before it is killed; the phase its successor is told, and the record's.
    let crashes: [(&str, Act, &str, WorkPhase, &str); 7] = [
        ("nothing", |_| {}, "investigation", WorkPhase::Investigation, "not run"),
        (
            "it plans",
            |s| {
                let epoch = s.job().session.expect("an agent");
                s.event(Event::WorkSeen { epoch, phase: WorkPhase::Planning });
            },
            "planning",
            WorkPhase::Planning,
            "not run",
        ),
        (
            "it commits",
            |s| {
                let epoch = s.job().session.expect("an agent");
                s.event(Event::Committed { epoch, head: sha(1) });
            },
            "implementation",
            WorkPhase::Implementation,
            "not run",
        ),
        (
            "CI fails",
            |s| {
                s.checking(Phase::AwaitingCi, 2);
                checkpoint(s, 2, &["a.rs"]);
                s.ci(CiVerdict::Red);
            },
            "awaiting_ci",
            WorkPhase::Implementation,
            "failed at test on 000000020000",
        ),
        // The one after it says nothing, and does not fall behind.
        ("nothing", |_| {}, "implementation", WorkPhase::Implementation, "failed at test on 000000020000"),
        ("nothing", |_| {}, "implementation", WorkPhase::Implementation, "failed at test on 000000020000"),
        (
            "CI passes",
            |s| {
                s.checking(Phase::AwaitingCi, 3);
                checkpoint(s, 3, &["a.rs", "b.rs"]);
                s.ci(CiVerdict::Green);
            },
            "awaiting_ci",
            WorkPhase::Testing,
            "passed on 000000030000",
        ),
    ];
    let mut newest = (WorkPhase::Investigation, sha(0));
    for (n, (what, act, phase, work_phase, tests)) in crashes.into_iter().enumerate() {
        act(&mut scene);
        let known = record(&scene).clone();
        let resume = crash(&mut scene);
        assert_eq!(resume.predecessor, Epoch(n as u64 + 1), "{n}: {what}");
        assert_eq!(resume.phase, phase, "{n}: {what}");
        let told = resume.record.expect("the record");
        assert_eq!((told.phase.as_str(), told.tests.as_str()), (work_phase.as_str(), tests), "{n}: {what}");
        assert_eq!(told.files, known.files_modified, "{n}: {what}");
        let after = record(&scene);
        assert!(after.work_phase >= newest.0 && after.head >= Some(newest.1), "{n}: {what}: {after:?}");
        assert_eq!((&after.rescue, &after.files_modified), (&known.rescue, &known.files_modified));
        assert_eq!(after.sessions.len(), n + 2);
        assert!(after.updated_at > known.updated_at);
        newest = (after.work_phase, after.head.clone().expect("a head"));
    }
}

#[test]
fn commits_in_a_row_share_a_snapshot_and_each_is_on_record() {
    let mut scene = Scene::working(Policy::default());
    scene.wait(Duration::from_secs(60));
    for n in 1..=5 {
        scene.event(Event::Committed { epoch: DEV, head: sha(n) });
        scene.event(Event::Committed { epoch: DEV, head: sha(n) });
        assert_eq!(record(&scene).head, Some(sha(n)));
    }
    let snapshots = |scene: &Scene| scene.names().iter().filter(|name| **name == "checkpoint").count();
    assert_eq!((snapshots(&scene), record(&scene).work_phase), (1, WorkPhase::Implementation));
    scene.wait(Duration::from_secs(5));
    assert_eq!(snapshots(&scene), 2, "the last of them has one too");
    // Not a predecessor's, and not while the factory works.
    scene.signal(DEV, Phase::AwaitingCi).event(Event::Committed { epoch: DEV, head: sha(9) });
    assert_eq!(record(&scene).head, Some(sha(5)));
}
