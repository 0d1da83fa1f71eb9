//! `shopfloor agents`: the registry of identities, and which of them are alive.

mod switch;

use super::{CliResult, Context, Exit, authority, output};
use clap::{Args, Subcommand};
use shopfloor_core::ids::{ProjectName, agent_name};
use shopfloor_core::state::{Agent, AgentStatus, End, Floor};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use shopfloor_desk::now;
use shopfloor_desk::view::agent::{Identity, Liveness, chain, id, last_seen, liveness, standing, status};
use shopfloor_desk::view::beside::{self, Beside};
use std::time::Duration;

/// List the agents and whether they are alive
///
/// A session is shown with those before it (e3 < e2 < e1). The phase is the one the agent signalled, else
/// how far its work record says it is. The status is what its client shows, else active, stale (not seen
/// for 5 minutes), crashed or terminated; with how long it is so. PIDs and terminals: --json, and `attach`.
/// After the jobs' agents come the hand sessions (role hand) and, if it runs, the daemon (role guardian).
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AgentsArgs {
    #[command(subcommand)]
    command: Option<AgentsCommand>,
    /// Also those that ended
    #[arg(long)]
    all: bool,
    /// Show them again whenever something changes
    #[arg(long)]
    watch: bool,
}

#[derive(Subcommand)]
enum AgentsCommand {
    /// Switch one of the other agents on: gardener, supervisor, predictor, planner or action
    ///
    /// Writes it into shopfloor.toml, run like the developer unless the file says otherwise, and accepts that.
    Enable(switch::SwitchArgs),
    /// Switch it off again
    Disable(switch::SwitchArgs),
}

impl AgentsArgs {
    /// What to do instead, if it is only for people.
    pub(super) fn persons(&self) -> Option<&'static str> {
        self.command.is_some().then_some(authority::ELSEWHERE)
    }
}

/// What a minute changes by itself: ages, and processes that went unseen.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Predecessors in the table; --json has more.
const CHAIN_SHOWN: usize = 3;

pub fn run(context: &Context, args: &AgentsArgs) -> CliResult<Exit> {
    match &args.command {
        Some(AgentsCommand::Enable(switch)) => return switch::run(context, switch, true),
        Some(AgentsCommand::Disable(switch)) => return switch::run(context, switch, false),
        None => {}
    }
    let project = context.named_project()?;
    if !args.watch {
        let floor = if args.all { context.history()? } else { context.committed_about(&[])? };
        show(context, args, &floor, project.as_ref())?;
        return Ok(Exit::Fine);
    }
    let mut floor = context.subscribe(None)?;
    loop {
        if !context.json && output::is_terminal() {
            // From the top of a cleared screen.
            output::line("\x1b[H\x1b[2J");
        }
        show(context, args, floor.floor()?, project.as_ref())?;
        floor.next(AGAIN_AFTER)?;
    }
}

/// Not one that ended as it should, nor one that died and was not needed any more.
fn is_of_interest(floor: &Floor, agent: &Agent) -> bool {
    match agent.status {
        AgentStatus::Terminated => false,
        AgentStatus::Crashed => {
            floor.newest(&agent.project, agent.assignment).is_none_or(|j| j.end() != Some(End::Merged))
        }
        _ => true,
    }
}

/// Hand sessions, and the daemon, which is nobody's of one project.
fn beside(
    context: &Context,
    args: &AgentsArgs,
    project: Option<&ProjectName>,
    now: Time,
) -> CliResult<Vec<Beside>> {
    let mut all = shopfloor_hand::beside::hands(&super::session::sessions(context), args.all, now)?;
    all.retain(|hand| project.is_none_or(|project| hand.identity.node_id.as_ref() == Some(project)));
    if project.is_none() {
        let pid = context.daemon()?.pid;
        all.extend(pid.map(|pid| beside::guardian(&context.layout, pid, now)));
    }
    Ok(all)
}

fn show(context: &Context, args: &AgentsArgs, floor: &Floor, project: Option<&ProjectName>) -> CliResult<()> {
    let mut agents: Vec<&Agent> = floor
        .agents
        .iter()
        .filter(|a| project.is_none_or(|p| a.project == *p))
        .filter(|a| args.all || is_of_interest(floor, a))
        .collect();
    agents.sort_by_key(|a| (&a.project, a.assignment.number(), a.role.as_str()));
    let now = now();
    let beside = beside(context, args, project, now)?;
    if context.json {
        let view = |agent: &&Agent| Identity::new(&context.layout, floor, agent, now);
        let all: Vec<Identity> =
            agents.iter().map(view).chain(beside.into_iter().map(|b| b.identity)).collect();
        if args.watch {
            output::json_line(&all);
        } else {
            output::json(&all);
        }
        return Ok(());
    }
    let beside = beside.into_iter().map(|one| row_beside(one, now));
    let rows: Vec<Vec<String>> = agents.iter().map(|agent| row(floor, agent, now)).chain(beside).collect();
    output::table(
        &["AGENT", "ROLE", "ISSUE", "SESSION", "LAST SEEN", "PHASE", "STATUS", "CONTEXT", "COST", "LIVENESS"],
        &rows,
    );
    Ok(())
}

fn row_beside(one: Beside, now: Time) -> Vec<String> {
    let Beside { identity, created, seen } = one;
    vec![
        format!("{}-{}", identity.role, identity.name),
        identity.role.clone(),
        output::or_dash(identity.bead_id.map(|story| one_line(&story, 20))),
        identity.session_id,
        output::span(now.since(seen)),
        output::or_dash(identity.phase.map(|phase| phase.to_string())),
        format!("{} {}", identity.status.as_str(), output::span(now.since(created))),
        "-".to_owned(),
        "-".to_owned(),
        light(identity.liveness, identity.liveness_reason),
    ]
}

/// The last column, so that colour does not disturb the padding.
fn light(liveness: Liveness, reason: &str) -> String {
    let (word, colour) = match liveness {
        Liveness::Green => ("green", 32),
        Liveness::Yellow => ("yellow", 33),
        Liveness::Red => ("red", 31),
    };
    format!("{} ({reason})", output::paint(word, colour))
}

fn row(floor: &Floor, agent: &Agent, now: Time) -> Vec<String> {
    let session = floor.sessions.get(&agent.session);
    let record = floor.records.get(&agent_name(agent.role, &agent.project, agent.assignment));
    let (liveness, reason) = liveness(agent, session);
    let seen = last_seen(agent, liveness, now);
    let shown = status(session);
    let state = match shown {
        Some(shown) => format!("{} {}", shown.state, output::span(now.since(shown.since))),
        None => {
            let begun = session.map_or(agent.created_at, |s| s.created_at);
            let since = if agent.status == AgentStatus::Active { begun } else { agent.last_seen };
            let standing = standing(agent, liveness, now.since(seen));
            format!("{} {}", standing.as_str(), output::span(now.since(since)))
        }
    };
    let phase = session.and_then(|s| s.phase).map(|phase| phase.to_string());
    vec![
        format!("{}-{}", agent.role, agent.name),
        agent.role.to_string(),
        agent.assignment.mention(),
        sessions(floor, agent),
        output::span(now.since(seen)),
        output::or_dash(phase.or_else(|| record.map(|r| r.work_phase.to_string()))),
        state,
        output::or_dash(shown.and_then(|s| s.context_percent).map(|percent| format!("{percent}%"))),
        output::or_dash(
            shown.and_then(|s| s.cost_micros).map(|micros| format!("${:.2}", micros as f64 / 1e6)),
        ),
        light(liveness, reason),
    ]
}

/// The session and those before it, as far as there is room.
fn sessions(floor: &Floor, agent: &Agent) -> String {
    let before = chain(floor, agent.session);
    let mut shown = id(agent.session);
    for session in before.iter().take(CHAIN_SHOWN) {
        shown.push_str(" < ");
        shown.push_str(session);
    }
    if before.len() > CHAIN_SHOWN {
        shown.push_str(" < …");
    }
    shown
}
