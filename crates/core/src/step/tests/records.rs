//! Work records: a successor goes on with its predecessor's, from the newest point, however often.

use super::*;
use crate::effect::outcome;
use crate::state::{WorkPhase, WorkRecord};

fn record(scene: &Scene) -> &WorkRecord {
    scene.floor.records.iter().next().expect("a record")
}

fn checkpoint(scene: &mut Scene, n: u32, files: &[&str]) {
    let outcome = Outcome::Checkpoint(outcome::Checkpoint {
        rescue: Some(format!("refs/rescue/dev-p-1/{n}")),
        head: Some(sha(n)),
        ahead: Some(u32::from(n > 0)),
        files: files.iter().map(|f| (*f).to_owned()).collect(),
        note: None,
    });
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
    let gone = Outcome::Checkpoint(outcome::Checkpoint {
        rescue: None,
        head: None,
        ahead: None,
        files: vec![],
        note: None,
    });
    scene.answer("checkpoint", gone);
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
                s.wait(Duration::from_secs(60)).event(Event::Committed { epoch, head: sha(1) });
                checkpoint(s, 1, &["a.rs"]);
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
                s.red();
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
    assert_eq!((snapshots(&scene), record(&scene).work_phase), (1, WorkPhase::Investigation));
    scene.wait(Duration::from_secs(5));
    assert_eq!(snapshots(&scene), 2, "the last of them has one too");
    checkpoint(&mut scene, 5, &["a.rs"]);
    assert_eq!(record(&scene).work_phase, WorkPhase::Implementation);
    // Not a predecessor's, and not while the factory works.
    scene.signal(DEV, Phase::AwaitingCi).event(Event::Committed { epoch: DEV, head: sha(9) });
    assert_eq!(record(&scene).head, Some(sha(5)));
}

#[test]
fn a_base_that_moved_is_not_the_agents_work() {
    let mut scene = Scene::working(Policy::default());
    scene.wait(Duration::from_secs(60)).event(Event::Committed { epoch: DEV, head: sha(7) });
    let outcome = Outcome::Checkpoint(outcome::Checkpoint {
        rescue: Some("refs/rescue/dev-p-1/1".into()),
        head: Some(sha(7)),
        ahead: Some(0),
        files: vec![],
        note: None,
    });
    scene.answer("checkpoint", outcome);
    assert_eq!(
        (record(&scene).head.clone(), record(&scene).work_phase),
        (Some(sha(7)), WorkPhase::Investigation)
    );
}

#[test]
fn what_an_agent_reads_does_not_take_it_back() {
    let mut scene = Scene::working(Policy::default());
    let see = |scene: &mut Scene, phase| {
        scene.event(Event::WorkSeen { epoch: DEV, phase });
        record(scene).work_phase
    };
    scene.checking(Phase::AwaitingCi, 1).ci(CiVerdict::Green);
    assert_eq!(see(&mut scene, WorkPhase::Investigation), WorkPhase::Testing);
    assert_eq!(see(&mut scene, WorkPhase::Planning), WorkPhase::Testing);
    assert_eq!(see(&mut scene, WorkPhase::Implementation), WorkPhase::Implementation);
}

#[test]
fn what_comes_back_sets_the_phase_and_the_next_step() {
    let rework = |scene: &Scene| {
        let record = record(scene);
        let after = record.rework.as_ref().map(|r| r.after.clone());
        (record.work_phase, after, record.tests_status.clone())
    };
    for verdict in [Verdict::RequestChanges, Verdict::Discuss] {
        let mut scene = Scene::reviewing(Policy::default(), 1);
        assert_eq!(record(&scene).work_phase, WorkPhase::Completion);
        scene.start_session().review(1, 1, verdict);
        let passed = format!("passed on {}", sha(1).short());
        assert_eq!(rework(&scene), (WorkPhase::Implementation, Some(verdict.as_str().to_owned()), passed));
        let next = record(&scene).resumption_instructions.clone();
        assert!(next.contains("Next: address the review of 000000010000 by someone"), "{next}");
        // Dealt with, as the agent says.
        scene.checking(Phase::AwaitingReview, 2);
        assert_eq!((record(&scene).work_phase, &record(&scene).rework), (WorkPhase::Completion, &None));
    }
    let mut scene = failed_on_top();
    let (phase, after, tests) = rework(&scene);
    assert_eq!((phase, after.as_deref()), (WorkPhase::Implementation, Some("MERGE_FAILED")));
    assert!(tests.starts_with("failed on top of the primary branch"), "{tests}");
    // What is not acted upon stays to be done, whatever the agent says or reads.
    scene.signal(DEV, Phase::Done).event(Event::WorkSeen { epoch: DEV, phase: WorkPhase::Investigation });
    assert_eq!(rework(&scene).0, WorkPhase::Implementation);
}

/// The approved head is red on top of the primary branch, and its agent has read that.
fn failed_on_top() -> Scene {
    let mut scene = Scene::merging(Policy::default(), 1);
    // Twice on top of a base that is green by itself.
    scene.chain(&[20]).ci(CiVerdict::Red).chain(&[20]).ci(CiVerdict::Red).ci(CiVerdict::Green);
    assert_eq!(
        (scene.state(), scene.unread()),
        ("working", vec!["MERGE_FAILED"]),
        "the approval is overtaken"
    );
    while let Some(message) = scene.floor.next_message(DEV).map(|m| m.id) {
        scene.event(Event::MessageTaken { message, epoch: DEV });
    }
    scene
}

#[test]
fn a_successor_after_a_failed_merge_is_told_of_it_and_not_of_the_approval() {
    let mut scene = failed_on_top();
    // It says that it is done, is reminded, and dies.
    scene.signal(DEV, Phase::Done);
    assert_eq!(scene.unread(), ["PR not merged yet"]);
    let resume = crash(&mut scene);
    assert_eq!(resume.phase, "implementation");
    let told: Vec<&str> = resume.unread.iter().filter_map(|u| u.text.lines().next()).collect();
    assert_eq!(told, ["MERGE_FAILED", "PR not merged yet"]);
    let rework = resume.record.expect("a record").rework.expect("rework");
    assert!(rework.is_of_merge() && rework.next.contains("fix what fails"), "{rework:?}");
}

#[test]
fn a_signal_without_a_commit_is_no_test() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::AwaitingCi);
    assert_eq!(record(&scene).work_phase, WorkPhase::Testing);
    scene.branch(0);
    assert_eq!(record(&scene).work_phase, WorkPhase::Implementation);
}
