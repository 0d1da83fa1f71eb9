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
    /// What it asks in its chat, where nobody is.
    question: Option<String>,
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
    let status = weigh(session, &dossier, &spec, now);
    let shown = explanation(floor, session, &dossier, &status, now);
    if context.json {
        output::json(&shown);
    } else {
        lines(&shown, &status, now).into_iter().for_each(output::line);
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

/// What the evidence says. The daemon has seen it for longer than this look.
fn weigh(session: &Session, dossier: &Dossier, spec: &RuntimeSpec, now: Time) -> Status {
    let mut status = derive(&dossier.evidence, now, spec);
    if let Some(known) = session.status.as_ref().filter(|k| k.state.as_str() == status.state.as_str()) {
        status.since = status.since.min(known.since);
    }
    status
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
            None if status.question.is_some() => format!("{}, asks something in its chat", status.state),
            None => status.state.to_string(),
        },
        exit: session.exit_status,
        dialog: status.dialog.clone(),
        question: status.question.clone(),
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

fn lines(shown: &Explanation, status: &Status, now: Time) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |text: String| lines.push(text);
    let state = format!("{:?}", shown.session_state).to_lowercase();
    let runtime = view::or_dash(Some(&shown.runtime).filter(|r| !r.is_empty()));
    line(format!("{} (session {}, {state}; runtime {runtime})", shown.agent, shown.session));
    let age = output::span(now.since(status.since));
    let sure = format!("{:?}", shown.confidence).to_lowercase();
    line(match shown.chain.is_empty() {
        true => format!("  status: {}", shown.status),
        false => format!("  status: {} for {age}, confidence {sure}", shown.status),
    });
    if let Some(dialog) = &shown.dialog {
        dialog.text.lines().for_each(|row| line(format!("    | {row}")));
        for option in &dialog.options {
            let cursor = if option.selected { '>' } else { ' ' };
            line(format!("    | {cursor} {}. {}", option.number, option.label));
        }
    }
    if let Some(question) = &shown.question {
        question.lines().for_each(|row| output::line(format!("    | {row}")));
    }
    if let Some(percent) = shown.context_percent {
        line(format!("  context: {percent}% used"));
    }
    if let Some(cost) = shown.cost_usd {
        line(format!("  cost: ${cost:.2}"));
    }
    if let Some(predecessor) = &shown.predecessor {
        line(format!("  predecessor: {predecessor}"));
    }
    if !shown.chain.is_empty() {
        line("  because:".to_owned());
        shown.chain.iter().for_each(|known| line(fact(known)));
    }
    line("  all that is known:".to_owned());
    shown.facts.iter().for_each(|known| line(fact(known)));
    for message in &shown.messages {
        line(format!("  message {}: {}", message.message, message.first_line));
        for receipt in &message.receipts {
            let (at, stage) = (output::timestamp(receipt.at), format!("{:?}", receipt.to).to_lowercase());
            line(format!("    {at} {stage}: {}", one_line(&receipt.evidence, 200)));
        }
        if let Some(held) = &message.held {
            line(format!("    held: {}", one_line(held, 200)));
        }
    }
    lines
}

fn fact(fact: &FactView) -> String {
    let age = output::span(Duration::from_secs(fact.age_s));
    let says = fact.says.as_ref().map(|says| format!(": {says}")).unwrap_or_default();
    format!("    {}, {age} ago: {}{says}", fact.source, fact.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::runtimes::embedded;
    use serde_json::json;
    use shopfloor_adapters::agent::spool::{self, Told};
    use shopfloor_adapters::host::process::identify;
    use shopfloor_core::liveness::HookEvent;

    const STOPPED: Time = Time(1_000_000);
    const CONVERSATION: &str = "c";

    fn session(status: serde_json::Value) -> Session {
        serde_json::from_value(json!({
            "epoch": 1, "job": 1, "role": "dev", "project": "p", "issue": 1, "state": "live", "tmux": "t",
            "created_at": 0, "last_seen": 0, "runtime": "claude", "conversation": CONVERSATION, "status": status,
        }))
        .expect("a session")
    }

    /// What is said of a client whose turn ended at [`STOPPED`], by somebody who looks so much later.
    fn explained(session: &Session, later: Duration) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let (dir, spec) = (folder.path(), embedded("claude").expect("it is embedded"));
        let prompt = HookEvent::UserPromptSubmit { prompt: "go on".into(), turn: None };
        let stop = HookEvent::Stop { turn: None, tasks: Vec::new(), asks: None };
        for (at, event) in [(Time(STOPPED.0 - 30_000), prompt), (STOPPED, stop)] {
            let (conversation, transcript) = (CONVERSATION.to_owned(), None);
            spool::append(dir, &Told { at, conversation, transcript, subagent: false, event }).expect("told");
        }
        let now = STOPPED + later;
        let mut dossier = Dossier::load(dir, session.created_at, session.conversation.clone());
        dossier.catch_up(dir, &spec, now).expect("read");
        // It lives.
        dossier.see_process(identify(std::process::id()), now);
        let status = weigh(session, &dossier, &spec, now);
        lines(&explanation(&Floor::default(), session, &dossier, &status, now), &status, now)
    }

    #[test]
    fn ages_are_counted_from_what_was_told_and_not_from_the_look() {
        let said = explained(&session(json!(null)), Duration::from_secs(7 * 60 + 5));
        assert!(said[1].starts_with("  status: idle") && said[1].contains(" for 7m05s, "), "{said:?}");
        assert!(said.iter().any(|line| line.starts_with("    hook, 7m05s ago: ")), "{said:?}");
    }

    #[test]
    fn what_the_daemon_has_seen_for_longer_counts() {
        let later = Duration::from_secs(60);
        let known = json!({
            "state": { "state": "idle" }, "since": STOPPED.0 - 3 * 60_000, "confidence": "high",
            "context_percent": null, "cost_micros": null,
        });
        let said = explained(&session(known), later);
        assert!(said[1].contains(" for 4m00s, "), "{said:?}");
    }
}
