//! The registry of agents as people and other tools see it: who they are, and which are alive. The
//! store is the authority; [`crate::mirror`] keeps a copy in files.

#[cfg(test)]
pub(crate) mod tests;

use crate::texts;
use crate::time::moment;
use serde::Serialize;
use shopfloor_adapters::host::process::{Liveness as Process, is_same};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::effect::ProcessId;
use shopfloor_core::ids::{Epoch, ProjectName, agent_name};
use shopfloor_core::phase::Phase;
use shopfloor_core::state::{
    Agent, AgentStatus, Floor, Session, SessionState, SessionStatus, WorkPhase, WorkRecord,
};
use shopfloor_core::time::Time;
use std::time::Duration;

/// An agent that should be there but has not been seen for this long is stale.
const STALE_AFTER: Duration = Duration::from_secs(300);
/// How far back the chain of predecessors is followed.
const CHAIN_MAX: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Liveness {
    /// Its process runs.
    Green,
    /// It starts or ends, or nothing certain is known.
    Yellow,
    /// It does not run.
    Red,
}

/// What became of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentState {
    Active,
    /// It should be there, but has not been seen for long.
    Stale,
    Crashed,
    Terminated,
}

impl AgentState {
    pub fn as_str(self) -> &'static str {
        match self {
            AgentState::Active => "active",
            AgentState::Stale => "stale",
            AgentState::Crashed => "crashed",
            AgentState::Terminated => "terminated",
        }
    }
}

/// An identity. Its field names are the seeds', since other tools read them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Identity {
    /// A job's role; `hand` for a hand session, `guardian` for the daemon.
    pub role: String,
    pub name: String,
    pub session_id: String,
    pub pid: Option<u32>,
    /// When the process started, in the kernel's clock ticks, and in which boot of the machine: this tells it
    /// from a later one.
    pub pid_start: Option<u64>,
    pub tmux_session: Option<String>,
    /// The project's name.
    pub node_id: Option<ProjectName>,
    /// The number, or a hand session's story.
    pub bead_id: Option<String>,
    pub worktree_path: Option<String>,
    /// The work record.
    pub hook_path: Option<String>,
    pub created_at: String,
    pub last_seen: String,
    pub status: AgentState,
    pub predecessor_id: Option<String>,
    /// All sessions before this one, newest first.
    pub chain: Vec<String>,
    pub liveness: Liveness,
    /// What `liveness` was derived from, in words.
    pub liveness_reason: &'static str,
    pub phase: Option<Phase>,
    pub work_phase: Option<WorkPhase>,
    /// What the session's evidence says, if its client reports anything.
    pub activity: Option<String>,
    pub activity_since: Option<String>,
    pub context_percent: Option<u8>,
    pub cost_usd: Option<f64>,
}

impl Identity {
    pub fn new(layout: &Layout, floor: &Floor, agent: &Agent, now: Time) -> Identity {
        let session = floor.sessions.get(&agent.session);
        let (liveness, liveness_reason) = liveness(agent, session);
        let status = status(session);
        let worktree = layout.worktree(&agent.project, agent.role, agent.assignment);
        let key = agent_name(agent.role, &agent.project, agent.assignment);
        let record = floor.records.get(&key);
        let seen = last_seen(agent, liveness, now);
        Identity {
            role: agent.role.to_string(),
            name: agent.name.clone(),
            session_id: id(agent.session),
            pid: session.and_then(|s| s.process).map(|p| p.pid),
            pid_start: session.and_then(|s| s.process).map(|p| p.start),
            tmux_session: session.map(|s| s.tmux.clone()),
            node_id: Some(agent.project.clone()),
            bead_id: Some(agent.assignment.tag()),
            worktree_path: worktree.exists().then(|| worktree.display().to_string()),
            hook_path: record.map(|_| layout.work_record(&key).display().to_string()),
            created_at: moment(agent.created_at),
            last_seen: moment(seen),
            status: standing(agent, liveness, now.since(seen)),
            predecessor_id: agent.predecessor.map(id),
            chain: chain(floor, agent.session),
            liveness,
            liveness_reason,
            phase: session.and_then(|s| s.phase),
            work_phase: record.map(|r| r.work_phase),
            activity: status.map(|s| s.state.to_string()),
            activity_since: status.map(|s| moment(s.since)),
            context_percent: status.and_then(|s| s.context_percent),
            cost_usd: status.and_then(|s| s.cost_micros).map(|micros| micros as f64 / 1e6),
        }
    }
}

pub fn id(epoch: Epoch) -> String {
    format!("e{epoch}")
}

/// The sessions before one, newest first.
pub fn chain(floor: &Floor, epoch: Epoch) -> Vec<String> {
    let before = |epoch: &Epoch| floor.sessions.get(epoch).and_then(|s| s.predecessor);
    std::iter::successors(before(&epoch), before).take(CHAIN_MAX).map(id).collect()
}

/// What a session's evidence says, while it runs.
pub fn status(session: Option<&Session>) -> Option<&SessionStatus> {
    session.filter(|s| s.state == SessionState::Live)?.status.as_ref()
}

/// A process that was just found running was seen just now; nobody needs to poll for that.
pub fn last_seen(agent: &Agent, liveness: Liveness, now: Time) -> Time {
    if liveness == Liveness::Green { now } else { agent.last_seen }
}

pub fn standing(agent: &Agent, liveness: Liveness, unseen: Duration) -> AgentState {
    match agent.status {
        AgentStatus::Crashed => AgentState::Crashed,
        AgentStatus::Terminated => AgentState::Terminated,
        AgentStatus::Active if liveness != Liveness::Green && unseen >= STALE_AFTER => AgentState::Stale,
        AgentStatus::Active => AgentState::Active,
    }
}

/// Derived from the process itself, not from how long ago it said something: an agent that waits for an hour
/// is alive, one that died a second ago is not.
pub fn liveness(agent: &Agent, session: Option<&Session>) -> (Liveness, &'static str) {
    match agent.status {
        AgentStatus::Crashed => return (Liveness::Red, "crashed"),
        AgentStatus::Terminated => return (Liveness::Red, "ended"),
        AgentStatus::Active => {}
    }
    let process = |p: ProcessId| is_same(p);
    match session.map(|s| (s.state, s.process.map(process))) {
        None => (Liveness::Yellow, "no session on record"),
        Some((SessionState::Starting, None)) => (Liveness::Yellow, "starting"),
        Some((SessionState::Ended, _)) => (Liveness::Red, "ended"),
        Some((_, None)) => (Liveness::Yellow, "no process on record"),
        Some((_, Some(Process::Unknown))) => (Liveness::Yellow, texts::process_unknown()),
        Some((_, Some(Process::Gone))) => (Liveness::Red, "its process is gone"),
        Some((SessionState::Ending, Some(Process::Alive))) => (Liveness::Yellow, "ending"),
        Some((_, Some(Process::Alive))) => (Liveness::Green, texts::process_runs()),
    }
}

/// A work record as other tools read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordView {
    identity_name: String,
    current_bead: String,
    current_node: ProjectName,
    session_id: String,
    work_phase: WorkPhase,
    work_summary: String,
    last_checkpoint_at: Option<String>,
    files_modified: Vec<String>,
    tests_status: String,
    resumption_instructions: String,
    rescue_ref: Option<String>,
    head: Option<String>,
    sessions: Vec<String>,
    updated_at: String,
}

impl From<&WorkRecord> for RecordView {
    fn from(record: &WorkRecord) -> Self {
        RecordView {
            identity_name: record.agent.clone(),
            current_bead: record.assignment().tag(),
            current_node: record.project.clone(),
            session_id: id(record.session),
            work_phase: record.work_phase,
            work_summary: record.work_summary.clone(),
            last_checkpoint_at: record.last_checkpoint_at.map(moment),
            files_modified: record.files_modified.clone(),
            tests_status: record.tests_status.clone(),
            resumption_instructions: record.resumption_instructions.clone(),
            rescue_ref: record.rescue.clone(),
            head: record.head.as_ref().map(ToString::to_string),
            sessions: record.sessions.iter().copied().map(id).collect(),
            updated_at: moment(record.updated_at),
        }
    }
}
