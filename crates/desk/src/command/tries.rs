//! Branches that are checked as they would land, without landing.

use super::{Asking, Change};
use crate::{Desk, Error, Result};
use shopfloor_adapters::git::branches;
use shopfloor_core::event::{Event, TryAsk};
use shopfloor_core::ids::{ProjectName, Target, TryId};
use shopfloor_core::state::Floor;
use shopfloor_core::step::may_try;

impl Desk {
    /// Has the change checked on top of that branch, or of the primary branch.
    pub fn try_branch(&self, asking: &Asking<'_>, change: &Change, on: Option<&str>) -> Result<TryId> {
        let project = &asking.project.name;
        let engine = self.engine()?;
        let (name, of_agent) = branch(engine.floor(), project, change)?;
        let ask = ask(asking, engine.floor(), &name, on, of_agent)?;
        let (head, base) = (ask.head.clone(), ask.base.clone());
        may_try(engine.floor(), project).map_err(|why| {
            Error::failed(format!("{name} cannot be tried: {why}"))
                .hint("`shopfloor merge-queue list` shows what is being tried")
        })?;
        self.submit(&Event::TryAsked { project: project.clone(), ask })?;
        let engine = self.engine()?;
        let made = engine.floor().newest_try(project, &name);
        made.filter(|t| t.head == head && t.base == base)
            .map(|t| t.id)
            .ok_or_else(|| Error::failed(format!("{name} is not tried")).hint("`shopfloor events` says why"))
    }

    /// Ends the try.
    pub fn drop_try(&self, project: &ProjectName, change: &Change) -> Result<TryId> {
        let (name, _) = branch(self.engine()?.floor(), project, change)?;
        self.submit(&Event::TryDropped { project: project.clone(), branch: name.clone() })?;
        let engine = self.engine()?;
        let dropped = engine.floor().newest_try(project, &name).map(|row| row.id);
        dropped.ok_or_else(|| Error::no_such(format!("{name} is not being tried")))
    }
}

/// The branch that is meant, and whether an agent works on it.
fn branch(floor: &Floor, project: &ProjectName, change: &Change) -> Result<(String, bool)> {
    Ok(match change {
        // A job that ended has left its branch to people.
        Change::Branch(name) => (name.clone(), floor.live_jobs(project).any(|job| job.branch == *name)),
        Change::Issue(_) => (change.job(floor, project)?.branch.clone(), true),
    })
}

fn ask(asking: &Asking<'_>, floor: &Floor, name: &str, on: Option<&str>, of_agent: bool) -> Result<TryAsk> {
    let project = &asking.project;
    let on = on.map(|on| on.strip_prefix("refs/heads/").unwrap_or(on));
    let named = on.and_then(|on| project.policy.targets.iter().find(|t| t.name == on));
    let on: Option<Target> = match (named, on) {
        (Some(target), _) => Some(target.branch.clone()),
        (None, Some(on)) if on != project.policy.primary_branch => {
            let target = Target::try_from(on.to_owned());
            Some(target.map_err(|_| Error::usage(format!("{on:?} is not a valid branch name")))?)
        }
        _ => None,
    };
    let found = asking.look(name, on.as_ref())?;
    let branch = project.policy.branch_of(on.as_ref());
    let base = branches::primary(&*(asking.origin)()?, branch, None);
    let base = base.map_err(|e| Error::failed(e.to_string()))?;
    let Some((base, _)) = base else {
        return Err(Error::no_such(format!("the hub has no branch {branch}")));
    };
    let pull = floor.pulls.iter().find(|p| p.project == project.name && p.branch == name);
    let job = floor.job_on(&project.name, name);
    Ok(TryAsk {
        branch: name.to_owned(),
        head: found.head,
        title: found.subject,
        on,
        base,
        issue: job.and_then(|job| job.number()),
        pr: pull.map(|pull| pull.number).or(job.and_then(|job| job.pr)),
        of_agent,
        by: asking.by.clone(),
    })
}
