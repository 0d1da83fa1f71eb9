//! Targets as people name them: by the name in `[merge.targets]`, or by the branch itself.

use crate::cli::{CliError, CliResult, Context};
use shopfloor_core::ids::{QueueId, Target};
use shopfloor_core::policy::Policy;
use shopfloor_core::state::Floor;

/// The target of that name; `None`: the primary branch.
pub fn named(context: &Context, name: Option<&str>) -> CliResult<Option<Target>> {
    let Some(name) = name else { return Ok(None) };
    let policy = context.project()?.policy;
    if name == policy.primary_branch {
        return Ok(None);
    }
    let found = policy.targets.iter().find(|t| t.name == name || t.branch.branch() == name);
    found
        .map(|target| Some(target.branch.clone()))
        .ok_or_else(|| CliError::no_such(format!("the project has no target {name}")).hint(known(&policy)))
}

fn known(policy: &Policy) -> String {
    let names: Vec<&str> = policy.targets.iter().map(|t| t.name.as_str()).collect();
    match names.is_empty() {
        true => "[merge.targets.NAME] in shopfloor.toml makes one".to_owned(),
        false => format!("its targets are {}, beside {}", names.join(", "), policy.primary_branch),
    }
}

/// The queues that are meant: that one, or all of the project.
pub fn meant(context: &Context, floor: &Floor, name: Option<&str>) -> CliResult<Vec<QueueId>> {
    let project = context.project()?.name;
    match name {
        None => Ok(floor.queue_ids(&project)),
        Some(_) => Ok(vec![QueueId::new(&project, named(context, name)?.as_ref())]),
    }
}
