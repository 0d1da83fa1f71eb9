//! The records of CI runs.

use shopfloor_core::effect::{CiVerdict, CommitSource};
use shopfloor_core::ids::{IssueNumber, ProjectName, RunId, Sha};
use shopfloor_core::time::Time;
use shopfloor_store::backend;
use shopfloor_store::ci::{CiError, CiRuns, CiStep, NewRun};

fn app() -> ProjectName {
    "app".parse().unwrap()
}

/// Tells the story of each kind of store.
fn each(name: &str, story: impl Fn(Box<dyn CiRuns>)) {
    let dir = tempfile::tempdir().unwrap();
    for url in [format!("sqlite:{}", dir.path().join("floor.db").display()), format!("memory:ci {name}")] {
        story(backend::at(&url).unwrap().ci().unwrap());
    }
}

fn new(run: u64) -> NewRun {
    let commit: Sha = "a".repeat(40).parse().unwrap();
    NewRun {
        run: RunId(run),
        project: app(),
        issue: Some(IssueNumber(3)),
        commit,
        source: CommitSource::Queue,
    }
}

fn step(name: &str, exit: Option<i32>) -> CiStep {
    CiStep { name: name.into(), exit, duration_ms: 12 }
}

#[test]
fn a_run_is_written_as_it_goes() {
    each("a_run_is_written_as_it_goes", |mut db| {
        db.started(&new(1), Time(10)).unwrap();
        let running = db.get(RunId(1)).unwrap();
        assert_eq!((running.verdict, running.finished_at, running.steps.len()), (None, None, 0));
        db.step(RunId(1), &step("build \"x\"", Some(0))).unwrap();
        db.step(RunId(1), &step("test", None)).unwrap();
        db.finished(RunId(1), CiVerdict::TimedOut, Some("test"), "logs/1", Time(20)).unwrap();
        let ended = db.get(RunId(1)).unwrap();
        assert_eq!(ended.steps, [step("build \"x\"", Some(0)), step("test", None)]);
        assert_eq!((ended.verdict, ended.step.as_deref()), (Some(CiVerdict::TimedOut), Some("test")));
        assert_eq!((ended.started_at, ended.finished_at), (Time(10), Some(Time(20))));
        assert_eq!((ended.source, ended.log.as_deref()), (CommitSource::Queue, Some("logs/1")));
        assert_eq!(serde_json::to_value(&ended).unwrap()["verdict"], "timed_out");
        // Performed again after a crash, it is one run, from nothing.
        db.started(&new(1), Time(30)).unwrap();
        let again = db.get(RunId(1)).unwrap();
        assert_eq!(
            (again.verdict, again.started_at, again.steps.len(), again.log),
            (None, Time(30), 0, None)
        );
    });
}

#[test]
fn runs_are_listed_newest_first() {
    each("runs_are_listed_newest_first", |mut db| {
        let verdicts = [
            Some(CiVerdict::Green),
            Some(CiVerdict::Red),
            None,
            Some(CiVerdict::Infra),
            Some(CiVerdict::NoChecks),
        ];
        for (n, verdict) in (1..).zip(verdicts) {
            db.started(&new(n), Time(n)).unwrap();
            if let Some(verdict) = verdict {
                db.finished(RunId(n), verdict, None, "", Time(n)).unwrap();
            }
        }
        let runs = |runs: Vec<shopfloor_store::ci::CiRun>| runs.iter().map(|r| r.run.0).collect::<Vec<_>>();
        assert_eq!(runs(db.list(&app(), 3).unwrap()), [5, 4, 3]);
        assert_eq!(runs(db.failures(&app(), 10).unwrap()), [4, 2]);
        assert_eq!(runs(db.list(&"other".parse().unwrap(), 3).unwrap()), [0; 0]);
    });
}

#[test]
fn a_run_that_never_began_is_an_error() {
    each("a_run_that_never_began_is_an_error", |mut db| {
        assert!(matches!(db.get(RunId(1)), Err(CiError::NoSuchRun(RunId(1)))));
        assert!(matches!(db.step(RunId(1), &step("x", None)), Err(CiError::NoSuchRun(_))));
        assert!(matches!(
            db.finished(RunId(1), CiVerdict::Green, None, "", Time(1)),
            Err(CiError::NoSuchRun(_))
        ));
    });
}

#[test]
fn old_records_go_in_batches_but_for_those_in_use() {
    each("old_records_go", |mut db| {
        for run in 1..=600 {
            db.started(&new(run), Time(run)).unwrap();
        }
        // Began long ago, and ended a moment ago.
        db.finished(RunId(4), CiVerdict::Green, None, "logs/4", Time(9_000)).unwrap();
        let other: ProjectName = "other".parse().unwrap();
        db.started(&NewRun { project: other, ..new(700) }, Time(1)).unwrap();
        let mut prune = |dry_run| db.prune(&app(), Time(590), &[RunId(2)], dry_run).unwrap();
        assert_eq!(prune(true), (587, false));
        let (mut gone, mut more) = (0, true);
        while more {
            let (some, rest) = prune(false);
            (gone, more) = (gone + some, rest);
        }
        assert_eq!((gone, prune(true)), (587, (0, false)));
        let left: Vec<u64> = db.list(&app(), 100).unwrap().iter().map(|run| run.run.0).collect();
        assert_eq!(left, [600, 599, 598, 597, 596, 595, 594, 593, 592, 591, 590, 4, 2]);
        assert!(db.get(RunId(700)).is_ok());
    });
}
