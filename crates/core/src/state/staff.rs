//! Whether a project's agents can be started: their clients, keys and settings.

use crate::ids::{JobId, ProjectName, QuestionId, Role};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What is known of a project's agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staff {
    pub project: ProjectName,
    /// They are being looked at: nothing new is begun before that is answered.
    #[serde(default)]
    pub looking: bool,
    /// Something changed meanwhile: they are looked at again.
    #[serde(default)]
    pub again: bool,
    /// What the configuration names and the environment has not.
    #[serde(default)]
    pub unset: Vec<String>,
    #[serde(default)]
    pub holds: Vec<StaffHold>,
}
record!(Staff, "staff", ProjectName, |s| s.project.clone(), |k| k.to_string());

/// Why nothing of a role is begun in a project. No issue is to blame, and none is touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaffHold {
    pub role: Role,
    pub why: String,
    pub found: Found,
    pub since: Time,
    pub question: QuestionId,
    /// When people are told again, and how often they were.
    pub remind_at: Time,
    pub reminded: u32,
    /// When it is tried again though nobody said that it is mended, and how often it was.
    pub retry_at: Time,
    pub tries: u32,
    /// The job that tries whether it is mended.
    #[serde(default)]
    pub trial: Option<JobId>,
}

/// How it was found, and so how it is known to be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// By looking at what a session would need: looking again tells.
    Look,
    /// By a session: only another session tells.
    Session,
}

impl Staff {
    pub fn new(project: ProjectName) -> Staff {
        Staff { project, looking: false, again: false, unset: Vec::new(), holds: Vec::new() }
    }

    pub fn hold(&self, role: Role) -> Option<&StaffHold> {
        self.holds.iter().find(|hold| hold.role == role)
    }

    pub fn wake_at(&self) -> Option<Time> {
        self.holds.iter().flat_map(|hold| [hold.remind_at, hold.retry_at]).min()
    }
}

impl super::Floor {
    /// Why nothing of that role is begun in the project.
    pub fn hold(&self, project: &ProjectName, role: Role) -> Option<&StaffHold> {
        self.staff.get(project)?.hold(role)
    }

    /// All of them, with their projects.
    pub fn holds(&self) -> impl Iterator<Item = (&ProjectName, &StaffHold)> {
        self.staff.iter().flat_map(|staff| staff.holds.iter().map(|hold| (&staff.project, hold)))
    }

    /// What a job waits for that its project's agents need.
    pub fn hold_of(&self, job: &super::Job) -> Option<&StaffHold> {
        match job.state {
            super::JobState::Respawning if job.held => self.hold(&job.project, Role::Dev),
            super::JobState::Reviewing { .. } if job.review_session.is_none() => {
                self.hold(&job.project, Role::Review)
            }
            _ => None,
        }
    }
}
