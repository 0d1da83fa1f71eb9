//! Hand sessions that wait for somebody, by a look at each.

use super::watcher;
use crate::cli::{CliResult, Context, now};
use shopfloor_adapters::hand::{Hand, HandSessions};
use shopfloor_adapters::host::process::terminal;
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_core::hand::check::{Standing, check};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::time::Time;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// One that waits.
pub struct Resting {
    pub name: String,
    pub project: Option<ProjectName>,
    pub why: String,
    pub since: Time,
}

/// The live ones that rest, show a dialog or signalled. Of a program that no runtime describes only the last is known.
pub fn resting(context: &Context) -> CliResult<Vec<Resting>> {
    let hands = super::sessions(context);
    let all = hands.all(false)?;
    let mut found = Vec::new();
    for hand in all.iter().filter(|hand| matches!(hand.probe, Ok(Probe::Alive(_)))) {
        let spec = super::runtime_of(context, hand)?;
        let look = watcher::once(&hands, hand, &spec);
        let (standing, why, _) = check(&spec, None, &look);
        if matches!(standing, Standing::Idle | Standing::Waiting) {
            let since = since(&hands, hand, look.phase.is_some());
            let project = hand.record.as_ref().map(|record| record.project.clone());
            found.push(Resting { name: hand.name.to_string(), project, why, since });
        }
    }
    Ok(found)
}

/// Since its signal, or since it last drew something (to about eight seconds: the kernel tells no more).
fn since(hands: &HandSessions, hand: &Hand, signalled: bool) -> Time {
    let changed = |file: &Path| std::fs::metadata(file).and_then(|meta| meta.modified()).ok();
    let at = match signalled {
        true => changed(&hands.phase_file(&hand.name)),
        false => hand.process().and_then(terminal).and_then(|tty| changed(&tty)),
    };
    let at = at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    at.map_or_else(now, |since| Time(since.as_millis() as u64))
}
