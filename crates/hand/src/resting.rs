//! Hand sessions that wait for somebody, found by one look at each.

use crate::Means;
use crate::check::{LookState, check};
use crate::sessions::{Hand, HandSessions};
use crate::watcher;
use shopfloor_adapters::host::process::terminal;
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::time::Time;
use shopfloor_desk::view::awaiting::Awaiting;
use shopfloor_desk::{Result, now};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The live sessions that rest, show a dialog or have signalled. For a program that no runtime describes,
/// only the last is known.
pub fn resting(means: &dyn Means) -> Result<Vec<Awaiting>> {
    let hands = means.sessions();
    let all = hands.all(false)?;
    let mut found = Vec::new();
    for hand in all.iter().filter(|hand| matches!(hand.probe, Ok(Probe::Alive(_)))) {
        let spec = means.runtime_of(hand)?;
        let look = watcher::once(&hands, hand, &spec);
        let (standing, why, _) = check(&spec, None, &look);
        if matches!(standing, LookState::Idle | LookState::Waiting) {
            let since = since(&hands, hand, look.phase.is_some());
            let project = hand.record.as_ref().map(|record| record.project.clone());
            let session = Some(hand.name.to_string());
            found.push(Awaiting { project, issue: None, session, why, since });
        }
    }
    Ok(found)
}

/// Since its signal, or since it last drew something (to within about eight seconds: the kernel is no more
/// precise).
fn since(hands: &HandSessions, hand: &Hand, signalled: bool) -> Time {
    let changed = |file: &Path| std::fs::metadata(file).and_then(|meta| meta.modified()).ok();
    let at = match signalled {
        true => changed(&hands.phase_file(&hand.name)),
        false => hand.process().and_then(terminal).and_then(|tty| changed(&tty)),
    };
    let at = at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    at.map_or_else(now, |since| Time(since.as_millis() as u64))
}
