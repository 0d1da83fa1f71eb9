//! Heads and the queue's trials share one slot: how long until all have landed, and for how long nothing lands.

use crate::Bench;
use crate::floor::WORKER;
use crate::report::Report;
use anyhow::{Result, bail};
use shopfloor_core::state::End;
use shopfloor_engine::Engine;
use std::time::{Duration, Instant};

/// One run of the checks.
const CHECK_SECONDS: u32 = 2;
const LOOK_EVERY: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(900);

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let entries = bench.scale.entries;
    eprintln!("{entries} heads and the queue, one slot …");
    let floor = bench.floor(WORKER)?;
    let config = std::fs::read_to_string(floor.checkout().join("shopfloor.toml"))?;
    let check = format!("run = \"sleep {CHECK_SECONDS}\"");
    floor.write_config(&config.replace("run = \"true\"", &check))?;
    floor.limit_jobs(entries)?;
    for n in 1..=entries {
        floor.ask_for(&format!("Make change {n}"), "A file of its own.")?;
    }
    let begin = Instant::now();
    let daemon = floor.up()?;
    let mut engine = Engine::open(floor.store()?)?;
    let mut landed: Vec<Duration> = Vec::new();
    while (landed.len() as u64) < entries {
        engine.refresh()?;
        let ended: Vec<End> = engine.floor().jobs.iter().filter_map(|job| job.end()).collect();
        if ended.iter().any(|end| *end != End::Merged) {
            bail!("a job ended otherwise");
        }
        landed.resize(ended.len(), begin.elapsed());
        if begin.elapsed() > PATIENCE {
            bail!("{} of {entries} landed within {PATIENCE:?}", landed.len());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    drop(daemon);
    let first = landed.first().copied().unwrap_or_default();
    let last = landed.last().copied().unwrap_or_default();
    let pause = landed.windows(2).map(|two| two[1] - two[0]).max().unwrap_or_default();
    let note = format!(
        "{entries} entries, 1 slot, checks of {CHECK_SECONDS} s; the first after {:.0} s, the longest pause {:.0} s",
        first.as_secs_f64(),
        pause.as_secs_f64()
    );
    report.add("heads and queue together", last.as_secs_f64(), "s", note);
    Ok(())
}
