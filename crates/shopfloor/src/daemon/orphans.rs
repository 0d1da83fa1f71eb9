//! Orphans: sessions on the floor's own socket, under a name that only a job's session has, that no record
//! says are alive. A store restored from a copy leaves such sessions.
//!
//! They are ended before the daemon does anything else, since a session started under the same name would
//! adopt them. What their worktrees hold is kept first. Sessions under other names belong to somebody, and
//! are left alone.

use crate::ports::named_like_a_jobs;
use shopfloor_adapters::terminal::known;
use shopfloor_adapters::terminal::tmux::{Probe, Tmux};
use shopfloor_core::ids::Epoch;
use shopfloor_core::state::{Floor, SessionState};
use shopfloor_engine::ports::{PortResult, Ports, Tree};

/// Ends all orphans. One that cannot be ended is reported, and holds nothing up.
pub fn end(floor: &Floor, ports: &Ports, tmux: &Tmux) {
    let sessions = match tmux.list() {
        Ok(sessions) => sessions,
        Err(e) => {
            tracing::warn!("whether there are sessions that nobody knows cannot be seen: {e}");
            return;
        }
    };
    for (name, probe) in &sessions {
        // Those of an earlier build go on being who they are.
        if let Probe::Alive(process) = probe
            && let Err(e) = known::keep(tmux.socket(), name, *process)
        {
            tracing::warn!("session {name} cannot be put on record: {e}");
        }
    }
    if let Err(e) = known::forget_ended(tmux.socket()) {
        tracing::warn!("what is on record of sessions that ended cannot be removed: {e}");
    }
    let names = sessions.into_iter().map(|(name, _)| name);
    let orphans: Vec<(String, Tree, Epoch)> = names
        .filter_map(|name| named_like_a_jobs(&name).map(|(tree, epoch)| (name, tree, epoch)))
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
