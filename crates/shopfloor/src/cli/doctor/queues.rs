//! Origins' primary branches, compared with what the merge queues know of them.

use super::super::Context;
use super::Check;
use shopfloor_adapters::git::branches;
use shopfloor_core::ids::{QueueId, Sha};
use shopfloor_core::state::{Floor, LostPrimary, Project};

/// `floor` is what the store holds, if it could be read.
pub fn checks(context: &Context, floor: Option<&Floor>) -> Vec<Check> {
    let Some(floor) = floor else { return Vec::new() };
    let queues = |project: &Project| floor.queue_ids(&project.name);
    let all = floor.projects.iter().flat_map(|p| queues(p).into_iter().map(move |queue| (p, queue)));
    all.map(|(project, queue)| one(context, floor, project, &queue)).collect()
}

fn one(context: &Context, floor: &Floor, project: &Project, id: &QueueId) -> Check {
    let (name, branch) = (format!("merge queue of {id}"), project.policy.branch_of(id.target.as_ref()));
    let queue = floor.queues.get(id);
    // What is published this very moment may be there already or not.
    let publishing = queue.is_some_and(|q| q.publishing.is_some());
    let known = queue.and_then(|q| q.plan.base()).filter(|_| !publishing);
    let origin = context.origin(&project.name).map_err(|e| e.message);
    let found =
        origin.and_then(|origin| branches::primary(&*origin, branch, known).map_err(|e| e.to_string()));
    match (found, known) {
        (Err(why), _) => Check::warn(name, format!("the hub cannot be read: {why}")),
        (Ok(Some((head, true))), _) => match queue.and_then(|q| q.pause()) {
            Some(why) => Check::warn(name, format!("paused: {why}"))
                .hint("`shopfloor merge-queue resume` lets it continue"),
            None => Check::ok(name, format!("{branch} is at {}", head.short())),
        },
        (Ok(found), Some(known)) => lost(name, branch, known, found.map(|(head, _)| head)),
        (Ok(_), None) => Check::fail(name, format!("the hub has no branch {branch}"))
            .hint(format!("push it: `git push shopfloor {branch}`")),
    }
}

fn lost(name: String, branch: &str, known: &Sha, found: Option<Sha>) -> Check {
    let force = if found.is_some() { "--force " } else { "" };
    let lost = LostPrimary { known: Some(known.clone()), found, by_nobody: false };
    Check::fail(name, lost.tell()).hint(format!(
        "nothing lands until that is fixed: `git push {force}shopfloor {known}:refs/heads/{branch}` puts it back, `shopfloor merge-queue accept` accepts it as it is"
    ))
}
