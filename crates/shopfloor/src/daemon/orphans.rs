//! Orphans: sessions on the floor's own socket, under a name that only a job's session has, that no record
//! says are alive. A store restored from a copy leaves such sessions.
//!
//! They are ended before the daemon does anything else, since a session started under the same name would
//! adopt them. What their worktrees hold is kept first. Sessions under other names belong to somebody, and
//! are left alone.

use shopfloor_adapters::terminal::tmux::{Tmux, TmuxResult};
use shopfloor_core::health::Stray;
use shopfloor_core::ids::{Assignment, Epoch, ProjectName, Role, tmux_name};
use shopfloor_core::state::{Floor, SessionState};
use shopfloor_engine::ports::{PortResult, Ports, Tree};

/// Ends all orphans. One that cannot be ended is reported, and holds nothing up.
pub fn end(floor: &Floor, ports: &Ports, tmux: &Tmux) {
    let names = match tmux.list() {
        Ok(sessions) => sessions.into_iter().map(|(name, _)| name),
        Err(e) => {
            tracing::warn!("whether there are sessions that nobody knows cannot be seen: {e}");
            return;
        }
    };
    let orphans: Vec<(String, Tree, Epoch)> = names
        .filter_map(|name| parse(&name).map(|(tree, epoch)| (name, tree, epoch)))
        .filter(|(name, _, epoch)| !is_known(floor, name, *epoch))
        .collect();
    // Side by side: each may take seconds to obey.
    std::thread::scope(|scope| {
        for (name, tree, epoch) in &orphans {
            scope.spawn(move || match end_one(floor, ports, tree, *epoch) {
                Ok(Some(kept)) => {
                    tracing::info!("session {name} was nobody's and is ended; its work is kept at {kept}");
                }
                Ok(None) => tracing::info!("session {name} was nobody's and is ended; it had no worktree"),
                Err(e) => tracing::warn!("session {name} is nobody's and could not be ended: {e}"),
            });
        }
    });
}

/// More than work at once.
const STRAYS_MAX: usize = 500;

/// All sessions that are named like jobs': whether anybody knows them, whoever asks says.
pub(super) fn strays(tmux: &Tmux) -> TmuxResult<Vec<Stray>> {
    let named = tmux.list()?.into_iter().filter_map(|(name, _)| parse(&name));
    let stray = named.filter_map(|(tree, epoch)| {
        let (role, assignment) = (tree.role()?, tree.assignment()?);
        Some(Stray { project: tree.project, role, assignment, epoch })
    });
    Ok(stray.take(STRAYS_MAX).collect())
}

fn is_known(floor: &Floor, name: &str, epoch: Epoch) -> bool {
    floor.sessions.get(&epoch).is_some_and(|s| s.tmux == name && s.state != SessionState::Ended)
}

/// Ended like any session: with a snapshot before, since the work may not survive the end, and one after.
fn end_one(floor: &Floor, ports: &Ports, tree: &Tree, epoch: Epoch) -> PortResult<Option<String>> {
    // If the floor does not have the project, there is no worktree either.
    let keep = || match floor.projects.get(&tree.project) {
        Some(_) => ports.workspace.snapshot(tree),
        None => Ok(None),
    };
    keep()?;
    ports.agents.end(tree, epoch)?;
    Ok(keep()?.map(|snapshot| snapshot.reference))
}

/// The tree and epoch that a session's name stands for, if it is the name of a job's session.
fn parse(name: &str) -> Option<(Tree, Epoch)> {
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
        let (tree, epoch) = parse("review-my-app-e2-12-e3").expect("a session's name");
        assert_eq!((tree.role(), tree.project.as_str()), (Some(Role::REVIEW), "my-app-e2"));
        assert_eq!((tree.number(), epoch), (Some(IssueNumber(12)), Epoch(3)));
        let (tree, _) = parse("supervisor-sample-r4-e9").expect("that of a run");
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
            assert!(parse(other).is_none(), "{other}");
        }
    }
}
