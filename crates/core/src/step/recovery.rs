//! Going on with what was begun: the open pull request of an issue that nobody works on.

use crate::ids::branch_for;
use crate::state::{Entry, Floor, Issue, Pull};

/// The pull request to go on with: the one that the issue's text names, else that of the issue's own
/// branch, else the newest that says it is for the issue. Not one whose branch another job works on, or
/// that a person has put into the merge queue.
pub(super) fn open_pull<'a>(floor: &'a Floor, issue: &Issue) -> Option<&'a Pull> {
    if floor.pulls.is_empty() {
        return None;
    }
    let own = branch_for(issue.number);
    let primary = floor.policy(&issue.project).primary_branch;
    let free = |pull: &&Pull| {
        let taken = |j: &crate::state::Job| j.issue != issue.number && j.branch == pull.branch;
        let queued = |e: &Entry| e.job.is_none() && e.state.is_live() && e.branch == pull.branch;
        !pull.branch.is_empty()
            && pull.branch != primary
            && !floor.live_jobs(&issue.project).any(taken)
            && !floor.entries.iter().any(queued)
    };
    let mine = || floor.pulls.iter().filter(|pull| pull.project == issue.project).filter(free);
    mine()
        .find(|pull| Some(pull.number) == issue.hints.pr)
        .or_else(|| mine().find(|pull| pull.branch == own))
        .or_else(|| mine().rfind(|pull| pull.fixes.contains(&issue.number)))
}

/// Whether the issue's own branch has an open pull request: somebody of the factory was at work.
pub(super) fn is_stuck(floor: &Floor, issue: &Issue) -> bool {
    open_pull(floor, issue).is_some_and(|pull| pull.branch == branch_for(issue.number))
}
