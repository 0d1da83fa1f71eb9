//! Pauses and resumes the agents of a project, or of the whole floor; has them tidied.

use crate::{Desk, Error, Result};
use shopfloor_core::event::Event;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::text::one_line;

const REASON_CHARS: usize = 200;

impl Desk {
    /// Nothing is started, typed or reminded of until [`Desk::resume_work`].
    pub fn pause_work(&self, project: Option<&ProjectName>, why: &str) -> Result<()> {
        let why = one_line(why, REASON_CHARS);
        self.submit(&Event::WorkPaused { project: project.cloned(), why }).map(drop)
    }

    pub fn resume_work(&self, project: Option<&ProjectName>) -> Result<()> {
        self.submit(&Event::WorkResumed { project: project.cloned() }).map(drop)
    }

    /// What is old is removed, and what has grown is packed, without waiting for the day to end.
    pub fn tidy(&self, project: Option<&ProjectName>) -> Result<()> {
        self.submit(&Event::TidyAsked { project: project.cloned() }).map(drop)
    }

    /// The floor's project of that name.
    pub fn project_named(&self, name: &str) -> Result<ProjectName> {
        let engine = self.engine()?;
        let known = engine.floor().projects.iter().find(|project| project.name.to_string() == name);
        known.map(|project| project.name.clone()).ok_or_else(|| {
            Error::no_such(format!("there is no project {}", one_line(name, 80)))
                .hint("`shopfloor status` shows the projects")
        })
    }
}
