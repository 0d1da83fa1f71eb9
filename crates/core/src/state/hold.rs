//! Who has a session: while a person does, nothing is typed into it, and it is neither judged nor ended.

use super::{Floor, Job, Session};
use crate::delivery::PERSON_HAS_IT;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A person types at a session's terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub since: Time,
    /// If they type nothing more by then, the session is handed back.
    pub until: Time,
}

/// A person paused a project's agents: nothing is started, typed or reminded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    pub since: Time,
    pub why: String,
    /// The whole floor is paused, including projects that are added later.
    pub floor: bool,
}

/// Why a job's agent is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held<'f> {
    /// A person types at its terminal.
    Person(&'f Hold),
    /// A person took the job, attached or not, and keeps it until they hand it back.
    Taken {
        since: Time,
    },
    Paused(&'f Pause),
}

impl fmt::Display for Held<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Held::Person(_) => f.write_str(PERSON_HAS_IT),
            Held::Taken { .. } => f.write_str("a person took the job"),
            Held::Paused(pause) => write!(f, "paused: {}", pause.why),
        }
    }
}

impl Floor {
    /// Why a session is left alone.
    pub fn held(&self, session: &Session) -> Option<Held<'_>> {
        let person = || self.sessions.get(&session.epoch)?.hold.as_ref().map(Held::Person);
        person().or_else(|| self.jobs.get(&session.job).and_then(|job| self.job_held(job)))
    }

    /// Why a job is left alone, regardless of which session.
    pub fn job_held(&self, job: &Job) -> Option<Held<'_>> {
        let taken = job.taken.map(|since| Held::Taken { since });
        taken.or_else(|| self.projects.get(&job.project)?.pause.as_ref().map(Held::Paused))
    }

    /// Why the job's current agent is left alone, for people.
    pub fn agent_held(&self, job: &Job) -> Option<Held<'_>> {
        let session = job.session.and_then(|epoch| self.sessions.get(&epoch));
        session.map_or_else(|| self.job_held(job), |session| self.held(session))
    }
}
