//! What is known about an agent's session, from what, and how old that is. Needs no daemon: the facts are in
//! the session's folder, and whatever can be looked at is looked at now.

use crate::dossier::Dossier;
use crate::time::moment;
use crate::{Error, Result};
use serde::Serialize;
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::phase_file;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::delivery::Transition;
use shopfloor_core::ids::{Epoch, agent_name};
use shopfloor_core::liveness::{Confidence, Status, derive};
use shopfloor_core::runtime::{DialogView, RuntimeSpec};
use shopfloor_core::state::{Floor, Message, MessageState, Session, SessionState};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use std::time::Duration;

#[derive(Serialize)]
pub struct Explanation {
    pub agent: String,
    pub session: String,
    pub tmux_session: String,
    pub runtime: String,
    /// The session's state according to the floor: `live`, `ended` and so on.
    pub session_state: SessionState,
    pub status: String,
    pub since: String,
    /// How long it has had that status.
    #[serde(skip)]
    pub age: Duration,
    /// The exit code of its client, once known; 128 plus the signal's number if it was killed.
    pub exit: Option<i32>,
    pub confidence: Confidence,
    /// What its client asks a person.
    pub dialog: Option<DialogView>,
    /// What it asks in its chat, where nobody reads.
    pub question: Option<String>,
    pub context_percent: Option<u8>,
    pub cost_usd: Option<f64>,
    pub conversation: Option<String>,
    pub predecessor: Option<String>,
    /// What the status was derived from, in the order it was weighed.
    pub chain: Vec<FactView>,
    /// The newest fact of each source.
    pub facts: Vec<FactView>,
    pub messages: Vec<MessageView>,
}

#[derive(Serialize)]
pub struct FactView {
    pub source: String,
    pub what: String,
    pub at: String,
    pub age_s: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
}

#[derive(Serialize)]
pub struct MessageView {
    pub message: u64,
    pub first_line: String,
    pub state: MessageState,
    pub held: Option<String>,
    pub receipts: Vec<Transition>,
}

/// By the agent's name, the session's name or its epoch.
pub fn find<'f>(floor: &'f Floor, name: &str) -> Result<&'f Session> {
    let by_epoch = || name.strip_prefix('e')?.parse::<Epoch>().ok().and_then(|e| floor.sessions.get(&e));
    let agent = floor.agents.iter().find(|a| agent_name(a.role, &a.project, a.assignment) == name);
    let by_agent = || floor.sessions.get(&agent?.session);
    let found = by_agent().or_else(|| floor.sessions.iter().find(|s| s.tmux == name)).or_else(by_epoch);
    found.ok_or_else(|| {
        Error::no_such(format!("there is no agent or session {:?}", one_line(name, 80)))
            .hint("`shopfloor agents --all` lists them; issues are explained by their number")
    })
}

/// Whether it ended as it should: then there is nothing to find out.
fn ended(session: &Session) -> bool {
    session.state == SessionState::Ended && crashed(session).is_none()
}

/// How a session ended that did not end as it should. Rows of older builds show this only by their exit
/// status.
fn crashed(session: &Session) -> Option<String> {
    let over = !matches!(session.state, SessionState::Starting | SessionState::Live);
    let exit = session.exit_status.filter(|exit| *exit != 0);
    (over && (session.crashed || exit.is_some()))
        .then(|| exit.map_or("crashed".to_owned(), |exit| format!("crashed (exit {exit})")))
}

/// What the evidence says. The daemon has watched it for longer than this look.
fn weigh(session: &Session, dossier: &Dossier, spec: &RuntimeSpec, now: Time) -> Status {
    let mut status = derive(&dossier.evidence, now, spec);
    if let Some(known) = session.status.as_ref().filter(|k| k.state.as_str() == status.state.as_str()) {
        status.since = status.since.min(known.since);
    }
    status
}

/// The evidence as it is now. Nothing is stored: that is up to the daemon.
pub fn look(layout: &Layout, tmux: &Tmux, session: &Session, spec: &RuntimeSpec, now: Time) -> Dossier {
    let dir = layout.session(session.epoch);
    let mut dossier = Dossier::load(&dir, session.created_at, session.client.conversation.clone());
    let _ = dossier.catch_up(&dir, spec, now);
    dossier.see_process(session.process, now);
    let signalled = session.phase_stamp.as_deref().and_then(phase_file::written_at).map(Time);
    let signalled = signalled.unwrap_or(session.last_seen).min(now);
    dossier.see_phase(session.phase, session.phase_stamp.as_deref(), signalled);
    // After its end, the worktree is its successor's.
    if matches!(session.state, SessionState::Starting | SessionState::Live) {
        dossier.see_worktree(&layout.worktree(&session.project, session.role, session.assignment), now);
    }
    if session.state == SessionState::Live && spec.capabilities.hooks {
        if let Ok(Some(title)) = tmux.pane_title(&session.tmux) {
            dossier.see_title(spec, &title, now);
        }
        if let Ok(Some(screen)) = tmux.screen(&session.tmux) {
            dossier.see_screen(spec, &screen, now);
        }
    }
    dossier
}

impl Explanation {
    pub fn new(floor: &Floor, session: &Session, dossier: &Dossier, spec: &RuntimeSpec, now: Time) -> Self {
        let status = weigh(session, dossier, spec, now);
        let age = |at: Time| now.since(at).as_secs();
        let chain = status.chain.iter().map(|reason| FactView {
            source: reason.fact.source().to_string(),
            what: one_line(&reason.fact.what.to_string(), 200),
            at: moment(reason.fact.at),
            age_s: age(reason.fact.at),
            says: Some(reason.says.clone()),
        });
        let facts = dossier.evidence.facts().map(|fact| FactView {
            source: fact.source().to_string(),
            what: one_line(&fact.what.to_string(), 200),
            at: moment(fact.at),
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
            agent: agent_name(session.role, &session.project, session.assignment),
            session: format!("e{}", session.epoch),
            tmux_session: session.tmux.clone(),
            runtime: session.client.runtime.clone(),
            session_state: session.state,
            status: match crashed(session) {
                Some(crashed) => crashed,
                None if ended(session) => "ended".to_owned(),
                None if status.question.is_some() => format!("{}, asks something in its chat", status.state),
                None => status.state.to_string(),
            },
            exit: session.exit_status,
            dialog: status.dialog,
            question: status.question,
            since: moment(status.since),
            age: now.since(status.since),
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
}
