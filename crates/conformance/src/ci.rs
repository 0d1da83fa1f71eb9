//! What every [`Ci`] does.

use shopfloor_core::effect::{CiAbout, CiPurpose, CiReport, CiVerdict, CommitSource};
use shopfloor_core::ids::{ProjectName, RunId, Sha};
use shopfloor_engine::ports::{Ci, CiRequest};

/// A project with checks, a commit that passes them and one that does not.
pub trait CiWorld {
    fn ci(&self) -> &dyn Ci;
    fn project(&self) -> ProjectName;
    fn good(&self) -> Sha;
    fn bad(&self) -> Sha;
}

fn run(world: &impl CiWorld, run: u64, commit: &Sha, each: Vec<Sha>) -> CiReport {
    let (project, about) = (world.project(), CiAbout { each, ..CiAbout::default() });
    let request = CiRequest {
        project: &project,
        issue: None,
        run: RunId(run),
        commit,
        source: CommitSource::Hub,
        purpose: CiPurpose::Head,
        about: &about,
    };
    world.ci().run(&request).expect("a report")
}

pub fn a_failing_check_is_a_report(world: &impl CiWorld) {
    assert_eq!(run(world, 1, &world.good(), vec![]).verdict, CiVerdict::Green);
    assert_eq!(run(world, 2, &world.bad(), vec![]).verdict, CiVerdict::Red);
}

pub fn of_each_of_several_commits_one_that_fails_is_enough(world: &impl CiWorld) {
    let (good, bad) = (world.good(), world.bad());
    assert_eq!(run(world, 1, &good, vec![bad, good.clone()]).verdict, CiVerdict::Red);
    assert_eq!(run(world, 2, &good, vec![good.clone()]).verdict, CiVerdict::Green);
}

pub fn a_run_that_was_cancelled_does_not_begin(world: &impl CiWorld) {
    for _ in 0..2 {
        world.ci().cancel(&world.project(), RunId(1)).expect("cancelled");
    }
    for _ in 0..2 {
        assert_eq!(run(world, 1, &world.good(), vec![]).verdict, CiVerdict::Cancelled);
    }
    assert_eq!(run(world, 2, &world.good(), vec![]).verdict, CiVerdict::Green, "another run is not meant");
}

pub fn a_run_that_has_finished_stays_as_it_is(world: &impl CiWorld) {
    let first = run(world, 1, &world.good(), vec![]);
    world.ci().cancel(&world.project(), RunId(1)).expect("too late");
    assert_eq!(run(world, 1, &world.good(), vec![]).verdict, first.verdict);
}
