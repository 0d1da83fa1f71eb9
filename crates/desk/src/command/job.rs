//! An issue's job: cancelled, taken from its agent, handed back.

use crate::{Desk, Error, Result};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::state::Job;

impl Desk {
    /// Ends the job of an issue, or the review of a pull request that no job carries. Returns its state
    /// afterwards.
    pub fn cancel(&self, project: &ProjectName, issue: IssueNumber) -> Result<&'static str> {
        let engine = self.engine()?;
        at_work(engine.floor().work_of(project, issue), issue)?;
        self.submit(&Event::Cancelled { project: project.clone(), issue })?;
        let engine = self.engine()?;
        Ok(engine.floor().work_of(project, issue).map_or("cancelled", |job| job.state.name()))
    }

    /// Takes a job from its agent, without attaching to its terminal.
    pub fn take(&self, project: &ProjectName, issue: IssueNumber) -> Result<()> {
        at_work(self.engine()?.floor().job_of(project, issue), issue)?;
        self.submit(&Event::Taken { project: project.clone(), issue }).map(drop)
    }

    /// Gives a job back to its agent.
    pub fn hand_back(&self, project: &ProjectName, issue: IssueNumber) -> Result<()> {
        let engine = self.engine()?;
        let job = at_work(engine.floor().job_of(project, issue), issue)?;
        if engine.floor().agent_held(job).is_none() {
            return Err(Error::failed(format!("nobody holds issue #{issue}"))
                .hint(format!("`shopfloor explain {issue}` says what it waits for")));
        }
        self.submit(&Event::HandedBack { project: project.clone(), issue }).map(drop)
    }
}

fn at_work(job: Option<&Job>, issue: IssueNumber) -> Result<&Job> {
    let error = || Error::no_such(format!("there is no job at work on issue #{issue}"));
    match job {
        Some(job) if job.is_live() => Ok(job),
        Some(job) => Err(error().hint(format!("its last job is {}", job.state.name()))),
        None => Err(error().hint(format!("`shopfloor explain {issue}` says why nothing happens"))),
    }
}
