//! Why a run that was asked for has not begun.

use crate::ids::{ProjectName, Role, RunNumber};
use crate::state::{Floor, Job, Run, RunState};

/// What a run waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunWaiting {
    /// Nothing: it begins with the next step.
    Ready,
    /// Its project's configuration cannot be read, or a person paused it.
    Paused(String),
    /// As many runs are under way as the project may have.
    Room { live: usize, max: usize },
    /// As many jobs are, as the whole floor may have.
    FloorRoom { live: usize, max: usize },
    /// Its project's agents are being looked at.
    Looking,
    /// An action's: that run of its formula has to end first.
    Turn(RunNumber),
    /// No agent of its role can work.
    Outage { role: Role, why: String },
}

impl RunWaiting {
    /// Why a run that waits has not begun.
    pub fn of(floor: &Floor, run: &Run) -> RunWaiting {
        if run.issue.is_some() {
            return floor.run_before(run).map_or(RunWaiting::Ready, RunWaiting::Turn);
        }
        RunWaiting::all(floor, &run.project)
            .or_else(|| RunWaiting::for_its_agent(floor, run))
            .unwrap_or(RunWaiting::Ready)
    }

    /// The job that has to end before the action that this one carries has its turn.
    pub fn behind<'f>(floor: &'f Floor, job: &Job) -> Option<&'f Job> {
        let run = floor.run_of(job.id).filter(|run| run.state == RunState::Waiting)?;
        match RunWaiting::of(floor, run) {
            RunWaiting::Turn(before) => floor.jobs.get(&floor.runs.get(&before)?.job()?),
            _ => None,
        }
    }

    /// Why no run of a project begins. It may have as many at once as it may have jobs, in addition to those, so that
    /// whoever looks after the floor is not kept waiting by its work.
    pub(super) fn all(floor: &Floor, project: &ProjectName) -> Option<RunWaiting> {
        let row = floor.projects.get(project)?;
        if let Some(why) = row.paused.as_ref().or_else(|| row.pause.as_ref().map(|pause| &pause.why)) {
            return Some(RunWaiting::Paused(why.clone()));
        }
        let jobs = || floor.jobs.iter().filter(|job| job.is_live());
        let runs = jobs().filter(|job| job.project == *project && job.assignment.run().is_some());
        let (live, max) = (runs.count(), row.policy.max_jobs.max(1));
        if live >= max {
            return Some(RunWaiting::Room { live, max });
        }
        let (live, max) = (jobs().count(), row.policy.floor_max_jobs?.max(1));
        (live >= max).then_some(RunWaiting::FloorRoom { live, max })
    }

    /// A run that may need its agent waits until that can work; what needs none does not.
    pub(super) fn for_its_agent(floor: &Floor, run: &Run) -> Option<RunWaiting> {
        let staff = floor.staff.get(&run.project).filter(|_| run.has_agent_steps())?;
        if staff.looking {
            return Some(RunWaiting::Looking);
        }
        let role = run.recipe.role;
        staff.outage(role).map(|outage| RunWaiting::Outage { role, why: outage.why.clone() })
    }
}
