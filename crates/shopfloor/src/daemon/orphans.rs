//! Sessions that nobody knows: on the floor's own socket, under a name that only a job's session has,
//! and not on record as one that lives. A store that was put back from a copy leaves such.
//!
//! They are ended before the daemon does anything, since a session that is started under the same
//! name would adopt them. What their worktrees hold is kept first. Sessions under other names are
//! somebody's, and left alone.

use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::ids::{Epoch, IssueNumber, ProjectName, Role, tmux_name};
use shopfloor_core::state::{Floor, SessionState};
use shopfloor_engine::ports::{PortResult, Ports, Tree};

/// Ends what is nobody's. What cannot be ended is said, and holds nothing up.
pub fn end(floor: &Floor, ports: &Ports, tmux: &Tmux) {
    let names = match tmux.list() {
        Ok(sessions) => sessions.into_iter().map(|(name, _)| name),
        Err(e) => {
            eprintln!("warning: whether there are sessions that nobody knows cannot be seen: {e}");
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
                    eprintln!("session {name} was nobody's and is ended; its work is kept at {kept}")
                }
                Ok(None) => eprintln!("session {name} was nobody's and is ended; it had no worktree"),
                Err(e) => eprintln!("warning: session {name} is nobody's and could not be ended: {e}"),
            });
        }
    });
}

fn is_known(floor: &Floor, name: &str, epoch: Epoch) -> bool {
    floor.sessions.get(&epoch).is_some_and(|s| s.tmux == name && s.state != SessionState::Ended)
}

/// As any session is ended: a snapshot before, since it may not survive the end, and one after.
fn end_one(floor: &Floor, ports: &Ports, tree: &Tree, epoch: Epoch) -> PortResult<Option<String>> {
    // Of a project that the floor does not have there is no worktree either.
    let keep = || match floor.projects.get(&tree.project) {
        Some(_) => ports.workspace.snapshot(tree),
        None => Ok(None),
    };
    keep()?;
    ports.agents.end(tree, epoch)?;
    Ok(keep()?.map(|snapshot| snapshot.reference))
}

/// What a session of that name is for, if the name is a job's session's.
fn parse(name: &str) -> Option<(Tree, Epoch)> {
    let (rest, epoch) = name.rsplit_once("-e")?;
    let (rest, issue) = rest.rsplit_once('-')?;
    let (role, project) = rest.split_once('-')?;
    let role = [Role::Dev, Role::Review].into_iter().find(|known| known.as_str() == role)?;
    let project: ProjectName = project.parse().ok()?;
    let issue: IssueNumber = issue.parse().ok()?;
    let epoch: Epoch = epoch.parse().ok()?;
    // Only exactly as we write it.
    (tmux_name(role, &project, issue, epoch) == name).then_some((Tree::of_job(&project, role, issue), epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_jobs_sessions_are_taken_for_such() {
        let (tree, epoch) = parse("review-my-app-e2-12-e3").expect("a session's name");
        assert_eq!((tree.role(), tree.project.as_str()), (Some(Role::Review), "my-app-e2"));
        assert_eq!((tree.issue(), epoch), (Some(IssueNumber(12)), Epoch(3)));
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
