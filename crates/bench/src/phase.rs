//! From an agent's writing of its phase file to the committed reaction.
//!
//! One real session of a real daemon. Each round writes a phase the way an agent's shell would and
//! looks for the reaction in the journal. The phase names another session, so the reaction is that
//! it is noted and ignored: the one reaction that is not bounded, and that has no effects whose cost
//! would be measured too. The way there is the same for every signal.

use crate::Scale;
use crate::floor::BenchFloor;
use crate::report::Report;
use crate::stats::{ms, percentile};
use crate::usage::Spent;
use anyhow::{Result, bail};
use shopfloor_core::event::NoteKind;
use shopfloor_core::ids::Seq;
use shopfloor_core::state::SessionState;
use shopfloor_store::Store;
use shopfloor_store::sqlite::SqliteStore;
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two looks at the journal; it is part of what is measured.
const LOOK_EVERY: Duration = Duration::from_micros(200);
const ROUND_MAX: Duration = Duration::from_secs(10);
/// How often the systems this is compared with looked at a phase file.
const POLL_EVERY: Duration = Duration::from_secs(30);

pub fn measure(floor: &BenchFloor, scale: &Scale, report: &mut Report) -> Result<()> {
    floor.must(floor.shopfloor().args(["issue", "add", "Wait to be measured", "--label", "backlog"]))?;
    let Rounds { times, cpu } = rounds(floor, scale.phase_rounds)?;
    let note = format!(
        "{} rounds, writing to seen in the journal; {cpu:.2} ms of the daemon's CPU a round",
        scale.phase_rounds
    );
    report.add("phase to reaction, p50", ms(percentile(&times, 50)), "ms", note.clone());
    report.add("phase to reaction, p99", ms(percentile(&times, 99)), "ms", note);
    let mean = ms(POLL_EVERY / 2);
    report.add(
        "  the same by polling, mean",
        mean,
        "ms",
        "computed: a look every 30 s, as systems before did",
    );
    Ok(())
}

/// How long each round took, and the daemon's CPU time a round, in milliseconds.
pub struct Rounds {
    pub times: Vec<Duration>,
    pub cpu: f64,
}

/// On a floor that has an issue to work on.
pub fn rounds(floor: &BenchFloor, count: u32) -> Result<Rounds> {
    let daemon = floor.up()?;
    let phase_file = floor.await_state("a session is live", |floor| {
        let live = floor.sessions.iter().find(|session| session.state == SessionState::Live)?;
        live.phase_file.clone()
    })?;
    let mut store = floor.store()?;
    let before = Spent::of(daemon.pid())?.seconds();
    let times = (0..count)
        .map(|round| one_round(&mut store, Path::new(&phase_file), round))
        .collect::<Result<Vec<_>>>()?;
    let cpu = 1000.0 * (Spent::of(daemon.pid())?.seconds() - before) / f64::from(count);
    Ok(Rounds { times, cpu })
}

fn one_round(store: &mut SqliteStore, phase_file: &Path, round: u32) -> Result<Duration> {
    let mut after = newest(store)?;
    let text = format!("PHASE:done\nSession: {}\n", u64::MAX - u64::from(round));
    let begin = Instant::now();
    std::fs::write(phase_file, text)?;
    while begin.elapsed() < ROUND_MAX {
        let entries = store.journal(after, 100)?;
        if entries.iter().any(|entry| entry.kind == NoteKind::StaleSignal.as_str()) {
            return Ok(begin.elapsed());
        }
        after = entries.last().map_or(after, |entry| entry.seq);
        std::thread::sleep(LOOK_EVERY);
    }
    bail!("no reaction to round {round} within {ROUND_MAX:?}")
}

/// The journal's newest position.
fn newest(store: &mut SqliteStore) -> Result<Seq> {
    // Rows after the end of time: none; the position comes with the answer.
    Ok(store.rows_since(Seq(i64::MAX as u64))?.1)
}
