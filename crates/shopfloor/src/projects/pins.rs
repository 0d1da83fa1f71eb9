//! What of the projects' configurations people accepted, as the floor has it, and what their files say beside it.
//! What follows is the core's to decide: here is only looked.

use super::{PrimaryFile, Projects, git_project};
use crate::config::pinned::{self, Proposal};
use crate::config::{FILE_NAME, FloorConfig, load};
use shopfloor_adapters::git::branches::OriginFile;
use shopfloor_core::diff;
use shopfloor_core::event::{Accepter, Event};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::redact::Redactor;
use shopfloor_core::state::Pin;
use shopfloor_desk::Error;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// What people accepted, by project.
#[derive(Clone, Default)]
pub struct Pins(Arc<RwLock<BTreeMap<ProjectName, Pin>>>);

impl Pins {
    pub fn get(&self, project: &ProjectName) -> Option<Pin> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(project).cloned()
    }

    /// Takes over what the floor has. The projects for which something else is in force now.
    pub fn follow<'a>(&self, pins: impl IntoIterator<Item = &'a Pin>) -> Vec<ProjectName> {
        let news = |pin: &&Pin| {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            known.get(&pin.project) != Some(pin)
        };
        let mut changed = Vec::new();
        for pin in pins.into_iter().filter(news) {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let before = all.insert(pin.project.clone(), pin.clone());
            if before.is_none_or(|before| before.accepted.text != pin.accepted.text) {
                changed.push(pin.project.clone());
            }
        }
        changed
    }
}

/// What a project's files say now. `pin`: what is accepted of it, if anything is.
pub fn proposal(
    checkout: &Path,
    floor: &FloorConfig,
    primary: &PrimaryFile,
    pin: Option<&Pin>,
) -> Result<Proposal, Error> {
    let own = load::unfilled(&checkout.join(FILE_NAME))?;
    let git = git_project(&own, checkout);
    let branch = &git.primary_branch;
    let found =
        primary(&git, FILE_NAME).map_err(|why| Error::failed(format!("{branch} cannot be read: {why}")))?;
    let theirs = match found {
        OriginFile::Text(text) => Some(text),
        OriginFile::Absent => None,
        // Somebody has deleted it: the checks that were accepted are accepted still.
        OriginFile::NoBranch => pin.map(|pin| pinned::configuration(&pin.accepted.text)).transpose()?,
    };
    let program = |path: &str| match primary(&git, path)? {
        OriginFile::Text(text) => Ok(Some(text)),
        OriginFile::Absent | OriginFile::NoBranch => Ok(None),
    };
    Ok(pinned::proposal(checkout, &floor.defaults.agents, (branch, theirs.as_deref()), &program)?)
}

/// How what the files say differs from what is in force, for people.
pub fn difference(accepted: &str, proposed: &str, redactor: &Redactor) -> String {
    redactor.redact(&diff::lines(accepted, proposed))
}

/// What the core has to know of what the files say, if it does not know it.
pub fn seen(
    floor: &FloorConfig,
    project: &ProjectName,
    proposal: &Proposal,
    pin: Option<&Pin>,
    redactor: &Redactor,
) -> Result<Option<Event>, Error> {
    let project = project.clone();
    let accepted =
        |by| Event::ConfigAccepted { project: project.clone(), text: proposal.text.clone(), ahead: None, by };
    let Some(pin) = pin else { return Ok(Some(accepted(Accepter::First))) };
    let in_force = pinned::in_todays_words(&pin.accepted.text)?;
    if floor.accepts_all() {
        return Ok((in_force != proposal.text || pin.differs.is_some()).then(|| accepted(Accepter::Policy)));
    }
    // An earlier program may have said the same in fewer words.
    if in_force == proposal.text {
        let text = pin.accepted.text.clone();
        return Ok(pin.differs.is_some().then_some(Event::ConfigSeen { project, text, diff: String::new() }));
    }
    if let Some(ahead) = &pin.ahead
        && pinned::in_todays_words(&ahead.text)? == proposal.text
    {
        let text = ahead.text.clone();
        return Ok(Some(Event::ConfigSeen { project, text, diff: String::new() }));
    }
    if pin.differs.as_ref().is_some_and(|differs| differs.text == proposal.text) {
        return Ok(None);
    }
    let diff = difference(&in_force, &proposal.text, redactor);
    Ok(Some(Event::ConfigSeen { project, text: proposal.text.clone(), diff }))
}

impl Projects {
    /// What the core has to know of what a project's files say now.
    pub fn looked_at(&self, name: &ProjectName, checkout: &Path) -> Result<Option<Event>, Error> {
        let Some(primary) = &self.primary else { return Ok(None) };
        let pin = self.pins.get(name);
        let floor = self.floor()?;
        let proposal = proposal(checkout, &floor, primary, pin.as_ref())?;
        let redactor = self.known(name).map_or_else(Redactor::blind, |known| known.redactor);
        seen(&floor, name, &proposal, pin.as_ref(), &redactor)
    }
}
