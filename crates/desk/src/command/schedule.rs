//! Schedules: paused and resumed by people.

use crate::{Desk, Error, Result};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, ScheduleName};
use shopfloor_core::state::Schedule;

impl Desk {
    /// A schedule that is in force, as a daemon has told the floor.
    pub fn schedule(&self, project: &ProjectName, name: &ScheduleName) -> Result<Schedule> {
        let engine = self.engine()?;
        let found = engine.floor().schedules.get(&(project.clone(), name.clone())).cloned();
        found.ok_or_else(|| {
            Error::no_such(format!("{project} has no schedule {name} in force")).hint(
                "`shopfloor schedule list` shows them; one that is new is in force once it is accepted \
                 (`shopfloor config accept`) and the floor runs (`shopfloor up`)",
            )
        })
    }

    pub fn pause_schedule(&self, project: &ProjectName, name: &ScheduleName, by: &str) -> Result<Schedule> {
        if self.schedule(project, name)?.paused.is_none() {
            let (project, schedule, by) = (project.clone(), name.clone(), by.to_owned());
            self.submit(&Event::SchedulePaused { project, schedule, by })?;
        }
        self.schedule(project, name)
    }

    pub fn resume_schedule(&self, project: &ProjectName, name: &ScheduleName, by: &str) -> Result<Schedule> {
        if self.schedule(project, name)?.paused.is_some() {
            let (project, schedule, by) = (project.clone(), name.clone(), by.to_owned());
            self.submit(&Event::ScheduleResumed { project, schedule, by })?;
        }
        self.schedule(project, name)
    }
}
