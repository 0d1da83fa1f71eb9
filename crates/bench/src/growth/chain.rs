//! A backlog in which each issue waits for the one before it.

use super::Grown;
use crate::Bench;
use crate::backlog::used_by;
use crate::floor::IDLE_AGENT;
use crate::phase::{self, Rounds};
use crate::report::Report;
use crate::stats::{ms, percentile};
use crate::sync;
use anyhow::Result;

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let runs = bench.scale.command_runs;
    let mut unread = Grown::new("chain: status, nothing read yet", "ms", format!("p50 of {runs}, no daemon"));
    let mut read = Grown::new("chain: status", "ms", format!("p50 of {runs}, the forge read"));
    let mut event = Grown::new("chain: event", "ms", "p50, phase to journal, with a free slot");
    let mut cpu_of_event = Grown::new("chain: event, CPU", "ms", "mean, the daemon's");
    for count in bench.scale.chain {
        eprintln!("a chain of {count} issues …");
        let floor = bench.floor(IDLE_AGENT)?;
        sync::fill(&floor, count, true)?;
        unread.at(count, used_by(&floor, &["status"], runs)?.wall);
        let Rounds { times, cpu } = phase::rounds(&floor, bench.scale.phase_rounds)?;
        event.at(count, ms(percentile(&times, 50)));
        cpu_of_event.at(count, cpu);
        read.at(count, used_by(&floor, &["status"], runs)?.wall);
    }
    for row in [unread, read, event, cpu_of_event] {
        row.report(report);
    }
    Ok(())
}
