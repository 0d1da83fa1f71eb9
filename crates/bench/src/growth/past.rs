//! A floor with a past: what an event, a command and a start cost when much has been done and is over. None of it
//! should cost more than on a young floor.

use super::Grown;
use crate::Bench;
use crate::backlog::{COMMANDS, used_by};
use crate::fill;
use crate::floor::{BenchFloor, IDLE_AGENT};
use crate::phase::{self, Rounds};
use crate::report::Report;
use crate::stats::{ms, percentile};
use crate::sync;
use crate::usage::Spent;
use anyhow::Result;
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::label::Label;
use shopfloor_store::forge::ForgeDb;
use std::time::Instant;

pub fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let runs = bench.scale.command_runs;
    let after = "ended jobs and closed issues";
    let each = |what: &str, note: String| {
        let wall = Grown::new(what, "ms", format!("{note}, {after}"));
        (wall, Grown::new(format!("{what}, CPU"), "ms", format!("mean, {after}")))
    };
    let mut commands =
        COMMANDS.map(|(name, args)| (args, each(&format!("past: {name}"), format!("p50 of {runs}"))));
    let mut start = each("past: daemon starts", "until it answers".into());
    let mut event = each("past: event", "p50, phase to journal".into());
    for count in bench.scale.past {
        eprintln!("a past of {count} jobs …");
        let floor = bench.floor(IDLE_AGENT)?;
        live_through(&floor, count)?;
        for (args, (wall, cpu)) in &mut commands {
            let used = used_by(&floor, args, runs)?;
            wall.at(count, used.wall);
            cpu.at(count, used.cpu);
        }
        let begin = Instant::now();
        let daemon = floor.up()?;
        start.0.at(count, ms(begin.elapsed()));
        start.1.at(count, 1000.0 * Spent::of(daemon.pid())?.seconds());
        drop(daemon);
        let Rounds { times, cpu } = phase::rounds(&floor, bench.scale.phase_rounds)?;
        event.0.at(count, ms(percentile(&times, 50)));
        event.1.at(count, cpu);
    }
    for (wall, cpu) in commands.into_iter().map(|(_, rows)| rows).chain([start, event]) {
        wall.report(report);
        cpu.report(report);
    }
    Ok(())
}

/// That many issues that were worked on and closed, in the forge as well, and one that is worked on now. A daemon has
/// read all of them.
pub fn live_through(floor: &BenchFloor, count: u64) -> Result<()> {
    fill::identities(floor, count)?;
    closed(floor, count)?;
    let mut forge = ForgeDb::open(&floor.layout.database())?;
    let mut live = sync::issue(count + 1);
    live.labels.push(Label::Backlog.as_str().into());
    let live = forge.create_issue(&floor.project(), &live)?;
    let _daemon = floor.up()?;
    floor.await_state("the forge is read, and its last issue worked on", |state| {
        state.jobs.iter().find(|job| job.number() == Some(live))?.session
    })?;
    Ok(())
}

/// As many closed issues in the forge.
pub fn closed(floor: &BenchFloor, count: u64) -> Result<()> {
    let mut forge = ForgeDb::open(&floor.layout.database())?;
    for n in 1..=count {
        forge.create_issue(&floor.project(), &sync::issue(n))?;
        forge.close_issue(&floor.project(), IssueNumber(n))?;
    }
    Ok(())
}
