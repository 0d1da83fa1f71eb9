//! `shopfloor agents`: the registry of identities, and which of them are alive.

use super::context::now;
use super::{CliResult, Context, Exit, output, view};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::host::process::{Liveness as Process, is_same};
use shopfloor_core::ids::{Epoch, ProjectName, Role};
use shopfloor_core::phase::Phase;
use shopfloor_core::state::{Agent, AgentStatus, Floor, Session, SessionState, SessionStatus};
use shopfloor_core::time::Time;

/// List the agents and whether they are alive
#[derive(Args)]
pub struct AgentsArgs {
    /// Also those that ended
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Liveness {
    /// Its process runs.
    Green,
    /// It starts or ends, or nothing certain is known.
    Yellow,
    /// It does not run.
    Red,
}

#[derive(Serialize)]
struct AgentView {
    role: Role,
    name: String,
    session_id: String,
    pid: Option<u32>,
    tmux_session: Option<String>,
    /// The project's name.
    node_id: ProjectName,
    /// The issue's number.
    bead_id: String,
    worktree_path: Option<String>,
    hook_path: Option<String>,
    created_at: String,
    last_seen: String,
    status: AgentStatus,
    predecessor_id: Option<String>,
    liveness: Liveness,
    /// In words, what `liveness` was derived from.
    liveness_reason: &'static str,
    phase: Option<Phase>,
    /// What the session's evidence says, where its client tells anything.
    activity: Option<String>,
    activity_since: Option<String>,
    context_percent: Option<u8>,
    cost_usd: Option<f64>,
}

pub fn run(context: &Context, args: AgentsArgs) -> CliResult<Exit> {
    let engine = context.engine()?;
    let floor = engine.floor();
    let project = context.named_project()?;
    let mut agents: Vec<&Agent> = floor
        .agents
        .iter()
        .filter(|a| project.as_ref().is_none_or(|p| a.project == *p))
        .filter(|a| args.all || a.status != AgentStatus::Terminated)
        .collect();
    agents.sort_by_key(|a| (&a.project, a.issue, a.role.as_str()));
    let now = now();
    if context.json {
        output::json(&agents.iter().map(|a| agent_view(context, floor, a, now)).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = agents
        .iter()
        .map(|agent| {
            let session = floor.sessions.get(&agent.session);
            let (liveness, reason) = liveness(agent, session);
            let seen = last_seen(agent, liveness, now);
            let (word, colour) = match liveness {
                Liveness::Green => ("green", 32),
                Liveness::Yellow => ("yellow", 33),
                Liveness::Red => ("red", 31),
            };
            vec![
                format!("{}-{}", agent.role, agent.name),
                id(agent.session),
                view::or_dash(session.and_then(|s| s.process).map(|p| p.pid)),
                view::or_dash(session.filter(|s| s.state != SessionState::Ended).map(|s| &s.tmux)),
                output::span(now.since(seen)),
                view::or_dash(session.and_then(|s| s.phase)),
                view::or_dash(
                    status(session).map(|s| format!("{} {}", s.state, output::span(now.since(s.since)))),
                ),
                view::or_dash(
                    status(session).and_then(|s| s.context_percent).map(|percent| format!("{percent}%")),
                ),
                view::or_dash(
                    status(session)
                        .and_then(|s| s.cost_micros)
                        .map(|micros| format!("${:.2}", micros as f64 / 1e6)),
                ),
                // The last column, so that colour does not disturb the padding.
                format!("{} ({reason})", output::paint(word, colour)),
            ]
        })
        .collect();
    output::table(
        &["AGENT", "SESSION", "PID", "TMUX", "LAST SEEN", "PHASE", "STATUS", "CONTEXT", "COST", "LIVENESS"],
        &rows,
    );
    Ok(Exit::Fine)
}

fn id(epoch: Epoch) -> String {
    format!("e{epoch}")
}

fn agent_view(context: &Context, floor: &Floor, agent: &Agent, now: Time) -> AgentView {
    let session = floor.sessions.get(&agent.session);
    let (liveness, liveness_reason) = liveness(agent, session);
    let status = status(session);
    let worktree = context.layout.worktree(&agent.project, agent.role, agent.issue);
    AgentView {
        role: agent.role,
        name: agent.name.clone(),
        session_id: id(agent.session),
        pid: session.and_then(|s| s.process).map(|p| p.pid),
        tmux_session: session.map(|s| s.tmux.clone()),
        node_id: agent.project.clone(),
        bead_id: agent.issue.to_string(),
        worktree_path: worktree.exists().then(|| worktree.display().to_string()),
        hook_path: Some(context.layout.session(agent.session))
            .filter(|dir| dir.exists())
            .map(|dir| dir.display().to_string()),
        created_at: output::moment(agent.created_at),
        last_seen: output::moment(last_seen(agent, liveness, now)),
        status: agent.status,
        predecessor_id: agent.predecessor.map(id),
        liveness,
        liveness_reason,
        phase: session.and_then(|s| s.phase),
        activity: status.map(|s| s.state.to_string()),
        activity_since: status.map(|s| output::moment(s.since)),
        context_percent: status.and_then(|s| s.context_percent),
        cost_usd: status.and_then(|s| s.cost_micros).map(|micros| micros as f64 / 1e6),
    }
}

/// What a session's evidence says, for as long as it runs.
fn status(session: Option<&Session>) -> Option<&SessionStatus> {
    session.filter(|s| s.state == SessionState::Live)?.status.as_ref()
}

/// A process that was just found running was seen just now; nobody needs to have polled for it.
fn last_seen(agent: &Agent, liveness: Liveness, now: Time) -> Time {
    if liveness == Liveness::Green { now } else { agent.last_seen }
}

/// From the process itself, not from how long ago it said something: an agent that waits for an
/// hour is alive, one that died a second ago is not.
fn liveness(agent: &Agent, session: Option<&Session>) -> (Liveness, &'static str) {
    match agent.status {
        AgentStatus::Crashed => return (Liveness::Red, "crashed"),
        AgentStatus::Terminated => return (Liveness::Red, "ended"),
        AgentStatus::Active => {}
    }
    match session.map(|s| (s.state, s.process.map(is_same))) {
        None => (Liveness::Yellow, "no session on record"),
        Some((SessionState::Starting, None)) => (Liveness::Yellow, "starting"),
        Some((SessionState::Ended, _)) => (Liveness::Red, "ended"),
        Some((_, None)) => (Liveness::Yellow, "no process on record"),
        Some((_, Some(Process::Unknown))) => (Liveness::Yellow, "its process cannot be looked at"),
        Some((_, Some(Process::Gone))) => (Liveness::Red, "its process is gone"),
        Some((SessionState::Ending, Some(Process::Alive))) => (Liveness::Yellow, "ending"),
        Some((_, Some(Process::Alive))) => (Liveness::Green, "its process runs"),
    }
}
