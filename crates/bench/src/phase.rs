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
    measure_with(floor, "", scale, report)?;
    let mean = ms(POLL_EVERY / 2);
    report.add(
        "  the same by polling, mean",
        mean,
        "ms",
        "computed: a look every 30 s, as systems before did",
    );
    Ok(())
}

/// On a floor that has an issue to work on.
pub fn measure_with(floor: &BenchFloor, what: &str, scale: &Scale, report: &mut Report) -> Result<()> {
    let _daemon = floor.up()?;
    let phase_file = floor.await_state("a session is live", |floor| {
        let live = floor.sessions.iter().find(|session| session.state == SessionState::Live)?;
        live.phase_file.clone()
    })?;
    let mut store = floor.store()?;
    let mut samples = Vec::new();
    for round in 0..scale.phase_rounds {
        samples.push(one_round(&mut store, Path::new(&phase_file), round)?);
    }
    let rounds = format!("{} rounds, writing to seen in the journal", scale.phase_rounds);
    report.add(format!("phase to reaction{what}, p50"), ms(percentile(&samples, 50)), "ms", rounds.clone());
    report.add(format!("phase to reaction{what}, p99"), ms(percentile(&samples, 99)), "ms", rounds);
    Ok(())
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
