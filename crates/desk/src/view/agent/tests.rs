//! Who is alive: from the process itself, and from when something was last seen.

use super::*;
use serde_json::json;
use shopfloor_adapters::host::process::identify;
use shopfloor_core::ids::Role;

/// This very process, and one that had its pid before.
pub fn processes() -> (ProcessId, ProcessId) {
    let own = identify(std::process::id()).expect("it runs");
    (own, ProcessId { start: own.start + 1, ..own })
}

/// A floor with one agent, last seen at `seen`.
pub fn floor(status: AgentStatus, state: SessionState, process: Option<ProcessId>, seen: Time) -> Floor {
    let mut floor = Floor::default();
    let session = |epoch: u64, predecessor: Option<u64>| {
        let value = json!({
            "epoch": epoch, "job": 1, "role": "dev", "project": "p", "issue": 1, "state": state, "tmux": "t",
            "process": process, "phase_file": null, "phase": null, "phase_stamp": null, "created_at": 1,
            "last_seen": seen, "exit_status": null, "predecessor": predecessor,
        });
        serde_json::from_value::<Session>(value).expect("a session")
    };
    for epoch in 1..=4 {
        floor.sessions.load(session(epoch, (epoch > 1).then(|| epoch - 1)));
    }
    floor.agents.load(Agent {
        role: Role::DEV,
        name: "p-1".into(),
        project: "p".parse().expect("a name"),
        assignment: shopfloor_core::ids::Assignment::Issue(shopfloor_core::ids::IssueNumber(1)),
        session: Epoch(4),
        predecessor: Some(Epoch(3)),
        status,
        created_at: Time(1),
        last_seen: seen,
    });
    floor
}

#[test]
fn liveness_and_standing_follow_from_the_evidence() {
    use AgentStatus as A;
    use SessionState as S;
    let (own, gone) = processes();
    let (minute, five) = (Duration::from_secs(299), Duration::from_secs(300));
    let now = Time(10_000_000);
    for (status, state, process, unseen, liveness, standing) in [
        // It waits for an hour: it runs, so it was seen just now.
        (A::Active, S::Live, Some(own), 12 * five, Liveness::Green, AgentState::Active),
        (A::Active, S::Live, Some(gone), minute, Liveness::Red, AgentState::Active),
        (A::Active, S::Live, Some(gone), five, Liveness::Red, AgentState::Stale),
        (A::Active, S::Starting, None, minute, Liveness::Yellow, AgentState::Active),
        (A::Active, S::Starting, None, five, Liveness::Yellow, AgentState::Stale),
        (A::Active, S::Ending, Some(own), minute, Liveness::Yellow, AgentState::Active),
        (A::Crashed, S::Exited, Some(gone), minute, Liveness::Red, AgentState::Crashed),
        (A::Crashed, S::Ended, Some(gone), 12 * five, Liveness::Red, AgentState::Crashed),
        (A::Terminated, S::Ended, Some(gone), minute, Liveness::Red, AgentState::Terminated),
    ] {
        let floor = floor(status, state, process, now - unseen);
        let agent = floor.agents.iter().next().expect("an agent");
        let seen = Identity::new(&Layout::new("/nowhere"), &floor, agent, now);
        let case = format!("{status:?} {state:?} {unseen:?}: {seen:?}");
        assert_eq!((seen.liveness, seen.status), (liveness, standing), "{case}");
        let alive = liveness == Liveness::Green;
        assert_eq!(seen.last_seen, moment(if alive { now } else { now - unseen }), "{case}");
        assert_eq!((seen.predecessor_id.as_deref(), seen.session_id.as_str()), (Some("e3"), "e4"));
        assert_eq!(seen.chain, ["e3", "e2", "e1"]);
    }
}
