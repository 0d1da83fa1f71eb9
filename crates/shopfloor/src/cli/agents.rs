//! `shopfloor agents`: the registry of identities, and which of them are alive.

use super::context::now;
use super::{CliResult, Context, Exit, output, view};
use crate::registry::{Identity, Liveness, id, last_seen, liveness, status};
use clap::Args;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::{Agent, AgentStatus, Floor, SessionState};
use std::time::Duration;

/// List the agents and whether they are alive
#[derive(Args)]
pub struct AgentsArgs {
    /// Also those that ended
    #[arg(long)]
    all: bool,
    /// Show them again whenever something changes
    #[arg(long)]
    watch: bool,
}

/// What a minute changes by itself: ages, and processes that went unseen.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

pub fn run(context: &Context, args: &AgentsArgs) -> CliResult<Exit> {
    let project = context.named_project()?;
    let mut engine = context.engine()?;
    if !args.watch {
        show(context, args, engine.floor(), project.as_ref());
        return Ok(Exit::Fine);
    }
    // One connection for all looks: opening another would count as a change.
    let watch = context.watch_store()?;
    loop {
        engine.refresh()?;
        if !context.json && output::is_terminal() {
            // From the top of a cleared screen.
            output::line("\x1b[H\x1b[2J");
        }
        show(context, args, engine.floor(), project.as_ref());
        watch.wait(AGAIN_AFTER)?;
    }
}

fn show(context: &Context, args: &AgentsArgs, floor: &Floor, project: Option<&ProjectName>) {
    let mut agents: Vec<&Agent> = floor
        .agents
        .iter()
        .filter(|a| project.is_none_or(|p| a.project == *p))
        .filter(|a| args.all || a.status != AgentStatus::Terminated)
        .collect();
    agents.sort_by_key(|a| (&a.project, a.issue, a.role.as_str()));
    let now = now();
    if context.json {
        let view = |agent: &&Agent| Identity::new(&context.layout, floor, agent, now);
        let all: Vec<Identity> = agents.iter().map(view).collect();
        if args.watch {
            output::json_line(&all);
        } else {
            output::json(&all);
        }
        return;
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
                match agent.predecessor {
                    Some(before) => format!("{} < {}", id(agent.session), id(before)),
                    None => id(agent.session),
                },
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
}
