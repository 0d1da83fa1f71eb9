//! Who asks for something about a project's branches, and which change or target is meant.

use crate::{Error, Result};
use shopfloor_adapters::git::origin::Origin;
use shopfloor_core::ids::{IssueNumber, ProjectName, QueueId, Target};
use shopfloor_core::policy::Policy;
use shopfloor_core::state::{Floor, Job, Project, Shelf};
use std::str::FromStr;
use std::sync::Arc;

/// Somebody asks for something about a project's branches.
pub struct Asking<'a> {
    pub project: Project,
    /// The person's name.
    pub by: String,
    /// Where the branches live. How to get there is configured, and looked up only if needed.
    pub origin: Box<dyn Fn() -> Result<Arc<dyn Origin>> + 'a>,
}

/// A change as people refer to it: by its issue, or by its branch.
#[derive(Clone)]
pub enum Change {
    Issue(IssueNumber),
    Branch(String),
}

impl FromStr for Change {
    type Err = std::convert::Infallible;
    fn from_str(word: &str) -> std::result::Result<Self, Self::Err> {
        let name = word.strip_prefix("refs/heads/");
        if let (None, Ok(issue)) = (name, word.parse()) {
            return Ok(Change::Issue(issue));
        }
        Ok(Change::Branch(name.unwrap_or(word).to_owned()))
    }
}

impl Change {
    /// Where it is if it is not at hand.
    pub(crate) fn shelf(&self, project: &ProjectName) -> Shelf {
        match self {
            Change::Issue(issue) => Shelf::Number(project.clone(), *issue),
            Change::Branch(branch) => Shelf::Branch(project.clone(), branch.clone()),
        }
    }

    pub(crate) fn job<'f>(&self, floor: &'f Floor, project: &ProjectName) -> Result<&'f Job> {
        let found = match self {
            Change::Issue(issue) => floor.job_of(project, *issue),
            Change::Branch(branch) => floor.job_on(project, branch),
        };
        found.ok_or_else(|| {
            let what = match self {
                Change::Issue(issue) => format!("issue #{issue}"),
                Change::Branch(branch) => format!("branch {branch}"),
            };
            Error::no_such(format!("no job of project {project} carries {what}"))
                .hint("`shopfloor status` shows what is at work, `shopfloor merge-queue list` what is queued")
        })
    }
}

/// The target that people mean, by its name in `[merge.targets]` or by the branch itself; `None`: the primary
/// branch.
pub fn target_named(policy: &Policy, name: Option<&str>) -> Result<Option<Target>> {
    let Some(name) = name.filter(|name| *name != policy.primary_branch) else { return Ok(None) };
    let found = policy.targets.iter().find(|t| t.name == name || t.branch.branch() == name);
    found
        .map(|target| Some(target.branch.clone()))
        .ok_or_else(|| Error::no_such(format!("the project has no target {name}")).hint(known(policy)))
}

fn known(policy: &Policy) -> String {
    let names: Vec<&str> = policy.targets.iter().map(|t| t.name.as_str()).collect();
    match names.is_empty() {
        true => "[merge.targets.NAME] in shopfloor.toml makes one".to_owned(),
        false => format!("its targets are {}, beside {}", names.join(", "), policy.primary_branch),
    }
}

/// The queues that are meant: the named one, or all of the project's.
pub(super) fn queues_meant(floor: &Floor, project: &Project, name: Option<&str>) -> Result<Vec<QueueId>> {
    match name {
        None => Ok(floor.queue_ids(&project.name)),
        Some(_) => Ok(vec![QueueId::new(&project.name, target_named(&project.policy, name)?.as_ref())]),
    }
}
