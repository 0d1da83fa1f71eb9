//! Hand sessions as identities, beside the agents of jobs. Nothing about that is stored: what is shown
//! follows from their records and their processes.

use crate::record::Stand;
use crate::sessions::{Hand, HandResult, HandSessions};
use shopfloor_adapters::host::process::{self, is_same};
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::ids::HandName;
use shopfloor_core::time::Time;
use shopfloor_desk::texts;
use shopfloor_desk::view::agent::{AgentState, Identity, Liveness};
use shopfloor_desk::view::beside::Beside;

/// The hand sessions, from their records. tmux is asked only about those whose program is gone: it knows how
/// they ended.
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
        role: "hand".to_owned(),
        session_id: format!("h{}", hand.name.number()),
        node_id: Some(record.project.clone()),
        bead_id: Some(record.story.clone()),
        worktree_path: Some(record.cwd.clone()),
        phase: hands.phase(&hand.name),
        tmux_session: Some(name.clone()),
        ..Identity::bare(name.strip_prefix(HandName::PREFIX)?, process, (status, liveness, reason))
    };
    Some(Beside::new(identity, record.created, last))
}

fn stand(hand: &Hand, seen: Option<process::Liveness>) -> (AgentState, Liveness, &'static str) {
    let ended = |well: bool| if well { AgentState::Terminated } else { AgentState::Crashed };
    match (&hand.probe, hand.record.as_ref().map(|record| &record.stand)) {
        (_, Some(Stand::Ended(_))) => (AgentState::Terminated, Liveness::Red, "ended"),
        _ if seen == Some(process::Liveness::Alive) => {
            (AgentState::Active, Liveness::Green, texts::process_runs())
        }
        (Ok(Probe::Alive(_)), _) => (AgentState::Active, Liveness::Green, texts::process_runs()),
        (Ok(Probe::Dead { status }), _) => {
            (ended(*status == Some(0)), Liveness::Red, "its program has ended")
        }
        (_, Some(Stand::Starting { .. })) => (AgentState::Active, Liveness::Yellow, "starting"),
        (Ok(Probe::Absent), _) => (AgentState::Crashed, Liveness::Red, "its session is gone"),
        _ => (AgentState::Active, Liveness::Yellow, texts::process_unknown()),
    }
}
