//! Sessions on the floor's own socket under names that only jobs' sessions have.

use shopfloor_adapters::terminal::tmux::{Tmux, TmuxResult};
use shopfloor_core::health::Stray;
use shopfloor_core::ids::{Assignment, Epoch, ProjectName, Role, tmux_name};
use shopfloor_engine::ports::Tree;

/// More than work at once.
const STRAYS_MAX: usize = 500;

/// All sessions that are named like jobs': whether anybody knows them, whoever asks says.
pub(super) fn strays(tmux: &Tmux) -> TmuxResult<Vec<Stray>> {
    let named = tmux.list()?.into_iter().filter_map(|(name, _)| named_like_a_jobs(&name));
    let stray = named.filter_map(|(tree, epoch)| {
        let (role, assignment) = (tree.role()?, tree.assignment()?);
        Some(Stray { project: tree.project, role, assignment, epoch })
    });
    Ok(stray.take(STRAYS_MAX).collect())
}

/// The tree and epoch that a session's name stands for, if it is the name of a job's session.
pub fn named_like_a_jobs(name: &str) -> Option<(Tree, Epoch)> {
    let (rest, epoch) = name.rsplit_once("-e")?;
    let (rest, number) = rest.rsplit_once('-')?;
    let (role, project) = rest.split_once('-')?;
    let role: Role = role.parse().ok()?;
    let project: ProjectName = project.parse().ok()?;
    let assignment = Assignment::tagged(number)?;
    let epoch: Epoch = epoch.parse().ok()?;
    // Only if spelled exactly as we write it.
    (tmux_name(role, &project, assignment, epoch) == name)
        .then(|| (Tree::of_job(&project, role, assignment), epoch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::ids::{IssueNumber, RunNumber};

    #[test]
    fn only_names_of_jobs_sessions_are_taken_for_such() {
        let (tree, epoch) = named_like_a_jobs("review-my-app-e2-12-e3").expect("a session's name");
        assert_eq!((tree.role(), tree.project.as_str()), (Some(Role::REVIEW), "my-app-e2"));
        assert_eq!((tree.number(), epoch), (Some(IssueNumber(12)), Epoch(3)));
        let (tree, _) = named_like_a_jobs("supervisor-sample-r4-e9").expect("that of a run");
        assert_eq!(tree.assignment(), Some(Assignment::Run(RunNumber(4))));
        for other in [
            "hand-sample-1-e1",
            "dev-sample-1",
            "dev-sample-1-e",
            "dev-1-e1",
            "dev-sample-#1-e1",
            "dev-sample-01-e1",
            "x",
            "shopfloor",
        ] {
            assert!(named_like_a_jobs(other).is_none(), "{other}");
        }
    }
}
