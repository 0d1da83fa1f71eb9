//! Whether a project's agents can be started: their clients, keys and settings.

use super::{About, Session, SessionAsk, SessionState};
use crate::ids::{Epoch, JobId, ProjectName, QuestionId, Role};
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
    #[serde(default, rename = "holds")]
    pub outages: Vec<Outage>,
}
record!(Staff, "staff", ProjectName, |s| s.project.clone(), |k| k.to_string());

/// Why nothing of a role is begun in a project. No issue is to blame, and none is touched. Roles that are
/// kept by one cause have one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
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
    /// The job that tries whether it is mended, and the one that was let to try last.
    #[serde(default)]
    pub trial: Option<JobId>,
    #[serde(default)]
    pub tried: Option<JobId>,
    /// The job whose sessions showed it, where it was sessions that ended at their start.
    #[serde(default)]
    pub shown_by: Option<JobId>,
    /// The session whose login dialog is how it was found: that is this outage's question while it is up.
    #[serde(default)]
    pub dialog: Option<Epoch>,
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
        Staff { project, looking: false, again: false, unset: Vec::new(), outages: Vec::new() }
    }

    pub fn outage(&self, role: Role) -> Option<&Outage> {
        self.outages.iter().find(|outage| outage.role == role)
    }

    /// The outages by their questions, oldest first: a cause each, with the roles it keeps.
    pub fn causes(&self) -> Vec<(&Outage, Vec<Role>)> {
        let mut causes: Vec<(&Outage, Vec<Role>)> = Vec::new();
        for outage in &self.outages {
            match causes.iter_mut().find(|(first, _)| first.question == outage.question) {
                Some((_, roles)) => roles.push(outage.role),
                None => causes.push((outage, vec![outage.role])),
            }
        }
        causes
    }

    pub fn wake_at(&self) -> Option<Time> {
        self.outages.iter().flat_map(|outage| [outage.remind_at, outage.retry_at]).min()
    }
}

impl super::Floor {
    /// Why nothing of that role is begun in the project.
    pub fn outage(&self, project: &ProjectName, role: Role) -> Option<&Outage> {
        self.staff.get(project)?.outage(role)
    }

    /// All of them, with their projects.
    pub fn outages(&self) -> impl Iterator<Item = (&ProjectName, &Outage)> {
        self.staff.iter().flat_map(|staff| staff.outages.iter().map(|outage| (&staff.project, outage)))
    }

    /// The session whose login dialog, which is up, is an outage's question.
    pub fn login_dialog(&self, outage: &Outage) -> Option<&Session> {
        let asks = |s: &&Session| matches!(s.asks, Some(SessionAsk { about: About::Dialog { .. }, .. }));
        self.sessions.get(&outage.dialog?).filter(|s| s.state == SessionState::Live).filter(asks)
    }

    /// The number under which an outage is answered.
    pub fn question_of(&self, outage: &Outage) -> QuestionId {
        self.login_dialog(outage).and_then(|s| s.asks.as_ref()).map_or(outage.question, |ask| ask.id)
    }

    /// What a job waits for that its project's agents need.
    pub fn outage_of(&self, job: &super::Job) -> Option<&Outage> {
        let at_login = |outage: &&Outage| self.login_dialog(outage).is_some_and(|s| s.job == job.id);
        match job.state {
            super::JobState::Working => self.outage(&job.project, Role::Dev).filter(at_login),
            super::JobState::Reviewing { .. } if job.review_session.is_some() => {
                self.outage(&job.project, Role::Review).filter(at_login)
            }
            super::JobState::Respawning if job.unstaffed => self.outage(&job.project, Role::Dev),
            super::JobState::Reviewing { .. } if job.review_session.is_none() => {
                self.outage(&job.project, Role::Review)
            }
            _ => None,
        }
    }
}
