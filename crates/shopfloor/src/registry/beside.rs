//! Who lives on the floor beside the jobs' agents: hand sessions, and the daemon, which the seeds call the guardian.
//! Nothing is stored of them here: what is shown follows from their records and their processes.

use super::{Identity, Liveness, Standing};
use crate::cli::output;
use shopfloor_adapters::hand::{Hand, HandResult, HandSessions, Stand};
use shopfloor_adapters::host::process::{self, identify, is_same};
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::hand::name::PREFIX;
use shopfloor_core::time::Time;
use std::time::UNIX_EPOCH;

/// Somebody beside the jobs.
pub struct Beside {
    pub identity: Identity,
    pub created: Time,
    pub seen: Time,
}

impl Beside {
    fn new(identity: Identity, created: Time, seen: Time) -> Beside {
        let (created_at, last_seen) = (output::moment(created), output::moment(seen));
        Beside { identity: Identity { created_at, last_seen, ..identity }, created, seen }
    }
}

/// The hand sessions, from their records. tmux is asked only of those whose program is gone: it knows how.
pub fn hands(hands: &HandSessions, ended: bool, now: Time) -> HandResult<Vec<Beside>> {
    let recorded = hands.recorded()?.into_iter();
    let shown = recorded.filter(|hand| ended || hand.ended().is_none());
    Ok(shown.filter_map(|hand| hand_session(hands, hand, now)).collect())
}

fn hand_session(hands: &HandSessions, hand: Hand, now: Time) -> Option<Beside> {
    let process = hand.process();
    let seen = process.map(is_same);
    let hand = match seen {
        Some(process::Liveness::Gone) | None if hand.ended().is_none() => hands.look(&hand.name),
        _ => hand,
    };
    let record = hand.record.as_ref()?;
    let (status, liveness, reason) = stand(&hand, seen);
    let last = match &record.stand {
        Stand::Ended(ended) => ended.at,
        _ if liveness == Liveness::Green => now,
        _ => record.created,
    };
    let name = hand.name.to_string();
    let identity = Identity {
        role: "hand",
        session_id: format!("h{}", hand.name.number()),
        node_id: Some(record.project.clone()),
        bead_id: Some(record.story.clone()),
        worktree_path: Some(record.cwd.clone()),
        phase: hands.phase(&hand.name),
        tmux_session: Some(name.clone()),
        ..Identity::bare(name.strip_prefix(PREFIX)?, process, (status, liveness, reason))
    };
    Some(Beside::new(identity, record.created, last))
}

fn stand(hand: &Hand, seen: Option<process::Liveness>) -> (Standing, Liveness, &'static str) {
    let ended = |well: bool| if well { Standing::Terminated } else { Standing::Crashed };
    match (&hand.probe, hand.record.as_ref().map(|record| &record.stand)) {
        (_, Some(Stand::Ended(_))) => (Standing::Terminated, Liveness::Red, "ended"),
        _ if seen == Some(process::Liveness::Alive) => {
            (Standing::Active, Liveness::Green, "its process runs")
        }
        (Ok(Probe::Alive(_)), _) => (Standing::Active, Liveness::Green, "its process runs"),
        (Ok(Probe::Dead { status }), _) => {
            (ended(*status == Some(0)), Liveness::Red, "its program has ended")
        }
        (_, Some(Stand::Starting { .. })) => (Standing::Active, Liveness::Yellow, "starting"),
        (Ok(Probe::Absent), _) => (Standing::Crashed, Liveness::Red, "its session is gone"),
        _ => (Standing::Active, Liveness::Yellow, "its process cannot be looked at"),
    }
}

/// The daemon that answers.
pub fn guardian(layout: &Layout, pid: u32, now: Time) -> Beside {
    // Made when it began to listen.
    let begun = std::fs::metadata(layout.daemon_socket()).and_then(|meta| meta.modified()).ok();
    let begun = begun.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let begun = begun.map_or(now, |since| Time(since.as_millis() as u64));
    let process = identify(pid).or(Some(ProcessId { pid, start: 0 }));
    let identity = Identity {
        role: "guardian",
        session_id: format!("pid {pid}"),
        ..Identity::bare("floor", process, (Standing::Active, Liveness::Green, "it answers"))
    };
    Beside::new(identity, begun, now)
}

impl Identity {
    /// One of which nothing more is known.
    fn bare(
        name: &str,
        process: Option<ProcessId>,
        (status, liveness, liveness_reason): (Standing, Liveness, &'static str),
    ) -> Identity {
        Identity {
            role: "",
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
