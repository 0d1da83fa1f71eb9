//! Who lives on the floor beside the jobs' agents: the daemon, which the seeds call the guardian, and whoever
//! else is shown as one of them. Nothing about them is stored here: what is shown follows from their records
//! and their processes.

use super::agent::{AgentState, Identity, Liveness};
use crate::time::moment;
use shopfloor_adapters::host::process::identify;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::time::Time;
use std::time::UNIX_EPOCH;

/// Somebody beside the jobs.
pub struct Beside {
    pub identity: Identity,
    pub created: Time,
    pub seen: Time,
}

impl Beside {
    pub fn new(identity: Identity, created: Time, seen: Time) -> Beside {
        let (created_at, last_seen) = (moment(created), moment(seen));
        Beside { identity: Identity { created_at, last_seen, ..identity }, created, seen }
    }
}

/// The daemon that answers.
pub fn guardian(layout: &Layout, pid: u32, now: Time) -> Beside {
    // The socket was made when the daemon began to listen.
    let begun = std::fs::metadata(layout.daemon_socket()).and_then(|meta| meta.modified()).ok();
    let begun = begun.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let begun = begun.map_or(now, |since| Time(since.as_millis() as u64));
    let process = identify(pid).or(Some(ProcessId { pid, start: 0 }));
    let identity = Identity {
        role: "guardian".to_owned(),
        session_id: format!("pid {pid}"),
        ..Identity::bare("floor", process, (AgentState::Active, Liveness::Green, "it answers"))
    };
    Beside::new(identity, begun, now)
}

impl Identity {
    /// An identity about which nothing more is known.
    pub fn bare(
        name: &str,
        process: Option<ProcessId>,
        (status, liveness, liveness_reason): (AgentState, Liveness, &'static str),
    ) -> Identity {
        Identity {
            role: String::new(),
            name: name.to_owned(),
            session_id: String::new(),
            pid: process.map(|process| process.pid),
            pid_start: process.map(|process| process.start),
            tmux_session: None,
            node_id: None,
            bead_id: None,
            worktree_path: None,
            hook_path: None,
            created_at: String::new(),
            last_seen: String::new(),
            status,
            predecessor_id: None,
            chain: Vec::new(),
            liveness,
            liveness_reason,
            phase: None,
            work_phase: None,
            activity: None,
            activity_since: None,
            context_percent: None,
            cost_usd: None,
        }
    }
}
