//! What is known of how a floor or a project is doing: its findings, what people acknowledged of them, and what people
//! wrote to the supervisor.

use super::Floor;
use crate::health::{Concern, Finding, FindingKey, Measured, Priority};
use crate::ids::{ProjectName, RunNumber};
use crate::table::Record;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What no remedy has ended so often will not be ended by it.
pub const REMEDIES_MAX: u32 = 3;
/// An agent that looked into something is asked again no sooner than this.
const LOOKS_AGAIN_AFTER: Duration = Duration::from_secs(24 * 3600);

/// A finding, and what was done about it. It is forgotten when it is no longer found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    #[serde(flatten)]
    pub finding: Finding,
    pub since: Time,
    /// How urgent it was when people were last told of it by itself.
    #[serde(default)]
    pub told: Option<Priority>,
    /// How often its remedy was applied, and when last.
    #[serde(default)]
    pub tried: u32,
    #[serde(default)]
    pub tried_at: Option<Time>,
    /// How urgent it was when an agent last looked into it, and when that was.
    #[serde(default)]
    pub looked: Option<(Priority, Time)>,
}

/// A person knows of a finding and does not want to hear of it until then, unless it gets worse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    pub key: FindingKey,
    /// What is more urgent than this is shown again; `None`: whatever it is.
    pub priority: Option<Priority>,
    pub until: Time,
    pub by: String,
    pub at: Time,
}

/// What a person wrote to the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    pub number: u64,
    pub text: String,
    pub by: String,
    pub at: Time,
    /// The run that is to answer it.
    #[serde(default)]
    pub run: Option<RunNumber>,
    /// How many runs have not.
    #[serde(default)]
    pub failed: u32,
    #[serde(default)]
    pub answer: Option<String>,
}

/// Of one project, or (`project` is `None`) of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub project: Option<ProjectName>,
    #[serde(default)]
    pub checked_at: Option<Time>,
    #[serde(default)]
    pub findings: Vec<Known>,
    #[serde(default)]
    pub acks: Vec<Ack>,
    #[serde(default)]
    pub letters: Vec<Letter>,
    /// What people were last shown in a summary: keys and priorities.
    #[serde(default)]
    pub summary: Vec<(FindingKey, Priority)>,
}
record!(Health, "health", Healths, Option<ProjectName>, |h| h.project.clone(), |k| match k {
    Some(project) => format!("project/{project}"),
    None => "machine".to_owned(),
});

impl Known {
    /// Whether an agent is to look into it: nobody else does, and none has lately.
    fn is_unexplained(&self, now: Time) -> bool {
        let remedied = self.finding.remedy.is_some() && self.tried < REMEDIES_MAX;
        let looked = self.looked.is_some_and(|(priority, at)| {
            self.finding.priority >= priority && now.since(at) < LOOKS_AGAIN_AFTER
        });
        self.finding.concern == Concern::Agent && !remedied && !looked
    }
}

impl Health {
    pub fn new(project: Option<ProjectName>) -> Health {
        Health {
            project,
            checked_at: None,
            findings: Vec::new(),
            acks: Vec::new(),
            letters: Vec::new(),
            summary: Vec::new(),
        }
    }

    pub fn known(&self, key: &FindingKey) -> Option<&Known> {
        self.findings.iter().find(|known| known.finding.key == *key)
    }

    /// The acknowledgement that covers a finding.
    pub fn ack(&self, finding: &Finding, now: Time) -> Option<&Ack> {
        self.acks.iter().find(|ack| {
            ack.key == finding.key
                && ack.until > now
                && ack.priority.is_none_or(|known| finding.priority >= known)
        })
    }

    /// What is shown to people.
    pub fn shown(&self, now: Time) -> impl Iterator<Item = &Known> {
        self.findings.iter().filter(move |known| self.ack(&known.finding, now).is_none())
    }

    pub fn unexplained(&self, now: Time) -> impl Iterator<Item = &Known> {
        self.shown(now).filter(move |known| known.is_unexplained(now))
    }

    /// Letters that no answer has been given to.
    pub fn open_letters(&self) -> impl Iterator<Item = &Letter> {
        self.letters.iter().filter(|letter| letter.answer.is_none())
    }

    /// When the first acknowledgement ends.
    pub(crate) fn due(&self) -> Option<Time> {
        self.acks.iter().map(|ack| ack.until).min()
    }

    /// What is found now, with what is known of it from before. What was not looked at this time stays as it was.
    pub fn taking_in(&self, found: Vec<Finding>, measured: &Measured, now: Time) -> Vec<Known> {
        let unseen = |known: &&Known| match known.finding.key.as_str() {
            "sessions.stray" => measured.strays.is_none(),
            "worktrees" => measured.trees.is_none(),
            "locks" => measured.locks.is_none(),
            "ci.running" | "ci.unwanted" => measured.checks.is_none(),
            "ci.trend" => measured.recent.is_none(),
            _ => false,
        };
        let kept = self.findings.iter().filter(unseen).cloned();
        let fresh = found.into_iter().map(|finding| match self.known(&finding.key) {
            Some(known) => Known { finding, ..known.clone() },
            None => Known { finding, since: now, told: None, tried: 0, tried_at: None, looked: None },
        });
        fresh.chain(kept).collect()
    }
}

impl Floor {
    /// What is known of a project and of the machine.
    pub fn health_of<'a>(&'a self, project: &ProjectName) -> impl Iterator<Item = &'a Health> {
        let machine = self.health.get(&None);
        let own = self.health.get(&Some(project.clone()));
        machine.into_iter().chain(own)
    }

    /// Whether there is something for the project's supervisor to look into, or to answer.
    pub fn wants_supervisor(&self, project: &ProjectName, now: Time) -> bool {
        let asked =
            |row: &Health| row.open_letters().next().is_some() || row.unexplained(now).next().is_some();
        self.health_of(project).any(asked)
    }
}
