//! What is known of an agent's session, from what, and how old that is. Needs no daemon: the facts are
//! in the session's folder, and what can be looked at is looked at now.

use crate::attend::Dossier;
use crate::cli::context::now;
use crate::cli::{CliError, CliResult, Context, Exit, output, view};
use serde::Serialize;
use shopfloor_adapters::phase_file;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::delivery::Transition;
use shopfloor_core::ids::{Epoch, agent_name};
use shopfloor_core::liveness::{Confidence, Status, derive};
use shopfloor_core::runtime::{DialogView, RuntimeSpec};
use shopfloor_core::state::{Floor, Message, Session, SessionState};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use std::time::Duration;

#[derive(Serialize)]
struct Explanation {
    agent: String,
    session: String,
    tmux_session: String,
    runtime: String,
    /// `live`, `ended` and so on: what the floor makes of it.
    session_state: SessionState,
    status: String,
    since: String,
    /// The exit code of its client, once it is known; 128 and the signal's number for one that was killed.
    exit: Option<i32>,
    confidence: Confidence,
    /// What its client asks a person.
    dialog: Option<DialogView>,
    context_percent: Option<u8>,
    cost_usd: Option<f64>,
    conversation: Option<String>,
    predecessor: Option<String>,
    /// What the status was derived from, in the order it was weighed.
    chain: Vec<FactView>,
    /// The newest fact of each source.
    facts: Vec<FactView>,
    messages: Vec<MessageView>,
}

#[derive(Serialize)]
struct FactView {
    source: String,
    what: String,
    at: String,
    age_s: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    says: Option<String>,
}

#[derive(Serialize)]
struct MessageView {
    message: u64,
    first_line: String,
    state: shopfloor_core::state::MessageState,
    held: Option<String>,
    receipts: Vec<Transition>,
}

pub fn run(context: &Context, name: &str) -> CliResult<Exit> {
    let engine = context.engine()?;
    let floor = engine.floor();
    let session = find(floor, name).ok_or_else(|| {
        CliError::no_such(format!("there is no agent or session {:?}", one_line(name, 80)))
            .hint("`shopfloor agents --all` lists them; issues are explained by their number")
    })?;
    let catalogue = context.runtimes()?;
    let spec = catalogue
        .get(&session.runtime)
        .or_else(|| catalogue.get("generic"))
        .ok_or_else(|| CliError::failed(format!("the runtime {:?} is not known", session.runtime)))?;
    let now = now();
    let dossier = look(context, session, &spec, now);
    let mut status = derive(&dossier.evidence, now, &spec);
    // The daemon has seen it for longer than this look.
    if let Some(known) = session.status.as_ref().filter(|k| k.state.as_str() == status.state.as_str()) {
        status.since = status.since.min(known.since);
    }
    let shown = explanation(floor, session, &dossier, &status, now);
    if context.json {
        output::json(&shown);
    } else {
        print(&shown, &status, now);
    }
    Ok(Exit::Fine)
}

/// By agent, by session's name, by epoch.
fn find<'f>(floor: &'f Floor, name: &str) -> Option<&'f Session> {
    let by_epoch = || name.strip_prefix('e')?.parse::<Epoch>().ok().and_then(|e| floor.sessions.get(&e));
    let agent = floor.agents.iter().find(|a| agent_name(a.role, &a.project, a.issue) == name);
    let by_agent = || floor.sessions.get(&agent?.session);
    by_agent().or_else(|| floor.sessions.iter().find(|s| s.tmux == name)).or_else(by_epoch)
}

/// Whether it came to its end as it should: then there is nothing to find out.
fn ended(session: &Session) -> bool {
    session.state == SessionState::Ended && crashed(session).is_none()
}

/// How a session ended that did not end as it should. Rows of older builds say it by their exit alone.
fn crashed(session: &Session) -> Option<String> {
    let over = !matches!(session.state, SessionState::Starting | SessionState::Live);
    let exit = session.exit_status.filter(|exit| *exit != 0);
    (over && (session.crashed || exit.is_some()))
        .then(|| exit.map_or("crashed".to_owned(), |exit| format!("crashed (exit {exit})")))
}

/// The evidence as it is now. Nothing is kept: that is the daemon's to do.
fn look(context: &Context, session: &Session, spec: &RuntimeSpec, now: Time) -> Dossier {
    let dir = context.layout.session(session.epoch);
    let mut dossier = Dossier::load(&dir, session.created_at, session.conversation.clone());
    let _ = dossier.catch_up(&dir, spec, now);
    dossier.see_process(session.process, now);
    let signalled = session.phase_stamp.as_deref().and_then(phase_file::written_at).map(Time);
    let signalled = signalled.unwrap_or(session.last_seen).min(now);
    dossier.see_phase(session.phase, session.phase_stamp.as_deref(), signalled);
    // After its end the worktree is its successor's.
    if matches!(session.state, SessionState::Starting | SessionState::Live) {
        dossier.see_worktree(&context.layout.worktree(&session.project, session.role, session.issue), now);
    }
    if session.state == SessionState::Live && spec.capabilities.hooks {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tmux = Tmux::new(context.layout.tmux_socket(), path);
        if let Ok(Some(title)) = tmux.pane_title(&session.tmux) {
            dossier.see_title(spec, &title, now);
        }
        if let Ok(Some(screen)) = tmux.screen(&session.tmux) {
            dossier.see_screen(spec, &screen, now);
        }
    }
    dossier
}

fn explanation(
    floor: &Floor,
    session: &Session,
    dossier: &Dossier,
    status: &Status,
    now: Time,
) -> Explanation {
    let age = |at: Time| now.since(at).as_secs();
    let chain = status.chain.iter().map(|reason| FactView {
        source: reason.fact.source().to_string(),
        what: one_line(&reason.fact.what.to_string(), 200),
        at: output::moment(reason.fact.at),
        age_s: age(reason.fact.at),
        says: Some(reason.says.clone()),
    });
    let facts = dossier.evidence.facts().map(|fact| FactView {
        source: fact.source().to_string(),
        what: one_line(&fact.what.to_string(), 200),
        at: output::moment(fact.at),
        age_s: age(fact.at),
        says: None,
    });
    let mine = |m: &&Message| m.to == Some(session.epoch);
    let messages = floor.messages.iter().filter(mine).map(|m| MessageView {
        message: m.id.0,
        first_line: one_line(m.text.lines().next().unwrap_or_default(), 120),
        state: m.state,
        held: m.held.clone(),
        receipts: m.receipts.clone(),
    });
    Explanation {
        agent: agent_name(session.role, &session.project, session.issue),
        session: format!("e{}", session.epoch),
        tmux_session: session.tmux.clone(),
        runtime: session.runtime.clone(),
        session_state: session.state,
        status: match crashed(session) {
            Some(crashed) => crashed,
            None if ended(session) => "ended".to_owned(),
            None => status.state.to_string(),
        },
        exit: session.exit_status,
        dialog: status.dialog.clone(),
        since: output::moment(status.since),
        confidence: status.confidence,
        context_percent: status.context_percent,
        cost_usd: dossier.cost_micros().map(|micros| micros as f64 / 1e6),
        conversation: dossier.conversation().map(|id| one_line(id, 80)),
        predecessor: session.predecessor.map(|epoch| format!("e{epoch}")),
        chain: chain.filter(|_| !ended(session)).collect(),
        facts: facts.collect(),
        messages: messages.collect(),
    }
}

fn print(shown: &Explanation, status: &Status, now: Time) {
    let state = format!("{:?}", shown.session_state).to_lowercase();
    let runtime = view::or_dash(Some(&shown.runtime).filter(|r| !r.is_empty()));
    output::line(format!("{} (session {}, {state}; runtime {runtime})", shown.agent, shown.session));
    let age = output::span(now.since(status.since));
    let sure = format!("{:?}", shown.confidence).to_lowercase();
    if shown.chain.is_empty() {
        output::line(format!("  status: {}", shown.status));
    } else {
        output::line(format!("  status: {} for {age}, confidence {sure}", shown.status));
    }
    if let Some(dialog) = &shown.dialog {
        dialog.text.lines().for_each(|row| output::line(format!("    | {row}")));
        for option in &dialog.options {
            let cursor = if option.selected { '>' } else { ' ' };
            output::line(format!("    | {cursor} {}. {}", option.number, option.label));
        }
    }
    if let Some(percent) = shown.context_percent {
        output::line(format!("  context: {percent}% used"));
    }
    if let Some(cost) = shown.cost_usd {
        output::line(format!("  cost: ${cost:.2}"));
    }
    if let Some(predecessor) = &shown.predecessor {
        output::line(format!("  predecessor: {predecessor}"));
    }
    if !shown.chain.is_empty() {
        output::line("  because:");
        shown.chain.iter().for_each(fact);
    }
    output::line("  all that is known:");
    shown.facts.iter().for_each(fact);
    for message in &shown.messages {
        output::line(format!("  message {}: {}", message.message, message.first_line));
        for receipt in &message.receipts {
            let (at, stage) = (output::timestamp(receipt.at), format!("{:?}", receipt.to).to_lowercase());
            output::line(format!("    {at} {stage}: {}", one_line(&receipt.evidence, 200)));
        }
        if let Some(held) = &message.held {
            output::line(format!("    held: {}", one_line(held, 200)));
        }
    }
}

fn fact(fact: &FactView) {
    let age = output::span(Duration::from_secs(fact.age_s));
    let says = fact.says.as_ref().map(|says| format!(": {says}")).unwrap_or_default();
    output::line(format!("    {}, {age} ago: {}{says}", fact.source, fact.what));
}
