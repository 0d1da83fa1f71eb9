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
    /// They are being looked at: nothing new is started before the answer.
    #[serde(default)]
    pub looking: bool,
    /// Something changed in the meantime: they are looked at again.
    #[serde(default)]
    pub again: bool,
    /// Variables that the configuration names but the environment lacks.
    #[serde(default)]
    pub unset: Vec<String>,
    #[serde(default, rename = "holds")]
    pub outages: Vec<Outage>,
}
record!(Staff, "staff", Sessions, ProjectName, |s| s.project.clone(), |k| k.to_string());

/// Why no agent of a role is started in a project. No issue is to blame, and none is touched. Roles affected by
/// one cause share one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    pub role: Role,
    pub why: String,
    pub found: Found,
    pub since: Time,
    pub question: QuestionId,
    /// When people are reminded, and how often they have been.
    pub remind_at: Time,
    pub reminded: u32,
    /// When it is retried although nobody said that it is fixed, and how often it has been.
    pub retry_at: Time,
    pub tries: u32,
    /// The job that is trying whether it is fixed, and the last one that tried.
    #[serde(default)]
    pub trial: Option<JobId>,
    #[serde(default)]
    pub tried: Option<JobId>,
    /// The job whose sessions showed it, if it was found by sessions that ended at their start.
    #[serde(default)]
    pub shown_by: Option<JobId>,
    /// The session whose login dialog revealed it: while that dialog is up, it is this outage's question.
    #[serde(default)]
    pub dialog: Option<Epoch>,
}

/// How an outage was found, and so how we know that it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// By looking at what a session would need: another look tells.
    Look,
    /// By a session: only another session can tell.
    Session,
}

impl Staff {
    pub fn new(project: ProjectName) -> Staff {
        Staff { project, looking: false, again: false, unset: Vec::new(), outages: Vec::new() }
    }

    pub fn outage(&self, role: Role) -> Option<&Outage> {
        self.outages.iter().find(|outage| outage.role == role)
    }

    /// The outages grouped by question, oldest first: each cause with the roles it affects.
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
    /// Why no agent of that role is started in the project.
    pub fn outage(&self, project: &ProjectName, role: Role) -> Option<&Outage> {
        self.staff.get(project)?.outage(role)
    }

    /// The roles of a project that are out.
    pub fn roles_out(&self, project: &ProjectName) -> Vec<Role> {
        let outages = self.staff.get(project).into_iter().flat_map(|staff| &staff.outages);
        outages.map(|outage| outage.role).collect()
    }

    /// All outages, with their projects.
    pub fn outages(&self) -> impl Iterator<Item = (&ProjectName, &Outage)> {
        self.staff.iter().flat_map(|staff| staff.outages.iter().map(|outage| (&staff.project, outage)))
    }

    /// The session whose open login dialog is the outage's question.
    pub fn login_dialog(&self, outage: &Outage) -> Option<&Session> {
        let asks = |s: &&Session| matches!(s.asks.open, Some(SessionAsk { about: About::Dialog { .. }, .. }));
        self.sessions.get(&outage.dialog?).filter(|s| s.state == SessionState::Live).filter(asks)
    }

    /// The number under which an outage is answered.
    pub fn question_of(&self, outage: &Outage) -> QuestionId {
        self.login_dialog(outage).and_then(|s| s.asks.open.as_ref()).map_or(outage.question, |ask| ask.id)
    }

    /// The outage that a job is waiting out.
    pub fn outage_of(&self, job: &super::Job) -> Option<&Outage> {
        let at_login = |outage: &&Outage| self.login_dialog(outage).is_some_and(|s| s.job == job.id);
        match job.state {
            super::JobState::Working => self.outage(&job.project, job.role).filter(at_login),
            super::JobState::Reviewing { .. } if job.reviewer.session.is_some() => {
                self.outage(&job.project, Role::REVIEW).filter(at_login)
            }
            super::JobState::Respawning { unstaffed: true, .. } => self.outage(&job.project, job.role),
            super::JobState::Reviewing { .. } if job.reviewer.session.is_none() => {
                self.outage(&job.project, Role::REVIEW)
            }
            _ => None,
        }
    }
}
