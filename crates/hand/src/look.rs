//! One look at a session, weighed against the previous one, which is kept in a file.

use crate::check::{LookState, Sight, check};
use crate::sessions::{Hand, HandSessions};
use crate::{Means, find, watcher};
use serde::Serialize;
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_core::ids::HandName;
use shopfloor_desk::{Exit, Result};
use std::path::{Path, PathBuf};

#[derive(Serialize)]
pub struct Checked {
    pub session: String,
    pub session_state: LookState,
    pub statusline_time: Option<String>,
    pub previous_time: Option<String>,
    pub context_percent: Option<u8>,
    pub reason: String,
    pub state_file: Option<String>,
}

/// Looks once at the session of that name; what was seen is kept in `file`, or with its record.
pub fn once(means: &dyn Means, who: &str, file: Option<PathBuf>) -> Result<Checked> {
    let hands = means.sessions();
    match find(means.desk(), &hands, who) {
        Ok(hand) => match hand.ended() {
            Some(ended) => Ok(gone(hand.name.to_string(), format!("the session has ended: {}", ended.why))),
            None => look_at(means, &hands, &hand, file),
        },
        Err(e) if e.exit == Exit::NoSuchThing => Ok(gone(who.to_owned(), e.message)),
        Err(e) => Err(e),
    }
}

fn look_at(means: &dyn Means, hands: &HandSessions, hand: &Hand, file: Option<PathBuf>) -> Result<Checked> {
    let spec = means.runtime_of(hand)?;
    let look = watcher::once(hands, hand, &spec);
    let file = file.unwrap_or_else(|| kept(hands, &hand.name));
    let before = read(&file);
    let (session_state, reason, sight) = check(&spec, before.as_ref(), &look);
    let text = serde_json::to_vec(&sight).expect("it has string keys only");
    write_atomic(&std::path::absolute(&file)?, &text, 0o600)?;
    let line = look.screen.as_ref().and_then(|(reading, _)| reading.statusline);
    Ok(Checked {
        session: hand.name.to_string(),
        session_state,
        statusline_time: sight.clock.map(|clock| clock.to_string()),
        previous_time: before.and_then(|before| before.clock).map(|clock| clock.to_string()),
        context_percent: line.and_then(|line| line.context_percent),
        reason,
        state_file: Some(file.display().to_string()),
    })
}

fn gone(session: String, reason: String) -> Checked {
    Checked {
        session,
        session_state: LookState::NotFound,
        statusline_time: None,
        previous_time: None,
        context_percent: None,
        reason,
        state_file: None,
    }
}

fn kept(hands: &HandSessions, name: &HandName) -> PathBuf {
    hands.layout.hand_session(name).join("seen.json")
}

/// An unreadable file counts as not seen.
fn read(file: &Path) -> Option<Sight> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}
